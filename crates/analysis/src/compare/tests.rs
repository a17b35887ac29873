use super::*;
use crate::random::Random;
use jitterlab_model::Activation;

fn scan(seed: u64, count: u64, mut latency: impl FnMut(&mut Random, u64) -> f64) -> TaskScan {
    let mut random = Random::new(seed);
    let mut scan = TaskScan::new(1_000_000, count);
    let rows: Vec<Activation> = (0..count)
        .map(|index| {
            let due_ns = index as i64 * 1_000_000;
            let start_ns = due_ns + latency(&mut random, index) as i64;
            Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
        })
        .collect();
    scan.push_all(&rows);
    scan
}

fn plain(seed: u64) -> TaskScan {
    scan(seed, 10_000, |random, _| 3_000.0 + random.exponential(1_000.0))
}

fn find(comparison: &Comparison, statistic: Statistic) -> Difference {
    *comparison.against_first[0].differences.iter().find(|d| d.statistic == statistic).unwrap()
}

#[test]
fn runs_that_are_alike_differ_no_oftener_than_stated() {
    let real = (0..40).filter(|seed| {
        let (a, b) = (plain(2 * seed), plain(2 * seed + 1));
        let found = compare(&[("a".into(), &a), ("b".into(), &b)]);
        found.against_first[0].differences.iter().any(|d| d.real)
    });
    let count = real.count();
    assert!(count <= 7, "{count} of 40 at a level of 5 %");
}

#[test]
fn what_changed_is_told_apart_from_what_did_not() {
    // The same body, a tail three times as long.
    let b = scan(77, 40_000, |random, _| {
        let tail = random.below(50) == 0;
        3_000.0 + random.exponential(1_000.0) * if tail { 4.0 } else { 1.0 }
    });
    let a = scan(78, 40_000, |random, _| 3_000.0 + random.exponential(1_000.0));
    let found = compare(&[("a".into(), &a), ("b".into(), &b)]);
    assert!(
        find(&found, Statistic::P999).real && find(&found, Statistic::P999).difference > 1_000.0,
        "{found:?}"
    );
    assert!(!find(&found, Statistic::P50).real, "{found:?}");
    let [low, high] = find(&found, Statistic::P999).interval.unwrap();
    assert!(
        low < find(&found, Statistic::P999).difference && find(&found, Statistic::P999).difference < high
    );
}

#[test]
fn runs_that_wander_are_not_called_different_for_it() {
    // Levels that last a few hundred activations: as if independent, every difference would look real.
    let wandering = |seed| {
        let mut level = 0.0;
        scan(seed, 50_000, move |random, index| {
            if index % 150 == 0 {
                level = random.exponential(500.0);
            }
            3_000.0 + level + random.exponential(300.0)
        })
    };
    let real = (0..20).filter(|seed| {
        let (a, b) = (wandering(100 + 2 * seed), wandering(101 + 2 * seed));
        find(&compare(&[("a".into(), &a), ("b".into(), &b)]), Statistic::Mean).real
    });
    let count = real.count();
    assert!(count <= 2, "{count} of 20");
}

#[test]
fn effect_sizes_are_those_of_the_shift() {
    let a = scan(5, 20_000, |random, _| 10_000.0 + 1_000.0 * random.normal());
    let b = scan(6, 20_000, |random, _| 9_000.0 + 1_000.0 * random.normal());
    let found = compare(&[("a".into(), &a), ("b".into(), &b)]);
    let against = &found.against_first[0];
    // One standard deviation lower: P(lower) = Phi(1 / sqrt 2) = 0.760.
    assert!((against.p_lower - 0.760).abs() < 0.01, "{}", against.p_lower);
    assert!((against.hedges_g.unwrap() + 1.0).abs() < 0.05, "{:?}", against.hedges_g);
    assert!(
        against.shifts.iter().take(9).all(|s| (s.shift_ns + 1_000.0).abs() < 100.0),
        "{:?}",
        against.shifts
    );
    assert!(find(&found, Statistic::Mean).ratio.unwrap() < 0.91);
}

#[test]
fn a_short_run_has_figures_but_no_intervals() {
    let short = scan(1, 10, |random, _| random.exponential(10.0));
    let found = compare(&[("a".into(), &short), ("b".into(), &short)]);
    assert!(found.runs[0].estimates.iter().all(|e| e.interval.is_none()));
    assert!(found.against_first[0].differences.iter().all(|d| !d.real && d.difference == 0.0));
    assert!((found.against_first[0].p_lower - 0.5).abs() < 1e-9);
    let empty = TaskScan::new(1_000, 0);
    assert!(compare(&[("a".into(), &empty), ("b".into(), &short)]).against_first[0].differences.is_empty());
}
