//! The live view: what is happening while a measurement runs.
//!
//! It draws what ordinary threads counted; the measured threads know nothing of it. The terminal is only written
//! to, never asked: one that was closed, stopped or does not answer holds nothing up.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use jitterlab_analysis::measured::{SoFar, TaskSoFar};
use jitterlab_model::units::Human;
use rustix::termios::tcgetwinsize;

use crate::printable::printable;
use crate::words::exact;

/// Looks remembered for the sparkline.
const HISTORY: usize = 256;

/// One plain line for logs and pipes: elapsed time, and per task count, latencies and misses.
fn plain_line(so_far: &SoFar) -> String {
    let tasks = so_far.tasks.iter().map(|task| {
        let latency = &task.stats.latency;
        let lost = if task.dropped > 0 { format!(", {} records lost", task.dropped) } else { String::new() };
        format!(
            "{} n={} latency min {} median {} p99 {} max {}, missed {}{lost}",
            task.name,
            latency.count(),
            time(latency.min_ns()),
            time(latency.quantile_ns(0.5)),
            time(latency.quantile_ns(0.99)),
            time(latency.max_ns()),
            task.stats.seen_missed()
        )
    });
    format!("{}: {}", Human(so_far.elapsed_ns as f64), tasks.collect::<Vec<_>>().join("; "))
}

fn time(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| Human(ns as f64).to_string())
}

/// The view on a terminal, below the cursor; what stood above stays.
pub struct LiveView {
    painter: Painter,
    history: Vec<VecDeque<u64>>,
}

impl LiveView {
    /// On the terminal of standard output, for this many tasks.
    ///
    /// # Errors
    /// When there is no thread to write from.
    pub fn on_stdout(tasks: usize) -> io::Result<Self> {
        let painter = Painter::start(io::stdout(), true)?;
        Ok(LiveView { painter, history: vec![VecDeque::new(); tasks] })
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
        let size =
            tcgetwinsize(io::stdout()).ok().map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        let (columns, rows) = size.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or((80, 24));
        let mut lines = lines(so_far, &self.history, columns);
        lines.truncate(rows.saturating_sub(1));
        self.painter.show(lines)
    }

    /// Removes the view from the screen, so that the summary takes its place.
    pub fn finish(self) {
        self.painter.finish();
    }
}

/// A plain line now and then, on standard error.
pub struct PlainView(Painter);

impl PlainView {
    /// On standard error.
    ///
    /// # Errors
    /// When there is no thread to write from.
    pub fn on_stderr() -> io::Result<Self> {
        Painter::start(io::stderr(), false).map(PlainView)
    }

    /// Writes the line of a look, unless standard error has not taken the last one yet.
    ///
    /// # Errors
    /// When standard error cannot be written to.
    pub fn draw(&mut self, so_far: &SoFar) -> io::Result<()> {
        self.0.show(vec![printable(&plain_line(so_far)).into_owned()])
    }
}

/// Writes from a thread of its own: a terminal that was stopped (Ctrl-S) or is read by nobody holds up only that.
struct Painter {
    frames: SyncSender<Vec<String>>,
    ended: Receiver<()>,
}

impl Painter {
    /// How long the end waits for a terminal that takes nothing.
    const PATIENCE: Duration = Duration::from_millis(300);

