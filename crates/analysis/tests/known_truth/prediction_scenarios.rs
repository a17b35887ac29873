//! Reliability of predictions on machines of known truth: two minutes at 1 kHz are measured, a day is predicted
//! (720 times the run). S1 to S3 must be bounded, S4, S6 and S8 refused. S5 and S7, where the run usually cannot
//! know better, must be wrong in the documented way, with the caveat reported. Each is predicted a second time
//! as if the cause of every activation's delay were known: S9 is the kind of machine where that helps.

use std::collections::BTreeMap;
use std::thread;

use jitterlab_analysis::predict::{Bound, Prediction, PredictionCaveat, TAIL_SIZE, Tail, predict};
use jitterlab_analysis::random::Random;
use jitterlab_analysis::scan::{Peaks, Spans};
use jitterlab_model::Distribution;
use jitterlab_model::causes::{Cause, CauseClass, CauseSum, TaskCauses};

const RUN: u64 = 120_000;
const DAY: f64 = 86.4e6;
const PERIOD_NS: f64 = 1e6;
const REPETITIONS: u64 = 200;

/// The largest of `count` exponential values: the inverse of F^count.
fn largest_exponential(random: &mut Random, mean: f64, count: f64) -> f64 {
    let above = -(random.uniform().ln() / count).exp_m1();
    -mean * above.ln()
}

/// A Poisson number of events, by their exponential distances.
fn events(random: &mut Random, expected: f64) -> u64 {
    let mut count = 0;
    let mut at = random.exponential(1.0);
    while at < expected {
        count += 1;
        at += random.exponential(1.0);
    }
    count
}

/// Beta(2, 3): P(X > x) = (1 - x)^3 (1 + 3x).
fn beta(random: &mut Random) -> f64 {
    let mut five = [0.0; 4];
    five.iter_mut().for_each(|v| *v = random.uniform());
    five.sort_by(f64::total_cmp);
    five[1] // the second of four uniform values
}

fn largest_beta(random: &mut Random, count: f64) -> f64 {
    let above = -(random.uniform().ln() / count).exp_m1();
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..60 {
        let x = (low + high) / 2.0;
        if (1.0 - x).powi(3) * (1.0 + 3.0 * x) > above { low = x } else { high = x }
    }
    low
}

fn pareto(above: f64, shape: f64) -> f64 {
    (above.powf(-shape) - 1.0) / shape
}

/// A run's latencies in us, each with its cause, and the largest latency of the day after it.
type Scenario = fn(&mut Random) -> (Vec<(f64, u8)>, f64);

/// Independent exponential latencies.
fn s1(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let run = (0..RUN).map(|_| (5.0 + random.exponential(2.0), 0)).collect();
    (run, 5.0 + largest_exponential(random, 2.0, DAY))
}

/// Bounded: 5 us and up to 10 more.
fn s2(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let run = (0..RUN).map(|_| (5.0 + 10.0 * beta(random), 0)).collect();
    (run, 5.0 + 10.0 * largest_beta(random, DAY))
}

/// A heavy tail: generalised Pareto with shape 0.15.
fn s3(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let run = (0..RUN).map(|_| (5.0 + 2.0 * pareto(random.uniform(), 0.15), 0)).collect();
    let above = -(random.uniform().ln() / DAY).exp_m1();
    (run, 5.0 + 2.0 * pareto(above, 0.15))
}

/// Code paths of bounded length: most at 5, some at 12, one in 2000 at 30 us.
fn s4(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let paths = |random: &mut Random| match random.uniform() {
        u if u < 0.95 => (5.0 + 2.0 * beta(random), 0),
        u if u < 0.9995 => (12.0 + 4.0 * beta(random), 1),
        _ => (30.0 + 6.0 * beta(random), 2),
    };
    let run = (0..RUN).map(|_| paths(random)).collect();
    (run, 30.0 + 6.0 * largest_beta(random, DAY * 0.0005))
}

