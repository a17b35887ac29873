//! NIST's figures that are measured on real-time systems: a task of 500 us under load (figure 3), and the code paths behind the
//! clusters of figures 1 and 2.

use std::sync::atomic::Ordering;

use crate::claims::loads::{LoadFigures, Timing};
use crate::claims::nist::{CONDITIONS, ClusterCauses, NistVirtual, PERIOD_NS};
use crate::claims::torques::NistTorques;
use crate::words::{Found, NistReproduction};
use jitterlab_analysis::causes::{ListedEvents, NamedClusters};
use jitterlab_model::causes::Step;
use jitterlab_model::{Error, Quantity, TaskSpec};
use jitterlab_report::figure::Figure;
use jitterlab_report::page::PageRun;
use jitterlab_runs::{Hints, Run};

use crate::{Workplace, nist_control, nist_jitter};

use crate::systems::{Case, Kernels, Measured, System, figures};

/// The paper's conditions and the loads used for them, then two that differ in the cache only: other tasks fill the idle
/// time of every processor, and leave the cache alone or rewrite it.
const LOADS: [Case; CONDITIONS.len() + 2] = [
    Case { name: CONDITIONS[0], load: "none" },
    Case { name: CONDITIONS[1], load: "net:2" },
    Case { name: CONDITIONS[2], load: "disk:2" },
    Case { name: "computing", load: "cpu:4@all" },
    Case { name: "cache", load: "cache:4@all" },
];

/// The paper's conditions in a guest, with the guest's own devices; virtual time has no cache.
const GUEST_LOADS: [Case; CONDITIONS.len()] = [
    Case { name: CONDITIONS[0], load: "none" },
    Case { name: CONDITIONS[1], load: "net:2,10.0.0.2" },
    Case { name: CONDITIONS[2], load: "disk:2,/disk" },
];

/// Steps of a wake-up that an oscilloscope on the timer's interrupt and on the task's pin has between its edges.
const AFTER_INTERRUPT: [Step; 4] = [Step::Interrupt, Step::InterruptEnd, Step::Switch, Step::Return];

/// Number of traced series, and the part of a measurement's length that each takes.
const TRACED: usize = 8;
const TRACED_PART: i64 = 8;

/// The whole report on this machine.
pub fn host(at: &mut Workplace<'_>) -> Result<Found, Error> {
    at.make()?;
    let systems = real_time(System::of_this_machine());
    let clusters = clusters(at, &systems)?;
    let loads = measured(at, &systems, &LOADS, false)?;
    let control = nist_control::measure(at, &loads)?;
    // At last, since it begins anew where the others go on after an interruption.
    let jitter = nist_jitter::reproduce(at)?;
    let torques = NistTorques::compute();
    Ok(Found::Nist(Box::new(NistReproduction { torques, jitter, clusters, loads, control })))
}

/// The clusters of figures 1 and 2 on this machine, with the paths that make them.
fn clusters(at: &mut Workplace<'_>, systems: &[System]) -> Result<ClusterCauses, Error> {
    let Some(system) = systems.first() else { return Ok(ClusterCauses::default()) };
    match clusters_on(at, system) {
        Err(error) if !at.interrupted.load(Ordering::Relaxed) => {
            Ok(ClusterCauses { refused: Some(error.to_string()), ..ClusterCauses::default() })
        }
        found => found,
    }
}

/// The same on kernels in virtual time.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    at.make()?;
    let systems = real_time(kernels.systems());
    // Events of Linux say nothing about tasks on a core beside it, and the first system has none.
    let clusters = systems.first().map(|system| clusters_on(at, system)).transpose()?.unwrap_or_default();
    let loads = measured(at, &systems, &GUEST_LOADS, true)?;
    Ok(Found::NistVirtual(Box::new(NistVirtual { clusters, loads })))
}

fn real_time(mut systems: Vec<System>) -> Vec<System> {
    systems.retain(|system| !system.is_ordinary());
    systems
}

fn task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, ..TaskSpec::default() }
}

fn clusters_on(at: &mut Workplace<'_>, system: &System) -> Result<ClusterCauses, Error> {
    let names: Vec<String> = (1..=TRACED).map(|number| format!("{}-traced-{number}", system.name)).collect();
    let duration_ns = at.duration_ns / TRACED_PART;
    let (mut each, mut to_start_ns) = (Vec::new(), Vec::new());
    for file in at.traced(system, &task(), &names, duration_ns)? {
        let why = Run::open(&file, &Hints::default())?.why(None, ListedEvents::Latest(0))?;
        for task in why.tasks {
            let steps = task.usual.iter().filter(|of| AFTER_INTERRUPT.contains(&of.step));
            let to_start: i64 = steps.map(|of| of.median_ns).sum();
            to_start_ns.extend((to_start > 0).then_some(to_start as f64));
            each.push(task.clusters);
        }
    }
    each.retain(|series: &NamedClusters| !series.clusters.is_empty());
    Ok(ClusterCauses { system: system.name.into(), each, to_start_ns, refused: None })
}

/// Each of these systems under all loads; the first two are those of figures 3a and 3b.
fn measured(
    at: &mut Workplace<'_>,
    systems: &[System],
    loads: &[Case],
    in_virtual_time: bool,
) -> Result<LoadFigures, Error> {
    let Measured { systems: found, mut runs } = at.under_loads(systems, loads, &task(), Timing::Latency)?;
    runs.iter_mut().for_each(|runs| runs.truncate(CONDITIONS.len()));
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
