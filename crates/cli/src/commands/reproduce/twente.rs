//! Twente, figures 1 to 12: a loop of 1 ms, ordinary and real-time, without load, beside `stress -c 4 -m 2` and
//! beside `stress -c 4 -m 6`. Odd figures are the series, even ones the histogram.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jitterlab_analysis::papers::twente::{LoopTimes, PRINTED, PrintedLoop, TwenteCase};
use jitterlab_model::Policy;
use jitterlab_report::page::{PageRun, render};
use jitterlab_report::papers::{self, Found};
use jitterlab_report::section::Block;

use crate::exit::Failure;
use crate::output;
use crate::run_args::page_runs_of;

/// A measurement of the report: what its file is called, the scheduling policy, and the load.
struct Case {
    name: &'static str,
    policy: &'static str,
    load: &'static str,
}

/// In the order of the figures, two each.
const CASES: [Case; 6] = [
    Case { name: "ordinary-idle", policy: "other", load: "none" },
    Case { name: "ordinary-4-2", policy: "other", load: "stress -c 4 -m 2" },
    Case { name: "ordinary-4-6", policy: "other", load: "stress -c 4 -m 6" },
    Case { name: "real-time-idle", policy: "fifo:80", load: "none" },
    Case { name: "real-time-4-2", policy: "fifo:80", load: "stress -c 4 -m 2" },
    Case { name: "real-time-4-6", policy: "fifo:80", load: "stress -c 4 -m 6" },
];

/// Measures all cases, draws all figures, and makes the page.
pub fn reproduce(directory: &Path, duration_ns: i64) -> Result<Found, Failure> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let mut files = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        output::note(&format!("{} of {}: {}, load {}", number + 1, CASES.len(), case.name, case.load));
        files.push(measure(directory, case, duration_ns)?);
    }
    let runs = page_runs_of(&files)?;
    let cases: Vec<TwenteCase> = (0..).step_by(2).zip(&CASES).zip(&runs).zip(PRINTED).map(found).collect();
    let figures = papers::twente_run_figures(&cases, &runs)?;
    super::draw(directory, &figures)?;
    let found = Found::Twente(cases);
    let mut sections = papers::sections(&found);
    if let Some(section) = sections.first_mut() {
        section.blocks.extend(figures.into_iter().flat_map(|(_, charts)| charts).map(Block::Figure));
    }
    output::write_file(&directory.join("report.html"), render(&runs, &sections)?.as_bytes())?;
    Ok(found)
}

fn found((((figure, case), run), printed): (((u32, &Case), &PageRun), PrintedLoop)) -> TwenteCase {
    let task = run.info.tasks.first();
    let granted = task.and_then(|task| task.granted.as_ref()).map(|granted| granted.policy);
    TwenteCase {
        figure: figure + 1,
        policy: granted.or_else(|| task?.spec.policy).unwrap_or(Policy::Other),
        load: case.load.into(),
        printed,
        here: run.tasks.first().and_then(|task| LoopTimes::of(&task.figures.summary)),
    }
}

/// One case, its loop of divisions included.
fn measure(directory: &Path, case: &Case, duration_ns: i64) -> Result<PathBuf> {
    let arguments =
        ["--period", "1ms", "--work", "twente:10000", "--policy", case.policy, "--load", case.load];
    super::measure(directory, case.name, duration_ns, &arguments)
}
