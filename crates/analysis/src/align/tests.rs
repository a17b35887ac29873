use super::*;
use crate::random::Random;

const PERIOD_NS: i64 = 1_000_000;

/// Pattern of a run's jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    White,
    Wandering,
    Bursts,
    Spikes,
    Comb,
    Still,
}

/// Distortion of the pulses by a capture.
#[derive(Debug, Clone, Copy)]
struct Capture {
    rate_ppm: f64,
    /// Range over which the rate wanders during the capture.
    drift_ppm: f64,
    /// Mean of the delay between time stamp and pulse, in ns.
    delay_ns: f64,
    resolution_ns: f64,
    missing: f64,
    extra: f64,
    /// The part of the run that is captured.
    part: (f64, f64),
}

const PLAIN: Capture = Capture {
    rate_ppm: 37.0,
    drift_ppm: 0.0,
    delay_ns: 300.0,
    resolution_ns: 1.0,
    missing: 0.0,
    extra: 0.0,
    part: (0.0, 1.0),
};

fn run(pattern: Pattern, count: usize, seed: u64) -> TaskTimes {
    let mut random = Random::new(seed);
    let (mut slow, mut burst) = (0.0, 0usize);
    let mut own = TaskTimes { period_ns: PERIOD_NS, ..TaskTimes::default() };
    for k in 0..count {
        slow = 0.999 * slow + 400.0 * random.normal();
        if burst == 0 && random.uniform() < 0.002 {
            burst = 30;
        }
        burst = burst.saturating_sub(1);
        let late = match pattern {
            Pattern::White => random.exponential(8_000.0),
            Pattern::Wandering => slow + random.exponential(1_000.0),
            Pattern::Bursts => random.exponential(if burst > 0 { 60_000.0 } else { 2_000.0 }),
            Pattern::Spikes => {
                random.exponential(1_500.0) + if random.uniform() < 0.01 { 100_000.0 } else { 0.0 }
            }
            // The same every 50 activations, except for the delay of the pulses.
            Pattern::Comb => f64::from(k as u32 * 7 % 50) * 400.0 + random.exponential(30.0),
            Pattern::Still => random.exponential(20.0),
        };
        own.stamps_ns.push(5_000_000_000 + k as i64 * PERIOD_NS + late as i64);
        own.indices.push(k as u64);
    }
    own
}

/// The pulses, and which activation each is of.
fn captured(own: &TaskTimes, how: Capture, seed: u64) -> (Vec<i64>, Vec<Option<usize>>) {
    let mut random = Random::new(seed);
    let count = own.stamps_ns.len() as f64;
    let range = (count * how.part.0) as usize..(count * how.part.1) as usize;
    let middle = own.stamps_ns[range.start];
    let mut pulses: Vec<(f64, Option<usize>)> = Vec::new();
    for of in range {
        let since = (own.stamps_ns[of] - middle) as f64;
        let share = since / (PERIOD_NS as f64 * count);
        let rate = 1.0 + 1e-6 * (how.rate_ppm + how.drift_ppm * share);
        let at = 777_000.0 + since * rate + random.exponential(how.delay_ns);
        if random.uniform() >= how.missing {
            pulses.push((at, Some(of)));
        }
        if random.uniform() < how.extra {
            pulses.push((at + random.uniform() * 900_000.0, None));
        }
    }
    pulses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |at: f64| ((at / how.resolution_ns).floor() * how.resolution_ns).round() as i64;
    pulses.into_iter().map(|(time, of)| (at(time), of)).unzip()
}

/// Outcome of a capture: assigned rightly, wrongly, or not at all.
fn outcome(own: &TaskTimes, pulses: &[i64], of: &[Option<usize>]) -> (Option<bool>, Alignment) {
    let aligned = align(own, pulses);
    let right = match &aligned.found {
        AlignmentOutcome::Matched(matched) => {
            let first = pulses.iter().position(|at| *at == matched.first_pulse_ns).unwrap();
            // An extra pulse may take the place of a missing one.
            Some(of[first].is_none_or(|of| of as u64 == matched.first_index))
        }
        _ => None,
    };
    (right, aligned)
}

#[test]
fn pulses_find_their_activations_whatever_the_capture_did() {
    let cases = [
        (Pattern::White, PLAIN),
        (Pattern::White, Capture { part: (0.3, 0.7), ..PLAIN }),
        (Pattern::White, Capture { resolution_ns: 10_000.0, ..PLAIN }),
        (Pattern::Wandering, Capture { resolution_ns: 1_000.0, ..PLAIN }),
        (Pattern::Wandering, Capture { rate_ppm: -180.0, drift_ppm: 20.0, ..PLAIN }),
        (Pattern::Bursts, Capture { missing: 0.1, part: (0.1, 0.9), ..PLAIN }),
        (Pattern::Spikes, Capture { resolution_ns: 1e9 / 24e6, ..PLAIN }),
    ];
    for (seed, (pattern, how)) in (0..).zip(cases) {
        let own = run(pattern, 500, seed);
        let (pulses, of) = captured(&own, how, 100 + seed);
        let (right, aligned) = outcome(&own, &pulses, &of);
        assert_eq!(right, Some(true), "{pattern:?} {how:?}: {aligned:?}");
    }
}

