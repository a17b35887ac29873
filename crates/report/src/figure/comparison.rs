//! Is one run better than another: every figure against the first run's, with the interval it may lie in.

use jitterlab_analysis::compare::{Comparison, compare};
use jitterlab_analysis::scan::TaskScan;

use crate::comparison;
use crate::conclusion::Conclusion;
use crate::run_view::PageRun;
use crate::section::Section;

/// Section that compares runs with the first, for each task that several have; `None` without one.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    comparison::page_section(
        &task_comparisons(runs).iter().map(|(name, found)| (*name, found)).collect::<Vec<_>>(),
    )
}

pub(crate) fn conclusion(runs: &[PageRun]) -> Option<Conclusion> {
    comparison::conclusion::runs_conclusion(
        &task_comparisons(runs).iter().map(|(name, found)| (*name, found)).collect::<Vec<_>>(),
    )
}

fn task_comparisons(runs: &[PageRun]) -> Vec<(&str, Comparison)> {
    let Some(first) = runs.first().filter(|_| runs.len() > 1) else { return Vec::new() };
    let names = first.tasks.iter().map(|task| task.measured.summary.task.as_str());
    names.filter_map(|name| Some((name, task_comparison(runs, name)?))).collect()
}

fn task_comparison(runs: &[PageRun], name: &str) -> Option<Comparison> {
    let named: Vec<(String, &TaskScan)> = runs
        .iter()
        .filter_map(|run| {
            let task = run.tasks.iter().find(|task| task.measured.summary.task == name)?;
            Some((run.label.clone(), &task.scan))
        })
        .collect();
    (named.len() > 1).then(|| compare(&named))
}
