//! Comma-separated values: a line per activation, with the columns of the run file. Columns that no task's
//! source has are left out, and unknown cells are empty. A run with labels has them in every line, and its machine, so that tables
//! of many machines can be joined.

use std::io::Write;

use jitterlab_model::{Activation, Error};
use jitterlab_runs::{Run, SourceFields};

use super::description::machine_labels;
use super::{ExportSummary, rows};
use crate::printable::printable_name;

/// A column: its name, whether a source has it, its cell.
type Column = (&'static str, fn(&SourceFields) -> bool, fn(&Activation) -> i64);

const COLUMNS: [Column; 7] = [
    ("index", |_| true, |a| a.index as i64),
    ("due_ns", |known| known.due, |a| a.due_ns),
    ("start_ns", |_| true, |a| a.start_ns),
    ("end_ns", |known| known.end, |a| a.end_ns),
    ("cpu", |known| known.cpu, |a| a.cpu.into()),
    ("missed", |known| known.missed, |a| a.missed.into()),
    ("flags", |known| known.cpu, |a| a.flags.0.into()),
];

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let known: Vec<SourceFields> = (0..run.info().tasks.len()).map(|task| run.source_fields(task)).collect();
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, is_known, _)| tasks.iter().any(|task| is_known(&known[*task]))).collect();
    let losses = rows::summary_of_unkept(run, tasks)?;
    let machine = if run.info().labels.is_empty() { Vec::new() } else { machine_labels(run.info()) };
    write!(out, "task")?;
    columns.iter().try_for_each(|(name, ..)| write!(out, ",{name}"))?;
    machine.iter().try_for_each(|(name, _)| write!(out, ",{name}"))?;
    writeln!(out)?;
    let machine: String = machine.iter().map(|(_, value)| format!(",{}", quote_cell(value))).collect();
    let names: Vec<String> = run.info().tasks.iter().map(|task| quote_cell(&task.spec.name)).collect();
    let (mut digits, mut lines) = (itoa::Buffer::new(), Vec::new());
    rows::for_each_batch(run, tasks, losses, |task, rows| {
        lines.clear();
        for a in rows {
            lines.extend_from_slice(names[task].as_bytes());
            for (_, is_known, cell) in &columns {
                lines.push(b',');
                if is_known(&known[task]) {
                    lines.extend_from_slice(digits.format(cell(a)).as_bytes());
                }
            }
            lines.extend_from_slice(machine.as_bytes());
            lines.push(b'\n');
        }
        Ok(out.write_all(&lines)?)
    })
}

/// Quotes a cell of text as in RFC 4180, and where readers may take it for a comment, margin or formula. Text that a
/// spreadsheet would compute gets an apostrophe, which makes it text there.
fn quote_cell(text: &str) -> String {
    let text = &*printable_name(text);
    let text = &*match text.trim_start().starts_with(['=', '+', '-', '@']) {
        true => format!("'{text}"),
        false => text.into(),
    };
    if text.contains([',', ';', '"', '\n', '\r']) || text.starts_with('#') || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
