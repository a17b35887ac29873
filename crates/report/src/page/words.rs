//! Words and tables of the page about a run.

use jitterlab_analysis::caveats::measured_ns;
use jitterlab_model::Refusal;

use super::PageRun;
use super::html::{Html, html};
use crate::caveats::{distinct, statement};
use crate::head::{self, Head};
use crate::run;
use crate::section::Table;
use crate::summary::every_figure;
use crate::warnings;
use crate::words::{list, sentence};

#[derive(Debug)]
pub struct RunWords {
    pub label: String,
    pub head: Option<Head>,
    /// Next step, unless the run before has the same.
    pub next: Option<String>,
    pub statements: Vec<String>,
    pub refused: Vec<Refusal>,
    pub tables: Vec<Table>,
    commands: Vec<String>,
}

pub fn runs(runs: &[PageRun]) -> Vec<RunWords> {
    let mut all: Vec<RunWords> = runs.iter().map(RunWords::from_run).collect();
    let next: Vec<Option<String>> = all.iter().map(|run| run.next.clone()).collect();
    for (run, before) in all.iter_mut().skip(1).zip(next) {
        run.next = run.next.take().filter(|next| Some(next) != before.as_ref());
    }
    all
}

impl RunWords {
    fn from_run(run: &PageRun) -> Self {
        let info = &run.info;
        let statements = run
            .tasks
            .iter()
            .zip(&info.tasks)
            .map(|(of, task)| statement(&of.measured.summary, measured_ns(task)));
        let head = head::run::measured(&run.measured());
        RunWords {
            label: run.label.clone(),
            next: head.as_ref().map(|head| head.next.clone()),
            head,
            statements: statements.collect(),
            refused: info.refused.clone(),
            tables: run.tasks.iter().map(|of| every_figure(&of.measured.summary)).collect(),
            commands: commands(run),
        }
    }

    /// Commands that reproduce it.
    pub fn reproduced(&self) -> Html {
        html!(
            "<p>{label}:</p>\n<pre tabindex=\"0\">{commands}\n</pre>\n",
            label = self.label,
            commands = self.commands.join("\n")
        )
    }
}

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
fn commands(run: &PageRun) -> Vec<String> {
    let measure: Vec<String> = run.info.command.iter().map(|word| quoted(word)).collect();
    let file = quoted(&run.label);
    let mut commands = Vec::new();
    if !measure.is_empty() {
        commands.push(measure.join(" "));
    }
    commands.push(format!("jitterlab analyze --json {file}"));
    commands.push(format!("jitterlab report {file} -o report.html"));
    commands
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_every_word_back() {
        assert_eq!(quoted("--period=250us"), "--period=250us");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
