//! What `jitterlab check` found: one verdict for each thing about a machine that matters for real time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::facts::SystemFacts;

/// Version of the report's layout (`docs/formats/check.md`).
pub const CHECK_FORMAT_VERSION: u32 = 1;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It stands in the way of real time.
    Fail,
    /// It can make single activations late.
    Warn,
    /// As it should be.
    Pass,
    /// It does not exist here, or could not be read.
    NotApplicable,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Fail => "fail",
            Status::Warn => "warn",
            Status::Pass => "pass",
            Status::NotApplicable => "n/a",
        })
    }
}

/// What kind of thing a remedy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// A command, as root; it lasts until the next start.
    Command,
    /// Something that lasts: a line in a file, a package.
    Lasting,
    /// A word for the kernel's command line, for the next start.
    KernelParameter,
    /// Something only the host of this virtual machine or container can do.
    Host,
    /// A setting of the firmware (BIOS), or something done to the machine by hand.
    Machine,
    /// An option of jitterlab, for one run.
    Option,
}

impl fmt::Display for RemedyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RemedyKind::Command => "now",
            RemedyKind::Lasting => "for good",
            RemedyKind::KernelParameter => "kernel parameter",
            RemedyKind::Host => "on the host",
            RemedyKind::Machine => "on the machine",
            RemedyKind::Option => "for one run",
        })
    }
}

/// One way to put something right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// What kind of thing it is.
    pub kind: RemedyKind,
    /// The command, the parameter, or what to do.
    pub text: String,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its name for programs, such as `rt-throttling`; it never changes.
    pub id: String,
    /// The topic it belongs to, such as `kernel`.
    pub group: String,
    /// What it looks at.
    pub title: String,
    /// How it came out.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// Why it matters, in one sentence.
    pub why: String,
    /// The ways to put it right; empty where there is nothing to do.
    pub remedies: Vec<Remedy>,
}

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// [`CHECK_FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The machine that was checked.
    pub machine: SystemFacts,
    /// The CPUs that the checks are about: those a real-time task would run on.
    pub cpus: CpuSet,
    /// The checks, by topic.
    pub checks: Vec<Check>,
    /// All kernel parameters of the remedies in one line; empty where none is needed.
    pub kernel_parameters: String,
    /// How kernel parameters are set on this machine.
    pub kernel_parameters_how: String,
}

impl CheckReport {
    /// How many checks came out this way.
    pub fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }

    /// Whether nothing stands in the way of real time: no check failed.
    pub fn is_fit(&self) -> bool {
        self.count(Status::Fail) == 0
    }
}
