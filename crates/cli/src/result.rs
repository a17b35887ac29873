//! The figures of a run, from a measurement or from a file: as text for people, as JSON for programs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_model::{RunInfo, TimingStats};
use jitterlab_report::chart::Terminal;
use jitterlab_report::summary::TaskFigures;
use jitterlab_runs::{Hints, Run};
use serde::Serialize;

/// Version of the JSON layout; it grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// A run and what its figures say.
pub struct RunResult {
    /// The run's description.
    pub info: RunInfo,
    /// The figures of its tasks, in their order.
    pub tasks: Vec<TaskFigures>,
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    file: Option<&'a PathBuf>,
    tasks: Vec<Task<'a>>,
    run: &'a RunInfo,
}

#[derive(Serialize)]
struct Task<'a> {
    summary: &'a Summary,
    caveats: &'a [Caveat],
}

impl RunResult {
    /// Draws the figures up.
    pub fn new(info: RunInfo, stats: Vec<TimingStats>, file: Option<PathBuf>) -> Self {
        let tasks = info.tasks.iter().zip(stats).map(|(task, stats)| {
            let summary = Summary::of(task, &stats);
            let caveats = Caveat::on(&summary, task, &info);
            TaskFigures { summary, caveats, stats }
        });
        RunResult { tasks: tasks.collect(), info, file }
    }

    /// What was counted of each task.
    pub fn stats(&self) -> Vec<&TimingStats> {
        self.tasks.iter().map(|task| &task.stats).collect()
    }

    /// The figures of a run file, from its activations, or from its slices where only spikes were kept.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of_file(path: &Path) -> Result<Self> {
        let run = Run::open(path, &Hints::default())?;
        let (stats, warnings) = run.timing()?.into_parts();
        let info = RunInfo { warnings, ..run.info().clone() };
        Ok(RunResult::new(info, stats, Some(path.to_path_buf())))
    }

    /// The few numbers of each task.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.tasks.iter().map(|task| &task.summary)
    }

    /// The run file, if one was written.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The same under another description, for a file that was there for a moment only.
    pub fn without_file(mut self, describe: impl FnOnce(&mut RunInfo)) -> Self {
        describe(&mut self.info);
        let stats = self.tasks.into_iter().map(|task| task.stats).collect();
        RunResult::new(self.info, stats, None)
    }

    /// For people: tables at 80 columns, figures at the terminal's width.
    pub fn to_text(&self, terminal: Terminal) -> String {
        let mut text = jitterlab_report::summary::text(&self.info, &self.tasks, terminal);
        if let Some(file) = &self.file {
            text.push_str(&format!("run file: {}\n", file.display()));
            text.push_str("see more of it with jitterlab analyze, plot and report\n");
        }
        text
    }

    /// For programs, as described in `docs/formats/json.md`.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(&self.document())? + "\n")
    }

    /// What [`RunResult::to_json`] writes, to be part of a larger document.
    pub fn document(&self) -> impl Serialize + '_ {
        let tasks = self.tasks.iter().map(|t| Task { summary: &t.summary, caveats: &t.caveats }).collect();
        Document { schema: SCHEMA, file: self.file.as_ref(), tasks, run: &self.info }
    }
}
