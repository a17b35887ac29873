//! A comparison as a test, for programs that run other programs' tests: JUnit's XML, and Markdown for a note.

use std::fmt::Write as _;

use jitterlab_analysis::compare::{JudgedFigure, RunsCompared, Tolerated};
use jitterlab_model::Fitness;

use super::table::side_by_side;
use super::{head, settings};

/// A test case for each figure: failed where it is shown to be worse by more than is tolerated, skipped where that cannot be
/// told.
#[must_use]
pub fn junit(judged: &Tolerated) -> String {
    let of = |fitness| judged.figures.iter().filter(|figure| figure.fitness == fitness).count();
    let (failed, open) = (of(Fitness::Unfit), of(Fitness::CannotTell));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"jitterlab compare\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{open}\">\n",
        judged.figures.len()
    );
    for figure in &judged.figures {
        let JudgedFigure { task, run, statistic, .. } = figure;
        let _ = write!(
            xml,
            "  <testcase classname=\"{}\" name=\"{} of {}\"",
            escaped(run),
            statistic.name(),
            escaped(task)
        );
        let said = escaped(&head::judged(figure));
        xml += &match figure.fitness {
            Fitness::Unfit => format!("><failure message=\"{said}\"/></testcase>\n"),
            Fitness::CannotTell => format!("><skipped message=\"{said}\"/></testcase>\n"),
            _ => "/>\n".into(),
        };
    }
    xml + "</testsuite>\n</testsuites>\n"
}

fn escaped(text: &str) -> String {
    let mut xml = String::new();
    for c in text.chars() {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            c if c.is_control() => xml.push(' '),
            c => xml.push(c),
        }
    }
    xml
}

/// The conclusion and a table of each task in Markdown: for a note or a merge request.
#[must_use]
pub fn markdown(compared: &RunsCompared) -> String {
    let mut text = String::new();
    if let Some(head) = head::of(compared) {
        let _ = writeln!(text, "**{}** {}\n", plain(&head.verdict), plain(&head.number));
    }
    for task in &compared.tasks {
        if let Some(found) = &task.comparison {
            let table = side_by_side(found);
            text += &rows(&task.task, &table.header, &table.rows);
            if !table.legend.is_empty() {
                let _ = writeln!(text, "{}\n", plain(&table.legend));
            }
        }
        if let Some(found) = &task.settings {
            text += &rows(&task.task, &settings::HEADER.map(String::from), &settings::rows(found));
        }
    }
    text
}

fn rows(task: &str, header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut named = header.to_vec();
    named[0] = format!("{task}, latency in µs");
    let aligned = format!("|---|{}\n", "---:|".repeat(header.len().saturating_sub(1)));
    line(&named) + &aligned + &rows.iter().map(|row| line(row)).collect::<String>() + "\n"
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
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
