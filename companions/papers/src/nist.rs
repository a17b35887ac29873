//! NIST, figure 3: the latency of a task of 500 us under normal, heavy network and heavy disk load.

use crate::claims::loads::{LoadFigures, Timing};
use crate::claims::nist::PERIOD_NS;
use crate::words::Found;
use jitterlab_model::Quantity;
use jitterlab_model::{Error, TaskSpec};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;

use crate::Workplace;
use crate::systems::{Case, Kernels, Measured, System, figures};

/// The paper's conditions, and the loads used for them.
const LOADS: [Case; 3] = [
    Case { name: "normal", load: "none" },
    Case { name: "network", load: "net:2" },
    Case { name: "disk", load: "disk:2" },
];

/// Figures 3a, 3b and 3c on the real-time systems of this machine, and the paper's statements about them,
/// tested.
pub fn host(at: &mut Workplace<'_>) -> Result<LoadFigures, Error> {
    measured(at, System::of_this_machine(), false)
}

/// The same on kernels in virtual time.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    Ok(Found::NistVirtual(measured(at, kernels.systems(), true)?))
}

/// Each of these systems that is real-time under all loads; the first two are those of figures 3a and 3b.
fn measured(
    at: &mut Workplace<'_>,
    mut systems: Vec<System>,
    in_virtual_time: bool,
) -> Result<LoadFigures, Error> {
    at.make()?;
    systems.retain(|system| !system.is_ordinary());
    let task = TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() };
    let Measured { systems: found, runs } = at.under_loads(&systems, &LOADS, &task, Timing::Latency)?;
    for ((number, system), runs) in systems.iter().enumerate().zip(&runs) {
        let figure = match number {
            0 => "figure-3a".into(),
            1 => "figure-3b".into(),
            _ => format!("figure-3-{}", system.name),
        };
        draw(at, &figure, runs)?;
    }
    let disk: Vec<PageRun> = runs.into_iter().filter_map(|mut runs| runs.pop()).collect();
    draw(at, "figure-3c", &disk)?;
    Ok(figures(found, in_virtual_time))
}

fn draw(at: &Workplace<'_>, name: &str, runs: &[PageRun]) -> Result<(), Error> {
    let charts = Figure::HISTOGRAM.charts(Quantity::Latency, runs, &[])?;
    at.draw(&[(name.into(), charts)])
}
