//! What the page says of a run in words and tables.

use crate::caveats::{distinct, statement};
use crate::words::{known_count, list};
use jitterlab_analysis::caveats::measured_ns;
use jitterlab_model::units::Human;
use jitterlab_model::{Refusal, StopReason};

use super::PageRun;
use super::html::{Html, html};
use crate::head::{self, Head};
use crate::machine::machine_line;
use crate::quantity;
use crate::run::task_line;
use crate::summary::{self, load, records_lost};
use crate::warnings;

/// A run in words.
#[derive(Debug)]
pub struct RunWords {
    pub label: String,
    pub head: Option<Head>,
    /// What to do next, unless the run before says the same.
    pub next: Option<String>,
    pub statements: Vec<String>,
    pub refused: Vec<Refusal>,
    pub tables: Vec<TaskTable>,
    commands: Vec<String>,
}

/// The figures of a task.
#[derive(Debug)]
pub struct TaskTable {
    pub caption: String,
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// The words for each run.
pub fn runs(runs: &[PageRun]) -> Vec<RunWords> {
    let mut all: Vec<RunWords> = runs.iter().map(RunWords::of).collect();
    let next: Vec<Option<String>> = all.iter().map(|run| run.next.clone()).collect();
    for (run, before) in all.iter_mut().skip(1).zip(next) {
        run.next = run.next.take().filter(|next| Some(next) != before.as_ref());
    }
    all
}

impl RunWords {
    /// The words for a run.
    fn of(run: &PageRun) -> Self {
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
            tables: run.tasks.iter().map(table).collect(),
            commands: commands(run),
        }
    }

    /// How it is made again.
    pub fn reproduced(&self) -> Html {
        html!(
            "<p>{label}:</p>\n<pre tabindex=\"0\">{commands}\n</pre>\n",
            label = self.label,
            commands = self.commands.join("\n")
        )
    }
}

/// What is told of the runs, as far as it is one thing for each.
#[derive(Debug)]
pub struct About {
    pub term: String,
    /// One for each run, or a single one where it is the same for all.
    pub values: Vec<String>,
}

/// What is told of the runs: said once where all of them agree.
pub fn about(runs: &[PageRun]) -> Vec<About> {
    let each: Vec<Vec<(String, String)>> = runs.iter().map(facts).collect();
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

/// What a reader has to bear in mind, each once, with the runs that it is true of where it is not all of them.
pub fn caveats(runs: &[PageRun]) -> Vec<String> {
    let of = |run: &PageRun| distinct(run.tasks.iter().flat_map(|task| &task.measured.caveats));
    said_once(runs, of)
}

/// What the runs warn of, in the same way.
pub fn warned(runs: &[PageRun]) -> Vec<String> {
    said_once(runs, |run| warnings::sentences(&run.info))
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

fn facts(run: &PageRun) -> Vec<(String, String)> {
    let info = &run.info;
    let mut facts = Vec::new();
    let mut fact = |term: &str, text: String| facts.push((term.to_owned(), text));
    if let Some(machine) = &info.facts_before {
        fact("Machine", machine_line(machine));
    }
    let told = [("", &info.started), ("by ", &info.tool), ("times by the clock ", &info.clock)];
    let told =
        told.into_iter().filter(|(_, what)| !what.is_empty()).map(|(how, what)| format!("{how}{what}"));
    fact("Measured", told.collect::<Vec<_>>().join(", "));
    fact("For", info.measured_ns().map_or("an unknown time".into(), |ns| Human(ns as f64).to_string()));
    fact("Load beside it", load(info));
    for task in &info.tasks {
        fact("Task", task_line(info, task));
    }
    if let Some(stop) = &info.stop {
        fact("Ended by", stopped(stop, run));
    }
    if let Some(placed) = warnings::placement(info.placement.as_ref()) {
        fact("Processors", placed);
    }
    facts
}

fn stopped(stop: &StopReason, run: &PageRun) -> String {
    match stop {
        StopReason::Duration => "the wanted time being over".into(),
        StopReason::Count => "the wanted number of activations".into(),
        StopReason::Interrupted => "Ctrl-C or a signal, early".into(),
        StopReason::Above { task, index, latency_ns } => {
            let name = run.info.tasks.get(*task).map_or("?", |t| t.spec.name.as_str());
            format!("a latency of {} of {name}, activation {index}", Human(*latency_ns as f64))
        }
        StopReason::Overloaded { overload, .. } => {
            format!("jitterlab, for the machine's safety: {overload}")
        }
        StopReason::WaitFailed { task, why } => {
            let name = run.info.tasks.get(*task).map_or("?", |t| t.spec.name.as_str());
            format!("{name}, which could not wait any more: {why}")
        }
        StopReason::Closed => "the program that ran it, which closed it".into(),
        StopReason::Crashed => "a crash of the measuring process; the file was recovered".into(),
        _ => "a reason that this release does not know".into(),
    }
}

fn table(task: &super::PageTask) -> TaskTable {
    let summary = &task.measured.summary;
    let lost = records_lost(summary.dropped);
    let caption = format!(
        "Task {}: {} activations, {} missed{lost}. Microseconds.",
        summary.task,
        known_count(summary.executed),
        known_count(summary.missed)
    );
    let rows = summary.quantities().map(|(quantity, figures)| {
        let whole = |ns: Option<i64>| ns.map(|ns| ns as f64);
        let values = [whole(figures.min_ns), figures.mean_ns, figures.sd_ns]
            .into_iter()
            .chain(figures.percentiles().map(|(_, ns)| whole(ns.exactly())))
            .chain([whole(figures.max_ns)]);
        [quantity::row(quantity).to_owned()]
            .into_iter()
            .chain(values.map(|ns| ns.map_or("–".into(), microseconds)))
            .collect()
    });
    TaskTable { caption, header: summary::header("quantity"), rows: rows.to_vec() }
}

/// To the nanosecond where the value is one, as `analyze --json` gives it.
fn microseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
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

    #[test]
    fn a_caveat_becomes_one_sentence() {
        assert_eq!(sentence("the run was short"), "The run was short.");
    }
}
