//! A 1 kHz position controller: a PD law moves a simulated mass to its target, on a real-time thread that wakes
//! early and polls, while the main thread looks on.
//!
//! `cargo run --release -p jitterlab-rt --example controller_1khz`

use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jitterlab_model::units::Human;
use jitterlab_model::{Compensation, Policy, Probability};
use jitterlab_rt::{PeriodicLoop, TaskCounters};

const PERIOD: Duration = Duration::from_millis(1);
const SECONDS: u64 = 5;

/// A mass of 1 kg on a slide; in a real machine this is the drive and its encoder.
#[derive(Default)]
struct Slide {
    position_m: f64,
    velocity_m_per_s: f64,
}

impl Slide {
    fn push(&mut self, force_n: f64, for_s: f64) {
        self.velocity_m_per_s += force_n * for_s;
        self.position_m += self.velocity_m_per_s * for_s;
    }
}

fn control(counters: Arc<TaskCounters>) -> Result<String, Box<dyn Error + Send + Sync>> {
    // Thread, memory and wake-up are set up here; the margin is chosen from measured latencies.
    let mut task = PeriodicLoop::every(PERIOD)
        .name("controller")
        .policy(Policy::Fifo(80))
        .lock_memory()
        .compensate(Probability::new(1e-2).map_or(Compensation::None, |late| Compensation::Late { late }))
        .count(SECONDS * 1_000)
        .counters(counters)
        .build()?;
    for refusal in task.refused() {
        println!("not granted: {} ({}); {}", refusal.what, refusal.why, refusal.remedy);
    }
    let (target_m, mut slide) = (0.1, Slide::default());
    let period_s = PERIOD.as_secs_f64();
    while let Some(activation) = task.wait() {
        let force_n = 400.0 * (target_m - slide.position_m) - 40.0 * slide.velocity_m_per_s;
        slide.push(force_n, period_s);
        drop(activation); // what comes after is not part of this activation's execution time
    }
    let result = task.result();
    let margin = result.margin.as_ref().and_then(|m| m.course.first()).map_or(0, |(_, margin_ns)| *margin_ns);
    Ok(format!(
        "at {:.4} m; {} activations, {} missed, latency {} to {}, margin {}, polled {:.2} % of the time",
        slide.position_m,
        result.executed,
        result.missed,
        Human(result.min_latency_ns as f64),
        Human(result.max_latency_ns as f64),
        Human(margin as f64),
        100.0 * result.polled_ns as f64 / (result.last_end_ns - result.first_due_ns) as f64
    ))
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let counters = Arc::<TaskCounters>::default();
    let shared = counters.clone();
    let controller = thread::spawn(move || control(shared));
    while !controller.is_finished() {
        thread::sleep(Duration::from_secs(1));
        let now = counters.snapshot();
        println!("{} activations, worst latency {}", now.executed, Human(now.max_latency_ns as f64));
    }
    println!("{}", controller.join().map_err(|_| "the controller panicked")??);
    Ok(())
}
