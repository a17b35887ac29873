//! Which settings make a task more regular on this machine: an experiment over knobs, planned, judged and proven.
//!
//! The unit is the block: one short measurement. Knobs are tried one at a time on the same base, in turns ([`experiment`]);
//! what is found to help joins the base, and the smallest set is proven against the start by fresh blocks in turns.

mod candidates;
mod effects;
mod experiment;
mod found;
mod plan;
mod starts;

pub use candidates::{Remedied, USUAL, in_order, remedies};
pub use experiment::{Experiment, FEWEST_ROUNDS, MATTERS, Round, Row, SettingFound};
pub use found::{
    BlockFigures, Change, Keeping, KnobFound, KnobLeft, LeftOut, Offered, Proven, Restart, Step, TuneNote,
    TuneResult, median_of,
};
pub use plan::{BLOCK_OVERHEAD_NS, FEWEST_OF_START, PILOTS, Pace, Pilot, TunePlan, blocks_of_start};
pub use starts::{FEWEST_STARTS, MOST_STARTS, Start, StartSeen, StartsResult, Way};

use serde::{Deserialize, Serialize};

/// Chance that any knob of an experiment that does nothing is said to do something, and that an interval of the proof misses.
pub const LEVEL: f64 = 0.05;
/// How often an experiment is looked at: each look has its share of the chance.
pub const LOOKS: usize = 3;

/// A figure of a block. Effects on it are ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The percentile of the latency of each due time that decides: as far out as a block has values for.
    Tail,
    /// The largest latency.
    Maximum,
    /// The share of the due times missed.
    Missed,
}

impl Figure {
    /// Every figure.
    pub const ALL: [Figure; 3] = [Figure::Tail, Figure::Maximum, Figure::Missed];
}

/// What a knob does to a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The figure.
    pub figure: Figure,
    /// What it is with the knob set over what it is without (below 1 is better).
    pub change: f64,
    /// Its interval. All intervals of the figure that decides hold at once with 95 %; one of another figure with 95 %.
    pub interval: [f64; 2],
    /// Whether the interval excludes that nothing changed.
    pub real: bool,
}

/// What an experiment says of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The task is more regular with it.
    Helps,
    /// It helps alone, but is not needed beside one that is kept: both remedy the same cause.
    NotNeeded,
    /// It would help where it decides, but another figure may be worse: it is not kept.
    HelpsAndHarms,
    /// It was not decided in the time.
    Undecided,
    /// It changes the figure by less than matters.
    NoMatter,
    /// The task is less regular with it.
    Harms,
}

#[cfg(test)]
mod tests;
