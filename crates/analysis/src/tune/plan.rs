//! Plan of an experiment within a budget of time.

use serde::{Deserialize, Serialize};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{BlockFigures, FEWEST_ROUNDS, Figure, LOOKS, stage_level};
use crate::dependent_variance::student_quantile;

/// Time to set the knobs, prepare a block and restore everything, if it was not measured.
pub const BLOCK_OVERHEAD_NS: i64 = 500_000_000;
/// Shortest and longest block: only more blocks, not longer ones, average out the differences between blocks.
const BLOCK_NS: [i64; 2] = [300_000_000, 3_000_000_000];
/// Fewest due times of a block.
const FEWEST_DUE: i64 = 500;
/// Rounds aimed at: more of them would need shorter blocks with less evidence each.
const WANTED_ROUNDS: i64 = 8;
/// Factor of change that should be decided for every setting tried.
const WANTED_FACTOR: f64 = 3.0;
/// Inverse of the share of the time for the proof.
const PROOF: i64 = 3;
/// Fewest and most pairs of blocks of a proof.
const PAIRS: [i64; 2] = [4, 60];
/// Blocks of the start measured before planning.
pub const PILOTS: usize = 4;
/// Missed due times in a block from which on their share decides.
const MANY_MISSED: u64 = 20;

/// Blocks aimed at for a boot of the machine.
const BLOCKS_OF_START: i64 = 12;
/// Fewest blocks that characterise a boot of the machine.
pub const FEWEST_BLOCKS_PER_BOOT: usize = 4;

/// Result of the blocks of the start before anything is tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// The deciding figure from here on.
    pub figure: Figure,
    /// Standard deviation of its logarithm between blocks.
    pub spread: f64,
    /// Number of blocks.
    pub blocks: usize,
}

impl Pilot {
    /// Evaluates blocks of the start. If one missed many due times, their share decides.
    #[must_use]
    pub fn from_blocks(blocks: &[BlockFigures]) -> Pilot {
        let missed = blocks.iter().any(|block| block.missed >= MANY_MISSED);
        let figure = if missed { Figure::Missed } else { Figure::Tail };
        let values: Vec<f64> = blocks.iter().map(|block| block.comparison_value(figure)).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let spread = (squares / values.len().saturating_sub(1).max(1) as f64).sqrt();
        Pilot { figure, spread, blocks: blocks.len() }
    }

    /// Returns the upper limit of the spread, with 80 % confidence, given the small number of blocks.
    #[must_use]
    pub fn spread_upper_limit(&self) -> f64 {
        let degrees = self.blocks.saturating_sub(1).max(1) as f64;
        let quantile = ChiSquared::new(degrees).map_or(degrees, |of| of.inverse_cdf(0.2));
        self.spread * (degrees / quantile).sqrt()
    }
}

/// Plan of the time of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TunePlan {
    /// The time for everything, in ns.
    pub budget_ns: i64,
    /// Length of a block, in ns.
    pub block_ns: i64,
    /// Number of knobs tried.
    pub knobs: usize,
    /// Number of rounds through them.
    pub rounds: usize,
    /// Number of pairs of blocks for the proof.
    pub pairs: usize,
    /// Blocks that it was planned from.
    pub pilot: Pilot,
}

impl TunePlan {
    /// Plans for `knobs` knobs, where each block takes `overhead_ns` longer than it measures. It plans for
    /// fewer if the time does not allow all of them, or cannot decide a change by a factor of 3 for as many.
    /// `None` if it does not allow one.
    #[must_use]
    pub fn new(
        knobs: usize,
        budget_ns: i64,
        period_ns: i64,
        overhead_ns: i64,
        pilot: Pilot,
    ) -> Option<TunePlan> {
        let with = |knobs| Self::for_knobs(knobs, budget_ns, period_ns, overhead_ns, pilot);
        (1..=knobs).rev().filter_map(with).find(TunePlan::detects_large_changes).or_else(|| with(1))
    }

    /// True if it decides a change by a factor of 3 of every setting, even at the largest spread that the pilot allows.
    /// Few pilot blocks often look steadier than the machine is.
    #[must_use]
    pub fn detects_large_changes(&self) -> bool {
        self.detectable_change(self.pilot.spread_upper_limit()) <= WANTED_FACTOR - 1.0
    }

