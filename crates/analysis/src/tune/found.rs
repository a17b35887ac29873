//! What an experiment over knobs found.

use jitterlab_model::{CpuSet, Fitness, Knob, Warning, Watched};
use serde::{Deserialize, Serialize};

use super::{Effect, Experiment, Figure, Judgement, Remedied, TunePlan};
use crate::causes::TaskWhy;
use crate::verdict::PurposeVerdict;

/// Latencies below this are not told apart: about what reading the clock takes.
const FLOOR_NS: f64 = 100.0;

/// What one block was like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// The percentile that decides, of the latency of each due time.
    pub tail_ns: i64,
    /// The largest latency.
    pub max_ns: i64,
    /// Due times that passed unserved.
    pub missed: u64,
    /// Due times.
    pub due: u64,
    /// What it says of the purpose, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PurposeVerdict>,
}

impl BlockFigures {
    /// A figure as it is compared: its logarithm. Half a due time more was missed than were, so that none has one too.
    #[must_use]
    pub fn value(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Tail => (self.tail_ns as f64).max(FLOOR_NS).ln(),
            Figure::Maximum => (self.max_ns as f64).max(FLOOR_NS).ln(),
            Figure::Missed => ((self.missed as f64 + 0.5) / (self.due as f64 + 1.0)).ln(),
        }
    }
}

/// One thing that a knob sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sets", rename_all = "kebab-case")]
pub enum Step {
    /// A file of the kernel.
    File {
        /// Its path.
        file: String,
        /// What is written to it.
        value: String,
    },
    /// Devices' interrupts go to these CPUs.
    Interrupts {
        /// Where to.
        to: CpuSet,
    },
    /// Other programs' threads, and the kernel's that can, go to these CPUs.
    Threads {
        /// Where to.
        to: CpuSet,
    },
    /// The same of threads that may run on these CPUs, which share a core with the task's.
    Siblings {
        /// Where from.
        off: CpuSet,
        /// Where to.
        to: CpuSet,
    },
    /// Control groups hold other programs, those that are started later too, on these CPUs.
    Cpuset {
        /// Where to.
        to: CpuSet,
    },
    /// The kernel's threads of the task's processor with a higher real-time priority get this one.
    KernelThreads {
        /// The priority.
        priority: u8,
    },
    /// `/dev/cpu_dma_latency` is held at so many microseconds while the task runs.
    IdleLatency {
        /// The limit.
        us: i32,
    },
    /// The task gets these parts (`policy=fifo:80`).
    Task {
        /// As in `--task`.
        parts: String,
    },
}

/// A knob that can be tried here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Which.
    pub knob: Knob,
    /// What it sets.
    pub steps: Vec<Step>,
}

/// What an experiment says of one knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnobFound {
    /// Which, and what it set.
    #[serde(flatten)]
    pub offered: Offered,
    /// What it is a remedy of, among the causes that were found; `None` for a usual first step, and for what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedies: Option<Remedied>,
    /// The judgement.
    pub judgement: Judgement,
    /// Its effects, the figure that decides first; none of what was never seen to vary.
    pub effects: Vec<Effect>,
    /// The knobs that were set with it and without: none where it was compared with the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Knob>,
}

impl KnobFound {
    /// Its effect on a figure.
    #[must_use]
    pub fn effect(&self, figure: Figure) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.figure == figure)
    }
}

/// A knob that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobLeft {
    /// Which.
    pub knob: Knob,
    /// Why.
    #[serde(flatten)]
    pub why: LeftOut,
}

/// Why a knob was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum LeftOut {
    /// This machine has no such thing.
    Absent,
    /// The task, as it waits and runs, has no use for it.
    NotOfTask,
    /// It is set that way already.
    Already,
    /// The system refuses to set it.
    Refused {
        /// The file or thing, and the system's words.
        error: String,
    },
    /// The budget does not allow as many.
    NoTime,
    /// It remedies nothing that made the task late, and is no usual first step.
    NoCause,
    /// It is set in the program whose thread is watched.
    OfProgram,
}

/// A figure of the start and of what is proposed, in the proof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The figure.
    pub figure: Figure,
    /// The median of the blocks of the start, in ns or as a share.
    pub start: f64,
    /// The same with everything set that helped.
    pub tuned: f64,
    /// How they differ; `None` where it never varied.
    pub effect: Option<Effect>,
}

/// The smallest set that keeps the gain, against the start: fresh blocks in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    /// What was set.
    pub knobs: Vec<Knob>,
    /// Pairs of blocks.
    pub pairs: usize,
    /// Each figure.
    pub changes: Vec<Change>,
    /// Whether the figure that decides is lower, and no other one may be higher.
    pub holds: bool,
    /// What the worst block of the start says of the purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_verdict: Option<PurposeVerdict>,
    /// What the worst block with everything set says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned_verdict: Option<PurposeVerdict>,
}

