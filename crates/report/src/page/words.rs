//! Words and tables of the page about a run.

use super::PageRun;
use super::html::{Html, html};
use crate::caveats::distinct;
use crate::head::quoted;
use crate::run;
use crate::warnings;
use crate::words::{list, sentence};

/// A fact about the runs, one value for each.
#[derive(Debug)]
pub struct About {
    pub term: String,
    /// One for each run, or a single one where it is the same for all.
    pub values: Vec<String>,
}

/// Facts about the runs, with a single value if all of them agree.
pub fn about(runs: &[PageRun]) -> Vec<About> {
    let each: Vec<Vec<(String, String)>> = runs.iter().map(|run| run::facts(&run.info)).collect();
    let mut terms: Vec<(String, usize)> = Vec::new();
    for facts in &each {
        for (at, (term, _)) in facts.iter().enumerate() {
            let nth = facts[..at].iter().filter(|(other, _)| other == term).count();
            if !terms.contains(&(term.clone(), nth)) {
                terms.push((term.clone(), nth));
            }
        }
    }
    let value = |facts: &[(String, String)], (term, nth): &(String, usize)| {
        facts
            .iter()
            .filter(|(other, _)| other == term)
            .nth(*nth)
            .map_or("–".into(), |(_, value)| value.clone())
    };
    let row = |term: (String, usize)| {
        let mut values: Vec<String> = each.iter().map(|facts| value(facts, &term)).collect();
        if values.iter().all(|value| *value == values[0]) {
            values.truncate(1);
        }
        About { term: term.0, values }
    };
    terms.into_iter().map(row).collect()
}

/// Caveats, each once, with the names of its runs if it is not true of all.
pub fn caveats(runs: &[PageRun]) -> Vec<String> {
    let of = |run: &PageRun| distinct(run.tasks.iter().flat_map(|task| &task.measured.caveats));
    said_once(runs, of)
}

/// Warnings of the runs, in the same way.
pub fn warned(runs: &[PageRun]) -> Vec<String> {
    said_once(runs, |run| warnings::sentences(&run.info.warnings.iter().collect::<Vec<_>>()))
}

fn said_once(runs: &[PageRun], of: impl Fn(&PageRun) -> Vec<String>) -> Vec<String> {
    let each: Vec<(&str, Vec<String>)> = runs.iter().map(|run| (run.label.as_str(), of(run))).collect();
    let mut all: Vec<&String> = Vec::new();
    for text in each.iter().flat_map(|(_, caveats)| caveats) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let said = |text: &&String| {
        let named =
            each.iter().filter(|(_, caveats)| caveats.contains(text)).map(|(label, _)| (*label).to_owned());
        let named: Vec<String> = named.collect();
        if named.len() == runs.len() {
            sentence(text)
        } else {
            format!("{}: {}.", list(&named), text.trim_end_matches('.'))
        }
    };
    all.iter().map(said).collect()
}

/// The commands that make the run and this page again, ready for a shell.
pub fn reproduced(run: &PageRun) -> Html {
    let measure: Vec<String> = run.info.command.iter().map(|word| quoted(word)).collect();
    let file = quoted(&run.label);
    let commands = [
        measure.join(" "),
        format!("jitterlab analyze --json {file}"),
        format!("jitterlab report {file} -o report.html"),
    ];
    html!(
        "<p>{label}:</p>\n<pre tabindex=\"0\">{commands}\n</pre>\n",
        label = run.label,
        commands = commands[usize::from(measure.is_empty())..].join("\n")
    )
}
