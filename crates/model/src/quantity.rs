//! Quantities measured of each activation.

/// A quantity of activations; [`TimingStats`](crate::TimingStats) counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantity {
    /// Start minus due time, one value for each wake-up (raw; comparable with cyclictest).
    #[default]
    Latency,
    /// Lateness of a missed due time at the earliest moment it could be served.
    MissedAge,
    /// Time between two starts minus the period.
    PeriodError,
    /// Difference of two successive periods, without sign.
    CycleToCycle,
    /// End minus start.
    Execution,
    /// Latency with one value for each due time: a missed one counts with its own age.
    CorrectedLatency,
}

impl Quantity {
    /// Its name in files, that of its field in a summary.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Quantity::Latency => "latency",
            Quantity::MissedAge => "missed_age",
            Quantity::PeriodError => "period_error",
            Quantity::CycleToCycle => "cycle_to_cycle",
            Quantity::Execution => "execution",
            Quantity::CorrectedLatency => "corrected_latency",
        }
    }

    /// Quantities that are counted, in the order of their numbers in files.
    pub const COUNTED: [Quantity; 5] = [
        Quantity::Latency,
        Quantity::MissedAge,
        Quantity::PeriodError,
        Quantity::CycleToCycle,
        Quantity::Execution,
    ];

    /// Quantities that are shown, in the order of tables.
    pub const SHOWN: [Quantity; 5] = [
        Quantity::Latency,
        Quantity::CorrectedLatency,
        Quantity::PeriodError,
        Quantity::CycleToCycle,
        Quantity::Execution,
    ];
}
