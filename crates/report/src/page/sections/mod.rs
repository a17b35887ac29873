//! The sections that every page has when its runs hold enough to make them. One file each, one line in [`of`].

mod dependence;
mod pairs;
mod time_error;

use super::PageRun;
use super::section::Section;

/// The sections that these runs give, in the page's order.
pub fn of(runs: &[PageRun]) -> Vec<Section> {
    [pairs::section, dependence::section, time_error::section]
        .iter()
        .filter_map(|section| section(runs))
        .collect()
}

/// Every task of every run with its name on the page.
fn tasks(runs: &[PageRun]) -> impl Iterator<Item = (String, &super::PageTask)> {
    runs.iter().flat_map(move |run| {
        run.tasks.iter().map(move |task| {
            let own = &task.figures.summary.task;
            (if runs.len() > 1 { format!("{}: {own}", run.label) } else { own.clone() }, task)
        })
    })
}

/// A name in text that plotly reads as a kind of HTML.
fn plain(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;")
}

/// The colour of the n-th curve, as figures name it.
fn colour(number: usize) -> String {
    format!("c{}", number % 6)
}
