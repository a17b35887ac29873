//! What happens beside a measurement: its activations are counted, recorded, and shown.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use jitterlab_analysis::measured::{Around, MeasuredRun};
use jitterlab_bench::host::{Finished, Measurement, Progress, Sink};
use jitterlab_model::{Activation, RunInfo, TimingStats, Warning};
use jitterlab_report::live::{LiveView, PlainView, Snapshot, TaskSnapshot};
use jitterlab_trace::RunWriter;

use crate::error::CliError;
use crate::output;

/// The figures of all tasks so far, shared between the thread that counts and the one that shows.
pub struct Figures {
    tasks: Vec<(String, TimingStats)>,
    /// Largest latency of each task since it was last shown.
    recent_max_ns: Vec<Option<i64>>,
}

/// Counts every activation and hands it to the run file.
pub struct Recording {
    figures: Arc<Mutex<Figures>>,
    writer: Option<RunWriter>,
    failure: Option<String>,
}

/// A recording that has come to its end.
pub struct Closed {
    /// The description, with what went wrong while recording.
    pub info: RunInfo,
    /// The figures of each task.
    pub stats: Vec<TimingStats>,
    /// The run file, if one was written.
    pub file: Option<PathBuf>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Figures stay usable whatever happened to the thread that held them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recording {
    /// Nothing recorded yet.
    pub fn new(info: &RunInfo, writer: Option<RunWriter>) -> Self {
        let tasks = info.tasks.iter().map(|t| (t.spec.name.clone(), TimingStats::new(t.spec.period_ns)));
        let tasks: Vec<_> = tasks.collect();
        let figures = Figures { recent_max_ns: vec![None; tasks.len()], tasks };
        Recording { figures: Arc::new(Mutex::new(figures)), writer, failure: None }
    }

    /// The figures, for showing them.
    pub fn figures(&self) -> Arc<Mutex<Figures>> {
        self.figures.clone()
    }

    /// Closes the run file.
    pub fn close(self, mut info: RunInfo) -> Result<Closed> {
        info.warnings.extend(self.failure.map(|reason| Warning::RecordingEnded { reason }));
        let file = match self.writer {
            Some(writer) => Some(writer.finish(info.clone())?.path),
            None => None,
        };
        let stats = lock(&self.figures).tasks.iter().map(|(_, stats)| stats.clone()).collect();
        Ok(Closed { info, stats, file })
    }
}

impl Sink for Recording {
    fn activations(&mut self, task: usize, rows: &[Activation]) {
        let figures = &mut *lock(&self.figures);
        figures.tasks[task].1.push_all(rows);
        let recent = rows.iter().map(Activation::latency_ns).max();
        figures.recent_max_ns[task] = figures.recent_max_ns[task].max(recent);
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(task, rows)) {
            output::note(&CliError::RecordingEnded(error.to_string()).to_string());
            self.failure = Some(error.to_string());
        }
    }
}

/// Shows a running measurement: on a terminal the live view, elsewhere a line every few seconds.
pub struct Watcher {
    figures: Arc<Mutex<Figures>>,
    planned_ns: Option<i64>,
    show: Show,
    next: Instant,
}

enum Show {
    Nothing,
    Lines(PlainView),
    View(LiveView),
}

impl Show {
    fn lines() -> Self {
        PlainView::on_stderr().map_or(Show::Nothing, Show::Lines)
    }
}

impl Watcher {
    const LINE_EVERY: Duration = Duration::from_secs(5);
    const DRAW_EVERY: Duration = Duration::from_millis(250);

    /// Chooses how to show it: nothing when quiet, lines on standard error when standard output is no terminal
    /// or is to carry JSON.
    pub fn new(figures: Arc<Mutex<Figures>>, planned_ns: Option<i64>, quiet: bool, json: bool) -> Self {
        let tasks = lock(&figures).tasks.len();
        let show = if quiet {
            Show::Nothing
        } else if json || !output::is_terminal() {
            Show::lines()
        } else {
            LiveView::on_stdout(tasks).map_or_else(|_| Show::lines(), Show::View)
        };
        let first = if matches!(show, Show::View(_)) { Self::DRAW_EVERY } else { Self::LINE_EVERY };
        Watcher { figures, planned_ns, show, next: Instant::now() + first }
    }

    /// Shows the measurement if it is time to.
    pub fn look(&mut self, progress: &Progress) {
        if matches!(self.show, Show::Nothing) || Instant::now() < self.next {
            return;
        }
        let snapshot = self.snapshot(progress);
        match &mut self.show {
            Show::Nothing => {}
            Show::Lines(view) => {
                if view.draw(&snapshot).is_err() {
                    self.show = Show::Nothing;
                }
                self.next += Self::LINE_EVERY;
            }
            Show::View(view) => {
                if view.draw(&snapshot).is_err() {
                    self.show = Show::lines();
                }
                self.next = Instant::now() + Self::DRAW_EVERY;
            }
        }
    }

    fn snapshot(&self, progress: &Progress) -> Snapshot {
        let figures = &mut *lock(&self.figures);
        let recent = figures.recent_max_ns.iter_mut().map(Option::take);
        let tasks = figures.tasks.iter().zip(recent).zip(&progress.dropped);
        let tasks = tasks.map(|(((name, stats), recent_max_ns), dropped)| TaskSnapshot {
            name: name.clone(),
            stats: stats.clone(),
            dropped: *dropped,
            recent_max_ns,
        });
        Snapshot { elapsed_ns: progress.elapsed_ns, planned_ns: self.planned_ns, tasks: tasks.collect() }
    }

    /// Clears the view away.
    pub fn finish(self) {
        if let Show::View(view) = self.show {
            view.finish();
        }
    }
}

/// How a measurement is shown meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    /// Not at all.
    pub quiet: bool,
    /// In lines, since standard output is to carry JSON.
    pub json: bool,
}

/// Measures once.
pub fn measure(
    measurement: Measurement,
    writer: Option<RunWriter>,
    watch: Watching,
    interrupted: &AtomicBool,
) -> Result<MeasuredRun> {
    let mut recording = Recording::new(measurement.info(), writer);
    let planned_ns = measurement.info().duration_ns;
    let mut watcher = Watcher::new(recording.figures(), planned_ns, watch.quiet, watch.json);
    let finished = measurement.run(&mut recording, &mut |progress| watcher.look(progress), interrupted)?;
    watcher.finish();
    let Finished { info, above } = finished;
    let closed = recording.close(info)?;
    let around = above.map(|above| Around {
        task: above.task,
        index: above.activation.index,
        activations: above.around,
    });
    Ok(MeasuredRun { around, ..MeasuredRun::new(closed.info, &closed.stats, closed.file) })
}

/// Where a run is recorded: there, or else in a file of its own here; nowhere if nothing can be written here.
pub fn writer(output: Option<&Path>, info: &RunInfo) -> Result<Option<RunWriter>> {
    if let Some(path) = output {
        return Ok(Some(RunWriter::create(path, info)?));
    }
    let stamp: String = info.started.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let path = PathBuf::from(format!("jitterlab-{stamp}.parquet"));
    RunWriter::create_numbered(&path, info).map(Some).or_else(|error| {
        output::note(&CliError::NoRunFile(error).to_string());
        Ok(None)
    })
}
