//! What `jitterlab check` found: one verdict for each thing about a machine that matters for real time.
//!
//! A check says by ids and quantities what it found and what puts it right; the report has a sentence for each id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::facts::SystemFacts;

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

/// One way to put something right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// What kind of thing it is.
    pub kind: RemedyKind,
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Exactly this: what a shell, the kernel's command line or jitterlab takes.
    Exact(String),
    /// Write this into files of the kernel, which read back what they held before: it can be taken back.
    Set {
        /// What to write.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its name for programs, such as `rt-throttling`; it never changes.
    pub id: String,
    /// The topic it belongs to, such as `kernel`.
    pub topic: String,
    /// How it came out.
    pub status: Status,
    /// What was found, as an id among those of the check.
    pub found: String,
    /// The quantities of what was found, by name.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// The ways to put it right; empty where there is nothing to do.
    pub remedies: Vec<Remedy>,
}

/// Where the kernel's command line is set on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Where kernel parameters are set on this machine.
    pub kernel_parameters_place: CommandLinePlace,
}

impl Check {
    /// Longest delay that what was found can cause here, where that is known.
    #[must_use]
    pub fn costs_ns(&self) -> Option<i64> {
        match self.values.get(COSTS) {
            Some(Value::Whole(ns)) => Some(*ns),
            _ => None,
        }
    }

    /// The same, else what it is on usual machines; 0 where that is little.
    fn typical_ns(&self) -> i64 {
        let usual = || TYPICAL_NS.iter().find(|(id, _)| *id == self.id).map_or(0, |(_, ns)| *ns);
        self.costs_ns().unwrap_or_else(usual)
    }
}

impl CheckReport {
    /// How many checks came out this way.
    #[must_use]
    pub fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }

    /// Whether nothing stands in the way of real time: no check failed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.count(Status::Fail) == 0
    }

    /// What found fault: what failed before what warned, of these what costs most here first.
    #[must_use]
    pub fn faults(&self) -> Vec<&Check> {
        let mut faults: Vec<&Check> =
            self.checks.iter().filter(|check| matches!(check.status, Status::Fail | Status::Warn)).collect();
        faults.sort_by_key(|check| (check.status, std::cmp::Reverse(check.typical_ns())));
        faults
    }
}

/// Name of the quantity of a finding that is the longest delay it can cause here, in nanoseconds.
pub const COSTS: &str = "costs_ns";

const MS: i64 = 1_000_000;

/// Orders of magnitude of the delays that settings cause on usual machines, where this one does not tell: without a real-time
/// priority or with stolen time a start waits for others' turns, without PREEMPT_RT for the longest way through the kernel, out
/// of idle states for the deepest one.
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