    /// Plans for exactly these knobs; `None` if too few rounds or pairs fit.
    fn for_knobs(
        knobs: usize,
        budget_ns: i64,
        period_ns: i64,
        overhead_ns: i64,
        pilot: Pilot,
    ) -> Option<TunePlan> {
        let shortest = Self::shortest_block_ns(period_ns);
        let (proof_ns, screening_ns) = (budget_ns / PROOF, budget_ns - budget_ns / PROOF);
        let arms = knobs as i64 + 1;
        let wanted = screening_ns / (arms * WANTED_ROUNDS) - overhead_ns;
        // A proof of several pairs must fit as well.
        let fitting = proof_ns / (2 * PAIRS[0]) - overhead_ns;
        let block_ns = wanted.min(fitting).min(BLOCK_NS[1]).max(shortest);
        let pairs = proof_ns / (2 * (block_ns + overhead_ns));
        let rounds = screening_ns / (arms * (block_ns + overhead_ns));
        let fits = rounds >= FEWEST_ROUNDS as i64 && pairs >= PAIRS[0];
        let (rounds, pairs) = (rounds as usize, pairs.min(PAIRS[1]) as usize);
        fits.then_some(TunePlan { budget_ns, block_ns, knobs, rounds, pairs, pilot })
    }

    /// Returns the length of the shortest block of a task with this period, in ns.
    #[must_use]
    pub fn shortest_block_ns(period_ns: i64) -> i64 {
        BLOCK_NS[0].max(FEWEST_DUE.saturating_mul(period_ns))
    }

    /// Returns the time for trying knobs, in ns; the rest is for the proof.
    #[must_use]
    pub fn screening_ns(&self) -> i64 {
        self.budget_ns - self.budget_ns / PROOF
    }

    /// Returns the number of blocks for trying knobs.
    #[must_use]
    pub fn blocks(&self) -> usize {
        (self.knobs + 1) * self.rounds
    }

    /// Returns the relative change by a single knob that is found with 90 % at this scatter: 0.1 is 10 %. That is the
    /// standard deviation between blocks of the deciding figure's logarithm.
    #[must_use]
    pub fn detectable_change(&self, scatter: f64) -> f64 {
        least_detectable_change(scatter, self.rounds, (self.knobs + 1) * (self.rounds - 1), self.knobs)
    }

    /// Returns the relative change of the deciding figure that the joint proof finds with 90 %, at this scatter.
    #[must_use]
    pub fn detectable_change_of_proof(&self, scatter: f64) -> f64 {
        least_detectable_change(scatter, self.pairs, 2 * (self.pairs - 1), 1)
    }
}

/// Time that blocks take on a machine, estimated from the measured ones: under other load they take longer
/// than planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    planned_ns: i64,
    blocks: usize,
    spent_ns: i64,
}

impl Pace {
    /// Creates the pace before any block was measured, from the planned time of a block.
    #[must_use]
    pub fn from_plan(planned_ns: i64) -> Pace {
        Pace { planned_ns, blocks: 0, spent_ns: 0 }
    }

    /// Counts a block that took this time.
    pub fn add_elapsed(&mut self, ns: i64) {
        self.blocks += 1;
        self.spent_ns += ns;
    }

    /// Returns the number of blocks measured.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the planned time of a block, in ns.
    #[must_use]
    pub fn planned_ns(&self) -> i64 {
        self.planned_ns
    }

    /// Returns the mean time of a block, in ns.
    #[must_use]
    pub fn mean_block_ns(&self) -> i64 {
        if self.blocks > 0 { self.spent_ns / self.blocks as i64 } else { self.planned_ns }
    }

    /// True if this many more blocks end before `until_ns`, counted from the beginning of the first one.
    #[must_use]
    pub fn has_time(&self, blocks: usize, until_ns: i64) -> bool {
        self.spent_ns + self.mean_block_ns() * blocks as i64 <= until_ns
    }
}

/// Returns the number of blocks of one boot in this time, and their length in ns; `None` if it allows too few.
#[must_use]
pub fn blocks_per_boot(budget_ns: i64, period_ns: i64) -> Option<(usize, i64)> {
    let shortest = TunePlan::shortest_block_ns(period_ns);
    let wanted = budget_ns / BLOCKS_OF_START - BLOCK_OVERHEAD_NS;
    let block_ns = wanted.min(BLOCK_NS[1]).max(shortest);
    let count = (budget_ns / (block_ns + BLOCK_OVERHEAD_NS)) as usize;
    (count >= FEWEST_BLOCKS_PER_BOOT).then_some((count, block_ns))
}

/// Returns the relative change that this many blocks with and without a setting decide with 90 %. The setting is one of
/// `family` settings judged at once.
fn least_detectable_change(scatter: f64, blocks: usize, degrees: usize, family: usize) -> f64 {
    let reach = student_quantile(stage_level(0, family) / (LOOKS * family) as f64, degrees)
        + student_quantile(0.2, degrees);
    (reach * scatter * (2.0 / blocks as f64).sqrt()).exp_m1()
}
