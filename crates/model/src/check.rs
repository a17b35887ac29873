//! Findings of `jitterlab check`: one verdict for each property of a machine that matters for real time.
//!
//! A check reports ids and quantities of its finding and remedy; the report has a sentence for each id.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cpus::CpuSet;
use crate::facts::SystemFacts;

/// Verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It prevents real-time operation.
    Fail,
    /// It can make single activations late.
    Warn,
    /// As it should be.
    Pass,
    /// It does not exist here, or could not be read.
    NotApplicable,
}

/// Kind of a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// Remedy of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// Kind of the remedy.
    pub kind: RemedyKind,
    /// Instruction.
    #[serde(flatten)]
    pub action: Action,
}

/// Instruction of a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Exact text for a shell, the kernel command line or jitterlab.
    Exact(String),
    /// A value to write into files of the kernel that can be read back, so that the change can be undone.
    Set {
        /// The value.
        value: String,
        /// The file, or several as a shell names them: `/sys/.../cpu{2,3}/...`.
        files: String,
    },
    /// Set a parameter of the kernel's, as `sysctl` names it: it can be taken back.
    Sysctl {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// The advice of this id, with the check's quantities.
    Advice(String),
}

/// A quantity of a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A number, in the unit that its name ends with.
    Whole(i64),
    /// A number that is not whole; one that is named a share is 0 to 1.
    Real(f64),
    /// A name, or a list of CPUs such as `2-3`.
    Text(String),
    /// Names.
    List(Vec<String>),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Whole(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::from(number as u64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<&CpuSet> for Value {
    fn from(cpus: &CpuSet) -> Self {
        Value::Text(cpus.to_string())
    }
}

impl From<Vec<String>> for Value {
    fn from(names: Vec<String>) -> Self {
        Value::List(names)
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its name for programs, such as `rt-throttling`; it never changes.
    pub id: String,
    /// The topic it belongs to, such as `kernel`.
    pub topic: String,
    /// Verdict.
    pub status: Status,
    /// Id of the finding, among those of the check.
    pub found: String,
    /// Quantities of the finding, by name.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// The ways to put it right; empty where there is nothing to do.
    pub remedies: Vec<Remedy>,
}

/// Place where the kernel command line is set on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CommandLinePlace {
    /// In `cmdline.txt` of a Raspberry Pi.
    CmdlineTxt,
    /// By `grubby` (Fedora, RHEL).
    Grubby,
    /// In `/etc/default/grub`, then `update-grub` (Debian, Ubuntu).
    UpdateGrub,
    /// In `/etc/default/grub`, then `grub-mkconfig` (Arch, SUSE).
    GrubMkconfig,
    /// Not known: in the boot loader, whichever it is.
    BootLoader,
}

/// Results of all checks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// The machine that was checked.
    pub machine: SystemFacts,
    /// The CPUs that the checks are about: those a real-time task would run on.
    pub cpus: CpuSet,
    /// The checks, by topic.
    pub checks: Vec<Check>,
    /// All kernel parameters of the remedies in one line; empty where none is needed.
    pub kernel_parameters: String,
    /// Place where kernel parameters are set on this machine.
    pub kernel_parameters_place: CommandLinePlace,
}

impl Check {
    /// Longest delay that the finding can cause here, in nanoseconds, if known.
    #[must_use]
    pub fn longest_delay_ns(&self) -> Option<i64> {
        match self.values.get(COSTS) {
            Some(Value::Whole(ns)) => Some(*ns),
            _ => None,
        }
    }

    /// Returns the longest delay here or, if it is unknown, the usual one on other machines; 0 where that is small.
    fn ranking_delay_ns(&self) -> i64 {
        let usual = || TYPICAL_NS.iter().find(|(id, _)| *id == self.id).map_or(0, |(_, ns)| *ns);
        self.longest_delay_ns().unwrap_or_else(usual)
    }
}

impl CheckReport {
    /// Returns the number of checks with this verdict.
    #[must_use]
    pub fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }

    /// Returns true if nothing prevents real-time operation: no check failed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.count(Status::Fail) == 0
    }

    /// Returns the checks with a fault: failures before warnings, within each the most costly here first.
    #[must_use]
    pub fn faults(&self) -> Vec<&Check> {
        let mut faults: Vec<&Check> =
            self.checks.iter().filter(|check| matches!(check.status, Status::Fail | Status::Warn)).collect();
        faults.sort_by_key(|check| (check.status, std::cmp::Reverse(check.ranking_delay_ns())));
        faults
    }
}

/// Name of the quantity of a finding that is the longest delay it can cause here, in nanoseconds.
pub const COSTS: &str = "costs_ns";

const MS: i64 = 1_000_000;

/// Orders of magnitude of the delays that settings cause on usual machines, for settings whose delay is unknown here.
/// Without a real-time priority or with stolen time a start waits for others' turns. Without PREEMPT_RT it waits for
/// the longest path through the kernel, out of idle states for the deepest one.
const TYPICAL_NS: [(&str, i64); 18] = [
    ("rtprio", 20 * MS),
    ("rt-group", 15 * MS),
    ("steal", 10 * MS),
    ("preempt-rt", 5 * MS),
    ("high-resolution-timers", 4 * MS),
    ("power-supply", 3 * MS),
    ("virtual-machine", 2 * MS),
    ("memlock", MS),
    ("preemption", MS / 2),
    ("idle-states", MS / 4),
    ("smi", MS / 5),
    ("governor", MS / 6),
    ("isolated-cpus", MS / 7),
    ("irq-affinity", MS / 8),
    ("smt", MS / 20),
    ("clocksource", MS / 30),
    ("frequency-range", MS / 40),
    ("real-time-programs", MS / 50),
];
