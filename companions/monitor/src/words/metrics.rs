//! Help texts of the metrics.

/// Of the machine.
pub const INFO: &str = "The machine and the program that watches it.";
/// Activations.
pub const ACTIVATIONS: &str = "Activations that ran.";
/// Missed due times.
pub const MISSED: &str = "Due times never served.";
/// Lost records.
pub const LOST: &str = "Activations without a record.";
/// Starts above limits.
pub const ABOVE: &str = "Starts above a limit of a purpose, in seconds.";
/// Causes.
pub const CAUSES: &str = "Starts above a limit above which a purpose is not served, by cause.";
/// Maximum.
pub const MAX: &str = "Largest latency since the hour began.";
/// Last start.
pub const LAST: &str = "Time of the last start.";
/// Latency.
pub const LATENCY: &str = "Start minus due time; buckets are exact, quantiles between them are not.";
/// Corrected latency.
pub const CORRECTED: &str = "The same with one value for each due time, missed ones with their age.";
/// Verdict.
pub const VERDICT: &str =
    "How well a purpose is served: 1 good, 0.5 usable, 0 not fit; absent where it cannot be told.";
