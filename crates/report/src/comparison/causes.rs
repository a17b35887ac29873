//! Causes that delayed a task in each of several runs.

use jitterlab_analysis::compare::{CauseChange, CauseCompared, CausesCompared};

use crate::section::{Cell, Piece};
use crate::why;
use crate::words::list;

/// Number of runs up to which the table has their worst cases, too.
const WITH_WORST: usize = 2;

/// Causes that delayed a task in each run, and those that disappeared or are new.
pub fn causes_piece(task: &str, found: &CausesCompared) -> Piece {
    let fates = cause_changes_sentence(found).map_or(String::new(), |fates| format!(" {fates}"));
    let caption = format!(
        "What delayed {task} beyond the usual way: mean over all activations, and the worst delay of one.{fates}"
    );
    Piece::table(caption, &header(found), rows(found))
}

fn header(found: &CausesCompared) -> Vec<String> {
    let with_worst = found.runs.len() <= WITH_WORST;
    let of_run = |run: &String| match with_worst {
        true => vec![run.clone(), "worst".into()],
        false => vec![run.clone()],
    };
    std::iter::once("cause, µs".into())
        .chain(found.runs.iter().flat_map(of_run))
        .chain([String::new()])
        .collect()
}

fn rows(found: &CausesCompared) -> impl Iterator<Item = Vec<Cell>> {
    let with_worst = found.runs.len() <= WITH_WORST;
    found.causes.iter().map(move |of: &CauseCompared| {
        let in_runs = of.in_runs.iter().flat_map(|here| {
            let seen = |ns: f64| if here.times == 0 { Cell::Nothing } else { Cell::time(ns) };
            std::iter::once(seen(here.mean_ns)).chain(with_worst.then(|| seen(here.worst_ns as f64)))
        });
        let fate = match of.fate {
            CauseChange::Gone => "gone",
            CauseChange::New => "new",
            CauseChange::Stayed => "",
        };
        std::iter::once(why::cause_text(&of.cause).into()).chain(in_runs).chain([fate.into()]).collect()
    })
}

fn cause_changes_sentence(found: &CausesCompared) -> Option<String> {
    let of = |fate: CauseChange| {
        let causes = found.causes.iter().filter(|of| of.fate == fate);
        causes.map(|of| why::cause_text(&of.cause)).collect::<Vec<_>>()
    };
    let (first, last) = (found.runs.first()?, found.runs.last()?);
    let (gone, new) = (of(CauseChange::Gone), of(CauseChange::New));
    let said = [
        (!gone.is_empty()).then(|| format!("Not seen in {last}: {}.", list(&gone))),
        (!new.is_empty()).then(|| format!("Not seen in {first}: {}.", list(&new))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("{} What comes in bursts may come again.", said.join(" ")))
}
