//! Twente: a loop of 1 ms, ordinary and real-time, without load, with `stress -c 4 -m 2` and with `stress -c
//! 4 -m 6`.

use std::path::Path;

use crate::claims::twente::{
    DIVISIONS, LoopStretches, LoopTimes, PERIOD_NS, TwenteReproduction, TwenteSystem, WorkTime,
};
use crate::words::{self, Found, PaperFigure, Reproduction};
use jitterlab_kernel::GuestTime;
use jitterlab_model::{Error, Policy, TaskSpec, Work};
use jitterlab_report::document::Document;
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::section::Piece;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::{Columns, atomic_file};

use crate::systems::{Case, Kernels, Measured, System};
use crate::{Workplace, read};

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

/// Figures 1 to 12 on every system of this machine, the report's conclusions about them, and the duration of
/// its work.
///
/// # Errors
/// This machine cannot measure it, or a file cannot be written.
pub fn host(at: &mut Workplace<'_>) -> Result<Found, Error> {
    let repeated = repeated(at, &System::of_this_machine())?;
    let work = work(at)?;
    repeated.shown(at, |ordinary, real_time| TwenteReproduction::new(ordinary, real_time, work))
}

/// The same on kernels in virtual time, in which work of a given number of instructions takes its time by definition.
///
/// # Errors
/// A kernel cannot be measured, or a file cannot be written.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    let systems: Vec<System> = kernels
        .systems()
        .into_iter()
        .filter(|system| !matches!(system.policy, Policy::Deadline { .. }))
        .collect();
    repeated(at, &systems)?.shown(at, |ordinary, real_time| {
        let found = TwenteReproduction::new(ordinary, real_time, Vec::new());
        found.in_virtual_time(GuestTime::default().ns_per_instruction())
    })
}

/// Measurements of each system, the first run of each load, and the report's figures of these.
struct Repeated {
    systems: Vec<TwenteSystem>,
    runs: Vec<PageRun>,
    figures: Vec<PaperFigure>,
}

impl Repeated {
    /// Draws the figures, makes a page of all, and returns the reproduction.
    fn shown(
        mut self,
        at: &Workplace<'_>,
        found: impl FnOnce(TwenteSystem, Vec<TwenteSystem>) -> TwenteReproduction,
    ) -> Result<Found, Error> {
        at.draw(&self.figures)?;
        let ordinary = self.systems.remove(0);
        let reproduction =
            Reproduction::new(at.directory.into(), Found::Twente(found(ordinary, self.systems)));
        let mut document = Document::new(&reproduction);
        if let Some(section) = document.sections.first_mut() {
            let charts = self.figures.into_iter().flat_map(|(_, charts)| charts);
            section.pieces.extend(charts.map(Piece::Figure));
        }
        let page = render(&self.runs, &[document])?;
        atomic_file::write(at.directory.join("report.html"), page.as_bytes(), false)?;
        Ok(reproduction.found)
    }
}

/// The ordinary system and the real-time ones under the report's loads, with the report's two kinds of figure for each: odd ones
/// are series, even ones histograms.
fn repeated(at: &mut Workplace<'_>, systems: &[System]) -> Result<Repeated, Error> {
    at.make()?;
    let measured = at.under_loads(systems, &LOADS, &task(), LoopTimes::from_summary, LoopTimes::with)?;
    let mut all = Repeated { systems: Vec::new(), runs: Vec::new(), figures: Vec::new() };
    for (system, Measured { found, runs }) in systems.iter().zip(measured) {
        let mut stretches = Vec::new();
        for ((case, runs), number) in found.loads.iter().zip(runs).zip(0..) {
            let mut of_load = LoopStretches::default();
            runs.iter().try_for_each(|run| add(&mut of_load, &run.file))?;
            stretches.push(of_load);
            let first: Vec<PageRun> = runs.into_iter().take(1).collect();
            all.figures.extend(words::twente_figures(system, case, number, &first)?);
            all.runs.extend(first);
        }
        all.systems.push(TwenteSystem { found, stretches });
    }
    Ok(all)
}

/// Adds the stretches of a run.
fn add(stretches: &mut LoopStretches, file: &Path) -> Result<(), Error> {
    let mut starts = Vec::new();
    Run::open(file, &Hints::default())?
        .visit(0, Columns::ALL, |rows| starts.extend(rows.iter().map(|activation| activation.start_ns)))?;
    stretches.add(&starts);
    Ok(())
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
