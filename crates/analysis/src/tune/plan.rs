//! What a budget of time allows, before it is spent.

use serde::{Deserialize, Serialize};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{BlockFigures, FEWEST_ROUNDS, Figure, LEVEL, LOOKS};
use crate::long_run::student;

/// Setting the knobs, preparing a block and putting everything back takes about this long, where it was not measured.
pub const BLOCK_OVERHEAD_NS: i64 = 500_000_000;
/// No block is shorter or longer: what blocks differ by from one to the next only more of them average out.
const BLOCK_NS: [i64; 2] = [300_000_000, 3_000_000_000];
/// A block has at least so many due times.
const FEWEST_DUE: i64 = 500;
/// Rounds that are wanted: more of them are of shorter blocks, which say less each.
const WANTED_ROUNDS: i64 = 8;
/// A change by this factor is to be decided of every setting that is tried.
const WANTED_FACTOR: f64 = 3.0;
/// The part of the time that the proof gets: one in so many.
const PROOF: i64 = 3;
/// Pairs of blocks that a proof needs, and has at most.
const PAIRS: [i64; 2] = [4, 60];
/// Blocks of the start that are measured before anything is planned.
pub const PILOTS: usize = 4;
/// Due times that a block misses from which on their share decides.
const MANY_MISSED: u64 = 20;

/// Blocks that are wanted of a start of the machine.
const BLOCKS_OF_START: i64 = 12;
/// Blocks without which there is no saying what a start of the machine was like.
pub const FEWEST_OF_START: usize = 4;

/// What blocks of the start show before anything is tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// The figure that decides from here on.
    pub figure: Figure,
    /// Standard deviation of its logarithm from block to block.
    pub spread: f64,
    /// How many blocks there were.
    pub blocks: usize,
}

impl Pilot {
    /// From blocks of the start. Where one missed many due times, their share decides.
    #[must_use]
    pub fn from_blocks(blocks: &[BlockFigures]) -> Pilot {
        let missed = blocks.iter().any(|block| block.missed >= MANY_MISSED);
        let figure = if missed { Figure::Missed } else { Figure::Tail };
        let values: Vec<f64> = blocks.iter().map(|block| block.value(figure)).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let spread = (squares / values.len().saturating_sub(1).max(1) as f64).sqrt();
        Pilot { figure, spread, blocks: blocks.len() }
    }

    /// How large the spread may be, as few blocks as it was seen in: a limit that holds with 80 %.
    #[must_use]
    pub fn most(&self) -> f64 {
        let degrees = self.blocks.saturating_sub(1).max(1) as f64;
        let quantile = ChiSquared::new(degrees).map_or(degrees, |of| of.inverse_cdf(0.2));
        self.spread * (degrees / quantile).sqrt()
    }
}

/// How the time is spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TunePlan {
    /// The time that everything may take.
    pub budget_ns: i64,
    /// Length of a block.
    pub block_ns: i64,
    /// The knobs that are tried.
    pub knobs: usize,
    /// How many rounds through them there are.
    pub rounds: usize,
    /// How many pairs of blocks prove what helped.
    pub pairs: usize,
    /// What it was planned from.
    pub pilot: Pilot,
}

impl TunePlan {
    /// For so many knobs, each block of which takes `overhead_ns` longer than it measures; of fewer, if the time does not allow
    /// all of them, or decides no change by a factor of 3 of as many. `None` where it does not allow one.
    #[must_use]
    pub fn new(
        knobs: usize,
        budget_ns: i64,
        period_ns: i64,
        overhead_ns: i64,
        pilot: Pilot,
    ) -> Option<TunePlan> {
        let with = |knobs| Self::with(knobs, budget_ns, period_ns, overhead_ns, pilot);
        let decides = |plan: &TunePlan| plan.shows(pilot.spread) <= WANTED_FACTOR - 1.0;
        (1..=knobs).rev().filter_map(with).find(decides).or_else(|| with(1))
    }

