//! Prediction: the largest latencies seen, the conditions of an extrapolation, and the bound they allow.

use super::task::tasks;
use crate::prediction;
use crate::run_view::PageRun;
use crate::section::Section;

/// Section with the prediction of each task, its conditions and figure; `None` without any.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    let found: Vec<_> =
        tasks(runs).filter_map(|of| of.task.prediction.as_ref().map(|found| (of.name, found))).collect();
    prediction::page_section(&found)
}
