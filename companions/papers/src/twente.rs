//! Twente: a loop of 1 ms, ordinary and real-time, without load, with `stress -c 4 -m 2` and with `stress -c
//! 4 -m 6`.

use crate::claims::loads::Timing;
use crate::claims::twente::{APART, DIVISIONS, PERIOD_NS, TwenteReproduction, WorkTime};
use crate::words::{self, Found, Reproduction};
use jitterlab_host::facts::{self, Root};
use jitterlab_model::{CpuSet, Error, Policy, TaskSpec, Work};
use jitterlab_report::document::Document;
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::section::Piece;
use jitterlab_trace::atomic_file;

use crate::systems::{self, Case, DIVIDED, Kernels, Measured, System};
use crate::{Workplace, read, twente_control, twente_listing};

/// The report's loads, from none to most.
const LOADS: [Case; 3] = [
    Case { name: "idle", load: "none" },
    Case { name: "stress-4-2", load: "stress -c 4 -m 2" },
    Case { name: "stress-4-6", load: "stress -c 4 -m 6" },
];

/// Task of the report's loop.
fn task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, work: Work::Twente { divisions: 10_000 }, ..TaskSpec::default() }
}

/// Figures 1 to 12 on every system of this machine, the report's conclusions about them, the duration of its work, and its two
/// further questions.
pub fn host(at: &mut Workplace<'_>) -> Result<Found, Error> {
    let systems = System::of_this_machine();
    let mut all = systems.clone();
    if divides(&facts::read(&Root::system()).usable()) {
        all.extend(System::like_xenomai(systems.clone()).map(|system| system.apart(APART)));
    }
    repeated(at, &all, false, |at, found| {
        found.control = twente_control::on_machine(at, &systems, &task(), LOADS[2].load)?;
        found.starvation = twente_control::starvation(at)?;
        found.work = work(at)?;
        found.listing = twente_listing::run()?;
        Ok(())
    })
}

/// True if a machine has the processors that the load and the task get.
fn divides(usable: &CpuSet) -> bool {
    (0..DIVIDED.0).all(|cpu| usable.contains(cpu))
}

/// The same on kernels in virtual time, in which work of a given number of instructions takes its time by definition.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    let mut systems: Vec<System> = kernels
        .systems()
        .into_iter()
        .filter(|system| !matches!(system.policy, Policy::Deadline { .. }))
        .collect();
    let judged: Vec<&str> = systems.iter().map(|system| system.name).collect();
    systems.extend(System::like_xenomai(systems.clone()).map(|system| system.apart(APART)));
    repeated(at, &systems, true, |at, found| {
        let file = |name: &str| at.run_file(&format!("{name}-{}", LOADS[2].name));
        let control = judged.iter().map(|name| twente_control::judged(name, &file(name)));
        found.control = control.collect::<Result<_, _>>()?;
        Ok(())
    })
}

/// The ordinary system and the real-time ones under the report's loads, with the report's two kinds of figure for each: odd ones
/// are series, even ones histograms; `more` besides; and a page of all.
fn repeated(
    at: &mut Workplace<'_>,
    systems: &[System],
    in_virtual_time: bool,
    more: impl FnOnce(&mut Workplace<'_>, &mut TwenteReproduction) -> Result<(), Error>,
) -> Result<Found, Error> {
    at.make()?;
    let Measured { systems: measured, runs } =
        at.under_loads(systems, &LOADS, &task(), Timing::LoopDuration)?;
    let mut figures = Vec::new();
    for (system, found) in systems.iter().zip(&measured) {
        let each = found.loads.iter().zip(0..);
        figures.extend(each.flat_map(|(load, number)| words::twente_figures(system, load, number)));
    }
    at.draw(&figures)?;
    let runs: Vec<PageRun> = runs.into_iter().flatten().collect();
    let loops = systems::figures(measured, in_virtual_time);
    let mut found = TwenteReproduction { loops, ..TwenteReproduction::default() };
    more(at, &mut found)?;
    let reproduction = Reproduction::new(at.directory.into(), Found::Twente(found));
    let mut document = Document::new(&reproduction);
    if let Some(section) = document.sections.first_mut() {
        section.pieces.extend(figures.into_iter().flat_map(|(_, charts)| charts).map(Piece::Figure));
    }
    let page = render(&runs, &[document])?;
    atomic_file::write(at.directory.join("report.html"), page.as_bytes(), false)?;
    Ok(reproduction.found)
}

/// Durations of the numbers of divisions that the report considers; with the ordinary policy, since the
/// largest may take longer than the period.
fn work(at: &mut Workplace<'_>) -> Result<Vec<WorkTime>, Error> {
    let mut files = Vec::new();
    for divisions in DIVISIONS {
        let task = TaskSpec { policy: Some(Policy::Other), work: Work::Twente { divisions }, ..task() };
        files.push(at.measure(&format!("work-{divisions}"), task, "none")?);
    }
    let runs = read(&files)?;
    let summaries = runs.iter().filter_map(|run| run.tasks.first()).map(|task| &task.measured.summary);
    Ok(DIVISIONS.into_iter().zip(summaries).map(|(k, summary)| WorkTime::new(k, summary)).collect())
}
