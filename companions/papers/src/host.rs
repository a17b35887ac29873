//! Measurements on this machine.

use std::fs;
use std::path::PathBuf;

use crate::words::Step;
use jitterlab_host::load::parse_loads;
use jitterlab_host::{Request, record_to};
use jitterlab_model::{Error, StopReason, TaskSpec};

use crate::Workplace;

impl Workplace<'_> {
    /// Measures one task under a load (as `--load` takes it) into a run file of that name. A file that exists
    /// is kept, so that an interrupted reproduction continues where it was.
    pub(crate) fn measure(&mut self, name: &str, task: TaskSpec, load: &str) -> Result<PathBuf, Error> {
        self.measure_all(name, vec![task], load)
    }

    /// The same with several tasks.
    pub(crate) fn measure_all(
        &mut self,
        name: &str,
        tasks: Vec<TaskSpec>,
        load: &str,
    ) -> Result<PathBuf, Error> {
        let request = Request {
            duration_ns: Some(self.duration_ns),
            loads: parse_loads(load)?,
            ..Request::for_tasks(tasks)
        };
        self.record(name, load, request)
    }

    /// Measures one task of this machine for a while, with the kernel's events.
    pub(crate) fn trace(&mut self, name: &str, task: TaskSpec, duration_ns: i64) -> Result<PathBuf, Error> {
        let request = Request { duration_ns: Some(duration_ns), why: true, ..Request::for_tasks(vec![task]) };
        self.record(name, "none", request)
    }

    fn record(&mut self, name: &str, load: &str, request: Request) -> Result<PathBuf, Error> {
        let file = self.run_file(name);
        if file.exists() {
            (self.tell)(&Step::Kept(file.clone()));
            return Ok(file);
        }
        (self.tell)(&Step::Measuring { name: name.into(), load: load.into() });
        let stop = record_to(request, &file, self.interrupted)?.run.stop;
        let failed = match stop {
            Some(StopReason::Interrupted) => Error::not_measured(format!(
                "interrupted in {name}: what was measured before is kept, and the same command \
                 goes on from there"
            )),
            Some(StopReason::Overloaded { overload, .. }) => {
                Error::not_measured(format!("{name} could not be measured: {overload}"))
            }
            Some(StopReason::WaitFailed { why, .. }) => {
                Error::not_measured(format!("{name} could not be measured: {why}"))
            }
            _ => return Ok(file),
        };
        // A part of a measurement must not be taken for the whole one when the command is repeated.
        let _ = fs::remove_file(&file);
        Err(failed)
    }
}
