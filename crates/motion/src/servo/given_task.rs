//! A task whose execution times are given, not measured.

use super::execution::Execution;
use super::overrun::OverrunAction;
use super::timing::TaskTiming;

/// A task whose execution times are given.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenTask {
    /// Its period.
    pub period_ns: i64,
    /// How long it works.
    pub execution: Execution,
    /// How long it waits to start once it is due; always the same.
    pub wait_ns: f64,
    /// What happens to a job that is not done in time.
    pub action: OverrunAction,
    /// Where in the task sampling and actuation happen.
    pub timing: TaskTiming,
}
