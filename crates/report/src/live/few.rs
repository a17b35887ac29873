//! The view in a few lines below the cursor; what stood above stays.

use std::collections::VecDeque;
use std::io;

use jitterlab_analysis::measured::SoFar;
use jitterlab_model::units::Human;

use super::painter::{Painter, Place};
use super::parts::{DIM, PLAIN, clip, progress_line, sparkline, spelled, task_row, titles};
use super::screen;
use crate::chart::Terminal;
use crate::printable::printable;

/// Looks remembered for the course.
const HISTORY: usize = 256;
/// Width of what stands before a task's course.
const LABEL: usize = 24;

/// A few lines that are drawn over and over.
pub struct FewLines {
    painter: Painter,
    terminal: Terminal,
    history: Vec<VecDeque<u64>>,
}

impl FewLines {
    /// On the terminal of standard output, for this many tasks.
    ///
    /// # Errors
    /// When there is no thread to write from.
    pub fn on_stdout(tasks: usize, terminal: Terminal) -> io::Result<Self> {
        let painter = Painter::start(io::stdout(), Place::BelowCursor)?;
        Ok(FewLines { painter, terminal, history: vec![VecDeque::new(); tasks] })
    }

    /// Redraws with a new look, unless the terminal has not taken the last one yet.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, so_far: &SoFar) -> io::Result<()> {
        for (history, task) in self.history.iter_mut().zip(&so_far.tasks) {
            history.push_back(task.recent_max_ns.unwrap_or(0).max(0) as u64);
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
        let (columns, rows) = screen::size().unwrap_or((80, 24));
        let mut lines = lines(so_far, &self.history, columns, self.terminal.ascii);
        lines.truncate(rows.saturating_sub(1));
        self.painter.show(spelled(lines, self.terminal))
    }
}

/// The view as lines that are no wider than the terminal.
fn lines(so_far: &SoFar, history: &[VecDeque<u64>], columns: usize, ascii: bool) -> Vec<String> {
    let mut lines = vec![progress_line(so_far, "Ctrl-C", columns, ascii), titles(columns)];
    lines.extend(so_far.tasks.iter().map(|task| task_row(&task.name, so_far, task, columns)));
    for (task, values) in so_far.tasks.iter().zip(history) {
        let largest = values.iter().max().map(|ns| Human(*ns as f64).to_string()).unwrap_or_default();
        let label = format!("{:>9} worst {largest}", clip(&printable(&task.name), 9));
        let shown = values.len().saturating_sub(columns.saturating_sub(LABEL));
        let shown: Vec<u64> = values.iter().skip(shown).copied().collect();
        let spark = sparkline(&shown, ascii);
        let width = LABEL.min(columns);
        lines.push(format!("{DIM}{:width$}{PLAIN}{spark}", clip(&label, width)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::tests::so_far;
    use super::*;

    fn drawn(so_far: &SoFar, columns: usize) -> String {
        let history = [VecDeque::from([2_000, 2_500, 90_000])];
        let terminal = Terminal { columns, ascii: false, colour: false };
        let lines = spelled(lines(so_far, &history, columns, false), terminal);
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:#?}");
        lines.join("\n")
    }

    #[test]
    fn eighty_columns_show_every_figure_whole() {
        let text = drawn(&so_far(&[2_000, 2_500, 90_000]), 80);
        for part in ["4 s of 10 s, 6 s left", "servo", "1 ms", "2 µs", "2.5", "90 µs", "missed", "p99"] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
    }

    #[test]
    fn a_narrow_terminal_and_a_hostile_name_do_no_harm() {
        let mut so_far = so_far(&[2_000, 90_000]);
        so_far.tasks[0].name = "\x1b[2J\n".into();
        for columns in 1..100 {
            let text = drawn(&so_far, columns);
            assert!(!text.contains('\x1b') && text.lines().count() == 4, "{text}");
        }
    }

    #[test]
    fn nothing_measured_yet_is_shown_as_such() {
        assert!(drawn(&so_far(&[]), 80).contains('-'));
    }
}
