//! A measurement in progress: counted activation by activation, recorded, and observed.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jitterlab_analysis::measured::{MeasuredRun, MeasurementProgress, Neighbours, TaskProgress};
use jitterlab_model::{Activation, Error, Keep, RunCauses, RunInfo, TaskSpec, TimingStats, Warning};
use jitterlab_trace::RunWriter;

use super::measure::{FinishedRun, Measurement, Request, Sink};
use super::watch::ThreadWatch;

/// Counts so far, shared between the thread that counts and the one that displays them.
struct RunCounts {
    stats: Vec<TimingStats>,
    failure: Option<Error>,
}

fn lock_counts(counted: &Mutex<RunCounts>) -> MutexGuard<'_, RunCounts> {
    // The counts stay usable even if the thread that held the lock panicked.
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts every activation, and hands it to the run file.
struct CountingSink<'a> {
    counted: &'a Mutex<RunCounts>,
    writer: Option<RunWriter>,
}

impl Sink for CountingSink<'_> {
    fn take_activations(&mut self, task: usize, rows: &[Activation]) {
        let mut counted = lock_counts(self.counted);
        counted.stats[task].push_all(rows);
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(task, rows)) {
            counted.failure = Some(error);
        }
    }

    fn take_causes(&mut self, causes: &RunCauses) {
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.set_causes(causes)) {
            lock_counts(self.counted).failure = Some(error);
        }
    }
}

/// A measurement in progress.
pub struct RunInProgress<'a> {
    measurement: (&'a [String], Option<i64>),
    counted: &'a Mutex<RunCounts>,
    elapsed_ns: i64,
    closing: Option<(u64, u64)>,
}

impl RunInProgress<'_> {
    pub fn progress(&self) -> MeasurementProgress {
        let (names, planned_ns) = self.measurement;
        let counted = lock_counts(self.counted);
        let tasks = names.iter().zip(&counted.stats);
        let tasks = tasks.map(|(name, stats)| TaskProgress { name: name.clone(), stats: stats.clone() });
        MeasurementProgress { elapsed_ns: self.elapsed_ns, planned_ns, tasks: tasks.collect() }
    }

    /// Bytes written and bytes in all while the run file is being closed; `None` before that.
    pub fn closing_progress(&self) -> Option<(u64, u64)> {
        self.closing
    }

    /// Reason for an end of recording before that of the measurement, if it has ended.
    pub fn recording_failure(&self) -> Option<String> {
        lock_counts(self.counted).failure.as_ref().map(ToString::to_string)
    }
}

/// Results of a measurement, whatever happened to its run file.
pub struct RecordedRun {
    /// With its file, where that is whole.
    pub run: MeasuredRun,
    /// Reason why the run file could not be closed, and the file that holds its data now.
    pub closed: Result<(), Error>,
}

impl RecordedRun {
    /// Returns the results, or the error that kept the run file from being closed.
    pub fn require_complete(self) -> Result<MeasuredRun, Error> {
        self.closed.map(|()| self.run)
    }
}