    /// `redraw`: each frame takes the place of the one before.
    fn start(mut out: impl Write + Send + 'static, redraw: bool) -> io::Result<Self> {
        let (frames, to_draw) = sync_channel::<Vec<String>>(0);
        let (end, ended) = sync_channel(1);
        let paint = move || {
            let mut shown = 0;
            for lines in to_draw {
                let mut text = back(shown);
                for line in &lines {
                    text.push_str(line);
                    // Where the line before it was longer.
                    text.push_str(if redraw { "\x1b[K\n" } else { "\n" });
                }
                if redraw {
                    text.push_str("\x1b[J");
                    shown = lines.len();
                }
                if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
            // A terminal that is gone needs no tidying.
            if shown > 0 {
                let _ = out.write_all((back(shown) + "\x1b[J").as_bytes()).and_then(|()| out.flush());
            }
            let _ = end.send(());
        };
        thread::Builder::new().name("live view".into()).spawn(paint)?;
        Ok(Painter { frames, ended })
    }

    fn show(&self, lines: Vec<String>) -> io::Result<()> {
        match self.frames.try_send(lines) {
            Ok(()) | Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn finish(self) {
        drop(self.frames);
        let _ = self.ended.recv_timeout(Self::PATIENCE);
    }
}

/// To the first of the lines above the cursor.
fn back(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A") }
}

/// Columns of the table, with their widths; together they fit into 80.
const COLUMNS: [(&str, usize); 9] = [
    ("task", 9),
    ("period", 7),
    ("count", 9),
    ("rate", 8),
    ("missed", 6),
    ("min", 8),
    ("median", 8),
    ("p99", 8),
    ("max", 8),
];
/// Width of what stands before a task's sparkline.
const LABEL: usize = 24;
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// The view as lines that are no wider than the terminal.
fn lines(so_far: &SoFar, history: &[VecDeque<u64>], columns: usize) -> Vec<String> {
    let mut lines = vec![progress_line(so_far, columns)];
    let titles = COLUMNS.map(|(title, _)| (title.to_owned(), ""));
    lines.push(format!("{BOLD}{}{PLAIN}", row(&titles, columns)));
    lines.extend(so_far.tasks.iter().map(|task| row(&cells(so_far, task), columns)));
    for (task, values) in so_far.tasks.iter().zip(history) {
        let largest = values.iter().max().map(|ns| Human(*ns as f64).to_string()).unwrap_or_default();
        let label = format!("{:>9} worst {largest}", clip(&printable(&task.name), 9));
        let spark = sparkline(values, columns.saturating_sub(LABEL));
        let width = LABEL.min(columns);
        lines.push(format!("{DIM}{:width$}{PLAIN}{spark}", clip(&label, width)));
    }
    lines
}

fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Cells of a table's row, each with its colour, as far as they fit.
fn row(cells: &[(String, &str); 9], columns: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for (i, ((cell, colour), (_, width))) in cells.iter().zip(COLUMNS).enumerate() {
        let cell = clip(cell, width);
        let cell = if i == 0 { format!("{cell:width$}") } else { format!(" {cell:>width$}") };
        used += width + usize::from(i > 0);
        if used > columns {
            break;
        }
        text.push_str(&if colour.is_empty() { cell } else { format!("{colour}{cell}{PLAIN}") });
    }
    text
}

fn cells(so_far: &SoFar, task: &TaskSoFar) -> [(String, &'static str); 9] {
    let latency = &task.stats.latency;
    let seconds = so_far.elapsed_ns as f64 / 1e9;
    let rate = if seconds > 0.0 { latency.count() as f64 / seconds } else { 0.0 };
    let missed = if task.stats.seen_missed() > 0 { YELLOW } else { "" };
    [
        (printable(&task.name).into_owned(), ""),
        (exact(task.stats.period_ns()), ""),
        (latency.count().to_string(), ""),
        (format!("{rate:.0}/s"), ""),
        (task.stats.seen_missed().to_string(), missed),
        (time(latency.min_ns()), ""),
        (time(latency.quantile_ns(0.5)), ""),
        (time(latency.quantile_ns(0.99)), ""),
        (time(latency.max_ns()), ""),
    ]
}

fn progress_line(so_far: &SoFar, columns: usize) -> String {
    let elapsed = Human(so_far.elapsed_ns as f64);
    let (ratio, label) = match so_far.planned_ns {
        Some(planned) => {
            let left = Human((planned - so_far.elapsed_ns).max(0) as f64);
            let ratio = (so_far.elapsed_ns as f64 / planned.max(1) as f64).clamp(0.0, 1.0);
            (ratio, format!("{elapsed} of {}, {left} left; Ctrl-C ends early ", exact(planned)))
        }
        None => (0.0, format!("{elapsed}; Ctrl-C ends ")),
    };
    let label = clip(&label, columns);
    let bar = columns - label.chars().count();
    let done = (ratio * bar as f64) as usize;
    format!("{label}{GREEN}{}{PLAIN}{}", "\u{2501}".repeat(done), "\u{2500}".repeat(bar - done))
}

/// The last values, one in each column. Logarithmic height: a spike stands out, and the ordinary values stay visible
/// beside it.
fn sparkline(values: &VecDeque<u64>, width: usize) -> String {
    const STEPS: [char; 9] =
        [' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
    let height = |ns: u64| (ns as f64 + 1.0).log2();
    let shown = values.iter().skip(values.len().saturating_sub(width));
    let above_zero = || shown.clone().copied().filter(|ns| *ns > 0).map(height);
    let floor = above_zero().fold(f64::INFINITY, f64::min) - 0.5;
    let range = above_zero().fold(0.0, f64::max) - floor;
    let step =
        |ns: &u64| if *ns == 0 { 0.0 } else { ((height(*ns) - floor) / range * 8.0).round().clamp(1.0, 8.0) };
    shown.clone().map(|ns| STEPS[step(ns) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, TimingStats};

    fn snapshot(latencies_ns: &[i64]) -> SoFar {
        let mut stats = TimingStats::new(1_000_000);
        for (k, latency) in latencies_ns.iter().enumerate() {
            let due_ns = k as i64 * 1_000_000;
            let start_ns = due_ns + latency;
            stats.push(&Activation {
                index: k as u64,
                due_ns,
                start_ns,
                end_ns: start_ns,
                ..Activation::default()
            });
        }
        let task = TaskSoFar {
            name: "servo".into(),
            stats,
            dropped: 0,
            recent_max_ns: latencies_ns.iter().max().copied(),
        };
        SoFar { elapsed_ns: 4_000_000_000, planned_ns: Some(10_000_000_000), tasks: vec![task] }
    }

    fn drawn(so_far: &SoFar, columns: usize) -> String {
        let lines = lines(so_far, &[VecDeque::from([2_000, 2_500, 90_000])], columns);
        let plain = [BOLD, DIM, GREEN, YELLOW, PLAIN];
        let lines =
            lines.iter().map(|line| plain.iter().fold(line.clone(), |line, code| line.replace(code, "")));
        let lines: Vec<String> = lines.collect();
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:#?}");
        lines.join("\n")
    }

    #[test]
    fn eighty_columns_show_every_figure_whole() {
        let text = drawn(&snapshot(&[2_000, 2_500, 90_000]), 80);
        for part in ["4 s of 10 s, 6 s left", "servo", "1 ms", "2 µs", "2.5", "90 µs", "missed", "p99"] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
    }

    #[test]
    fn a_narrow_terminal_and_a_hostile_name_do_no_harm() {
        let mut snapshot = snapshot(&[2_000, 90_000]);
        snapshot.tasks[0].name = "\x1b[2J\n".into();
        for columns in 1..100 {
            let text = drawn(&snapshot, columns);
            assert!(!text.contains('\x1b') && text.lines().count() == 4, "{text}");
        }
    }

    #[test]
    fn nothing_measured_yet_is_shown_as_such() {
        assert!(drawn(&snapshot(&[]), 80).contains('-'));
    }

    #[test]
    fn the_plain_line_tells_the_same() {
        let line = plain_line(&snapshot(&[2_000, 90_000]));
        assert!(line.starts_with("4 s: servo n=2 latency min 2 µs"), "{line}");
        assert!(line.contains("max 90 µs, missed 0"), "{line}");
    }
}
