//! One task of a saved run, or of what another tool measured: its figures, and its activations when they are wanted.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use jitterlab_analysis::{Summary, Verdict};
use jitterlab_model::{Activation, RunInfo, TimingStats};
use jitterlab_motion::JudgedRun;
use jitterlab_trace::{Columns, Hints, RunReader, TraceError, import};
use tempfile::TempDir;

use crate::exit::Failure;
use crate::source::as_run_file;

/// A task of a run file.
pub struct TaskOfRun {
    /// The file that was named.
    path: PathBuf,
    reader: RunReader,
    /// Where an imported run is until the end.
    folder: Option<TempDir>,
    number: usize,
    /// Its figures.
    pub stats: TimingStats,
    /// Place of its largest latency among its rows; `None` where the file keeps only spikes.
    worst_row: Option<u64>,
}

impl TaskOfRun {
    /// Opens a run file, or the output of another tool, and counts the task called `name`, or the one `prefer` likes best
    /// (the smallest key).
    pub fn open<K: Ord>(
        path: &Path,
        name: Option<&str>,
        prefer: impl Fn(&jitterlab_model::TaskSpec) -> K,
    ) -> Result<TaskOfRun, Failure> {
        let (reader, folder) = opened(path)?;
        let tasks = &reader.info().tasks;
        let number = match name {
            Some(name) => tasks.iter().position(|t| t.spec.name == name).ok_or_else(|| {
                let names = tasks.iter().map(|t| t.spec.name.as_str()).collect::<Vec<_>>().join(", ");
                Failure::bad_use(anyhow!("{} has no task {name}: it has {names}", path.display()))
            })?,
            None => (0..tasks.len())
                .min_by_key(|i| prefer(&tasks[*i].spec))
                .ok_or_else(|| anyhow!("{} has no tasks", path.display()))?,
        };
        let mut all: Vec<_> = tasks.iter().map(|t| TimingStats::new(t.spec.period_ns)).collect();
        let mut worst: Option<(i64, u64)> = None;
        if reader.has_slices() {
            reader.for_each_slice(|slice| slice.add_to(&mut all[slice.task]))?;
        } else {
            let mut row = 0;
            reader.for_each_batch(Columns::TIMING, |task, rows| {
                if task == number {
                    all[task].push_all(rows);
                    for a in rows {
                        if worst.is_none_or(|w| a.latency_ns() > w.0) {
                            worst = Some((a.latency_ns(), row));
                        }
                        row += 1;
                    }
                }
            })?;
        }
        let stats = all.swap_remove(number);
        if stats.executed() == 0 {
            return Err(
                anyhow!("{}: its task ran not once, so there is nothing to judge", path.display()).into()
            );
        }
        Ok(TaskOfRun { path: path.into(), reader, folder, number, stats, worst_row: worst.map(|w| w.1) })
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        self.reader.info()
    }

    /// What it is called beside others: the file's name without its ending.
    pub fn label(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What an answer about a motor or a loop says of it.
    pub fn judged(&self) -> JudgedRun {
        let task = &self.info().tasks[self.number];
        JudgedRun {
            file: self.path.display().to_string(),
            task: task.spec.name.clone(),
            period_ns: self.stats.period_ns(),
            executed: self.stats.executed(),
            warnings: Vec::new(),
            caveats: Verdict::on(&Summary::of(task, &self.stats), task, self.info()).caveats,
        }
    }

    /// The rows from `before` activations before the worst latency to `after` behind it.
    pub fn rows_around_worst(&self, before: u64, after: u64) -> Result<Range<u64>> {
        let worst = self.worst_row.ok_or_else(|| self.only_spikes())?;
        Ok(worst.saturating_sub(before)..worst.saturating_add(after))
    }

    /// Activations by their place among the task's rows.
    pub fn activations(&self, rows: Range<u64>) -> Result<Vec<Activation>> {
        if self.worst_row.is_none() {
            return Err(self.only_spikes());
        }
        let mut kept = Vec::new();
        let mut row = 0u64;
        self.reader.for_each_batch(Columns::TIMING, |task, batch| {
            if task == self.number {
                let from = rows.start.saturating_sub(row).min(batch.len() as u64) as usize;
                let to = rows.end.saturating_sub(row).min(batch.len() as u64) as usize;
                kept.extend_from_slice(batch.get(from..to).unwrap_or_default());
                row += batch.len() as u64;
            }
        })?;
        Ok(kept)
    }

    fn only_spikes(&self) -> anyhow::Error {
        anyhow!(
            "{} keeps only {}, and this needs every activation: measure with `jitterlab run --keep all`",
            self.path.display(),
            if self.folder.is_some() { "a histogram" } else { "spikes" }
        )
    }
}

/// A run file; what another tool left is written as one.
fn opened(path: &Path) -> Result<(RunReader, Option<TempDir>), Failure> {
    match RunReader::open(path) {
        Err(TraceError::NotARunFile { path: file, why }) => {
            let Ok(imported) = import(path, &Hints::default()) else {
                return Err(TraceError::NotARunFile { path: file, why }.into());
            };
            as_run_file(&imported).map(|(reader, folder)| (reader, Some(folder)))
        }
        opened => Ok((opened?, None)),
    }
}
