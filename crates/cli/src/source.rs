//! Where the traces of `analyze`, `predict` and `compare` come from: run files, and what other tools print.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::units::parse_period_ns;
use jitterlab_model::{Activation, Keep, RunInfo, TimingStats};
use jitterlab_trace::{Columns, Hints, Import, Measured, RunReader, TraceError, import};
use tempfile::TempDir;

use crate::exit::Failure;
use crate::read_progress::ReadProgress;

/// What helps to read the outputs of other tools.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// Period of an imported trace, if its file does not tell: a time (250us) or a rate (4kHz)
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    period: Option<i64>,
    /// Unit of an imported trace, if its file does not tell
    #[arg(long, value_enum)]
    unit: Option<Unit>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Unit {
    Ns,
    Us,
}

impl ImportArgs {
    fn hints(&self) -> Hints {
        let unit_ns = self.unit.map(|unit| match unit {
            Unit::Ns => 1,
            Unit::Us => 1_000,
        });
        Hints { period_ns: self.period, unit_ns }
    }
}

/// An import as a run file, in a directory that has to be kept as long as the file is read.
pub fn as_run_file(import: &Import) -> Result<(RunReader, TempDir), Failure> {
    let folder = tempfile::tempdir().context("cannot make a directory for what is imported")?;
    let written = import.write(folder.path().join("imported.parquet"))?;
    Ok((RunReader::open(written.path)?, folder))
}

/// A trace that can be gone through any number of times.
pub struct Source {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    RunFile(Box<RunReader>),
    Imported(Box<Import>),
}

impl Source {
    /// Opens a run file, or else the output of another tool.
    pub fn open(path: &Path, args: &ImportArgs) -> Result<Self, TraceError> {
        let kind = match RunReader::open(path) {
            Ok(reader) => Kind::RunFile(Box::new(reader)),
            Err(TraceError::NotARunFile { .. }) if !is_parquet(path) => {
                Kind::Imported(Box::new(import(path, &args.hints())?))
            }
            // The directory that jitterdebugger writes.
            Err(_) if path.is_dir() => Kind::Imported(Box::new(import(path, &args.hints())?)),
            Err(error) => return Err(error),
        };
        Ok(Source { path: path.into(), kind })
    }

