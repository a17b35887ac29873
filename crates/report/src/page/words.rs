//! Words and tables of the page about a run.

use super::PageRun;
use crate::caveats::distinct_clauses;
use crate::conclusion::shell_quote;
use crate::run;
use crate::section::Piece;
use crate::warnings;
use crate::words::{list, sentence};

/// Facts that hold for all runs, and a table of those that differ: a row for each run, a column for each fact.
pub fn run_facts(runs: &[PageRun]) -> Vec<Piece> {
    let each: Vec<Vec<(String, String)>> = runs.iter().map(|run| run::run_facts(&run.info)).collect();
    let mut terms: Vec<(&str, usize)> = Vec::new();
    for facts in &each {
        for (at, (term, _)) in facts.iter().enumerate() {
            let nth = facts[..at].iter().filter(|(other, _)| other == term).count();
            if !terms.contains(&(term.as_str(), nth)) {
                terms.push((term, nth));
            }
        }
    }
    let value = |facts: &[(String, String)], (term, nth): (&str, usize)| {
        let mut of_term = facts.iter().filter(|(other, _)| other == term);
        of_term.nth(nth).map_or("–".into(), |(_, value)| value.clone())
    };
    let values = |term: (&str, usize)| each.iter().map(|facts| value(facts, term)).collect::<Vec<String>>();
    let is_common = |term: &(&str, usize)| values(*term).windows(2).all(|two| two[0] == two[1]);
    let (alike, differs): (Vec<_>, Vec<_>) = terms.into_iter().partition(is_common);
    let facts = alike.into_iter().filter_map(|term| Some((term.0, values(term).pop()?)));
    let header: Vec<&str> = std::iter::once("run").chain(differs.iter().map(|(term, _)| *term)).collect();
    let rows = runs.iter().zip(&each).map(|(run, facts)| {
        let cells = differs.iter().map(|term| value(facts, *term));
        std::iter::once(run.label.clone()).chain(cells).collect()
    });
    let table = Piece::table("What differs between the runs.", &header, rows.collect::<Vec<Vec<String>>>());
    [Piece::facts("", facts)].into_iter().chain((!differs.is_empty()).then_some(table)).collect()
}

/// Caveats, each once, with the names of its runs if it is not true of all.
pub fn caveat_sentences(runs: &[PageRun]) -> Vec<String> {
    let of = |run: &PageRun| distinct_clauses(run.tasks.iter().flat_map(|task| &task.measured.caveats));
    distinct_sentences(runs, of)
}

/// Warnings, each once, with the names of its runs if it is not true of all.
pub fn warning_sentences(runs: &[PageRun]) -> Vec<String> {
    distinct_sentences(runs, |run| warnings::warning_sentences(&run.info.warnings.iter().collect::<Vec<_>>()))
}

/// Sentences of all runs, each once, with the names of its runs if it is not true of all.
fn distinct_sentences(runs: &[PageRun], of: impl Fn(&PageRun) -> Vec<String>) -> Vec<String> {
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
pub fn reproduction_commands(run: &PageRun) -> Piece {
    let measure: Vec<String> = run.info.command.iter().map(|word| shell_quote(word)).collect();
    let file = shell_quote(&run.label);
    let commands = [
        measure.join(" "),
        format!("jitterlab analyze --json {file}"),
        format!("jitterlab report {file} -o report.html"),
    ];
    let text = commands[usize::from(measure.is_empty())..].join("\n") + "\n";
    Piece::Verbatim { heading: format!("{}:", run.label), text }
}