    fn with(
        knobs: usize,
        budget_ns: i64,
        period_ns: i64,
        overhead_ns: i64,
        pilot: Pilot,
    ) -> Option<TunePlan> {
        let shortest = Self::shortest_ns(period_ns);
        let (proof_ns, screen_ns) = (budget_ns / PROOF, budget_ns - budget_ns / PROOF);
        let arms = knobs as i64 + 1;
        let wanted = screen_ns / (arms * WANTED_ROUNDS) - overhead_ns;
        // A proof of several pairs has to fit as well.
        let fitting = proof_ns / (2 * PAIRS[0]) - overhead_ns;
        let block_ns = wanted.min(fitting).min(BLOCK_NS[1]).max(shortest);
        let pairs = proof_ns / (2 * (block_ns + overhead_ns));
        let rounds = screen_ns / (arms * (block_ns + overhead_ns));
        let fits = rounds >= FEWEST_ROUNDS as i64 && pairs >= PAIRS[0];
        let (rounds, pairs) = (rounds as usize, pairs.min(PAIRS[1]) as usize);
        fits.then_some(TunePlan { budget_ns, block_ns, knobs, rounds, pairs, pilot })
    }

    /// The shortest block of a task with this period.
    #[must_use]
    pub fn shortest_ns(period_ns: i64) -> i64 {
        BLOCK_NS[0].max(FEWEST_DUE.saturating_mul(period_ns))
    }

    /// The time in which knobs are tried; the rest is for the proof.
    #[must_use]
    pub fn screen_ns(&self) -> i64 {
        self.budget_ns - self.budget_ns / PROOF
    }

    /// Blocks in which knobs are tried.
    #[must_use]
    pub fn blocks(&self) -> usize {
        (self.knobs + 1) * self.rounds
    }

    /// How much a single knob has to change the figure that decides, to be found with 90 %, where blocks scatter by this
    /// standard deviation of its logarithm: 0.1 is 10 %.
    #[must_use]
    pub fn shows(&self, scatter: f64) -> f64 {
        decided(scatter, self.rounds, (self.knobs + 1) * (self.rounds - 1), self.knobs)
    }

    /// The same of what is proven together.
    #[must_use]
    pub fn proves(&self, scatter: f64) -> f64 {
        decided(scatter, self.pairs, 2 * (self.pairs - 1), 1)
    }
}

/// How long blocks take on a machine, learned from those that were measured: beside other work it is longer than planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    planned_ns: i64,
    blocks: usize,
    spent_ns: i64,
}

impl Pace {
    /// Before any block was measured, each of which is planned to take so long.
    #[must_use]
    pub fn planned(planned_ns: i64) -> Pace {
        Pace { planned_ns, blocks: 0, spent_ns: 0 }
    }

    /// A block took so long.
    pub fn took(&mut self, ns: i64) {
        self.blocks += 1;
        self.spent_ns += ns;
    }

    /// How many were measured.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// How long a block was planned to take.
    #[must_use]
    pub fn planned_ns(&self) -> i64 {
        self.planned_ns
    }

    /// How long one takes in the mean.
    #[must_use]
    pub fn each_ns(&self) -> i64 {
        if self.blocks > 0 { self.spent_ns / self.blocks as i64 } else { self.planned_ns }
    }

    /// Whether so many more fit into a time that began with the first one.
    #[must_use]
    pub fn has_time(&self, blocks: usize, until_ns: i64) -> bool {
        self.spent_ns + self.each_ns() * blocks as i64 <= until_ns
    }
}

/// The blocks of one start of the machine in so much time: how many, and how long each is. `None` where it allows too few.
#[must_use]
pub fn blocks_of_start(budget_ns: i64, period_ns: i64) -> Option<(usize, i64)> {
    let shortest = TunePlan::shortest_ns(period_ns);
    let wanted = budget_ns / BLOCKS_OF_START - BLOCK_OVERHEAD_NS;
    let block_ns = wanted.min(BLOCK_NS[1]).max(shortest);
    let count = (budget_ns / (block_ns + BLOCK_OVERHEAD_NS)) as usize;
    (count >= FEWEST_OF_START).then_some((count, block_ns))
}

/// The change, as a share, that so many blocks with and without decide with 90 %, one of
/// `family` that are judged at once.
fn decided(scatter: f64, blocks: usize, degrees: usize, family: usize) -> f64 {
    let reach = student(LEVEL / (LOOKS * family) as f64, degrees) + student(0.2, degrees);
    (reach * scatter * (2.0 / blocks as f64).sqrt()).exp_m1()
}
