//! Results of an experiment over knobs.

use jitterlab_model::{CpuSet, Fitness, Knob, Warning, Watched};
use serde::{Deserialize, Serialize};

use super::{Effect, Experiment, Figure, RemediedCauses, SettingVerdict, TunePlan};
use crate::causes::TaskWhy;
use crate::verdict::PurposeVerdict;

/// Smallest latency compared, in ns: below it, latencies are about the time to read the clock.
const FLOOR_NS: f64 = 100.0;

/// Figures of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// The deciding percentile of the latency of each due time, in ns.
    pub tail_ns: i64,
    /// The largest latency, in ns.
    pub max_ns: i64,
    /// Due times that passed unserved.
    pub missed: u64,
    /// Due times.
    pub due: u64,
    /// Verdict on the purpose, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PurposeVerdict>,
    /// Measurements of it that were discarded, because the host of the virtual machine took the CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl BlockFigures {
    /// Returns a figure for comparison: its logarithm. Half a due time is added to the missed ones, so that 0
    /// has a logarithm too.
    #[must_use]
    pub fn comparison_value(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Tail => (self.tail_ns as f64).max(FLOOR_NS).ln(),
            Figure::Maximum => (self.max_ns as f64).max(FLOOR_NS).ln(),
            Figure::Missed => ((self.missed as f64 + 0.5) / (self.due as f64 + 1.0)).ln(),
        }
    }
}

/// One setting that a knob makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "sets", rename_all = "kebab-case")]
pub enum Step {
    /// A file of the kernel.
    File {
        /// Path.
        file: String,
        /// The value written to it.
        value: String,
    },
    /// Devices' interrupts go to these CPUs.
    Interrupts {
        /// The CPUs that get them.
        to: CpuSet,
    },
    /// Threads of other programs, and movable threads of the kernel, go to these CPUs.
    Threads {
        /// The CPUs that get them.
        to: CpuSet,
    },
    /// Threads that may run on SMT siblings of the task's CPU go to other CPUs.
    Siblings {
        /// The siblings to clear.
        off: CpuSet,
        /// The CPUs that get them.
        to: CpuSet,
    },
    /// Control groups keep other programs, including those started later, on these CPUs.
    Cpuset {
        /// The CPUs that get them.
        to: CpuSet,
    },
    /// Kernel threads on the task's processor with a higher real-time priority get this one.
    KernelThreads {
        /// The priority.
        priority: u8,
    },
    /// `/dev/cpu_dma_latency` is held at this limit while the task runs.
    IdleLatency {
        /// The limit, in microseconds.
        us: i32,
    },
    /// The task gets these settings (`policy=fifo:80`).
    Task {
        /// The settings, as in `--task`.
        parts: String,
    },
}

/// A knob that can be tried here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplicableKnob {
    /// The knob.
    pub knob: Knob,
    /// The settings it makes.
    pub steps: Vec<Step>,
}

/// Result of an experiment on one knob.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnobResult {
    /// The knob, with its settings.
    #[serde(flatten)]
    pub offered: ApplicableKnob,
    /// The causes found that it remedies; `None` for a usual first step, and for a knob asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedies: Option<RemediedCauses>,
    /// The judgement.
    pub judgement: SettingVerdict,
    /// Its effects, the deciding figure first; none for figures that never varied.
    pub effects: Vec<Effect>,
    /// The knobs that were set in both arms of the comparison; none if it was compared with the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Knob>,
}

impl KnobResult {
    /// Returns its effect on a figure; `None` if that never varied.
    #[must_use]
    pub fn effect(&self, figure: Figure) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.figure == figure)
    }
}

/// A knob that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UntriedKnob {
    /// The knob.
    pub knob: Knob,
    /// The reason.
    #[serde(flatten)]
    pub why: LeftOut,
}

