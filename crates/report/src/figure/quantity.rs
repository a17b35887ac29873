//! Of what a figure is.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Distribution;

use crate::shown::PageTask;

/// What is measured of each activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantity {
    /// Start minus due time, one value for each wake-up.
    #[default]
    Latency,
    /// The same, one value for each due time: a missed one counts with its own age.
    CorrectedLatency,
    /// End minus start.
    Execution,
    /// Time between starts minus the period.
    PeriodError,
    /// Difference of two periods that follow each other, without sign.
    CycleToCycle,
}

/// Name in sentences, and how it is asked for.
const NAMES: [(Quantity, &str, &str); 5] = [
    (Quantity::Latency, "latency", "latency"),
    (Quantity::CorrectedLatency, "corrected latency", "corrected"),
    (Quantity::Execution, "execution time", "execution"),
    (Quantity::PeriodError, "period error", "period"),
    (Quantity::CycleToCycle, "cycle-to-cycle difference", "cycle"),
];

impl Quantity {
    /// Those of a series, in the order of its columns.
    pub const OF_SERIES: [Quantity; 3] = [Quantity::Latency, Quantity::Execution, Quantity::PeriodError];

    /// Every quantity there is.
    pub fn all() -> impl Iterator<Item = Quantity> {
        NAMES.into_iter().map(|(quantity, ..)| quantity)
    }

    /// Its name in sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(quantity, ..)| *quantity == self).map_or("", |(_, name, _)| name)
    }

    /// The values of a task.
    pub(super) fn of(self, task: &PageTask) -> Distribution {
        let stats = &task.figures.stats;
        match self {
            Quantity::Latency => stats.latency.clone(),
            Quantity::CorrectedLatency => stats.corrected().unwrap_or_default(),
            Quantity::Execution => stats.execution.clone(),
            Quantity::PeriodError => stats.period_error.clone(),
            Quantity::CycleToCycle => stats.cycle_to_cycle.clone(),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No quantity is called so.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a quantity: choose one of latency, corrected, execution, period, cycle")]
pub struct NoQuantity(String);

impl FromStr for Quantity {
    type Err = NoQuantity;

    fn from_str(text: &str) -> Result<Self, NoQuantity> {
        let asked = if text == "period-error" { "period" } else { text };
        let found = NAMES.iter().find(|(.., short)| *short == asked);
        found.map(|(quantity, ..)| *quantity).ok_or_else(|| NoQuantity(text.into()))
    }
}
