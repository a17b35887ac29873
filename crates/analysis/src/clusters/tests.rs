use super::*;
use crate::random::Random;

fn of(values: impl IntoIterator<Item = f64>) -> Vec<LatencyCluster> {
    let mut d = Distribution::new();
    values.into_iter().for_each(|v| d.record(v as i64));
    latency_clusters(&d)
}

#[test]
fn code_paths_are_found_with_their_weights() {
    let mut random = Random::new(1);
    let found = of((0..100_000).map(|k| match k % 1_000 {
        0 => 30_000.0 + 500.0 * random.normal(),
        1..=99 => 11_000.0 + 400.0 * random.normal(),
        _ => 5_000.0 + 200.0 * random.normal(),
    }));
    assert_eq!(found.len(), 3, "{found:?}");
    for (cluster, (weight, centre)) in
        found.iter().zip([(0.9, 5_000.0), (0.099, 11_000.0), (0.001, 30_000.0)])
    {
        assert!((cluster.weight / weight - 1.0).abs() < 0.01, "{cluster:?}");
        assert!((cluster.centre_ns / centre - 1.0).abs() < 0.02, "{cluster:?}");
    }
}

#[test]
fn a_rare_mode_far_out_is_found() {
    let mut random = Random::new(2);
    let found = of((0..1_000_000).map(|k| match k % 25_000 {
        0 => 120_000.0 + 3_000.0 * random.uniform(),
        _ => 2_000.0 + random.exponential(500.0),
    }));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1].count, 40);
}

#[test]
fn one_skewed_mode_is_never_split_however_many_values_there_are() {
    let mut random = Random::new(3);
    for count in [100, 10_000, 1_000_000] {
        assert_eq!(
            of((0..count).map(|_| 3_000.0 + random.exponential(2_000.0))).len(),
            1,
            "exponential {count}"
        );
        assert_eq!(of((0..count).map(|_| 300.0 * random.normal().exp())).len(), 1, "log-normal {count}");
        assert_eq!(of((0..count).map(|_| 1_000.0 / random.uniform())).len(), 1, "heavy tail {count}");
        for (mean, sd) in [(0.0, 200.0), (0.0, 800.0), (0.0, 5_000.0), (400.0, 800.0), (-2_000.0, 3_000.0)] {
            let found = of((0..count).map(|_| mean + sd * random.normal()));
            assert_eq!(found.len(), 1, "early and late {count} {mean} {sd}: {found:?}");
        }
    }
}

#[test]
fn an_early_and_a_late_mode_are_two() {
    let mut random = Random::new(6);
    let found = of((0..50_000).map(|k| f64::from(k % 2 * 8_000) - 4_000.0 + 600.0 * random.normal()));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn coarse_time_stamps_are_not_modes() {
    let mut random = Random::new(4);
    for step in [52.0, 1_000.0] {
        let found = of((0..100_000).map(|_| ((3_000.0 + random.exponential(4_000.0)) / step).floor() * step));
        assert_eq!(found.len(), 1, "{step}: {found:?}");
    }
}

#[test]
fn no_values_no_modes() {
    assert!(of([]).is_empty());
    assert_eq!(of([7.0]).len(), 1);
    assert_eq!(of([i64::MIN as f64, 0.0, i64::MAX as f64]).iter().map(|c| c.count).sum::<u64>(), 3);
}

#[test]
fn clusters_cover_everything_once() {
    let mut random = Random::new(5);
    let found = of((0..50_000).map(|k| f64::from(k % 3 * 10_000) + 300.0 * random.normal()));
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found.iter().map(|c| c.count).sum::<u64>(), 50_000);
    assert!(found.windows(2).all(|w| w[0].high_ns < w[1].low_ns));
}