/// Reason why a knob was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum LeftOut {
    /// This machine does not have it.
    Absent,
    /// The task, as it waits and runs, has no use for it.
    NotOfTask,
    /// It is set in this way already.
    Already,
    /// The system refuses to set it.
    Refused {
        /// The file or object, and the system's error message.
        error: String,
    },
    /// The budget does not allow more knobs.
    NoTime,
    /// It remedies no cause of the task's lateness, and is no usual first step.
    NoCause,
    /// It must be set in the program whose thread is watched.
    OfProgram,
}

/// A figure of the start and of the proposed settings, in the proof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureChange {
    /// The figure.
    pub figure: Figure,
    /// The median of the blocks of the start, in ns or as a share.
    pub start: f64,
    /// The median with all helpful settings.
    pub tuned: f64,
    /// The effect; `None` if the figure never varied.
    pub effect: Option<Effect>,
}

/// Proof of the smallest set that keeps the gain, against the start: new blocks in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingsProof {
    /// The knobs set.
    pub knobs: Vec<Knob>,
    /// Pairs of blocks.
    pub pairs: usize,
    /// Each figure.
    pub changes: Vec<FigureChange>,
    /// True if the deciding figure is lower, and no other one may be higher.
    pub holds: bool,
    /// Verdict of the worst block of the start on the purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_verdict: Option<PurposeVerdict>,
    /// Verdict of the worst block with everything set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned_verdict: Option<PurposeVerdict>,
}

impl SettingsProof {
    /// Creates the proof from blocks without and with these knobs in turns; `None` without a complete pair.
    #[must_use]
    pub fn new(knobs: Vec<Knob>, proof: &Experiment) -> Option<Self> {
        let of_start = summarise_blocks(&proof.blocks(false))?;
        let of_tuned = summarise_blocks(&proof.blocks(true))?;
        let found = proof.results().first()?;
        let seen = |of: &BlockFigures, figure: Figure| match figure {
            Figure::Tail => of.tail_ns as f64,
            Figure::Maximum => of.max_ns as f64,
            Figure::Missed => of.missed as f64 / of.due.max(1) as f64,
        };
        let change = |figure| FigureChange {
            figure,
            start: seen(&of_start, figure),
            tuned: seen(&of_tuned, figure),
            effect: found.effects.iter().find(|effect| effect.figure == figure).copied(),
        };
        Some(SettingsProof {
            knobs,
            pairs: proof.rounds(),
            changes: Figure::ALL.map(change).into(),
            holds: found.judgement() == SettingVerdict::Helps,
            start_verdict: of_start.verdict,
            tuned_verdict: of_tuned.verdict,
        })
    }

    /// Returns the change of a figure.
    #[must_use]
    pub fn change(&self, figure: Figure) -> Option<&FigureChange> {
        self.changes.iter().find(|change| change.figure == figure)
    }
}

/// A setting that takes effect at the next boot; `tune --continue` tries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "restart", rename_all = "kebab-case")]
pub enum RebootSetting {
    /// A parameter of the kernel command line.
    Parameter {
        /// The parameter, such as `isolcpus=1`.
        word: String,
        /// True if virtual time, which counts instructions, shows its effect; false if the effect is in the
        /// processor's hardware.
        in_virtual_time: bool,
    },
    /// A kernel with PREEMPT_RT.
    RealTimeKernel,
}

/// Note for the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum TuneNote {
    /// A warning about the machine or the placement of the task on it.
    Machine {
        /// The warning.
        warning: Warning,
    },
    /// It was interrupted; the judgement uses the blocks until then.
    Interrupted,
    /// Blocks took longer than planned, so that fewer fitted into the time.
    Slower {
        /// Planned time of a block, in ns.
        planned_ns: i64,
        /// Mean time of a block, in ns.
        took_ns: i64,
    },
    /// The host took the CPU during some measurements, which were discarded and repeated.
    HostTook {
        /// Number of these.
        repeated: usize,
    },
    /// Other programs measured at the same time.
    OthersMeasure {
        /// Their names.
        programs: Vec<String>,
    },
    /// A setting could not be restored.
    NotRestored {
        /// The setting.
        what: String,
    },
}

