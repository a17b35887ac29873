//! Measurements on kernels, and which of them is best.

use std::path::PathBuf;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::{RunInfo, StopReason, TaskRun};
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

/// Difference of a kernel, given by its number, from the first one, because of which kernels are not ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelMismatch {
    /// The request: tasks, load, length.
    Asked(usize),
    /// Resources of the tasks: policy, locked memory.
    Granted(usize),
    /// A load failed there.
    Load(usize),
    /// It ended before its time there, whatever it did on the others.
    CutShort(usize),
}

/// On which kernels a task is best. Kernels are named by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BestKernels {
    /// On these: nowhere else was its latest start earlier, or were fewer due times missed, and on each other kernel one of
    /// both was worse.
    These {
        /// In their order; where there are several they are alike.
        kernels: Vec<usize>,
        /// Number of starts on the nearest other kernel that were later than any here; if there were none,
        /// the number of due times that it missed more.
        rests_on: u64,
    },
    /// All kernels are alike.
    All,
    /// On some fewer due times are missed, on others the latest start is earlier.
    Split {
        /// Kernels with the fewest missed.
        least_missed: Vec<usize>,
        /// Kernels with the earliest latest start.
        least_late: Vec<usize>,
    },
    /// The latest start or the number of missed due times is unknown on some kernel.
    Unknown,
}

/// Largest relative difference of latest starts that count as alike: three digits show no smaller one.
const ALIKE: f64 = 0.01;

impl KernelRun {
    /// Why the kernels cannot be ranked, if so.
    pub fn unlike(&self) -> Option<KernelMismatch> {
        let runs: Vec<&RunInfo> = self.kernels.iter().map(|kernel| &kernel.measured.run).collect();
        let first = *runs.first()?;
        let find = |unlike: &dyn Fn(&RunInfo) -> bool| runs.iter().position(|run| unlike(run));
        let asked = |run: &RunInfo| {
            let length = |of: &RunInfo| (of.duration_ns, of.count, of.stop_above_ns);
            let specs = run.tasks.iter().map(|task| &task.spec).eq(first.tasks.iter().map(|task| &task.spec));
            length(run) == length(first) && run.load == first.load && specs
        };
        let granted = |run: &RunInfo| {
            let of = |task: &TaskRun| task.granted.as_ref().map(|of| (of.policy, of.memory_locked));
            run.tasks.iter().map(of).collect::<Vec<_>>()
        };
        let cut_short = |run: &RunInfo| !matches!(run.stop, Some(StopReason::Duration | StopReason::Count));
        find(&|run| !asked(run))
            .map(KernelMismatch::Asked)
            .or_else(|| find(&|run| granted(run) != granted(first)).map(KernelMismatch::Granted))
            .or_else(|| {
                find(&|run| run.loads.iter().any(|load| load.failure.is_some())).map(KernelMismatch::Load)
            })
            .or_else(|| find(&cut_short).map(KernelMismatch::CutShort))
    }

    /// On which kernels the task of this number is best, of kernels that are not [`KernelRun::unlike`].
    pub fn best(&self, task: usize) -> BestKernels {
        let tasks = self.kernels.iter().map(|kernel| kernel.measured.tasks.get(task));
        let known = tasks.map(|of| {
            let (worst, missed) = (of?.summary.latency.max_ns?, of?.summary.missed.exactly()?);
            Some((worst, missed, of?))
        });
        let Some(all) = known.collect::<Option<Vec<_>>>() else {
            return BestKernels::Unknown;
        };
        let numbers = |wanted: &dyn Fn(i64, u64) -> bool| -> Vec<usize> {
            let each = all.iter().enumerate().filter(|(_, (worst, missed, _))| wanted(*worst, *missed));
            each.map(|(number, _)| number).collect()
        };
        let earliest = all.iter().map(|(worst, ..)| *worst).min().unwrap_or_default();
        let fewest = all.iter().map(|(_, missed, _)| *missed).min().unwrap_or_default();
        let near = earliest.saturating_add((earliest.unsigned_abs() as f64 * ALIKE) as i64);
        let (late, few) = (|worst: i64| worst <= near, |missed: u64| missed == fewest);
        let kernels = numbers(&|worst, missed| late(worst) && few(missed));
        if kernels.len() == all.len() {
            return BestKernels::All;
        }
        if kernels.is_empty() {
            let (least_missed, least_late) =
                (numbers(&|_, missed| few(missed)), numbers(&|worst, _| late(worst)));
            return BestKernels::Split { least_missed, least_late };
        }
        // The latest bin of the best kernels: starts above it elsewhere were later.
        let bin = |kernel: &usize| all[*kernel].2.latency_bins.last().map_or(i64::MIN, |(high, _)| *high);
        let above = kernels.iter().map(bin).max().unwrap_or(i64::MIN).max(near);
        let others = all.iter().enumerate().filter(|(number, _)| !kernels.contains(number));
        let rests_on = others.map(|(_, (_, missed, measured))| {
            let later = measured.latency_bins.iter().filter(|(high, _)| *high > above);
            match later.map(|(_, count)| count).sum() {
                0 => missed - fewest,
                later => later,
            }
        });
        BestKernels::These { rests_on: rests_on.min().unwrap_or_default(), kernels }
    }
}

/// Measurement on one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
