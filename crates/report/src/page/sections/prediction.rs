//! How much worse can it get: the largest latencies seen, the conditions of an extrapolation, and the bound they allow.

use super::super::PageRun;
use super::{Named, tasks};
use crate::prediction;
use crate::section::Section;

/// One figure and its gates for each task.
pub fn section(runs: &[PageRun]) -> Option<Section> {
    let found: Vec<_> = tasks(runs)
        .filter_map(|Named { name, task, .. }| task.prediction.as_ref().map(|prediction| (name, prediction)))
        .collect();
    prediction::section(&found)
}
