//! NIST, figure 3: the latency of a task of 500 us under normal, heavy network and heavy disk load.

use crate::claims::nist::{LatencyRange, NistLoads, PERIOD_NS};
use crate::claims::stretches::STRETCHES;
use crate::words::Found;
use jitterlab_kernel::GuestTime;
use jitterlab_model::Quantity;
use jitterlab_model::{Error, TaskSpec};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;

use crate::Workplace;
use crate::systems::{Case, Kernels, Measured, System};

/// The paper's conditions, and the loads used for them.
const LOADS: [Case; 3] = [
    Case { name: "normal", load: "none" },
    Case { name: "network", load: "net:2" },
    Case { name: "disk", load: "disk:2" },
];

/// Figures 3a, 3b and 3c on the real-time systems of this machine, and the paper's statements about them,
/// tested.
///
/// # Errors
/// This machine cannot measure it, or a file cannot be written.
pub fn host(at: &mut Workplace<'_>) -> Result<NistLoads, Error> {
    measured(at, System::of_this_machine())
}

/// The same on kernels in virtual time.
///
/// # Errors
/// A kernel cannot be measured, or a file cannot be written.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    let found = measured(at, kernels.systems())?;
    Ok(Found::NistVirtual(found.in_virtual_time(GuestTime::default().ns_per_instruction())))
}

/// Each of these systems that is real-time under all loads; the first two are those of figures 3a and 3b.
fn measured(at: &mut Workplace<'_>, mut systems: Vec<System>) -> Result<NistLoads, Error> {
    at.make()?;
    systems.retain(|system| !system.is_ordinary());
    let task = TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() };
    let (mut found, mut stretches, mut disk) = (Vec::new(), Vec::new(), Vec::new());
    for ((number, system), Measured { found: of_system, runs }) in systems
        .iter()
        .enumerate()
        .zip(at.under_loads(&systems, &LOADS, &task, LatencyRange::from_summary, LatencyRange::with)?)
    {
        stretches.push(runs.iter().map(|turns| turns.iter().flat_map(ranges).collect()).collect());
        let mut firsts: Vec<PageRun> =
            runs.into_iter().filter_map(|turns| turns.into_iter().next()).collect();
        let figure = match number {
            0 => "figure-3a".into(),
            1 => "figure-3b".into(),
            _ => format!("figure-3-{}", system.name),
        };
        draw(at, &figure, &firsts)?;
        disk.extend(firsts.pop());
        found.push(of_system);
    }
    draw(at, "figure-3c", &disk)?;
    Ok(NistLoads::new(found, &stretches))
}

/// Ranges of the latencies in at least `STRETCHES` equal stretches of a run.
fn ranges(run: &PageRun) -> Vec<f64> {
    let spans = run.tasks.first().map_or_else(Vec::new, |task| task.scan.spans.joined(STRETCHES));
    spans.iter().map(|span| (span.max_ns - span.min_ns) as f64).collect()
}

fn draw(at: &Workplace<'_>, name: &str, runs: &[PageRun]) -> Result<(), Error> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    at.draw(&[(name.into(), charts)])
}