#[test]
fn pulses_are_left_alone_where_nothing_decides() {
    let extra = Capture { missing: 0.05, extra: 0.1, part: (0.2, 1.0), ..PLAIN };
    for (pattern, how) in [(Pattern::Comb, PLAIN), (Pattern::Still, PLAIN), (Pattern::Comb, extra)] {
        let own = run(pattern, 500, 3);
        let (pulses, of) = captured(&own, how, 4);
        assert_eq!(outcome(&own, &pulses, &of).0, None, "{pattern:?} {how:?}");
    }
    // The capture of another run.
    for pattern in [Pattern::White, Pattern::Wandering, Pattern::Bursts, Pattern::Spikes] {
        let (pulses, _) = captured(&run(pattern, 500, 5), PLAIN, 6);
        let aligned = align(&run(pattern, 500, 7), &pulses);
        assert!(matches!(aligned.found, AlignmentOutcome::Ambiguous(_)), "{pattern:?}: {aligned:?}");
    }
}

#[test]
fn a_pattern_that_repeats_is_ambiguous_by_its_length() {
    let own = run(Pattern::Comb, 500, 8);
    let (pulses, _) = captured(&own, Capture { delay_ns: 100.0, part: (0.2, 0.8), ..PLAIN }, 9);
    let AlignmentOutcome::Ambiguous(ambiguous) = align(&own, &pulses).found else { panic!("assigned") };
    assert!(ambiguous.left < 0.3, "{ambiguous:?}");
    let near: Vec<i64> = ambiguous.shifts.into_iter().filter(|shift| shift % 50 == 0).collect();
    assert!(!near.is_empty(), "{near:?}");
}

#[test]
fn figures_are_those_of_the_delay() {
    let own = run(Pattern::White, 3_000, 10);
    let how = Capture { missing: 0.02, extra: 0.01, part: (0.1, 0.9), ..PLAIN };
    let (pulses, of) = captured(&own, how, 11);
    let AlignmentOutcome::Matched(matched) = align(&own, &pulses).found else { panic!("not assigned") };
    let genuine = of.iter().flatten().count() as u64;
    // An extra pulse within half a period may take the place of a missing one.
    assert!(matched.pairs >= genuine && matched.pairs <= genuine + 20, "{matched:?} {genuine}");
    assert_eq!(matched.pairs + matched.silent + matched.unseen, 3_000);
    assert_eq!(matched.pairs + matched.extra + matched.outside, pulses.len() as u64);
    assert!((matched.rate_ppm - 37.0).abs() <= 2.0 * matched.rate_uncertainty_ppm, "{matched:?}");
    assert!(matched.rate_uncertainty_ppm < 0.2, "{matched:?}");

    let (pulses, _) = captured(&own, PLAIN, 12);
    let AlignmentOutcome::Matched(matched) = align(&own, &pulses).found else { panic!("not assigned") };
    assert_eq!((matched.pairs, matched.silent, matched.extra), (3_000, 0, 0));
    // The delay is exponential with a mean and thus a standard deviation of 300 ns.
    for spread in [matched.steady, matched.followed] {
        assert!((270.0..330.0).contains(&spread.sd_ns), "{spread:?}");
        assert!((1_000.0..1_400.0).contains(&spread.p99_ns), "{spread:?}");
    }
    let [stamps, pulses] = matched.period_error.unwrap();
    assert!((stamps.sd_ns / pulses.sd_ns - 1.0).abs() < 0.01, "{stamps:?} {pulses:?}");
}

#[test]
fn slow_changes_of_the_clocks_are_told_apart() {
    let own = run(Pattern::White, 3_000, 13);
    let (pulses, _) = captured(&own, Capture { drift_ppm: 20.0, ..PLAIN }, 14);
    let AlignmentOutcome::Matched(matched) = align(&own, &pulses).found else { panic!("not assigned") };
    assert!(matched.followed.sd_ns < 330.0 && matched.steady.sd_ns > 1_000.0, "{matched:?}");
}

#[test]
fn the_step_of_a_capture_is_seen() {
    let own = run(Pattern::White, 100, 15);
    for (resolution, seen) in [(1_000.0, 1_000.0), (1e9 / 24e6, 1e9 / 24e6), (1.0, 1.0), (62.5, 62.5)] {
        let (pulses, _) = captured(&own, Capture { resolution_ns: resolution, ..PLAIN }, 16);
        assert!((resolution_ns(&pulses) - seen).abs() < 1e-9, "{seen}");
    }
    assert!(matches!(align(&own, &[1, 2, 3]).found, AlignmentOutcome::TooFew { .. }));
    assert!(matches!(align(&TaskTimes::default(), &[]).found, AlignmentOutcome::TooFew { .. }));
    // Times that all are the same.
    assert!(matches!(align(&own, &[7; 100]).found, AlignmentOutcome::TooFew { .. }));
}