/// Measures until the requested end, or until `interrupted` is set, into the run file if there is one.
/// `watch` may be called several times a second, also while the file is closed. A full run file ends the
/// recording, not the measurement; the run's warnings contain that.
pub fn record(
    measurement: Measurement,
    writer: Option<RunWriter>,
    watch: &mut dyn FnMut(&RunInProgress<'_>),
    interrupted: &AtomicBool,
) -> Result<RecordedRun, Error> {
    let info = measurement.info().clone();
    count_and_record(&info, writer, watch, |sink, look| measurement.run(sink, look, interrupted))
}

/// Watches threads of other programs until the requested end, as [`record`] does for a measurement.
pub fn record_watched(
    watched: ThreadWatch,
    writer: Option<RunWriter>,
    watch: &mut dyn FnMut(&RunInProgress<'_>),
    interrupted: &AtomicBool,
) -> Result<RecordedRun, Error> {
    let info = watched.info().clone();
    count_and_record(&info, writer, watch, |sink, look| Ok(watched.run(sink, look, interrupted)))
}

/// Calls `run` with a sink that counts and records its activations, and makes the results.
fn count_and_record(
    info: &RunInfo,
    writer: Option<RunWriter>,
    watch: &mut dyn FnMut(&RunInProgress<'_>),
    run: impl FnOnce(&mut dyn Sink, &mut dyn FnMut(i64)) -> Result<FinishedRun, Error>,
) -> Result<RecordedRun, Error> {
    let tasks = || info.tasks.iter().map(|task| &task.spec);
    let names: Vec<String> = tasks().map(|spec| spec.name.clone()).collect();
    let stats: Vec<TimingStats> = tasks().map(|spec| TimingStats::new(spec.period_ns)).collect();
    let planned_ns = info.duration_ns;
    let counted = Mutex::new(RunCounts { stats, failure: None });
    let mut counter = CountingSink { counted: &counted, writer };
    let mut look = |elapsed_ns, closing| {
        let measurement = (&*names, planned_ns);
        watch(&RunInProgress { measurement, counted: &counted, elapsed_ns, closing });
    };
    let FinishedRun { mut info, above, causes } =
        run(&mut counter, &mut |elapsed_ns| look(elapsed_ns, None))?;
    let writer = counter.writer.take();
    let failure = lock_counts(&counted).failure.take();
    info.warnings.extend(failure.map(|error| Warning::RecordingEnded { reason: error.to_string() }));
    let progress = |done, of| look(planned_ns.unwrap_or(0), Some((done, of)));
    let finished = writer.map(|writer| writer.finish_with(info.clone(), progress)).transpose();
    let (finished, closed) = finished.map_or_else(|error| (None, Err(error)), |finished| (finished, Ok(())));
    let RunCounts { stats, .. } = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The last rows may be those that the disk did not take.
    let ended = finished.as_ref().and_then(|finished| finished.ended.clone());
    info.warnings.extend(ended.map(|reason| Warning::RecordingEnded { reason }));
    let file = finished.map(|finished| finished.path);
    let around = above.map(|above| Neighbours {
        task: above.task,
        index: above.activation.index,
        activations: above.around,
    });
    let why = MeasuredRun::why(&info, causes.as_ref(), around.as_ref());
    Ok(RecordedRun { run: MeasuredRun { around, why, ..MeasuredRun::new(info, &stats, file) }, closed })
}

/// Measures into a new run file; an error if the file does not hold all of it.
pub fn record_to(request: Request, file: &Path, interrupted: &AtomicBool) -> Result<MeasuredRun, Error> {
    let measurement = Measurement::prepare(request)?;
    let writer = RunWriter::create(file, measurement.info())?;
    let run = record(measurement, Some(writer), &mut |_| (), interrupted)?.require_complete()?;
    let ended = run.run.warnings.iter().find_map(|warning| match warning {
        Warning::RecordingEnded { reason } => Some(reason.clone()),
        _ => None,
    });
    ended.map_or(Ok(run), |reason| {
        Err(Error::refused(format!("{} could not be written to its end: {reason}", file.display())))
    })
}

/// Creates a run file of the default name in the working directory.
pub fn create_run_file(info: &RunInfo) -> Result<RunWriter, Error> {
    RunWriter::create_numbered(default_file_name(&info.started, ".parquet"), info)
}

/// Size of a run file in bytes above which only spikes are kept by default.
const KEEP_ALL_BYTES: i64 = 2_000_000_000;
const BYTES_PER_ACTIVATION: i64 = 4;

/// Default of the rows that a run keeps: all as long as the file stays below 2 GB, else spikes only.
pub fn default_keep(tasks: &[TaskSpec], duration_ns: Option<i64>) -> Keep {
    let rows: i64 = tasks.iter().map(|task| duration_ns.unwrap_or(0) / task.period_ns).sum();
    if rows.saturating_mul(BYTES_PER_ACTIVATION) <= KEEP_ALL_BYTES {
        Keep::All
    } else {
        Keep::Spikes { above_ns: Keep::ABOVE_NS }
    }
}

/// Default name of a file: `jitterlab-20260704T120000Z`, from the start of the run.
pub fn default_file_name(started: &str, rest: &str) -> PathBuf {
    let stamp: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
    PathBuf::from(format!("jitterlab-{stamp}{rest}"))
}
