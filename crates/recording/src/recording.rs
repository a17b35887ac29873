//! A run: its tasks, and the ordinary thread that writes their activations into the run file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use jitterlab_model::{Bench, Refusal, RunInfo, TaskSpec};
use jitterlab_rt::Snapshot;
use jitterlab_trace::RunWriter;

use crate::error::RecordingError;
use crate::loops::Loop;
use crate::probes::Probed;
use crate::shared::Shared;

/// A run that goes on.
#[derive(Debug)]
pub struct Recording {
    shared: Arc<Shared>,
    writing: Option<JoinHandle<RunWriter>>,
}

impl Recording {
    /// Begins a run of tasks such as `name=base,period=25us; name=servo,period=1ms`, recorded in a new file or not at all;
    /// `tool` is who measures, with its version.
    ///
    /// # Errors
    /// The tasks cannot be understood, or are none or of the same name; the file exists or cannot be written; there is no
    /// thread to write it.
    pub fn begin(tool: &str, file: Option<&Path>, tasks: &str) -> Result<Self, RecordingError> {
        let mut info = RunInfo::new(Bench::Host, "monotonic", specs(tasks)?);
        info.tool = tool.into();
        info.started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        info.command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let writer = file.map(|file| RunWriter::create(file, &info)).transpose()?;
        let shared = Arc::new(Shared::new(info, writer.is_some()));
        let writing = writer.map(|writer| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name("jitterlab".into());
            thread.spawn(move || shared.collect(writer)).map_err(RecordingError::Thread)
        });
        Ok(Recording { shared, writing: writing.transpose()? })
    }

    /// Sets the calling thread up and makes a loop of the task of this name for it. Each task is given once.
    ///
    /// # Errors
    /// There is no such task, it is taken, or the system refuses what a loop cannot do without.
    pub fn task_loop(&self, task: &str) -> Result<Loop, RecordingError> {
        Loop::new(&self.shared, task)
    }

    /// Makes a probe for a loop of the calling thread, of the task of this name. Each task is given once.
    ///
    /// # Errors
    /// There is no such task, or it is taken.
    pub fn probe(&self, task: &str) -> Result<Probed, RecordingError> {
        Probed::new(&self.shared, task)
    }

    /// Ends every loop before its next activation.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// What the counters of a task show.
    ///
    /// # Errors
    /// There is no such task.
    pub fn figures(&self, task: &str) -> Result<Snapshot, RecordingError> {
        self.shared.figures(task)
    }

    /// What was asked for and refused, so far.
    pub fn refused(&self) -> Vec<Refusal> {
        self.shared.refused()
    }

    /// Ends its loops and makes the run file.
    ///
    /// # Errors
    /// The file cannot be written whole; the journal beside it stays, and `jitterlab recover` makes the file of it.
    pub fn close(mut self) -> Result<(), RecordingError> {
        self.shared.end();
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let writer = writing.join().map_err(|_| RecordingError::Broken)?;
        writer.finish(self.shared.described())?;
        Ok(())
    }
}

/// Tasks as they are written: `name=base,period=25us; name=servo,period=1ms`.
fn specs(tasks: &str) -> Result<Vec<TaskSpec>, RecordingError> {
    let mut specs: Vec<TaskSpec> = Vec::new();
    for task in tasks.split(';').map(str::trim).filter(|task| !task.is_empty()) {
        let spec: TaskSpec = task.parse()?;
        let plain = TaskSpec::default();
        if (spec.work, spec.read) != (plain.work, plain.read) {
            return Err(RecordingError::NotHere(spec.name));
        }
        if specs.iter().any(|other| other.name == spec.name) {
            return Err(RecordingError::SameName(spec.name));
        }
        specs.push(spec);
    }
    if specs.is_empty() { Err(RecordingError::NoTasks) } else { Ok(specs) }
}