impl Proven {
    /// From blocks without these knobs and with all of them, in turns; `None` where not a pair of them was measured.
    #[must_use]
    pub fn new(knobs: Vec<Knob>, proof: &Experiment) -> Option<Self> {
        let of_start = median_of(&proof.blocks(false))?;
        let of_tuned = median_of(&proof.blocks(true))?;
        let found = proof.found().first()?;
        let seen = |of: &BlockFigures, figure: Figure| match figure {
            Figure::Tail => of.tail_ns as f64,
            Figure::Maximum => of.max_ns as f64,
            Figure::Missed => of.missed as f64 / of.due.max(1) as f64,
        };
        let change = |figure| Change {
            figure,
            start: seen(&of_start, figure),
            tuned: seen(&of_tuned, figure),
            effect: found.effects.iter().find(|effect| effect.figure == figure).copied(),
        };
        Some(Proven {
            knobs,
            pairs: proof.rounds(),
            changes: Figure::ALL.map(change).into(),
            holds: found.judgement() == Judgement::Helps,
            start_verdict: of_start.verdict,
            tuned_verdict: of_tuned.verdict,
        })
    }

    /// A figure of it.
    #[must_use]
    pub fn change(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }
}

/// Something that holds from a restart on, and is tried by `tune --continue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "restart", rename_all = "kebab-case")]
pub enum Restart {
    /// A word for the kernel's command line.
    Parameter {
        /// The word, such as `isolcpus=1`.
        word: String,
        /// Whether virtual time, which counts instructions, shows what it does: not where it is about what processors do.
        in_virtual_time: bool,
    },
    /// A kernel with PREEMPT_RT.
    RealTimeKernel,
}

/// What a reader has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum TuneNote {
    /// Of the machine and where the task ran on it.
    Machine {
        /// What.
        warning: Warning,
    },
    /// It was interrupted: what was measured until then is judged.
    Interrupted,
    /// Blocks took longer than planned, so that fewer fitted into the time.
    Slower {
        /// How long a block was planned to take.
        planned_ns: i64,
        /// How long one took in the mean.
        took_ns: i64,
    },
    /// Something could not be put back.
    NotRestored {
        /// What.
        what: String,
    },
}

/// What a machine can keep settings with over a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    /// systemd is the first process, and reads its files.
    pub systemd: bool,
    /// Its kernel and command line are its own, not supplied by a host.
    pub command_line: bool,
}

/// What `tune` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    /// The task, as `--task` takes it; of a thread that is watched its name and period.
    pub task: String,
    /// The thread that it is, if one that ran already was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// The CPU that it ran on, if it was bound to one.
    pub cpu: Option<u16>,
    /// The loads beside it.
    pub loads: Vec<String>,
    /// The purpose that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The percentile of a block that is compared, such as p99.9.
    pub tail: String,
    /// How the time was to be spent; `None` where nothing could be tried.
    pub plan: Option<TunePlan>,
    /// Rounds through the knobs that were measured.
    pub rounds: usize,
    /// All blocks that were measured.
    pub blocks: usize,
    /// Standard deviation of the logarithm of the figure that decides, from block to block.
    pub scatter: Option<f64>,
    /// What made the task late before anything was set; `None` where that was not found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<TaskWhy>,
    /// What the start was like: medians of its blocks.
    pub start: Option<BlockFigures>,
    /// The knobs that were tried, the most useful first.
    pub knobs: Vec<KnobFound>,
    /// Those that were not.
    pub left: Vec<KnobLeft>,
    /// What could be tried over restarts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart: Vec<Restart>,
    /// What keeps settings over a restart here.
    pub keeping: Keeping,
    /// What helped, together against the start; `None` where nothing did.
    pub proven: Option<Proven>,
    /// What a reader has to know.
    pub notes: Vec<TuneNote>,
}

impl TuneResult {
    /// The knobs that are worth keeping: proven together.
    pub fn worth(&self) -> impl Iterator<Item = &KnobFound> {
        let proven = self.proven.as_ref().filter(|proven| proven.holds);
        let kept =
            move |found: &&KnobFound| proven.is_some_and(|proven| proven.knobs.contains(&found.offered.knob));
        self.knobs.iter().filter(kept)
    }

    /// The figure that decides: the missed share where the start misses, else the percentile.
    #[must_use]
    pub fn figure(&self) -> Figure {
        self.plan.map_or(Figure::Tail, |plan| plan.pilot.figure)
    }

    /// How well the purpose is served with what is worth keeping, if one was asked for.
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

/// Medians of blocks, with what they say together of a purpose; `None` without any.
#[must_use]
pub fn median_of(blocks: &[&BlockFigures]) -> Option<BlockFigures> {
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
        verdict: PurposeVerdict::of_all(verdicts),
    })
}
