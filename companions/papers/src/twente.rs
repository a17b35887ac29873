//! Twente: a loop of 1 ms, ordinary and real-time, without load, beside `stress -c 4 -m 2` and beside
//! `stress -c 4 -m 6`.

use std::path::Path;

use crate::claims::twente::{
    LoopStretches, LoopTimes, PERIOD_NS, PRINTED, PrintedLoop, TwenteCase, TwenteHost, TwenteSystem,
    TwenteVirtual, WorkTime,
};
use crate::words::{self, Found, Reproduction};
use jitterlab_kernel::GuestTime;
use jitterlab_model::Quantity;
use jitterlab_model::{Error, Policy, TaskSpec, Work};
use jitterlab_report::document::Document;
use jitterlab_report::figure::Figure;
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::section::Piece;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::{Columns, place};

use crate::systems::{Case, Kernels, System};
use crate::{Workplace, read};

/// The report's loads, from none to most.
const LOADS: [Case; 3] = [
    Case { name: "idle", load: "none" },
    Case { name: "stress-4-2", load: "stress -c 4 -m 2" },
    Case { name: "stress-4-6", load: "stress -c 4 -m 6" },
];

/// The report's systems: what files call them, and the policy of the loop.
const SYSTEMS: [(&str, Policy); 2] = [("ordinary", Policy::Other), ("real-time", Policy::Fifo(80))];

/// The report's loop.
fn task() -> TaskSpec {
    TaskSpec { period_ns: PERIOD_NS, work: Work::Twente { divisions: 10_000 }, ..TaskSpec::default() }
}

/// Figures 1 to 12 on this machine: measures, draws, and makes a page of them. Odd figures are the series, even ones the
/// histogram.
///
/// # Errors
/// This machine cannot measure it, or a file cannot be written.
pub fn host(at: &mut Workplace<'_>) -> Result<Found, Error> {
    at.make()?;
    let mut files = Vec::new();
    for (system, policy) in SYSTEMS {
        for Case { name, load } in LOADS {
            let task = TaskSpec { policy: Some(policy), ..task() };
            files.push(at.measure(&format!("{system}-{name}"), task, load)?);
        }
    }
    let runs = read(&files)?;
    let loads = SYSTEMS.iter().flat_map(|(_, policy)| LOADS.map(|load| (*policy, load.load)));
    let cases: Vec<TwenteCase> = (1..)
        .step_by(2)
        .zip(loads)
        .zip(&runs)
        .zip(PRINTED)
        .map(|(((figure, asked), run), printed)| case(figure, asked, run, printed))
        .collect();
    let figures = words::twente_run_figures(&cases, &runs)?;
    at.draw(&figures)?;
    let found = Found::Twente(TwenteHost::of(cases, work(at)?));
    let reproduction = Reproduction { directory: at.directory.into(), found };
    let mut document = Document::new(&reproduction);
    if let Some(section) = document.sections.first_mut() {
        section.pieces.extend(figures.into_iter().flat_map(|(_, charts)| charts).map(Piece::Figure));
    }
    place::write(at.directory.join("report.html"), render(&runs, &[document])?.as_bytes(), false)?;
    Ok(reproduction.found)
}

/// How long the numbers of divisions take that the report weighs; with the ordinary policy, since the most of them may take
/// longer than the period.
fn work(at: &mut Workplace<'_>) -> Result<Vec<WorkTime>, Error> {
    let mut files = Vec::new();
    for divisions in TwenteHost::DIVISIONS {
        let task = TaskSpec { policy: Some(Policy::Other), work: Work::Twente { divisions }, ..task() };
        files.push(at.measure(&format!("work-{divisions}"), task, "none")?);
    }
    let runs = read(&files)?;
    let summaries = runs.iter().filter_map(|run| run.tasks.first()).map(|task| &task.measured.summary);
    Ok(TwenteHost::DIVISIONS
        .into_iter()
        .zip(summaries)
        .map(|(k, summary)| WorkTime::of(k, summary))
        .collect())
}

fn case(figure: u32, (policy, load): (Policy, &str), run: &PageRun, printed: PrintedLoop) -> TwenteCase {
    let granted = run.info.tasks.first().and_then(|task| task.granted.as_ref());
    TwenteCase {
        figure,
        policy: granted.map_or(policy, |granted| granted.policy),
        load: load.into(),
        printed,
        here: run.tasks.first().and_then(|task| LoopTimes::of(&task.measured.summary)),
    }
}

/// The same on kernels in virtual time, and what the report concludes, tested.
///
/// # Errors
/// A kernel cannot be measured, or a file cannot be written.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    at.make()?;
    let (ordinary, real_time) = (kernels.ordinary(), kernels.real_time());
    let mut all = Vec::new();
    for system in std::iter::once(&ordinary).chain(&real_time) {
        all.push(measured(at, system)?);
    }
    let real_time = all.split_off(1);
    let ordinary = all.remove(0);
    let each = GuestTime::default().ns_per_instruction();
    Ok(Found::TwenteVirtual(TwenteVirtual::of(ordinary, real_time, each)))
}

/// One system under the report's loads, with the report's two kinds of figure for each.
fn measured(at: &mut Workplace<'_>, system: &System) -> Result<TwenteSystem, Error> {
    let (found, runs) = at.boot(system, &LOADS, &task(), LoopTimes::of)?;
    for (case, run) in LOADS.iter().zip(&runs) {
        for (name, what) in [(Figure::SERIES, "series"), (Figure::HISTOGRAM, "histogram")] {
            let charts = name.charts(Quantity::PeriodError, std::slice::from_ref(run), &[])?;
            at.draw(&[(format!("{}-{}-{what}", system.name, case.name), charts)])?;
        }
    }
    let files = LOADS.iter().map(|case| at.run_file(&format!("{}-{}", system.name, case.name)));
    let stretches = files.map(|file| stretches(&file)).collect::<Result<_, _>>()?;
    Ok(TwenteSystem { found, stretches })
}

fn stretches(file: &Path) -> Result<LoopStretches, Error> {
    let mut starts = Vec::new();
    Run::open(file, &Hints::default())?
        .visit(0, Columns::ALL, |rows| starts.extend(rows.iter().map(|activation| activation.start_ns)))?;
    Ok(LoopStretches::of(&starts))
}
