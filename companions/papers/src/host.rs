//! Measurements on this machine.

use std::fs;
use std::path::PathBuf;

use crate::words::Step;
use jitterlab_host::load::parse_loads;
use jitterlab_host::{Request, record_to};
use jitterlab_model::{StopReason, TaskSpec};

use crate::{PapersError, Workplace};

impl Workplace<'_> {
    /// Measures one task beside a load (as `--load` takes it) into a run file of that name. A file that is there from
    /// before is kept, so that an interrupted reproduction goes on where it was.
    pub(crate) fn measure(&mut self, name: &str, task: TaskSpec, load: &str) -> Result<PathBuf, PapersError> {
        let file = self.run_file(name);
        if file.exists() {
            (self.tell)(&Step::Kept(file.clone()));
            return Ok(file);
        }
        (self.tell)(&Step::Measuring { name: name.into(), load: load.into() });
        let request = Request {
            duration_ns: Some(self.duration_ns),
            loads: parse_loads(load)?,
            ..Request::of(vec![task])
        };
        let stop = record_to(request, &file, self.interrupted)?.run.stop;
        let failed = match stop {
            Some(StopReason::Interrupted) => PapersError::Interrupted(name.into()),
            Some(StopReason::Overloaded { overload, .. }) => {
                PapersError::NotMeasured { name: name.into(), why: overload.to_string() }
            }
            Some(StopReason::WaitFailed { why, .. }) => PapersError::NotMeasured { name: name.into(), why },
            _ => return Ok(file),
        };
        // A part of a measurement must not be taken for the whole one when the command is repeated.
        let _ = fs::remove_file(&file);
        Err(failed)
    }
}
