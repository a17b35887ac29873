//! What was measured on kernels: other tools beside jitterlab in one boot, and the code paths of two kernels.

use jitterlab_model::causes::{Step, TaskCauses};
use jitterlab_model::kernel::Measures;
use serde::{Deserialize, Serialize};

use crate::code_paths::{PathChange, changes, code_paths};
use crate::compare::CausesCompared;
use crate::measured::MeasuredRun;
use crate::summary::Summary;

/// The same tasks and loads on one kernel after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelRun {
    /// Virtual time of an instruction; `None` where time passed as on the host.
    pub ns_per_instruction: Option<u32>,
    /// Each kernel on which it could be measured.
    pub kernels: Vec<RunOnKernel>,
    /// What was run in the guests after the measurement, in order; also where that failed.
    pub also: Vec<AlsoRan>,
}

/// What was measured on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A further command that was run in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlsoRan {
    /// The kernel, as the user named it.
    pub kernel: String,
    /// The command.
    pub command: String,
    /// Its exit status.
    pub status: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Why it did not come to its end.
    pub failure: Option<String>,
}

/// How the code paths of one kernel differ from another's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDiff {
    /// The kernel or run file that is compared with.
    pub old: String,
    /// The kernel or run file that is compared.
    pub new: String,
    /// Virtual time of an instruction; `None` where time passed as on the host.
    pub ns_per_instruction: Option<u32>,
    /// By how much a path may move.
    pub tolerance_ns: i64,
    /// Whether a path that 1 % of the activations take appeared, vanished, or moved by more than the tolerance.
    pub differs: bool,
    /// Each task.
    pub tasks: Vec<PathsOfTask>,
}

/// How one task's code paths differ between two kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathsOfTask {
    /// Its name.
    pub task: String,
    /// What became of each path, in order of latency.
    pub changes: Vec<PathChange>,
    /// Largest latency on the old kernel.
    pub old_max_ns: Option<i64>,
    /// Largest latency on the new kernel.
    pub new_max_ns: Option<i64>,
    /// How long each step of a wake-up usually is on either, where both were measured with their causes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMoved>,
    /// What delayed the task beyond these, where that is known of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CausesCompared>,
}

/// A step of the usual way of a wake-up on two kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepMoved {
    /// Which.
    pub step: Step,
    /// Its median on the old kernel.
    pub old_ns: i64,
    /// Its median on the new one.
    pub new_ns: i64,
}

impl PathsOfTask {
    /// Compares a task's latencies on two kernels.
    #[must_use]
    pub fn of(task: String, mut old_ns: Vec<i64>, mut new_ns: Vec<i64>) -> Self {
        let (old_max_ns, new_max_ns) = (old_ns.iter().max().copied(), new_ns.iter().max().copied());
        let changes = changes(&code_paths(&mut old_ns), &code_paths(&mut new_ns));
        PathsOfTask { task, changes, old_max_ns, new_max_ns, steps: Vec::new(), causes: None }
    }

    /// The same with what the causes of both kernels say.
    #[must_use]
    pub fn with_causes(self, old: (String, &TaskCauses), new: (String, &TaskCauses)) -> Self {
        let median = |of: &TaskCauses, step: Step| {
            of.usual.iter().find(|usual| usual.step == step).map_or(0, |usual| usual.median_ns)
        };
        let moved = |step| StepMoved { step, old_ns: median(old.1, step), new_ns: median(new.1, step) };
        let steps = Step::ALL.into_iter().map(moved).filter(|moved| moved.old_ns.max(moved.new_ns) > 0);
        PathsOfTask { steps: steps.collect(), causes: CausesCompared::of(&[old, new]), ..self }
    }

    /// How many of its paths differ by more than the tolerance.
    #[must_use]
    pub fn different(&self, tolerance_ns: i64) -> usize {
        self.changes.iter().filter(|change| change.matters(tolerance_ns)).count()
    }
}

/// The same task measured by several tools, on one kernel after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelPeers {
    /// The task's period.
    pub period_ns: i64,
    /// Its SCHED_FIFO priority.
    pub priority: u8,
    /// The command that ran beside all tools, if any.
    pub background: Option<String>,
    /// Virtual time of an instruction; `None` where time passed as on the host.
    pub ns_per_instruction: Option<u32>,
    /// Each kernel.
    pub kernels: Vec<PeersOnKernel>,
}

/// What the tools measured in one boot of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeersOnKernel {
    /// The kernel, as the user named it.
    pub kernel: String,
    /// Its release, as `uname -r`.
    pub release: String,
    /// Each tool, jitterlab first.
    pub tools: Vec<ToolResult>,
}

/// What one tool measured in a boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The tool.
    pub tool: String,
    /// The command it was run with.
    pub command: String,
    /// What its latencies are of.
    pub measures: Measures,
    /// What it measured; `None` where it measured nothing.
    pub summary: Option<Summary>,
    /// Why it measured nothing.
    pub failure: Option<String>,
}
