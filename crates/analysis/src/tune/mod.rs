//! Settings that make a task more regular on this machine: an experiment over knobs, planned, judged and proven.
//!
//! The unit is the block: one short measurement. Knobs are tried one at a time on the same base, in turns
//! ([`experiment`]). Helpful ones join the base, and the smallest set is proven against the start by new
//! blocks in turns.

mod boots;
mod effects;
mod experiment;
mod plan;
mod remedies;
mod results;

pub use boots::{Boot, BootComparison, BootConfiguration, BootSummary, FEWEST_BOOTS, MOST_BOOTS};
pub use experiment::{Experiment, FEWEST_ROUNDS, MATTERS, Round, RoundBlock, SettingResult};
pub use plan::{BLOCK_OVERHEAD_NS, FEWEST_BLOCKS_PER_BOOT, PILOTS, Pace, Pilot, TunePlan, blocks_per_boot};
pub use remedies::{RemediedCauses, USUAL, compare_usefulness, remedied_causes};
pub use results::{
    ApplicableKnob, BlockFigures, FigureChange, KnobResult, LeftOut, PersistenceSupport, RebootSetting,
    SettingsProof, Step, TuneNote, TuneResult, UntriedKnob, summarise_blocks,
};

use serde::{Deserialize, Serialize};

/// Chance of calling any knob without an effect effective in an experiment, and chance that an interval of
/// the proof is wrong.
pub const LEVEL: f64 = 0.05;
/// Looks at an experiment: each has its share of the chance.
pub const LOOKS: usize = 3;

/// Returns the chance of a false call in a stage of an experiment over `settings` settings. A stage that keeps a
/// setting leads to another, which tests the others again: each stage spends four fifths of what the earlier
/// ones have left.
pub(crate) fn stage_level(stage: usize, settings: usize) -> f64 {
    if settings == 1 { LEVEL } else { LEVEL * 4.0 / 5f64.powi(stage as i32 + 1) }
}

/// A figure of a block. Effects on it are ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The deciding percentile of the latency of each due time: as high as a block has values for.
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

/// Effect of a knob on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// The figure.
    pub figure: Figure,
    /// Ratio of the figure with the knob to that without (below 1 is better).
    pub change: f64,
    /// Interval. All intervals of the deciding figure hold together with 95 %; one of another figure with 95 %.
    pub interval: [f64; 2],
    /// True if the interval excludes no change.
    pub real: bool,
}

/// Verdict of an experiment on a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingVerdict {
    /// The task is more regular with it.
    Helps,
    /// It helps alone, but is not needed with a kept one: both remedy the same cause.
    NotNeeded,
    /// It improves the deciding figure, but another figure may be worse: it is not kept.
    HelpsAndHarms,
    /// The time was too short to decide.
    Undecided,
    /// It changes the figure by less than matters.
    NoMatter,
    /// The task is less regular with it.
    Harms,
}

#[cfg(test)]
mod tests;
