//! The stationary cost and the cost along a trace are two computations of one thing.

use jitterlab_model::Activation;
use jitterlab_motion::catalog::{self, Device};
use jitterlab_motion::servo::{
    JumpLinear, Loop, PeriodClass, PeriodPatterns, Plant, TaskTiming, TimeBase, Walk,
};
use proptest::prelude::*;

/// Uniform numbers in 0..1 (Park and Miller).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }
}

/// A trace with independent latencies and execution times, of which some activations are missed.
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

/// (stationary cost, cost along the trace, its standard error by batch means)
fn both(plant: &Plant, h: i64, trace: &[Activation]) -> Option<(f64, f64, f64)> {
    let controller = plant.design.controller(plant, h, 0).ok()?;
    let mut closed = Loop::new(plant, &controller);
    let timing = TaskTiming::default();
    let patterns = PeriodPatterns::of(timing, trace.iter().copied(), h);
    let class = PeriodClass::new(&mut closed, h, patterns.weighted());
    let stationary = JumpLinear::independent(class, h).stationary();
    // Slower loops would need longer traces for their batches to be independent.
    if stationary.spectral_radius > 0.99 {
        return None;
    }
    let batch_ns = h * trace.len() as i64 / 50;
    let mut walk = Walk::new(&closed, TimeBase::Nominal, stationary.covariance.as_ref(), batch_ns);
    timing.moments(trace.iter().copied(), h, |moment| walk.pass(moment));
    let along = walk.finish();
    let batches: Vec<f64> = along.curve.iter().map(|stretch| stretch.cost).collect();
    let mean = batches.iter().sum::<f64>() / batches.len() as f64;
    let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (batches.len() - 1) as f64;
    Some((stationary.cost, along.cost, (variance / batches.len() as f64).sqrt()))
}

#[test]
fn shipped_plants_cost_the_same_both_ways() {
    for (name, h) in
        [("dc-servo", 6_000_000), ("integrator", 100_000_000), ("ball-screw", 1_000_000), ("jiwy", 5_000_000)]
    {
        let plant: Plant = catalog::find(name, None).unwrap();
        let (stationary, along, error) = both(&plant, h, &trace(20_000, h, 0.3, 0.01, 42)).unwrap();
        assert!((stationary - along).abs() < 5.0 * error + 1e-4 * stationary, "{name}");
    }
}

#[test]
fn a_constant_trace_costs_exactly_its_pattern() {
    let plant: Plant = catalog::find("dc-servo", None).unwrap();
    let (stationary, along, _) = both(
        &plant,
        6_000_000,
        &trace(2_000, 6_000_000, 0.0, 0.0, 1)
            .into_iter()
            .map(|a| Activation { end_ns: a.start_ns + 1_200_000, ..a })
            .collect::<Vec<_>>(),
    )
    .unwrap();
    assert!(
        (stationary - 72.662933).abs() < 1e-5 && (along - stationary).abs() < 1e-3 * stationary,
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
        if let Some((stationary, along, error)) = both(&plant, h, &trace(8_000, h, jitter, missed, seed)) {
            prop_assert!((stationary - along).abs() < 6.0 * error + 2e-4 * stationary, "{stationary} {along} {error}");
        }
    }
}
