//! What delayed a task in each of several runs.

use jitterlab_analysis::compare::{CauseCompared, CausesCompared, Fate};

use crate::section::Piece;
use crate::table::columns;
use crate::why;
use crate::words::{list, time};
use crate::wrap::wrap;

/// Runs whose worst cases stand in the table, too.
const WITH_WORST: usize = 2;

/// The causes for the terminal.
pub(super) fn text(task: &str, found: &CausesCompared) -> String {
    let header = header(found);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    wrap(&caption(task))
        + &columns(&header, rows(found))
        + &fates(found).map_or(String::new(), |said| wrap(&said))
}

/// The causes for the page.
#[must_use]
pub fn piece(task: &str, found: &CausesCompared) -> Piece {
    let fates = fates(found).map_or(String::new(), |said| format!(" {said}"));
    Piece::table(format!("{}.{fates}", caption(task)), &header(found), rows(found))
}

fn caption(task: &str) -> String {
    format!("what delayed {task} beyond the usual way: for an activation in the mean of all, and at worst")
}

fn header(found: &CausesCompared) -> Vec<String> {
    let with_worst = found.runs.len() <= WITH_WORST;
    let of_run = |run: &String| match with_worst {
        true => vec![run.clone(), "worst".into()],
        false => vec![run.clone()],
    };
    std::iter::once("cause".into()).chain(found.runs.iter().flat_map(of_run)).chain([String::new()]).collect()
}

fn rows(found: &CausesCompared) -> Vec<Vec<String>> {
    let with_worst = found.runs.len() <= WITH_WORST;
    let row = |of: &CauseCompared| {
        let in_runs = of.in_runs.iter().flat_map(|here| match here.times {
            0 => vec!["-".to_owned(); 1 + usize::from(with_worst)],
            _ if with_worst => vec![time(here.mean_ns), time(here.worst_ns as f64)],
            _ => vec![time(here.mean_ns)],
        });
        let fate = match of.fate {
            Fate::Gone => "gone",
            Fate::New => "new",
            Fate::Stayed => "",
        };
        std::iter::once(why::short(&of.cause)).chain(in_runs).chain([fate.to_owned()]).collect()
    };
    found.causes.iter().map(row).collect()
}

fn fates(found: &CausesCompared) -> Option<String> {
    let of = |fate: Fate| {
        let causes = found.causes.iter().filter(|of| of.fate == fate);
        causes.map(|of| why::cause(&of.cause)).collect::<Vec<_>>()
    };
    let (first, last) = (found.runs.first()?, found.runs.last()?);
    let (gone, new) = (of(Fate::Gone), of(Fate::New));
    let said = [
        (!gone.is_empty()).then(|| format!("Not seen in {last}: {}.", list(&gone))),
        (!new.is_empty()).then(|| format!("Not seen in {first}: {}.", list(&new))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("{} What comes in bursts may come again.", said.join(" ")))
}
