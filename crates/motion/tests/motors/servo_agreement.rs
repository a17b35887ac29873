//! The stationary cost and the cost along a trace are two computations of one thing.

use jitterlab_model::Activation;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{Plant, SingleTaskLoop};
use proptest::prelude::*;

/// Uniform numbers in 0..1 (Park and Miller).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }
}

/// A trace with independent latencies and execution times; a share `missed` of the activations is missed.
fn trace(periods: u64, h: i64, jitter: f64, missed: f64, seed: u64) -> Vec<Activation> {
    let mut random = Random(seed);
    (0..periods)
        .filter_map(|index| {
            let due_ns = index as i64 * h;
            let start_ns = due_ns + (random.next() * jitter * h as f64) as i64;
            let end_ns = start_ns + (random.next() * 0.2 * h as f64) as i64;
            let keep = index == 0 || random.next() >= missed;
            keep.then_some(Activation { index, due_ns, start_ns, end_ns, ..Activation::default() })
        })
        .collect()
}

/// Stationary cost, cost along the trace, and half the interval of that; `None` for a slow loop.
fn both_costs(plant: &Plant, h: i64, trace: &[Activation]) -> Option<(f64, f64, f64)> {
    let found = SingleTaskLoop::new(plant.clone(), h).evaluate(trace).ok()?;
    // Slower loops would need longer traces for their parts to be independent.
    if found.independent.radius_per_period > 0.99 {
        return None;
    }
    let interval = found.cost_interval?;
    Some((found.independent.cost, found.along.cost, 0.5 * (interval.high - interval.low)))
}

#[test]
fn shipped_plants_cost_the_same_both_ways() {
    for (name, h) in
        [("dc-servo", 6_000_000), ("integrator", 100_000_000), ("ball-screw", 1_000_000), ("jiwy", 5_000_000)]
    {
        let plant: Plant = catalog::find_device(name, None).unwrap();
        let (stationary, along, half) = both_costs(&plant, h, &trace(20_000, h, 0.3, 0.01, 42)).unwrap();
        assert!((stationary - along).abs() < 2.0 * half + 1e-4 * stationary, "{name}: {stationary} {along}");
    }
}

#[test]
fn a_constant_trace_costs_exactly_its_pattern() {
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let worked = |a: Activation| Activation { end_ns: a.start_ns + 1_200_000, ..a };
    let constant: Vec<_> = trace(2_000, 6_000_000, 0.0, 0.0, 1).into_iter().map(worked).collect();
    let (stationary, along, _) = both_costs(&plant, 6_000_000, &constant).unwrap();
    assert!(
        (stationary - 72.662933).abs() < 1e-5 && (along - stationary).abs() < 1e-9 * stationary,
        "{along}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_stable_plants_cost_the_same_both_ways(
        poles in prop::collection::vec(-40.0f64..-0.2, 1..4), swing in prop::option::of((1.0f64..30.0, 0.1f64..0.9)),
        gain in 0.1f64..3.0, td in 0.0f64..0.01,
        jitter in 0.0f64..0.7, missed in 0.0f64..0.2, measurement in 0.0f64..1e-3, seed in 1u64..1_000_000
    ) {
        // Normalised to a static gain of one, so that the loop gain is `gain`.
        let mut scale: f64 = poles.iter().map(|p| -p).product();
        let mut poles: Vec<String> = poles.iter().map(f64::to_string).collect();
        if let Some((rad_per_s, damping)) = swing {
            scale *= rad_per_s * rad_per_s;
            let (re, im) = (-rad_per_s * damping, rad_per_s * (1.0 - damping * damping).sqrt());
            poles.extend([format!("{re}+{im}i"), format!("{re}-{im}i")]);
        }
        let text = format!(
            "name = 'random'\n[zpk]\npoles = {poles:?}\ngain = {scale}\n[noise]\ninput = 1.0\n\
             measurement = {measurement}\n[cost]\noutput = 1.0\ninput = 0.1\n\
             [controller]\nkind = 'pd'\ngain = {gain}\nderivative_time = '{td} s'"
        );
        let plant = Plant::from_toml("random", &text).unwrap();
        let h = 10_000_000;
        if let Some((stationary, along, half)) = both_costs(&plant, h, &trace(8_000, h, jitter, missed, seed)) {
            prop_assert!((stationary - along).abs() < 3.0 * half + 2e-4 * stationary, "{stationary} {along} {half}");
        }
    }
}
