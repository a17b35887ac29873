//! The two speed bars: the stepper simulation against real time, and a servo evaluation of a million activations.

#![expect(clippy::expect_used, reason = "a benchmark of shipped devices: what cannot be must stop it")]

use std::time::Instant;

use jitterlab_model::{Activation, Overrun};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, SingleTaskLoop};
use jitterlab_motion::stepper::{Axis, AxisFacts, Motor, PulseTrain, simulate};

/// Processor time of this thread in s, which leaves other work on the machine out; elapsed time if the kernel
/// does not report it.
fn busy_s(begin: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()));
    ns.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Times `work` and returns the best of three runs in s.
fn best_of_three(mut work: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..3)
        .map(|_| {
            let before = busy_s(begin);
            work();
            busy_s(begin) - before
        })
        .fold(f64::INFINITY, f64::min)
}

fn time_stepper() {
    let motor: Motor = catalog::find_device("as1050", None).expect("shipped");
    let facts = AxisFacts { voltage_v: Some(48.0), microsteps: Some(10), ..AxisFacts::default() };
    let axis = Axis::new(motor, None, facts).expect("valid");
    for full_steps_per_s in [500.0, 1000.0, 2000.0, 3000.0] {
        let ticks = 200_000; // 5 s at 25 us
        let mut simulated = 0.0;
        let wall = best_of_three(|| {
            let latencies = (0..ticks).map(|n: i64| (n * 7_919) % 3_000);
            let pulses = PulseTrain::new(latencies, 25_000, 10.0 * full_steps_per_s, Overrun::Skip);
            let response =
                simulate(&axis, full_steps_per_s, pulses.map(|p| p.time_ns), 1.0).expect("carries its load");
            assert!(response.lost_no_step());
            simulated = response.time_s;
        });
        println!(
            "stepper at {full_steps_per_s} full steps/s, 10 microsteps: {:.0} x real time",
            simulated / wall
        );
    }
}

fn time_servo() {
    let (period_ns, count) = (1_000_000, 1_000_000);
    let mut random = 1u64;
    let mut free_ns = 0;
    let trace: Vec<Activation> = (0..count)
        .filter_map(|index| {
            random = random * 16_807 % 2_147_483_647;
            let due_ns = index * period_ns;
            if due_ns < free_ns {
                return None;
            }
            let start_ns = due_ns + (random % 30_000) as i64;
            // One in a thousand overruns.
            let late_ns = if random.is_multiple_of(1_009) { 1_300_000 } else { 0 };
            let end_ns = start_ns + 40_000 + (random % 977) as i64 + late_ns;
            free_ns = end_ns;
            Some(Activation { index: index as u64, due_ns, start_ns, end_ns, ..Activation::default() })
        })
        .collect();
    for name in ["dc-servo", "ball-screw"] {
        let plant: Plant = catalog::find_device(name, None).expect("shipped");
        let question = SingleTaskLoop::new(plant, period_ns);
        let wall = best_of_three(|| {
            let found = question.evaluate(trace.as_slice()).expect("stable");
            assert!(found.loss().total > 0.0);
        });
        println!("servo, {name}, {count} activations: evaluated in {wall:.2} s");
    }
}

fn main() {
    if std::env::args().any(|a| a == "servo") {
        time_servo();
        return;
    }
    time_stepper();
    time_servo();
}
