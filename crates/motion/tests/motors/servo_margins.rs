//! Margins of loops that cross gain one several times and have narrow modes, held against another program and each other.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_analysis::random::Random;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    Controller, DelayMargin, JitterMargin, LoopMargins, PhaseMargin, Plant, delay_margin,
};

const MS: i64 = 1_000_000;

fn plant(name: &str) -> Plant {
    match name {
        "two-mass" => Plant::from_toml(name, include_str!("../data/two-mass.toml")).unwrap(),
        "narrow" => Plant::from_toml(name, include_str!("../data/narrow.toml")).unwrap(),
        _ => catalog::find_device(name, None).unwrap(),
    }
}

fn designed(name: &str, period_ns: i64) -> (Plant, Controller) {
    let plant = plant(name);
    let controller = plant.design.controller(&plant, period_ns, 0).unwrap();
    (plant, controller)
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

/// Computed by another program: the modified z-transform on a grid, roots by Brent's method.
#[test]
fn several_crossovers_and_narrow_modes_have_all_their_margins() {
    for (name, h, crossovers, degrees, falls, gains, delay_ms, peak, at) in [
        (
            "two-mass",
            5,
            &[10.832_736, 17.665_374_5, 43.819_434_5][..],
            &[34.507_769_4, -155.473_537, 64.363_195_3][..],
            &[true, false, true][..],
            12.274_784_1,
            25.634_709,
            1.733_453_11,
            11.214_868_2,
        ),
        (
            "dc-servo",
            6,
            &[61.227_126_9],
            &[46.863_848_3],
            &[true],
            5.371_48,
            13.351_559_5,
            1.452_060_81,
            107.514_773,
        ),
        (
            "narrow",
            1,
            &[58.978_529, 1_498.941_14, 1_501.121_85],
            &[62.068_861_6, 174.959_096, 10.529_975_7],
            &[true, false, true],
            21.765_868_1,
            0.121_769_791,
            5.588_761_13,
            1_501.170_22,
        ),
    ] {
        let (plant, controller) = designed(name, h * MS);
        let found = LoopMargins::new(&plant, &controller, h * MS, 0, 0).unwrap();
        assert_eq!(found.crossovers.len(), crossovers.len(), "{name}: {found:?}");
        for (i, crossover) in found.crossovers.iter().enumerate() {
            near(crossover.crossover_rad_per_s, crossovers[i], 1e-7);
            near(crossover.degrees, degrees[i], 1e-5);
            assert_eq!(crossover.falls, falls[i]);
        }
        near(found.gain_up.unwrap(), gains, 1e-6);
        assert_eq!(found.gain_down, None);
        near(found.peak, peak, 1e-7);
        near(found.peak_rad_per_s, at, 1e-5);
        let DelayMargin::UpTo(ns) = delay_margin(&plant, &controller, h * MS) else { panic!("{name}") };
        near(ns as f64 * 1e-6, delay_ms, 1e-5);
        let least = degrees.iter().map(|d| f64::abs(*d)).fold(f64::INFINITY, f64::min);
        near(found.smallest_phase_margin().unwrap().degrees, least, 1e-5);
        near(found.lowest_crossover().unwrap(), crossovers[0], 1e-7);
    }
}

/// Each margin bounds the others; gains on both sides of a limit, and delays on both sides of theirs, are
/// stable and unstable.
fn check_margins_agree(name: &str, plant: &Plant, controller: &Controller, period_ns: i64) {
    let Some(found) = LoopMargins::new(plant, controller, period_ns, 0, 0) else {
        assert_eq!(delay_margin(plant, controller, period_ns), DelayMargin::Never, "{name}");
        return;
    };
    let ms = found.peak;
    assert!(ms >= 1.0, "{name}: {found:?}");
    let least = 2.0 * (0.5 / ms).asin().to_degrees() - 1e-6;
    assert!(found.crossovers.iter().all(|c| c.degrees.abs() >= least), "{name}: {found:?}");
    assert!(found.gain_up.is_none_or(|k| k >= ms / (ms - 1.0) * (1.0 - 1e-6)), "{name}: {found:?}");
    assert!(found.gain_down.is_none_or(|k| k <= ms / (ms + 1.0) * (1.0 + 1e-6)), "{name}: {found:?}");
    let is_stable = |gain: f64| {
        let mut other = controller.clone();
        other.c *= gain;
        other.d *= gain;
        LoopMargins::new(plant, &other, period_ns, 0, 0).is_some()
    };
    for gain in [found.gain_up, found.gain_down].into_iter().flatten() {
        let beyond = if gain > 1.0 { gain * (1.0 + 1e-5) } else { gain * (1.0 - 1e-5) };
        assert!(!is_stable(beyond) && is_stable(gain * gain / beyond), "{name}, {gain}: {found:?}");
    }
    let most = found.gain_up.unwrap_or(100.0).ln();
    let fewest = found.gain_down.unwrap_or(0.01).ln();
    for k in 1..6 {
        let gain = (fewest + (most - fewest) * f64::from(k) / 6.0).exp();
        assert!(is_stable(gain), "{name}, {gain}: {found:?}");
    }
    // Delays of part of a period change the gain, the more the faster a crossover is.
    let delay_ns = |c: &PhaseMargin| c.degrees.rem_euclid(360.0).to_radians() / c.crossover_rad_per_s * 1e9;
    let turned = found.crossovers.iter().map(delay_ns).fold(f64::INFINITY, f64::min);
    match delay_margin(plant, controller, period_ns) {
        DelayMargin::UpTo(ns) => {
            assert!(ns as f64 <= turned * 1.5 + 1.0, "{name}: {ns} {turned} {found:?}");
            for k in 1..8 {
                let delay_ns = ns / 8 * k;
                assert!(
                    LoopMargins::new(plant, controller, period_ns, delay_ns, 0).is_some()
                        || delay_ns > 64 * period_ns
                );
            }
            if let Some(jitter) = JitterMargin::new(plant, controller, period_ns).and_then(|j| j.margin_ns(0))
            {
                assert!(jitter <= ns as f64, "{name}: {jitter} {ns}");
            }
        }
        other => assert!(other == DelayMargin::Always && found.crossovers.is_empty(), "{name}: {found:?}"),
    }
}

#[test]
fn margins_of_all_plants_hold_together() {
    for (name, h) in [
        ("two-mass", 5 * MS),
        ("two-mass", 500_000),
        ("narrow", MS),
        ("narrow", 100_000),
        ("dc-servo", 6 * MS),
        ("dc-servo", 20_000),
        ("ball-screw", MS),
        ("integrator", 100 * MS),
        ("ball-and-beam", 20 * MS),
        ("belt-axis", 500_000),
        ("harmonic-drive-joint", MS),
        ("hydraulic-press", 2 * MS),
        ("inverted-pendulum", 10 * MS),
        ("thermal-process", 1_000 * MS),
    ] {
        let (plant, controller) = designed(name, h);
        check_margins_agree(name, &plant, &controller, h);
    }
}

#[test]
fn margins_of_drives_with_two_narrow_modes_hold_together() {
    let mut random = Random::new(41);
    let mut several = 0;
    for _ in 0..25 {
        let mut drawn = |low: f64, high: f64| (low.ln() + (high / low).ln() * random.uniform()).exp();
        let modes = [(drawn(100.0, 500.0), drawn(1e-4, 1e-2)), (drawn(600.0, 2_500.0), drawn(1e-4, 1e-2))];
        let (h, gains) = (drawn(2e5, 1e6) as i64, [drawn(0.3, 30.0), drawn(3.0, 300.0)]);
        let [(w1, d1), (w2, d2)] = modes;
        let text = format!(
            "name = 'x'\noutputs = ['y']\n[state_space]\na = [[0, 1, 0, 0, 0, 0], [0, -1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], \
             [0, 0, {}, {}, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, {}, {}]]\n\
             b = [[0], [1000], [0], [{}], [0], [{}]]\nc = [[1, 0, 1, 0, 1, 0]]\n[noise]\ninput = 1.0\n[cost]\noutput = 1.0\n\
             input = 1.0\n[controller]\nkind = 'pd'\ngain = 1.0\nderivative_time = '30 ms'",
            -w1 * w1,
            -2.0 * d1 * w1,
            -w2 * w2,
            -2.0 * d2 * w2,
            gains[0],
            gains[1]
        );
        let plant = Plant::from_toml("x", &text).unwrap();
        let controller = plant.design.controller(&plant, h, 0).unwrap();
        check_margins_agree(&text, &plant, &controller, h);
        let crossings = LoopMargins::new(&plant, &controller, h, 0, 0).map_or(0, |m| m.crossovers.len());
        several += usize::from(crossings > 1);
    }
    assert!(several >= 5, "{several}");
}
