//! The live view: what is happening while a measurement runs.
//!
//! It draws snapshots that ordinary threads took; the measured threads know nothing of it.

use std::collections::VecDeque;
use std::io::{self, Stdout};

use jitterlab_model::TimingStats;
use jitterlab_model::units::{Exact, Human};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, LineGauge, Row, Sparkline, Table};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

/// Snapshots remembered for the sparkline.
const HISTORY: usize = 256;

/// One task at one moment.
#[derive(Debug, Clone)]
pub struct TaskSnapshot {
    /// The task's name.
    pub name: String,
    /// Everything counted so far.
    pub stats: TimingStats,
    /// Records lost so far.
    pub dropped: u64,
    /// Largest latency since the previous snapshot; `None` if the task did not run since.
    pub recent_max_ns: Option<i64>,
}

/// A running measurement at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Time since the first due time.
    pub elapsed_ns: i64,
    /// Planned length; `None` when only a count or Ctrl-C ends it.
    pub planned_ns: Option<i64>,
    /// The tasks in their order.
    pub tasks: Vec<TaskSnapshot>,
}

impl Snapshot {
    /// One plain line for logs and pipes: elapsed time, and per task count, latencies and misses.
    pub fn plain_line(&self) -> String {
        let tasks = self.tasks.iter().map(|task| {
            let latency = &task.stats.latency;
            let lost =
                if task.dropped > 0 { format!(", {} records lost", task.dropped) } else { String::new() };
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
        format!("{}: {}", Human(self.elapsed_ns as f64), tasks.collect::<Vec<_>>().join("; "))
    }
}

fn time(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| Human(ns as f64).to_string())
}

/// The view on a terminal, below the cursor; what stood above stays.
pub struct LiveView<B: Backend = CrosstermBackend<Stdout>> {
    terminal: Terminal<B>,
    history: Vec<VecDeque<u64>>,
}

impl LiveView {
    /// Takes the lines it needs for this many tasks from the terminal on standard output.
    ///
    /// # Errors
    /// When the terminal does not answer (a plain line every few seconds does then).
    pub fn on_stdout(tasks: usize) -> io::Result<Self> {
        Self::new(CrosstermBackend::new(io::stdout()), tasks)
    }
}

impl<B: Backend<Error = io::Error>> LiveView<B> {
    fn new(backend: B, tasks: usize) -> io::Result<Self> {
        let height = (2 + 2 * tasks).min(40) as u16;
        let terminal =
            Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Inline(height) })?;
        Ok(LiveView { terminal, history: vec![VecDeque::new(); tasks] })
    }

    /// Redraws with a new snapshot.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        for (history, task) in self.history.iter_mut().zip(&snapshot.tasks) {
            history.push_back(task.recent_max_ns.unwrap_or(0).max(0) as u64);
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
        let history = &self.history;
        self.terminal.draw(|frame| render(frame, snapshot, history)).map(|_| ())
    }

    /// Removes the view from the screen, so that the summary takes its place.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn finish(mut self) -> io::Result<()> {
        let top_left = self.terminal.get_frame().area().as_position();
        self.terminal.clear()?;
        self.terminal.set_cursor_position(top_left)?;
        self.terminal.show_cursor()
    }
}

fn render(frame: &mut Frame<'_>, snapshot: &Snapshot, history: &[VecDeque<u64>]) {
    let [progress, table, sparks] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1 + snapshot.tasks.len() as u16),
        Constraint::Fill(1),
    ])
    .areas(frame.area());
    frame.render_widget(progress_line(snapshot), progress);
    frame.render_widget(task_table(snapshot), table);
    let lines = Layout::vertical(vec![Constraint::Length(1); snapshot.tasks.len()]).split(sparks);
    for ((area, task), values) in lines.iter().zip(&snapshot.tasks).zip(history) {
        let [label, spark] = Layout::horizontal([Constraint::Length(24), Constraint::Fill(1)]).areas(*area);
        let largest = values.iter().max().map(|ns| Human(*ns as f64).to_string()).unwrap_or_default();
        frame.render_widget(Line::from(format!("{:>9} worst {largest}", clip(&task.name, 9))).dim(), label);
        let skip = values.len().saturating_sub(usize::from(spark.width));
        // Logarithmic height: a spike stands out, and the ordinary values stay visible beside it.
        let heights = values.iter().skip(skip).map(|ns| ((*ns as f64 + 1.0).log2() * 8.0) as u64);
        let floor = values.iter().copied().filter(|ns| *ns > 0).min().unwrap_or(0);
        let floor = ((floor as f64 + 1.0).log2() * 8.0) as u64;
        let heights: Vec<u64> = heights.map(|h| h.saturating_sub(floor.saturating_sub(4))).collect();
        frame.render_widget(Sparkline::default().data(heights), spark);
    }
}

fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

fn progress_line(snapshot: &Snapshot) -> LineGauge<'static> {
    let elapsed = Human(snapshot.elapsed_ns as f64);
    let (ratio, label) = match snapshot.planned_ns {
        Some(planned) => {
            let left = Human((planned - snapshot.elapsed_ns).max(0) as f64);
            let ratio = (snapshot.elapsed_ns as f64 / planned.max(1) as f64).clamp(0.0, 1.0);
            (ratio, format!("{elapsed} of {}, {left} left; Ctrl-C ends early", Exact(planned)))
        }
        None => (0.0, format!("{elapsed}; Ctrl-C ends")),
    };
    LineGauge::default().ratio(ratio).label(label).filled_style(Style::new().green())
}

fn task_table(snapshot: &Snapshot) -> Table<'static> {
    let rows = snapshot.tasks.iter().map(|task| {
        let latency = &task.stats.latency;
        let seconds = snapshot.elapsed_ns as f64 / 1e9;
        let rate = if seconds > 0.0 { latency.count() as f64 / seconds } else { 0.0 };
        let missed = Cell::from(Line::from(task.stats.seen_missed().to_string()).right_aligned());
        let missed = if task.stats.seen_missed() > 0 { missed.yellow() } else { missed };
        let mut cells = vec![
            Cell::from(clip(&task.name, 9)),
            right(Exact(task.stats.period_ns()).to_string()),
            right(latency.count().to_string()),
            right(format!("{rate:.0}/s")),
            missed,
        ];
        for ns in [latency.min_ns(), latency.quantile_ns(0.5), latency.quantile_ns(0.99), latency.max_ns()] {
            cells.push(right(time(ns)));
        }
        Row::new(cells)
    });
    let header = ["task", "period", "count", "rate", "missed", "min", "median", "p99", "max"];
    let header = Row::new(
        header.into_iter().enumerate().map(
            |(i, title)| {
                if i == 0 { Cell::from(title) } else { right(title.to_string()) }
            },
        ),
    );
    let widths = [9, 7, 9, 8, 6, 8, 8, 8, 8].map(Constraint::Length);
    Table::new(rows, widths).header(header.bold())
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Activation;
    use ratatui::backend::TestBackend;

    fn snapshot(latencies_ns: &[i64]) -> Snapshot {
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
        let task = TaskSnapshot {
            name: "servo".into(),
            stats,
            dropped: 0,
            recent_max_ns: latencies_ns.iter().max().copied(),
        };
        Snapshot { elapsed_ns: 4_000_000_000, planned_ns: Some(10_000_000_000), tasks: vec![task] }
    }

    fn drawn(snapshot: &Snapshot) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 4)).unwrap();
        let history = vec![VecDeque::from([2_000, 2_500, 90_000])];
        terminal.draw(|frame| render(frame, snapshot, &history)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn eighty_columns_show_every_figure_whole() {
        let text = drawn(&snapshot(&[2_000, 2_500, 90_000]));
        for part in ["4 s of 10s, 6 s left", "servo", "1ms", "2 us", "2.5", "90 us", "missed", "p99"] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
    }

    #[test]
    fn nothing_measured_yet_is_shown_as_such() {
        assert!(drawn(&snapshot(&[])).contains('-'));
    }

    #[test]
    fn the_plain_line_tells_the_same() {
        let line = snapshot(&[2_000, 90_000]).plain_line();
        assert!(line.starts_with("4 s: servo n=2 latency min 2 us"), "{line}");
        assert!(line.contains("max 90 us, missed 0"), "{line}");
    }
}
