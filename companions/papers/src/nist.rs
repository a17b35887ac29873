//! NIST, figure 3: the latency of a task of 500 us under normal, heavy network and heavy disk load.

use crate::claims::UnderLoad;
use crate::claims::nist::{LatencyRange, NistLoads, NistVirtual, PERIOD_NS};
use crate::claims::stretches::STRETCHES;
use crate::words::Found;
use jitterlab_kernel::GuestTime;
use jitterlab_model::Quantity;
use jitterlab_model::{Error, Policy, TaskSpec, WakeMethod};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;

use crate::systems::{Case, Kernels, System};
use crate::{Workplace, read};

/// The paper's conditions, and the loads that stand for them.
const LOADS: [Case; 3] = [
    Case { name: "normal", load: "none" },
    Case { name: "network", load: "net:2" },
    Case { name: "disk", load: "disk:2" },
];

fn task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() }
}

/// Figure 3 on this machine, overlaid. The figure and the run files are named after `name`.
///
/// # Errors
/// This machine cannot measure it, or a file cannot be written.
pub fn loads(at: &mut Workplace<'_>, name: &str) -> Result<NistLoads, Error> {
    at.make()?;
    let mut files = Vec::new();
    for Case { name: condition, load } in LOADS {
        files.push(at.measure(&format!("{name}-{condition}"), task(), load)?);
    }
    let runs = read(&files)?;
    draw(at, name, &runs)?;
    let conditions = LOADS.iter().zip(&runs).map(|(case, run)| UnderLoad {
        condition: case.name.into(),
        load: case.load.into(),
        found: run.tasks.first().and_then(|task| LatencyRange::of(&task.measured.summary)),
    });
    Ok(NistLoads::of(conditions.collect()))
}

/// Figures 3a, 3b and 3c in virtual time, and what the paper says of them, tested.
///
/// # Errors
/// A kernel cannot be measured, or a file cannot be written.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    at.make()?;
    let mut all = kernels.real_time();
    if let [only] = all.as_slice() {
        // The paper's systems differ in their schedulers; so do these.
        let policy = Policy::Deadline { runtime_ns: 100_000 };
        all.push(System { name: "preempt-rt-deadline", policy, wake: WakeMethod::Deadline, ..only.clone() });
    }
    let (mut measured, mut stretches, mut disk) = (Vec::new(), Vec::new(), Vec::new());
    for (letter, system) in ["a", "b"].into_iter().zip(&all) {
        let (found, mut runs) = at.boot(system, &LOADS, &task(), LatencyRange::of)?;
        draw(at, &format!("figure-3{letter}"), &runs)?;
        measured.push(found);
        stretches.push(runs.iter().map(ranges).collect());
        disk.extend(runs.pop());
    }
    draw(at, "figure-3c", &disk)?;
    Ok(Found::NistVirtual(NistVirtual::of(measured, &stretches, GuestTime::default().ns_per_instruction())))
}

/// The latencies' ranges in equal stretches of a run, of which there are this many or more.
fn ranges(run: &PageRun) -> Vec<f64> {
    let spans = run.tasks.first().map_or_else(Vec::new, |task| task.scan.spans.joined(STRETCHES));
    spans.iter().map(|span| (span.max_ns - span.min_ns) as f64).collect()
}

fn draw(at: &Workplace<'_>, name: &str, runs: &[PageRun]) -> Result<(), Error> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    at.draw(&[(name.into(), charts)])
}
