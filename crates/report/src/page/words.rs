//! What the page says of a run in words and tables.

use crate::caveats::{distinct, statement};
use crate::words::known_count;
use jitterlab_analysis::caveats::measured_ns;
use jitterlab_model::units::Human;
use jitterlab_model::{Refusal, StopReason};
use serde::Serialize;

use super::PageRun;
use crate::head::{self, Head};
use crate::machine::machine_line;
use crate::quantity;
use crate::run::task_line;
use crate::summary::{self, load, records_lost};
use crate::warnings;

/// A run in words.
#[derive(Debug, Serialize)]
pub struct RunWords {
    label: String,
    head: Option<Head>,
    statements: Vec<String>,
    caveats: Vec<String>,
    /// Term and description.
    facts: Vec<(String, String)>,
    warnings: Vec<String>,
    refused: Vec<Refusal>,
    tables: Vec<TaskTable>,
    commands: Vec<String>,
}

/// The figures of a task.
#[derive(Debug, Serialize)]
struct TaskTable {
    caption: String,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl RunWords {
    /// The words for a run.
    pub fn of(run: &PageRun) -> Self {
        let info = &run.info;
        let caveats = distinct(run.tasks.iter().flat_map(|task| &task.measured.caveats));
        let statements = run
            .tasks
            .iter()
            .zip(&info.tasks)
            .map(|(of, task)| statement(&of.measured.summary, measured_ns(task)));
        RunWords {
            label: run.label.clone(),
            head: head::run::measured(&run.measured()),
            statements: statements.collect(),
            caveats: caveats.iter().map(|text| sentence(text)).collect(),
            facts: facts(run),
            warnings: warnings::sentences(info),
            refused: info.refused.clone(),
            tables: run.tasks.iter().map(table).collect(),
            commands: commands(run),
        }
    }
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
