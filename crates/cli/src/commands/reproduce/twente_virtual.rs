//! Twente in virtual time: the ordinary kernel and the real-time ones, idle and beside the report's two loads.

use std::path::Path;

use jitterlab_analysis::papers::SystemUnderLoads;
use jitterlab_analysis::papers::twente::{LoopTimes, TwenteVirtual};
use jitterlab_bench::kernel::GuestTime;
use jitterlab_report::figure::{Figure, Quantity};
use jitterlab_report::papers::Found;

use super::systems::{self, Case, System};
use crate::exit::Failure;

/// The report's loads, from none to most.
const CASES: [Case; 3] = [
    Case { name: "idle", load: "none" },
    Case { name: "stress-4-2", load: "stress -c 4 -m 2" },
    Case { name: "stress-4-6", load: "stress -c 4 -m 6" },
];
/// Its task.
const TASK: [&str; 6] = ["--period", "1ms", "--work", "twente:10000", "--cpu", "0"];

/// Measures, draws, and tests what the report concludes.
pub fn reproduce(directory: &Path, duration_ns: i64, kernels: &systems::Kernels) -> Result<Found, Failure> {
    let ordinary = kernels.ordinary();
    let real_time = kernels.real_time();
    let all: Vec<System> = std::iter::once(&ordinary).chain(&real_time).cloned().collect();
    systems::measure(directory, &all, &CASES, &TASK, duration_ns)?;
    let of = |system: &System| -> Result<SystemUnderLoads<LoopTimes>, Failure> {
        let (found, runs) = systems::read(directory, system, &CASES, LoopTimes::of)?;
        for (case, run) in CASES.iter().zip(&runs) {
            // The report's two kinds of figure for each case.
            for (name, what) in [(Figure::SERIES, "series"), (Figure::HISTOGRAM, "histogram")] {
                let charts = name.charts(Quantity::PeriodError, std::slice::from_ref(run), &[])?;
                super::draw(directory, &[(format!("{}-{}-{what}", system.name, case.name), charts)])?;
            }
        }
        Ok(found)
    };
    let real_time = real_time.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Found::TwenteVirtual(TwenteVirtual::of(
        of(&ordinary)?,
        real_time,
        GuestTime::default().ns_per_instruction(),
    )))
}
