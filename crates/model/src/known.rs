//! Quantities that a source may leave unknown, or state only between bounds.

use serde::{Deserialize, Serialize};

use crate::words;

/// A quantity as far as its source states it. JSON: the number, `{"at_least": .., "at_most": ..}`, `{"at_least": ..}`,
/// or
/// `null`.
///
/// ```
/// # use jitterlab_model::Known;
/// let missed: Known<u64> = Known::Unknown;
/// assert_eq!((missed.exactly(), missed.at_least()), (None, None));
/// let quantile = Known::Between { at_least: 99_000, at_most: 741_999 };
/// assert_eq!((quantile.exactly(), quantile.at_most()), (None, Some(741_999)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Known_{T}"))]
#[serde(untagged)]
pub enum Known<T> {
    /// This much.
    Exactly(T),
    /// Neither less nor more than these.
    Between {
        /// Lower bound.
        at_least: T,
        /// Upper bound.
        at_most: T,
    },
    /// This much or more.
    AtLeast {
        /// Lower bound.
        at_least: T,
    },
    /// Unknown from its source.
    #[default]
    Unknown,
}

impl<T: Copy> Known<T> {
    /// The quantity, if it is known exactly.
    pub fn exactly(self) -> Option<T> {
        match self {
            Known::Exactly(value) => Some(value),
            _ => None,
        }
    }

    /// Returns its lower bound, if known.
    pub fn at_least(self) -> Option<T> {
        match self {
            Known::Exactly(value) => Some(value),
            Known::Between { at_least, .. } | Known::AtLeast { at_least } => Some(at_least),
            Known::Unknown => None,
        }
    }

    /// Returns its upper bound, if known.
    pub fn at_most(self) -> Option<T> {
        match self {
            Known::Exactly(value) => Some(value),
            Known::Between { at_most, .. } => Some(at_most),
            Known::AtLeast { .. } | Known::Unknown => None,
        }
    }

    /// Converts it to another quantity that grows with this one.
    #[must_use]
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Known<U> {
        match self {
            Known::Exactly(value) => Known::Exactly(change(value)),
            Known::Between { at_least, at_most } => {
                Known::Between { at_least: change(at_least), at_most: change(at_most) }
            }
            Known::AtLeast { at_least } => Known::AtLeast { at_least: change(at_least) },
            Known::Unknown => Known::Unknown,
        }
    }
}

impl<T> From<Option<T>> for Known<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Known::Unknown, Known::Exactly)
    }
}

words! {
    /// Property of a task's activations that its source leaves unknown: the value in its place is an assumption, and the
    /// figures that rest on it are unknown.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    Gap:
    /// The period: the usual one of the tool is assumed.
    Period = "period",
    /// Number of activations: as many as fit into the time are assumed.
    Count = "count",
    /// Missed due times.
    Missed = "missed",
    /// Lost records.
    Lost = "lost",
    /// Activations whose records were lost: nothing else counted them, so that their extremes are unknown, too.
    Unseen = "unseen",
    /// Execution time of the task.
    Execution = "execution",
    /// Due times: they are assumed to follow each other without a miss, so events between two starts are unknown.
    DueTimes = "due-times",
    /// Phase of the grid of due times: they count from the earliest activation, so each latency is known up to the same
    /// amount.
    Phase = "phase",
    /// Due times of activations altogether: only the time between two starts is known.
    Latency = "latency",
    /// The grid: the measurement is not periodic, such as the gaps of a busy loop. Nothing is due at a time.
    Grid = "grid",
    /// Overrun policy.
    Overrun = "overrun",
    /// Scheduling, wake-up method and work of the task.
    Settings = "settings",
    /// The unit of its values: the one that is assumed cannot be.
    Unit = "unit",
    /// Correctness of its figures: they contradict each other, or the one that decides is missing.
    Figures = "figures",
    /// Effect on them of a part of the chip that is not simulated.
    Chip = "chip",
    /// Due times of a task that ran less than three times.
    Silent = "silent",
}

impl Gap {
    /// Gaps that leave every figure of a task open.
    pub const EVERYTHING: [Gap; 4] = [Gap::Unit, Gap::Figures, Gap::Chip, Gap::Silent];
}
