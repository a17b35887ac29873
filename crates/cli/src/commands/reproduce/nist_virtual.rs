//! NIST, figure 3, in virtual time: two real-time systems under normal, heavy disk and heavy network load.

use std::path::Path;

use jitterlab_analysis::papers::nist::{LatencyRange, NistVirtual};
use jitterlab_bench::kernel::GuestTime;
use jitterlab_report::figure::{Figure, Quantity};
use jitterlab_report::page::PageRun;
use jitterlab_report::papers::Found;

use super::nist_loads::LOADS;
use super::systems::{self, System};
use crate::exit::Failure;

const TASK: [&str; 4] = ["--period", "500us", "--cpu", "0"];

/// Measures, draws figures 3a, 3b and 3c, and tests what the paper says of them.
pub fn reproduce(directory: &Path, duration_ns: i64, kernels: &systems::Kernels) -> Result<Found, Failure> {
    let mut all = kernels.real_time();
    if let [only] = all.as_slice() {
        // The paper's systems differ in their schedulers; so do these.
        let (name, policy, wake) = ("preempt-rt-deadline", "deadline:100us", "deadline");
        all.push(System { name, policy, wake, ..only.clone() });
    }
    all.truncate(2);
    systems::measure(directory, &all, &LOADS, &TASK, duration_ns)?;
    let mut measured = Vec::new();
    let mut disk = Vec::new();
    for (letter, system) in ["a", "b"].into_iter().zip(&all) {
        let (found, mut runs) = systems::read(directory, system, &LOADS, LatencyRange::of)?;
        draw(directory, letter, &runs)?;
        measured.push(found);
        disk.extend(runs.pop());
    }
    draw(directory, "c", &disk)?;
    Ok(Found::NistVirtual(NistVirtual::of(measured, GuestTime::default().ns_per_instruction())))
}

fn draw(directory: &Path, letter: &str, runs: &[PageRun]) -> Result<(), Failure> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    super::draw(directory, &[(format!("figure-3{letter}"), charts)])?;
    Ok(())
}