/// Ways of the machine to keep settings over a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PersistenceSupport {
    /// systemd is the first process, and reads its files.
    pub systemd: bool,
    /// True if its kernel and command line are its own, not supplied by a host.
    pub command_line: bool,
}

/// Result of `tune`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneResult {
    /// The task as in `--task`; for a watched thread its name and period.
    pub task: String,
    /// The watched thread, if the task was running already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// The CPU that it ran on, if it was bound to one.
    pub cpu: Option<u16>,
    /// The loads during the measurement.
    pub loads: Vec<String>,
    /// The purpose asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The percentile of a block that is compared, such as p99.9.
    pub tail: String,
    /// Plan of the time; `None` if nothing could be tried.
    pub plan: Option<TunePlan>,
    /// Number of rounds measured through the knobs.
    pub rounds: usize,
    /// Number of blocks measured.
    pub blocks: usize,
    /// Standard deviation between blocks of the logarithm of the deciding figure.
    pub scatter: Option<f64>,
    /// Causes of lateness before anything was set; `None` if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<TaskWhy>,
    /// Figures of the start: medians of its blocks.
    pub start: Option<BlockFigures>,
    /// The knobs tried, the most useful first.
    pub knobs: Vec<KnobResult>,
    /// The knobs not tried.
    pub left: Vec<UntriedKnob>,
    /// Settings to try at the next boot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart: Vec<RebootSetting>,
    /// Ways to keep settings over a reboot.
    pub keeping: PersistenceSupport,
    /// Proof of all helpful knobs together against the start; `None` if there are none.
    pub proven: Option<SettingsProof>,
    /// Notes for the reader.
    pub notes: Vec<TuneNote>,
}

impl TuneResult {
    /// Returns the knobs worth keeping: proven together.
    pub fn knobs_worth_keeping(&self) -> impl Iterator<Item = &KnobResult> {
        let proven = self.proven.as_ref().filter(|proven| proven.holds);
        let kept = move |found: &&KnobResult| {
            proven.is_some_and(|proven| proven.knobs.contains(&found.offered.knob))
        };
        self.knobs.iter().filter(kept)
    }

    /// Returns the deciding figure: the missed share if the start misses, else the percentile.
    #[must_use]
    pub fn deciding_figure(&self) -> Figure {
        self.plan.map_or(Figure::Tail, |plan| plan.pilot.figure)
    }

    /// Returns the fitness for the purpose with the knobs worth keeping, if a purpose was asked for.
    #[must_use]
    pub fn fitness(&self) -> Option<Fitness> {
        self.purpose.as_ref()?;
        let proven = self.proven.as_ref();
        let verdict = match proven {
            Some(proven) if proven.holds => proven.tuned_verdict.as_ref(),
            Some(proven) => proven.start_verdict.as_ref(),
            None => self.start.as_ref()?.verdict.as_ref(),
        };
        Some(verdict.map_or(Fitness::CannotTell, |verdict| verdict.fitness))
    }
}

/// Summarises blocks: medians of latencies, sums of counts, and the joint verdict; `None` without any.
#[must_use]
pub fn summarise_blocks(blocks: &[&BlockFigures]) -> Option<BlockFigures> {
    let middle = |of: fn(&BlockFigures) -> i64| {
        let mut values: Vec<i64> = blocks.iter().map(|block| of(block)).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    let verdicts =
        blocks.iter().filter_map(|block| Some((block.verdict.as_ref()?, block.due - block.missed)));
    Some(BlockFigures {
        tail_ns: middle(|block| block.tail_ns)?,
        max_ns: middle(|block| block.max_ns)?,
        missed: blocks.iter().map(|block| block.missed).sum(),
        due: blocks.iter().map(|block| block.due).sum(),
        verdict: PurposeVerdict::worst_of_runs(verdicts),
        repeated: blocks.iter().map(|block| block.repeated).sum(),
    })
}
