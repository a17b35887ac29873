//! Intervals of a loop's cost, and "no measurable effect", on runs without independent latencies: how often
//! the cost of a run a hundred times as long lies inside.

use jitterlab_model::Activation;
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, SingleTaskLoop};

const H: i64 = 4_000_000;

/// Uniform numbers in 0..1 (Park and Miller).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }
}

/// Latency of each activation in periods.
type Process = fn(&mut Random, usize) -> Vec<f64>;

fn white(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| 0.3 * random.next()).collect()
}

/// Latencies that remember some 200 activations.
fn dependent(random: &mut Random, count: usize) -> Vec<f64> {
    let mut now = random.next();
    let wander = |_| {
        now = (now + 0.06 * (random.next() - 0.5)).clamp(0.0, 1.0);
        0.4 * now
    };
    (0..count).map(wander).collect()
}

/// A tenth of the time late by half a period, 50 activations in a row on average.
fn bursts(random: &mut Random, count: usize) -> Vec<f64> {
    let mut late = false;
    let of = |_| {
        late = if late { random.next() > 1.0 / 50.0 } else { random.next() < 1.0 / 450.0 };
        if late { 0.5 } else { 0.02 }
    };
    (0..count).map(of).collect()
}

/// Another clock: later and later, and then from the beginning, every 700 activations.
fn drifting(random: &mut Random, count: usize) -> Vec<f64> {
    let begin = (700.0 * random.next()) as usize;
    (0..count).map(|k| 0.3 * ((k + begin) % 700) as f64 / 700.0 + 0.02 * random.next()).collect()
}

/// One in 500 late by nearly a period.
fn rare(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| if random.next() < 1.0 / 500.0 { 0.9 } else { 0.01 * random.next() }).collect()
}

/// One in 300 stalls the task for three periods.
fn stalls(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| if random.next() < 1.0 / 300.0 { 3.2 } else { 0.01 * random.next() }).collect()
}

/// A run of these latencies; due times that pass meanwhile are missed.
fn run(latencies: &[f64]) -> Vec<Activation> {
    let mut free_ns = 0;
    let job = |(index, late): (usize, &f64)| {
        let due_ns = index as i64 * H;
        let start_ns = due_ns + (late * H as f64) as i64;
        let end_ns = start_ns + 20_000;
        let is_free = due_ns >= free_ns;
        if is_free {
            free_ns = end_ns;
        }
        is_free.then_some(Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns,
            ..Activation::default()
        })
    };
    latencies.iter().enumerate().filter_map(job).collect()
}

#[test]
fn intervals_hold_the_cost_of_long_runs_however_the_timing_hangs_together() {
    const RUNS: u64 = 40;
    let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
    let question = SingleTaskLoop::new(plant, H);
    let all: [(&str, Process); 6] = [
        ("white", white),
        ("dependent", dependent),
        ("bursts", bursts),
        ("drifting", drifting),
        ("rare", rare),
        ("stalls", stalls),
    ];
    for (name, process) in all {
        let long = run(&process(&mut Random(77), 300_000));
        let truth = question.evaluate(long.as_slice()).unwrap();
        let loss = truth.along.cost / truth.ideal.cost - 1.0;
        for count in [1_500, 3_000] {
            let (mut held, mut wrongly_none) = (0, 0);
            for seed in 1..=RUNS {
                let short = run(&process(&mut Random(seed * 7_919), count));
                let found = question.evaluate(short.as_slice()).unwrap();
                let interval = found.loss_with_interval().1.unwrap();
                held += u64::from(interval.contains(loss));
                wrongly_none += u64::from(interval.contains(0.0) && !interval.contains(loss));
            }
            println!(
                "{name}, {count} activations: a loss of {loss:.4}, inside {held} of {RUNS}, wrongly none {wrongly_none}"
            );
            assert!(
                10 * held >= 8 * RUNS && 20 * wrongly_none <= RUNS,
                "{name} {count}: {held} {wrongly_none}"
            );
        }
    }
    // Too few for a verdict.
    let few = run(&white(&mut Random(5), 200));
    let found = question.evaluate(few.as_slice()).unwrap();
    assert!(found.loss_with_interval().1.is_none());
}
