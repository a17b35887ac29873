//! A comparison as a test, for programs that run other programs' tests: JUnit's XML, and Markdown for a note.

use std::fmt::Write as _;

use super::table::runs_table;
use super::{conclusion, settings};
use crate::junit::{self, TestCase};
use crate::section::{Cell, Table};
use jitterlab_analysis::compare::{FigureVerdict, RunsCompared, ToleranceVerdict};

/// JUnit XML: a test case for each figure, failed if it is shown to be worse than tolerated. It is skipped if that
/// cannot be decided.
pub fn junit(judged: &ToleranceVerdict) -> String {
    let cases = judged.figures.iter().map(|figure| {
        let FigureVerdict { task, run, statistic, fitness, .. } = figure;
        let name = format!("{} of {task}", statistic.name());
        TestCase { class: run.clone(), name, fitness: *fitness, said: conclusion::figure_sentence(figure) }
    });
    junit::test_suite_xml("jitterlab compare", &[], &cases.collect::<Vec<_>>())
}

/// The conclusion and a table of each task in Markdown: for a note or a merge request.
pub fn markdown(compared: &RunsCompared) -> String {
    let mut text = String::new();
    if let Some(found) = conclusion::comparison_conclusion(compared) {
        let _ =
            writeln!(text, "**{}** {}\n", escape_markdown(&found.verdict), escape_markdown(&found.number));
    }
    for task in &compared.tasks {
        let runs_table = task.comparison.as_ref().map(|found| runs_table(&task.task, found));
        let settings = task.settings.as_ref().map(|found| settings::table(&task.task, found));
        text.extend(runs_table.into_iter().chain(settings).map(|table| markdown_table(&task.task, &table)));
    }
    text
}

/// A table with its caption below it.
fn markdown_table(task: &str, table: &Table) -> String {
    let line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escape_markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let aligned = format!("|---|{}\n", "---:|".repeat(table.header.len().saturating_sub(1)));
    let rows = table.rows.iter().map(|row| line(row.iter().map(Cell::to_text).collect()));
    let rows: String = rows.collect();
    let mut header = table.header.clone();
    header[0] = format!("{task}, {}", header[0]);
    format!("{}{aligned}{rows}\n{}\n\n", line(header), escape_markdown(&table.caption))
}

/// Text that Markdown shows as it is.
fn escape_markdown(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' => plain.extend(['\\', c]),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}