    /// Its run file; what is imported is one as long as the directory beside it is kept.
    pub fn into_run_file(self) -> Result<(RunReader, Option<TempDir>), Failure> {
        match self.kind {
            Kind::RunFile(reader) => Ok((*reader, None)),
            Kind::Imported(import) => as_run_file(&import).map(|(reader, folder)| (reader, Some(folder))),
        }
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        match &self.kind {
            Kind::RunFile(reader) => reader.info(),
            Kind::Imported(import) => &import.info,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the task of this name.
    pub fn task_number(&self, name: &str) -> Option<usize> {
        self.info().tasks.iter().position(|task| task.spec.name == name)
    }

    /// The numbers of the wanted tasks: the one of this name, or all.
    pub fn tasks_named(&self, name: Option<&str>) -> Result<Vec<usize>, Failure> {
        let Some(name) = name else { return Ok((0..self.info().tasks.len()).collect()) };
        self.task_number(name).map(|number| vec![number]).ok_or_else(|| {
            let names: Vec<&str> = self.info().tasks.iter().map(|t| t.spec.name.as_str()).collect();
            let path = self.path.display();
            Failure::bad_use(anyhow!("{path} has no task {name:?}: it has {}", names.join(", ")))
        })
    }

    /// Whether every activation is known, and not only distributions (and perhaps the spikes).
    pub fn has_activations(&self, task: usize) -> bool {
        match &self.kind {
            Kind::RunFile(reader) => !reader.has_slices(),
            Kind::Imported(import) => matches!(import.tasks.get(task), Some(Measured::Rows(_))),
        }
    }

    /// Everything that one pass gathers of each task.
    pub fn scans(&self) -> Result<Vec<TaskScan>, TraceError> {
        let new = |task: usize| TaskScan::new(self.period_ns(task), self.due_times(task));
        match &self.kind {
            Kind::RunFile(reader) if reader.has_slices() => self.scans_of_slices(reader, &new),
            Kind::RunFile(_) => self.gather(Columns::ALL, new, TaskScan::push_all, TaskScan::merge),
            Kind::Imported(import) => {
                let scan = |(task, measured): (usize, &Measured)| {
                    let mut scan = new(task);
                    match measured {
                        Measured::Rows(rows) => scan.push_all(rows),
                        Measured::Figures(stats) => scan.push_figures(0, stats),
                    }
                    scan
                };
                Ok(import.tasks.iter().enumerate().map(scan).collect())
            }
        }
    }

    /// Only histograms by the second, and the spikes, were kept.
    fn scans_of_slices(
        &self,
        reader: &RunReader,
        new: &impl Fn(usize) -> TaskScan,
    ) -> Result<Vec<TaskScan>, TraceError> {
        let tasks = self.info().tasks.len();
        let mut scans: Vec<TaskScan> = (0..tasks).map(new).collect();
        // Slices are joined to stretches much shorter than the parts of a scan: (place on the grid, figures).
        let mut pending: Vec<Option<(u64, TimingStats)>> = vec![None; tasks];
        reader.for_each_slice(|slice| {
            let task = slice.task;
            let begin = self.info().tasks[task].result.as_ref().map_or(0, |r| r.first_due_ns);
            let period_ns = self.period_ns(task).max(1);
            let place = u64::try_from((slice.first_due_ns - begin) / period_ns).unwrap_or(0);
            let part = (self.due_times(task) / 8_192).max(1);
            if let Some((first, stats)) = pending[task].take_if(|(first, _)| *first / part != place / part) {
                scans[task].push_figures(first, &stats);
            }
            let (_, stats) = pending[task].get_or_insert_with(|| (place, TimingStats::new(period_ns)));
            slice.add_to(stats);
        })?;
        for (scan, (first, stats)) in scans.iter_mut().zip(pending).filter_map(|(s, p)| Some((s, p?))) {
            scan.push_figures(first, &stats);
        }
        if let Keep::Spikes { above_ns } = self.info().keep {
            reader.for_each_batch(Columns::ALL, |task, rows| scans[task].push_spikes(rows, above_ns))?;
        }
        Ok(scans)
    }

    /// Goes through the activations of one task in order of time.
    pub fn visit(
        &self,
        task: usize,
        columns: Columns,
        mut visit: impl FnMut(&[Activation]),
    ) -> Result<(), TraceError> {
        match &self.kind {
            Kind::RunFile(reader) => {
                let groups = reader.row_groups().iter().enumerate().filter(|(_, group)| group.task == task);
                groups
                    .map(|(number, _)| number)
                    .try_for_each(|number| reader.visit_row_group(number, columns, &mut visit))
            }
            Kind::Imported(import) => {
                if let Some(Measured::Rows(rows)) = import.tasks.get(task) {
                    visit(rows);
                }
                Ok(())
            }
        }
    }

    /// Goes through the activations of all tasks by row groups over all processors: one accumulator for each task and
    /// processor, joined in order of time. Tasks of which only distributions are known stay as they were begun.
    pub fn gather<T: Send>(
        &self,
        columns: Columns,
        new: impl Fn(usize) -> T + Sync,
        push: impl Fn(&mut T, &[Activation]) + Sync,
        merge: impl Fn(&mut T, &T),
    ) -> Result<Vec<T>, TraceError> {
        let tasks = self.info().tasks.len();
        let reader = match &self.kind {
            Kind::RunFile(reader) => reader,
            Kind::Imported(import) => {
                let gathered = import.tasks.iter().enumerate().map(|(task, measured)| {
                    let mut gathered = new(task);
                    if let Measured::Rows(rows) = measured {
                        push(&mut gathered, rows);
                    }
                    gathered
                });
                return Ok(gathered.collect());
            }
        };
        let done = AtomicU64::new(0);
        let part = |groups: Range<usize>| {
            let mut gathered: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
            for group in groups {
                let task = reader.row_groups()[group].task;
                let to = gathered[task].get_or_insert_with(|| new(task));
                reader.visit_row_group(group, columns, |rows| {
                    push(to, rows);
                    done.fetch_add(rows.len() as u64, Ordering::Relaxed);
                })?;
            }
            Ok(gathered)
        };
        let progress = ReadProgress::new(reader.rows(), &done);
        let parts: Vec<Result<Vec<Option<T>>, TraceError>> = thread::scope(|scope| {
            let running: Vec<_> =
                shares(reader).into_iter().map(|groups| scope.spawn(|| part(groups))).collect();
            progress.watch(|| running.iter().all(thread::ScopedJoinHandle::is_finished));
            running.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let mut all: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
        for part in parts {
            for (all, part) in all.iter_mut().zip(part?) {
                match (all.as_mut(), part) {
                    (Some(all), Some(part)) => merge(all, &part),
                    (None, Some(part)) => *all = Some(part),
                    (_, None) => {}
                }
            }
        }
        Ok(all.into_iter().enumerate().map(|(task, t)| t.unwrap_or_else(|| new(task))).collect())
    }

    fn period_ns(&self, task: usize) -> i64 {
        self.info().tasks[task].spec.period_ns
    }

    /// Due times of a task, as far as is known before reading.
    fn due_times(&self, task: usize) -> u64 {
        let told = self.info().tasks[task].result.as_ref().map(|r| r.executed + r.missed);
        let rows = || match &self.kind {
            Kind::RunFile(reader) => {
                reader.row_groups().iter().filter(|g| g.task == task).map(|g| g.rows as u64).sum()
            }
            Kind::Imported(_) => 0,
        };
        told.unwrap_or_else(rows)
    }
}

fn is_parquet(path: &Path) -> bool {
    let mut beginning = [0; 4];
    File::open(path).and_then(|mut f| f.read_exact(&mut beginning)).is_ok() && &beginning == b"PAR1"
}

/// The row groups in one stretch for each processor, of about as many activations each.
fn shares(reader: &RunReader) -> Vec<Range<usize>> {
    let groups = reader.row_groups();
    let processors = thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = reader.rows().div_ceil(processors).max(1);
    let mut shares = Vec::new();
    let (mut begin, mut rows) = (0, 0);
    for (i, group) in groups.iter().enumerate() {
        rows += group.rows as u64;
        if rows >= share || i + 1 == groups.len() {
            shares.push(begin..i + 1);
            (begin, rows) = (i + 1, 0);
        }
    }
    shares
}
