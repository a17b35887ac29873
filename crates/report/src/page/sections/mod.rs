//! The sections that every page has when its runs hold enough to make them. One file each, one line in [`of`].

mod comparison;
mod dependence;
mod pairs;
mod patterns;
mod prediction;
mod spectrum;
mod time_error;

use super::{PageRun, PageTask};
use crate::section::Section;

/// The sections that these runs give, in the page's order.
pub fn of(runs: &[PageRun]) -> Vec<Section> {
    let all = [
        patterns::section,
        pairs::section,
        dependence::section,
        spectrum::section,
        time_error::section,
        prediction::section,
        comparison::section,
    ];
    all.iter().filter_map(|section| section(runs)).collect()
}

/// A task of a run of the page.
struct Named<'a> {
    /// Its name on the page.
    name: String,
    run: &'a PageRun,
    task: &'a PageTask,
}

/// Every task of every run.
fn tasks(runs: &[PageRun]) -> impl Iterator<Item = Named<'_>> {
    runs.iter().flat_map(move |run| {
        run.tasks.iter().map(move |task| {
            let own = &task.figures.summary.task;
            let name = if runs.len() > 1 { format!("{}: {own}", run.label) } else { own.clone() };
            Named { name, run, task }
        })
    })
}