/// S1 and an event of its own kind at random, every `every_s` in the mean, of 60 us and more.
fn with_events(random: &mut Random, every_s: f64) -> (Vec<(f64, u8)>, f64) {
    let (mut run, mut worst) = s1(random);
    for _ in 0..events(random, 120.0 / every_s) {
        let at = (random.uniform() * RUN as f64) as usize;
        run[at] = (60.0 + random.exponential(10.0), 1);
    }
    let later = events(random, 86_400.0 / every_s) as f64;
    worst = worst.max(60.0 + largest_exponential(random, 10.0, later));
    (run, worst)
}

/// A system-management interrupt every 600 s.
fn s5(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    with_events(random, 600.0)
}

/// An event every 20 s.
fn s6(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    with_events(random, 20.0)
}

/// A load of 60 s once an hour makes latencies four times longer.
fn s7(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let begin = random.uniform() * 3_600e3;
    let run = (0..RUN)
        .map(|k| {
            let loaded = (begin + k as f64) % 3_600e3 < 60e3;
            (5.0 + random.exponential(if loaded { 8.0 } else { 2.0 }), u8::from(loaded))
        })
        .collect();
    (run, 5.0 + largest_exponential(random, 8.0, 24.0 * 60e3))
}

/// Bursts of 50 ms, 1 % of the time, make latencies three times longer.
fn s8(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let mut left = 0u32;
    let run = (0..RUN)
        .map(|_| {
            if left > 0 {
                left -= 1;
            } else if random.uniform() < 0.01 / 0.99 / 50.0 {
                left = 50;
            }
            (5.0 + random.exponential(if left > 0 { 6.0 } else { 2.0 }), u8::from(left > 0))
        })
        .collect();
    (run, 5.0 + largest_exponential(random, 6.0, DAY * 0.01))
}

/// A frequent cause of bounded length hides an unbounded one that occurs a third as often: the largest
/// latencies of the run are those of the first, the largest of the day those of the second.
fn s9(random: &mut Random) -> (Vec<(f64, u8)>, f64) {
    let run = (0..RUN).map(|_| match random.uniform() {
        u if u < 0.986 => (5.0 + random.exponential(1.0), 0),
        u if u < 0.996 => (30.0 + 10.0 * beta(random), 1),
        _ => (20.0 + random.exponential(3.0), 2),
    });
    (run.collect(), 20.0 + largest_exponential(random, 3.0, DAY * 0.004))
}

fn tail(latencies_us: &[(f64, u8)]) -> Tail {
    let (mut peaks, mut spans) = (Peaks::new(TAIL_SIZE), Spans::new(4_096));
    let mut latency = Distribution::new();
    for (k, (us, _)) in latencies_us.iter().enumerate() {
        let ns = (us * 1e3) as i64;
        peaks.push(k as u64, ns);
        spans.push(k as u64, ns, 0);
        latency.record(ns);
    }
    Tail {
        has_long_memory: false,
        latency,
        period_ns: PERIOD_NS,
        first: 0,
        last: latencies_us.len() as u64 - 1,
        peaks: peaks.largest(),
        block_maxima_ns: spans.joined(100).iter().map(|b| b.max_ns as f64).collect(),
        parts: vec![],
        migrations: 0,
    }
}

#[derive(Default, Debug)]
struct Outcome {
    passed: u32,
    covered: u32,
    ratios: Vec<f64>,
    caveats_missing: u32,
    refusals: BTreeMap<String, u32>,
}

impl Outcome {
    fn count(&mut self, bound: Option<&Bound>, worst_ns: f64) {
        let Some(&Bound { bound_ns, .. }) = bound else { return };
        self.passed += 1;
        self.covered += u32::from(bound_ns >= worst_ns);
        self.ratios.push(bound_ns / worst_ns);
    }

    fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.passed)
    }

    fn pass_rate(&self) -> f64 {
        f64::from(self.passed) / REPETITIONS as f64
    }
}

