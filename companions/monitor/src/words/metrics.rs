//! Help texts of the metrics.

pub const INFO: &str = "The machine and the program that watches it.";
pub const ACTIVATIONS: &str = "Activations that ran.";
pub const MISSED: &str = "Due times never served.";
pub const LOST: &str = "Activations without a record.";
pub const ABOVE: &str = "Starts above a limit of a purpose, in seconds.";
pub const CAUSES: &str = "Starts above a limit above which a purpose is not served, by cause.";
/// Maximum.
pub const MAX: &str = "Largest latency since the hour began.";
pub const LAST: &str = "Time of the last start.";
pub const LATENCY: &str = "Start minus due time; buckets are exact, quantiles between them are not.";
/// Corrected latency.
pub const CORRECTED: &str = "The same with one value for each due time, missed ones with their age.";
pub const VERDICT: &str =
    "How well a purpose is served: 1 good, 0.5 usable, 0 not fit; absent where it cannot be told.";
