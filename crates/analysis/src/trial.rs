//! What compensating the jitter of a task costs and brings on a machine: measured, recommended, proven.

use jitterlab_model::facts::CpuTimes;
use jitterlab_model::{Distribution, Overload, Refusal, SystemFacts, WakeMethod, Warning};
use serde::Serialize;

use crate::Statistics;
use crate::expectation::{LoadPoint, MarginPoint, ServiceTime, latency_law};
use crate::proof::Proof;
use crate::recommendation::{MarginChoice, Wish, recommend};
use crate::wakeup::BlockView;

/// Everything that `jitterlab compensate` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompensationTrial {
    /// T.
    pub period_ns: i64,
    /// Time between two readings of the clock, back to back.
    pub clock_floor: Statistics,
    /// What a wake-up costs.
    pub service: ServiceTime,
    /// Wake-up methods for the early sleep.
    pub candidates: Vec<Candidate>,
    /// Which of them is recommended.
    pub chosen: usize,
    /// Measured load of the NIST paper's way beside its equation 1.
    pub load_curve: Vec<LoadPoint>,
    /// Measured polling beside the integral of F.
    pub margins: Vec<MarginPoint>,
    /// That the recommended way works.
    pub proof: Option<Proof>,
    /// The longest hole torn into the processor while polling, in the proof.
    pub longest_hole_ns: i64,
    /// What else happened to the measured processor during the proof.
    pub disturbance: Disturbance,
    /// Where the two runs, and the picture, were saved.
    pub files: Vec<String>,
    /// What a reader has to know.
    pub notes: Vec<TrialNote>,
}

/// What a reader of a trial has to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum TrialNote {
    /// Of the machine and where the task ran on it.
    Machine {
        /// What.
        warning: Warning,
    },
    /// Something that was asked for was not given.
    Refused {
        /// What, why and what to do.
        refusal: Refusal,
    },
    /// A point of the load curve is missing: the task could not keep up.
    NoLoadPoint {
        /// A.
        every_ns: i64,
        /// What was seen.
        overload: Overload,
    },
    /// The compensated task of the proof was stopped for the machine's safety.
    Stopped {
        /// What was seen.
        overload: Overload,
    },
    /// It was interrupted: the proof rests on the whole pairs until then.
    Interrupted,
    /// A run file could not be written.
    NotSaved {
        /// Why not.
        why: String,
    },
}

/// The step of an experiment that is measured now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialStep {
    /// Latencies of early sleeps, for each wake-up method.
    EarlySleeps,
    /// What a wake-up costs, and the load of repeated ones.
    WakeUpCost,
    /// How much margins poll.
    MarginPolling,
    /// Uncompensated and compensated blocks in turns.
    Proof,
    /// Ways to wait in turns.
    Ways {
        /// How many.
        count: usize,
    },
    /// What makes a task late.
    Causes,
    /// One measurement.
    Measuring,
    /// A round through knobs.
    KnobRound {
        /// The how-manieth, from 1.
        round: usize,
        /// Of how many at most.
        of: usize,
    },
    /// What helped against the start, in turns.
    KnobProof {
        /// How many knobs helped.
        knobs: usize,
    },
    /// This start of the machine.
    ThisStart,
    /// A cell of a matrix.
    Cell {
        /// Its number in the plan, from 0.
        number: usize,
        /// The number of cells.
        of: usize,
        /// The CPU of each task.
        cpus: Vec<u16>,
        /// The load next to the tasks, and whether they are isolated.
        condition: String,
    },
    /// NIST, figures 1 and 2.
    NistSeries,
    /// NIST, figure 4.
    NistCalls,
    /// NIST, figure 5.
    NistLoad,
    /// NIST, figure 6.
    NistTurns,
}

/// A wake-up method for the early sleep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The method.
    pub wake: WakeMethod,
    /// Latency of its early sleeps (F).
    pub early_latency: Statistics,
    /// What to do with it.
    pub choice: MarginChoice,
}

impl Candidate {
    /// From blocks of the uncompensated task; `None` where nothing was measured, or nothing is wished.
    #[must_use]
    pub fn new(
        wake: WakeMethod,
        blocks: &[BlockView<'_>],
        wish: Wish,
        service: &ServiceTime,
    ) -> Option<Self> {
        let period_ns = blocks.first()?.period_ns;
        let choice = recommend(&latency_law(blocks), period_ns, wish, service.often_ns)?;
        let mut all = Distribution::new();
        blocks.iter().for_each(|block| all.merge(&block.latencies()));
        Some(Candidate { wake, early_latency: Statistics::from_values(&all), choice })
    }
}

/// What happened to the measured processor during the proof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disturbance {
    /// Time the hypervisor took, as a share; `None` if not known.
    pub steal: Option<f64>,
    /// Interrupts it took, those that wake the task included; `None` if not known.
    pub interrupts: Option<u64>,
}

impl Disturbance {
    /// What two readings of the facts say of a processor between them; nothing where the task was bound to none.
    #[must_use]
    pub fn between(before: &SystemFacts, after: &SystemFacts, cpu: Option<u16>) -> Self {
        let times = |facts: &SystemFacts| -> Option<CpuTimes> {
            facts.cpus.iter().find(|c| Some(c.id) == cpu)?.times
        };
        let steal = || {
            let (before, after) = (times(before)?, times(after)?);
            let total = after.total_ns().checked_sub(before.total_ns()).filter(|total| *total > 0)?;
            Some(after.steal_ns.saturating_sub(before.steal_ns) as f64 / total as f64)
        };
        let interrupts = || {
            let counted = |facts: &SystemFacts| facts.interrupts.on_cpu(cpu.unwrap_or_default());
            let known = cpu.is_some() && !after.interrupts.lines.is_empty();
            counted(after).checked_sub(counted(before)).filter(|_| known)
        };
        Disturbance { steal: steal(), interrupts: interrupts() }
    }
}
