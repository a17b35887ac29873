//! Measurements on kernels.

use std::path::PathBuf;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::Error;
use jitterlab_runs::{Hints, Run};
use serde::{Deserialize, Serialize};

/// The same tasks and loads on one kernel after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRun {
    /// Virtual time of an instruction; `None` where time passed as on the host.
    pub ns_per_instruction: Option<u32>,
    /// Each kernel with a measurement.
    pub kernels: Vec<RunOnKernel>,
    /// Further commands that ran in the guests after the measurement, in order, failed ones included.
    pub also: Vec<GuestCommandResult>,
    /// The files that these commands left, copied out of the guests.
    pub files: Vec<PathBuf>,
}

/// Measurement on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunOnKernel {
    /// The kernel, as the user named it.
    pub kernel: String,
    /// Its release, as `uname -r`.
    pub release: String,
    /// Its version, as `uname -v`.
    pub version: String,
    /// The measurement.
    pub measured: MeasuredRun,
}

/// Measurement on one kernel that is kept for a later call: its run file instead of its figures.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptRun {
    kernel: String,
    release: String,
    version: String,
    file: PathBuf,
}

impl KeptRun {
    /// Creates it for a measurement; `None` if that has no run file.
    pub fn new(on: &RunOnKernel) -> Option<Self> {
        let RunOnKernel { kernel, release, version, measured } = on.clone();
        Some(KeptRun { kernel, release, version, file: measured.file? })
    }

    /// Reads the figures from the run file.
    ///
    /// # Errors
    /// The file is gone, or is damaged.
    pub fn open(self) -> Result<RunOnKernel, Error> {
        let KeptRun { kernel, release, version, file } = self;
        let measured = Run::open(&file, &Hints::default())?.measured()?;
        Ok(RunOnKernel { kernel, release, version, measured })
    }
}

/// A further command that was run in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommandResult {
    /// The kernel, as the user named it.
    pub kernel: String,
    pub command: String,
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Why it did not come to its end.
    pub failure: Option<String>,
}
