//! Is one run better than another: every figure against the first run's, with the interval it may lie in.

use jitterlab_analysis::compare::{Comparison, compare};
use jitterlab_analysis::scan::TaskScan;

use crate::comparison;
use crate::section::Section;
use crate::shown::PageRun;

/// For each task that several runs have, its runs against the first one.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    let first = runs.first().filter(|_| runs.len() > 1)?;
    let names = first.tasks.iter().map(|task| task.measured.summary.task.as_str());
    let compared: Vec<(&str, Comparison)> = names.filter_map(|name| Some((name, of(runs, name)?))).collect();
    comparison::section(&compared.iter().map(|(name, found)| (*name, found)).collect::<Vec<_>>())
}

fn of(runs: &[PageRun], name: &str) -> Option<Comparison> {
    let named: Vec<(String, &TaskScan)> = runs
        .iter()
        .filter_map(|run| {
            let task = run.tasks.iter().find(|task| task.measured.summary.task == name)?;
            Some((run.label.clone(), &task.scan))
        })
        .collect();
    (named.len() > 1).then(|| compare(&named))
}
