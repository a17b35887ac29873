//! What a budget of time allows, before it is spent.

use serde::{Deserialize, Serialize};

use super::design::halves;
use super::{LEVEL, LOOKS};
use crate::long_run::student;

/// Setting the knobs, preparing a block and putting everything back takes about this long, where it was not measured.
pub const BLOCK_OVERHEAD_NS: i64 = 500_000_000;
/// No block is shorter or longer.
const BLOCK_NS: [i64; 2] = [300_000_000, 10_000_000_000];
/// A block has at least so many due times.
const FEWEST_DUE: i64 = 500;
/// Rounds that are wanted: fewer with longer blocks say less, and where blocks take three times as long as planned, as on a busy
/// machine, two are left, without which nothing can be said of many knobs.
const WANTED_ROUNDS: i64 = 6;
/// The part of the time that the proof gets: one in so many.
const PROOF: i64 = 3;
/// Pairs of blocks that a proof needs, and has at most.
const PAIRS: [i64; 2] = [6, 60];

/// Blocks that are wanted of a start of the machine.
const BLOCKS_OF_START: i64 = 12;
/// Blocks without which there is no saying what a start of the machine was like.
pub const FEWEST_OF_START: usize = 4;

/// How the time is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl TunePlan {
    /// For so many knobs; of fewer, if the time does not allow all of them, each block of which takes `overhead_ns` longer than
    /// it measures. `None` where it does not allow one.
    #[must_use]
    pub fn of(knobs: usize, budget_ns: i64, period_ns: i64, overhead_ns: i64) -> Option<TunePlan> {
        let shortest = Self::shortest_ns(period_ns);
        let (proof_ns, screen_ns) = (budget_ns / PROOF, budget_ns - budget_ns / PROOF);
        // A round of many knobs has a block for the start besides.
        let blocks = |knobs: usize| (halves(knobs) + usize::from(knobs > 1)) as i64;
        let fits = |knobs: &usize| {
            let least = if *knobs == 1 { 2 * WANTED_ROUNDS } else { WANTED_ROUNDS };
            (shortest + overhead_ns).saturating_mul(blocks(*knobs) * least) <= screen_ns
        };
        let knobs = (1..=knobs).rev().find(fits)?;
        let wanted = screen_ns / (blocks(knobs) * WANTED_ROUNDS) - overhead_ns;
        // A proof of several pairs has to fit as well.
        let fitting = proof_ns / (2 * PAIRS[0]) - overhead_ns;
        let block_ns = wanted.min(fitting).min(BLOCK_NS[1]).max(shortest);
        let pairs = proof_ns / (2 * (block_ns + overhead_ns));
        if pairs < PAIRS[0] {
            return None;
        }
        let rounds = screen_ns / (blocks(knobs) * (block_ns + overhead_ns));
        Some(TunePlan {
            budget_ns,
            block_ns,
            knobs,
            rounds: rounds as usize,
            pairs: pairs.min(PAIRS[1]) as usize,
        })
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

    /// How much a single knob has to change the figure that decides, to be found with 80 %, where blocks scatter by this
    /// standard deviation of its logarithm: 0.1 is 10 %.
    #[must_use]
    pub fn shows(&self, scatter: f64) -> f64 {
        detectable(scatter, halves(self.knobs) * self.rounds, self.knobs)
    }

    /// The same of what is proven together.
    #[must_use]
    pub fn proves(&self, scatter: f64) -> f64 {
        detectable(scatter, 2 * self.pairs, 1)
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

/// How much of a change, as a share, `blocks` show with 80 %, one half with and one without it, one of `family` that are judged
/// at once.
#[must_use]
pub fn detectable(scatter: f64, blocks: usize, family: usize) -> f64 {
    let degrees = blocks.saturating_sub(family + 1).max(1);
    let reach = student(LEVEL / (LOOKS * family.max(1)) as f64, degrees) + student(0.4, degrees);
    (reach * 2.0 * scatter / (blocks.max(1) as f64).sqrt()).exp_m1()
}
