//! A run: its tasks, and the ordinary thread that writes their activations into the run file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use jitterlab_model::{Bench, Error, Refusal, RunInfo, TaskSpec};
use jitterlab_trace::{RunWriter, outlive_file_limits};

use crate::figures::Figures;
use crate::fitting::GridFitting;
use crate::loops::Loop;
use crate::probes::TaskProbe;
use crate::shared::Shared;

/// A run that goes on.
#[derive(Debug)]
pub struct Recording {
    shared: Arc<Shared>,
    writing: Option<JoinHandle<Result<(), Error>>>,
}

impl Recording {
    /// Begins a run of tasks, recorded in a new file or not at all. Tasks are such as `name=base,period=25us;
    /// name=servo,period=1ms`; `tool` is who measures, with its version. A task with `due=fitted` is a
    /// probe's, whose due times are found in its starts when they are recorded, and its period, too, where it
    /// has none.
    ///
    /// # Errors
    /// The tasks cannot be understood, are none or of the same name, or are fitted and not recorded; the file exists or cannot
    /// be written; there is no thread to write it.
    pub fn begin(tool: &str, file: Option<&Path>, tasks: &str) -> Result<Self, Error> {
        let (specs, fittings): (Vec<_>, Vec<_>) = parse_tasks(tasks)?.into_iter().unzip();
        if let (None, Some(task)) = (file, fittings.iter().position(Option::is_some)) {
            return Err(Error::bad_use(format!(
                "task {}: due=fitted needs a run file, since due times are found when \
                 activations are recorded",
                specs[task].name
            )));
        }
        let mut info = RunInfo::new(Bench::Host, "monotonic", specs);
        info.tool = tool.into();
        info.started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        info.command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        for (task, fitting) in info.tasks.iter_mut().zip(&fittings) {
            task.unknown = fitting.as_ref().map(GridFitting::unknown_at_start).unwrap_or_default();
        }
        let writer = file.map(|file| RunWriter::create(file, &info)).transpose()?;
        let shared = Arc::new(Shared::new(info, fittings, writer.is_some()));
        let writing = writer.map(|writer| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name("jitterlab".into());
            // It closes the file as well, so that errors of a full disk or a limit stay with this thread.
            let write = move || {
                outlive_file_limits();
                shared.write_until_closed(writer).finish(shared.final_description()).map(|_| ())
            };
            thread.spawn(write).map_err(|cause| {
                Error::refused("no thread to write the run file")
                    .because(cause)
                    .remedy("is a limit on processes in the way (ulimit -u)?")
            })
        });
        Ok(Recording { shared, writing: writing.transpose()? })
    }

    /// Sets the calling thread up and makes a loop of the task of this name for it. Each task is given once.
    ///
    /// # Errors
    /// There is no such task, it is taken, or the system refuses something that a loop needs.
    pub fn task_loop(&self, task: &str) -> Result<Loop, Error> {
        self.shared.check_process()?;
        Loop::new(&self.shared, task)
    }

    /// Makes a probe for a loop of the calling thread, of the task of this name. Each task is given once.
    ///
    /// # Errors
    /// There is no such task, or it is taken.
    pub fn probe(&self, task: &str) -> Result<TaskProbe, Error> {
        self.shared.check_process()?;
        TaskProbe::new(&self.shared, task)
    }

    /// Ends every loop before its next activation.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Flag that ends every loop before its next activation once it is set, from signal handlers too.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.shared.stop.clone()
    }

    /// Returns the figures of a task so far.
    ///
    /// # Errors
    /// There is no such task.
    pub fn figures(&self, task: &str) -> Result<Figures, Error> {
        self.shared.check_process()?.figures(task)
    }

    /// Returns the requests refused so far.
    pub fn refused(&self) -> Vec<Refusal> {
        self.shared.check_process().map(Shared::refused).unwrap_or_default()
    }

    /// Ends the run's loops and completes the run file.
    ///
    /// # Errors
    /// The process is a child of the one that began the run; the file cannot be written whole: the journal next to it
    /// stays, and `jitterlab recover` makes the file of it.
    pub fn close(mut self) -> Result<(), Error> {
        self.shared.check_process()?.end_all();
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let written = writing.join();
        written.map_err(|_| {
            Error::not_measured(
                "the thread that writes the run file broke down; jitterlab recover FILE saves \
                 what it wrote",
            )
        })?
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.shared.is_original_process() {
            // The thread it is of is the parent's.
            std::mem::forget(self.writing.take());
        }
    }
}

/// Parses tasks such as `name=base,period=25us; name=servo,due=fitted`.
fn parse_tasks(tasks: &str) -> Result<Vec<(TaskSpec, Option<GridFitting>)>, Error> {
    let mut specs: Vec<(TaskSpec, Option<GridFitting>)> = Vec::new();
    for task in tasks.split(';').map(str::trim).filter(|task| !task.is_empty()) {
        let parts: Vec<&str> = task.split(',').map(str::trim).collect();
        let said: Vec<&str> = parts.iter().filter(|part| **part != "due=fitted").copied().collect();
        let spec: TaskSpec = said.join(",").parse()?;
        let states_period = said.iter().any(|part| part.starts_with("period"));
        let fitting = (said.len() < parts.len()).then(|| GridFitting::new(&spec, states_period));
        let plain = TaskSpec::default();
        if (spec.work, spec.read) != (plain.work, plain.read) {
            return Err(Error::bad_use(format!(
                "task {}: work= and read= are of tasks that jitterlab runs itself, leave them \
                 out",
                spec.name
            )));
        }
        if specs.iter().any(|(other, _)| other.name == spec.name) {
            return Err(Error::bad_use(format!("two tasks have the name {}", spec.name))
                .remedy("give each one of its own by name="));
        }
        specs.push((spec, fitting));
    }
    if specs.is_empty() {
        Err(Error::bad_use(
            "a run needs a task, such as \"name=servo,period=1ms\"; several are separated \
             by semicolons",
        ))
    } else {
        Ok(specs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jitterlab_model::{Gap, Warning};
    use jitterlab_trace::RunReader;

    use super::*;

    /// A loop of twenty activations, after which its program goes on, once it has said that the loop has ended or not.
    fn recorded(is_ended: bool) -> RunInfo {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.parquet");
        let recording = Recording::begin("test", Some(&file), "name=servo,period=2ms").unwrap();
        let mut probe = recording.probe("servo").unwrap();
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(2));
            probe.begin();
            probe.end();
        }
        let kept = (!is_ended).then_some(probe);
        thread::sleep(Duration::from_millis(300));
        recording.close().unwrap();
        drop(kept);
        RunReader::open(&file).unwrap().info().clone()
    }

    #[test]
    fn a_loop_that_falls_silent_before_the_close_is_no_good_one() {
        let info = recorded(false);
        let silent = |warning: &Warning| matches!(warning, Warning::SilentToEnd { silent_ns, .. } if *silent_ns >= 290_000_000);
        assert!(info.warnings.iter().any(silent), "{:?}", info.warnings);
        assert!(!info.tasks[0].knows(Gap::Missed));
        let info = recorded(true);
        assert!(!info.warnings.iter().any(silent) && info.tasks[0].knows(Gap::Missed), "{:?}", info.warnings);
    }
}