/// Causes of a run as `run --why` would keep them: the largest latencies of each.
fn causes(latencies_us: &[(f64, u8)]) -> TaskCauses {
    let mut largest: BTreeMap<u8, Peaks> = BTreeMap::new();
    for (k, (us, cause)) in latencies_us.iter().enumerate() {
        let of_cause = largest.entry(*cause).or_insert_with(|| Peaks::new(TAIL_SIZE));
        of_cause.push(k as u64, (us * 1e3) as i64);
    }
    let sum = |(number, peaks): (u8, Peaks)| {
        let who = Some(number.to_string());
        let largest = peaks.largest().iter().map(|peak| (peak.index, peak.latency_ns)).collect();
        CauseSum { largest, ..CauseSum::new(Cause { class: CauseClass::Preempted, who }) }
    };
    TaskCauses { causes: largest.into_iter().map(sum).collect(), ..TaskCauses::default() }
}

/// Outcomes of predictions from the whole run, and of those that know its causes.
fn play(number: u64, scenario: Scenario, horizon: f64) -> [Outcome; 2] {
    let [mut outcome, mut by_cause] = [(); 2].map(|()| Outcome::default());
    for repetition in 0..REPETITIONS {
        let mut random = Random::new(number * 1_000_000 + repetition);
        let (run, worst_us) = scenario(&mut random);
        let prediction: Prediction = predict(&tail(&run), horizon * PERIOD_NS, &[]);
        let caveat = prediction.caveats.iter().any(|c| matches!(c, PredictionCaveat::Unseen { .. }));
        let far = prediction.caveats.iter().any(|c| matches!(c, PredictionCaveat::FarHorizon { .. }));
        outcome.caveats_missing += u32::from(!(caveat && far));
        for gate in prediction.gates.iter().filter(|g| !g.passed) {
            *outcome.refusals.entry(gate.condition.id().to_owned()).or_default() += 1;
        }
        outcome.count(prediction.bound.as_ref(), worst_us * 1e3);
        let known = prediction.with_causes(&tail(&run), &causes(&run));
        by_cause.count(known.bound.as_ref(), worst_us * 1e3);
    }
    for (how, outcome) in [("whole", &mut outcome), ("with causes", &mut by_cause)] {
        outcome.ratios.sort_by(f64::total_cmp);
        println!(
            "S{number} {how}: pass rate {:.3}, coverage given pass {:.3}, median bound/true {:.2}, refused by {:?}",
            outcome.pass_rate(),
            outcome.coverage(),
            outcome.ratios.get(outcome.ratios.len() / 2).unwrap_or(&f64::NAN),
            outcome.refusals
        );
    }
    [outcome, by_cause]
}

#[test]
fn bounds_hold_where_they_can_and_are_refused_where_they_cannot() {
    let scenarios: [Scenario; 9] = [s1, s2, s3, s4, s5, s6, s7, s8, s9];
    let outcomes: Vec<[Outcome; 2]> = thread::scope(|scope| {
        let running: Vec<_> =
            (1..).zip(scenarios).map(|(n, s)| scope.spawn(move || play(n, s, DAY))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    for (n, [o, by_cause]) in (1..).zip(&outcomes) {
        assert_eq!(o.caveats_missing, 0, "S{n} was predicted without its caveat");
        match n {
            1..=3 => {
                assert!(o.coverage() >= 0.90, "S{n}: {}", o.coverage());
                assert!(o.pass_rate() >= 0.90, "S{n}: {}", o.pass_rate());
            }
            4 | 6 | 8 => assert!(o.pass_rate() <= 0.05, "S{n}: {}", o.pass_rate()),
            // Wrong for the whole, right if the causes are known.
            9 => {
                assert!(o.passed == 0 || o.coverage() <= 0.5, "S{n}: {o:?}");
                assert!(by_cause.pass_rate() >= 0.5 && by_cause.coverage() >= 0.9, "S{n}: {by_cause:?}");
            }
            // Nothing in two minutes reveals them: they pass, and the bound is wrong more often than it says.
            _ => {
                assert!(o.pass_rate() >= 0.7, "S{n}: {}", o.pass_rate());
                assert!(o.coverage() <= 0.9, "S{n}: {}", o.coverage());
            }
        }
    }
}
