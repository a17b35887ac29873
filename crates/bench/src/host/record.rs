//! A measurement into a run file.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use jitterlab_model::{Activation, RunInfo, TimingStats};
use jitterlab_trace::{RunWriter, TraceError};

use super::error::RecordError;
use super::measure::{Measurement, Request, Sink};

/// A measurement whose run file is closed.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The complete description of the run.
    pub info: RunInfo,
    /// What was measured of each task.
    pub stats: Vec<TimingStats>,
}

/// Counts every activation, and hands it to the run file up to the first that this does not take.
struct Recorder {
    writer: RunWriter,
    stats: Vec<TimingStats>,
    failure: Option<TraceError>,
}

impl Sink for Recorder {
    fn activations(&mut self, task: usize, rows: &[Activation]) {
        if let Some(stats) = self.stats.get_mut(task) {
            stats.push_all(rows);
        }
        if self.failure.is_none() {
            self.failure = self.writer.append(task, rows).err();
        }
    }
}

/// Measures until the end that was asked for, or until `interrupted` is set, into a new run file.
///
/// # Errors
/// Tasks that cannot be measured as described; a run file that cannot be written to its end.
pub fn record(request: Request, file: &Path, interrupted: &AtomicBool) -> Result<Recorded, RecordError> {
    let measurement = Measurement::prepare(request)?;
    let info = measurement.info();
    let stats = info.tasks.iter().map(|task| TimingStats::new(task.spec.period_ns)).collect();
    let mut recorder = Recorder { writer: RunWriter::create(file, info)?, stats, failure: None };
    let info = measurement.run(&mut recorder, &mut |_| (), interrupted)?.info;
    if let Some(error) = recorder.failure {
        return Err(error.into());
    }
    recorder.writer.finish(info.clone())?;
    Ok(Recorded { info, stats: recorder.stats })
}
