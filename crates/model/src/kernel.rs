//! What commands that were run on a kernel beside jitterlab said and measured, for those who show it.

use serde::{Deserialize, Serialize};

/// What a tool's latencies are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Measures {
    /// The wake-up of a user's thread.
    UserThread,
    /// The wake-up of a thread of the kernel, which returns to no user's code.
    KernelThread,
}

/// What became of one command that was run on a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepResult {
    /// Its exit status; `None` if a signal ended it or it never started.
    pub status: Option<i32>,
    /// Why there is no exit status.
    pub failure: Option<String>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}
