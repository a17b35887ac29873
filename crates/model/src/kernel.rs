//! What tools that were run on a kernel beside jitterlab measured, for those who show it.

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
