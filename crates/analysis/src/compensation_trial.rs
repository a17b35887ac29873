//! Cost and benefit of compensating a task's jitter on a machine: measured, recommended, proven.

use jitterlab_model::facts::CpuTimes;
use jitterlab_model::{Distribution, Overload, Refusal, SystemFacts, WakeMethod, Warning};
use serde::Serialize;

use crate::Statistics;
use crate::expectation::{LoadPoint, MarginPoint, ServiceTime, latency_distribution};
use crate::proof::Proof;
use crate::recommendation::{CompensationRequirement, MarginChoice, recommend};
use crate::wakeup::BlockView;

/// Result of `jitterlab compensate`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompensationTrial {
    /// The period T, in ns.
    pub period_ns: i64,
    /// Time between two readings of the clock, back to back.
    pub clock_floor: Statistics,
    /// Cost of a wake-up.
    pub service: ServiceTime,
    /// Wake-up methods for the early sleep.
    pub candidates: Vec<Candidate>,
    /// Index of the recommended one.
    pub chosen: usize,
    /// Measured load of the NIST paper's method next to its equation 1.
    pub load_curve: Vec<LoadPoint>,
    /// Measured polling next to the integral of F.
    pub margins: Vec<MarginPoint>,
    /// Proof that the recommended method works.
    pub proof: Option<Proof>,
    /// The longest hole that polling tears into the processor's time during the proof, in ns.
    pub longest_hole_ns: i64,
    /// Other load of the measured processor during the proof.
    pub disturbance: Disturbance,
    /// Files of the two runs, and of the picture.
    pub files: Vec<String>,
    /// Notes for the reader.
    pub notes: Vec<TrialNote>,
}

/// Note on a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum TrialNote {
    /// A warning about the machine or the placement of the task on it.
    Machine {
        /// The warning.
        warning: Warning,
    },
    /// A request that was refused.
    Refused {
        /// The request, the reason and the remedy.
        refusal: Refusal,
    },
    /// A point of the load curve is missing: the task could not keep up.
    NoLoadPoint {
        /// The period A of that point, in ns.
        every_ns: i64,
        /// Observations that ended it.
        overload: Overload,
    },
    /// The compensated task of the proof was stopped for the machine's safety.
    Stopped {
        /// Observations that ended it.
        overload: Overload,
    },
    /// The trial was interrupted: the proof is from the complete pairs until then.
    Interrupted,
    /// A run file could not be written.
    NotSaved {
        /// The reason.
        why: String,
    },
}

/// The step of an experiment in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialStep {
    /// Latencies of early sleeps, for each wake-up method.
    EarlySleeps {
        /// Number of methods.
        methods: usize,
        /// Time for each, in ns.
        each_ns: i64,
        /// Turns of the proof that comes later, and the length of each in ns.
        proof: (usize, i64),
    },
    /// Cost of a wake-up, and the load of repeated ones.
    WakeUpCost,
    /// Polling time of margins.
    MarginPolling,
    /// Uncompensated and compensated blocks in turns.
    Proof,
    /// Ways to wait in turns.
    Ways {
        /// Number of ways.
        count: usize,
        /// Turns of each way.
        rounds: u32,
        /// Length of a turn, in ns.
        turn_ns: i64,
    },
    /// Causes of late starts.
    Causes,
    /// One measurement.
    Measuring,
    /// A round through knobs.
    KnobRound {
        /// Number of the round, from 1.
        round: usize,
        /// Most rounds.
        of: usize,
    },
    /// The helpful settings against the start, in turns.
    KnobProof {
        /// Number of settings that helped.
        knobs: usize,
    },
    /// This boot of the machine.
    ThisStart,
    /// A cell of a matrix.
    Cell {
        /// Number in the plan, from 0.
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
    /// The recommended margin with it.
    pub choice: MarginChoice,
}

impl Candidate {
    /// Creates a candidate from blocks of the uncompensated task; `None` if nothing was measured, or there is no wish.
    #[must_use]
    pub fn new(
        wake: WakeMethod,
        blocks: &[BlockView<'_>],
        wish: CompensationRequirement,
        service: &ServiceTime,
    ) -> Option<Self> {
        let period_ns = blocks.first()?.period_ns;
        let choice = recommend(&latency_distribution(blocks), period_ns, wish, service.often_ns)?;
        let mut all = Distribution::new();
        blocks.iter().for_each(|block| all.merge(&block.latencies()));
        Some(Candidate { wake, early_latency: Statistics::from_values(&all), choice })
    }
}

/// Load of the measured processor by others during the proof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disturbance {
    /// Share of the time that the hypervisor took; `None` if unknown.
    pub steal: Option<f64>,
    /// Interrupts of that processor, including those that wake the task; `None` if unknown.
    pub interrupts: Option<u64>,
}

impl Disturbance {
    /// Returns steal and interrupts of a processor between two readings; both unknown if the task was bound to none.
    #[must_use]
    pub fn between(before: &SystemFacts, after: &SystemFacts, cpu: Option<u16>) -> Self {
        let times = |facts: &SystemFacts| -> Option<CpuTimes> {
            facts.cpus.iter().find(|c| Some(c.id) == cpu)?.times
        };
        let steal = || times(after)?.share_since(&times(before)?, |times| times.steal_ns);
        let interrupts = || {
            let counted = |facts: &SystemFacts| facts.interrupts.on_cpu(cpu.unwrap_or_default());
            let known = cpu.is_some() && !after.interrupts.lines.is_empty();
            counted(after).checked_sub(counted(before)).filter(|_| known)
        };
        Disturbance { steal: steal(), interrupts: interrupts() }
    }
}
