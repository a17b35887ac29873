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
    // Levels that last a few hundred activations: under independence every difference would look real.
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

#[test]
fn a_histogram_without_order_has_intervals_if_independent() {
    let figures = |seed| {
        let whole = scan(seed, 100_000, |random, _| 3_000.0 + random.exponential(1_000.0));
        let mut only = TaskScan::new(1_000_000, 100_000);
        only.push_figures(0, &whole.timing);
        only
    };
    let (a, b) = (figures(1), figures(2));
    let found = compare(&[("a".into(), &a), ("b".into(), &b)]);
    assert_eq!(found.runs[0].basis, Basis::IfIndependent);
    let p99 = found.runs[0].estimates.iter().find(|e| e.statistic == Statistic::P99).unwrap();
    let truth = 3_000.0 + 1_000.0 * 100f64.ln();
    let [low, high] = p99.interval.unwrap();
    // The exact order statistics of a binomial: +- 62 of 1000 beyond the quantile, and a bin of 0.8 %.
    assert!(low <= truth && truth <= high && high - low < 250.0, "{p99:?}");
    assert!(found.against_first[0].differences.iter().all(|d| !d.real), "{found:?}");
    assert!(found.against_first[0].maxima.is_none());
}

#[test]
fn a_hundred_million_values_are_not_too_short() {
    let mut stats = jitterlab_model::TimingStats::new(1_000);
    let bins = [(3_000, 99_600_000u64), (9_000, 99_000), (20_000, 1_000)];
    for (at, count) in bins {
        let mut one = jitterlab_model::TimingStats::new(1_000);
        let moments = jitterlab_model::distribution::Moments {
            count,
            min_ns: at,
            max_ns: at,
            sum: i128::from(at) * i128::from(count),
            sum_of_squares: (at as u128).pow(2) * u128::from(count),
        };
        one.latency.merge_parts(moments, [(at, count)]);
        stats.merge(&one);
    }
    let mut run = TaskScan::new(1_000, 0);
    run.push_figures(0, &stats);
    let found = compare(&[("a".into(), &run), ("b".into(), &run)]);
    for estimate in &found.runs[0].estimates {
        let has = !matches!(
            estimate.statistic,
            Statistic::StandardDeviation | Statistic::Maximum | Statistic::MissedShare
        );
        assert_eq!(estimate.interval.is_some(), has, "{estimate:?}");
    }
}

#[test]
fn coarse_time_stamps_show_no_difference_below_a_tick() {
    let ticks = |seed, mean: f64| {
        scan(seed, 50_000, move |random, _| ((3e3 + random.exponential(mean)) / 1e3).floor() * 1e3)
    };
    let (a, b) = (ticks(1, 2_000.0), ticks(2, 2_040.0));
    let found = compare(&[("a".into(), &a), ("b".into(), &b)]);
    let p50 = find(&found, Statistic::P50);
    assert_eq!((p50.difference, p50.real), (0.0, false), "{p50:?}");
    assert_eq!(
        found.runs[0].estimates.iter().find(|e| e.statistic == Statistic::P50).unwrap().value,
        4_000.0
    );
}

#[test]
fn worse_maxima_are_seen_and_chance_ones_are_not() {
    let with = |seed, every: u64| {
        scan(seed, 100_000, move |random, k| {
            3_000.0
                + random.exponential(500.0)
                + if k % every == 7 { 30_000.0 + random.exponential(9_000.0) } else { 0.0 }
        })
    };
    let (a, b, c) = (with(900, u64::MAX), with(901, 2_000), with(902, 2_000));
    let larger = |x: &TaskScan, y: &TaskScan| {
        let found = compare(&[("x".into(), x), ("y".into(), y)]);
        (found.against_first[0].maxima.unwrap().larger, find(&found, Statistic::Maximum).real)
    };
    assert_eq!(larger(&a, &b), (Some(LargerRun::Here), true));
    assert_eq!(larger(&b, &a), (Some(LargerRun::First), true));
    assert_eq!(larger(&b, &c), (None, false));
}

#[test]
fn settings_need_the_spread_from_run_to_run() {
    // Each run has its own level, 5 % from the next: two runs differ, their settings do not.
    let run = |seed: u64, factor: f64| {
        let mut level = Random::new(seed);
        let own = 10_000.0 * factor * (0.05 * level.normal()).exp();
        scan(seed, 20_000, move |random, _| own + random.exponential(300.0))
    };
    let runs = |from: u64, factor: f64| (from..from + 5).map(|s| run(s, factor)).collect::<Vec<_>>();
    let compared = |a: &[TaskScan], b: &[TaskScan]| {
        let named = |scans: &[TaskScan]| scans.iter().map(|_| String::from("run")).collect::<Vec<_>>();
        let (names, others) = (named(a), named(b));
        let a: Vec<_> = names.into_iter().zip(a).collect();
        let b: Vec<_> = others.into_iter().zip(b).collect();
        compare_settings([&a, &b], [&[], &[]]).unwrap()
    };
    let alike = (0..30).filter(|k| {
        let found = compared(&runs(1_000 + 10 * k, 1.0), &runs(1_005 + 10 * k, 1.0));
        found.differences.iter().any(|d| d.real)
    });
    assert!(alike.count() <= 4);
    let (a, b) = (runs(5_000, 1.0), runs(5_005, 1.4));
    let found = compared(&a, &b);
    let p50 = found.differences.iter().find(|d| d.statistic == Statistic::P50).unwrap();
    assert!(p50.real && (1.2..1.6).contains(&p50.change) && p50.interval[0] > 1.0, "{p50:?}");
    assert!((0.02..0.1).contains(&p50.spread), "{p50:?}");
    assert!(compare_settings([&[("a".into(), &a[0])], &[]], [&[], &[]]).is_none());
}

#[test]
fn work_that_grew_shows_where_no_latency_does() {
    let working = |seed, work_ns: f64| {
        let (mut random, mut scan) = (Random::new(seed), TaskScan::new(1_000_000, 10_000));
        let rows: Vec<Activation> = (0..10_000)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                let start_ns = due_ns + 3_000 + random.exponential(1_000.0) as i64;
                let end_ns = start_ns + (work_ns + random.exponential(50.0)) as i64;
                Activation { index, due_ns, start_ns, end_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        scan
    };
    let real = |seed, work_ns| {
        let (a, b) = (working(1, 20_000.0), working(seed, work_ns));
        compare(&[("a".into(), &a), ("b".into(), &b)]).against_first[0].differences.clone()
    };
    let grew: Vec<Difference> = real(2, 22_000.0).into_iter().filter(|of| of.real).collect();
    let [only] = grew.as_slice() else { panic!("{grew:?}") };
    assert_eq!(only.statistic, Statistic::MedianExecution);
    assert!(only.interval.is_some_and(|[low, high]| 1_700.0 < low && high < 2_300.0), "{only:?}");
    assert!(real(3, 20_000.0).iter().all(|of| !of.real));
    // Two readings of a clock are no work.
    let clock = working(4, 60.0);
    let found = compare(&[("a".into(), &clock), ("b".into(), &working(5, 90.0))]);
    assert!(found.runs[0].estimates.iter().all(|of| of.statistic != Statistic::MedianExecution), "{found:?}");
}
