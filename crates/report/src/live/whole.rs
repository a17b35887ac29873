//! The view on a whole screen: all tasks, the histogram of one of them growing, its course, and keys.

use std::collections::VecDeque;
use std::io;

use jitterlab_analysis::measured::{SoFar, TaskSoFar};
use jitterlab_model::Distribution;

use super::painter::{Painter, Place};
use super::parts::{DIM, PLAIN, YELLOW, clip, progress_line, sparkline, spelled, task_row, titles};
use super::screen::{self, Key, Screen};
use super::time;
use crate::chart::{Axis, Chart, Layer, Shape, Terminal};
use crate::printable::printable;
use crate::words;

/// Looks remembered for the course.
const HISTORY: usize = 256;
/// Looks that are closer share a place in the course: those that a key asked for.
const LOOK_NS: i64 = 200_000_000;
/// Lines of a chart beside its figure: axes and titles.
const CHART_FOOT: usize = 4;

/// What somebody who watches wants of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// That it goes on.
    GoOn,
    /// That it ends now.
    Stop,
}

/// The view, for as long as it lives.
pub struct WholeScreen {
    // Dropped in this order: the view off the screen, then the keys given back.
    painter: Painter,
    screen: Screen,
    terminal: Terminal,
    typed: Vec<Key>,
    seen: Seen,
}

impl WholeScreen {
    /// On the terminal that this program was started from, for this many tasks; `None` where there is none, or a small one.
    #[must_use]
    pub fn take(tasks: usize, terminal: Terminal) -> Option<Self> {
        let screen = Screen::take()?;
        let painter = Painter::start(io::stdout(), Place::WholeScreen).ok()?;
        Some(WholeScreen { painter, screen, terminal, typed: Vec::new(), seen: Seen::new(tasks) })
    }

    /// Whether a key asks for a look now.
    pub fn is_asked(&mut self) -> bool {
        self.typed.extend(self.screen.keys());
        !self.typed.is_empty()
    }

    /// Says something beside the figures; it is also given back at the end.
    pub fn say(&mut self, text: &str) {
        self.seen.said.push(printable(text).into_owned());
    }

    /// Redraws with a new look, unless the terminal has not taken the last one yet.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, so_far: &SoFar) -> io::Result<Wish> {
        self.seen.look(so_far);
        let was_stopping = self.seen.is_stopping;
        for key in std::mem::take(&mut self.typed) {
            self.seen.heed(key, so_far);
        }
        let (columns, rows) = screen::size().unwrap_or((80, 24));
        let lines = self.seen.frame(so_far, Terminal { columns, ..self.terminal }, rows);
        self.painter.show(spelled(lines, self.terminal))?;
        // Asked for once: a second time would end it at once.
        Ok(if self.seen.is_stopping && !was_stopping { Wish::Stop } else { Wish::GoOn })
    }

    /// Leaves the screen to what comes now; what was said and marked is to be said again there.
    #[must_use]
    pub fn finish(self) -> Vec<String> {
        let WholeScreen { painter, screen, seen, .. } = self;
        drop(painter);
        drop(screen);
        seen.kept()
    }
}

/// What was seen so far, and how it is looked at.
struct Seen {
    /// The worst latency of each look, for each task: when, and what.
    courses: Vec<VecDeque<(i64, u64)>>,
    /// What lies between marks; the last goes on.
    stretches: Vec<Stretch>,
    said: Vec<String>,
    /// What names the tasks, and when the last look was.
    last: Option<SoFar>,
    task: usize,
    frozen: Option<SoFar>,
    has_linear_counts: bool,
    is_without_tail: bool,
    is_stopping: bool,
}

/// What lies between two marks.
struct Stretch {
    from_ns: i64,
    /// The worst latency of each task, and the due times it had missed before.
    worst_ns: Vec<Option<i64>>,
    missed_before: Vec<u64>,
}

impl Stretch {
    fn new(from_ns: i64, missed_before: Vec<u64>) -> Self {
        Stretch { from_ns, worst_ns: vec![None; missed_before.len()], missed_before }
    }
}

fn missed(so_far: &SoFar) -> Vec<u64> {
    so_far.tasks.iter().map(|task| task.stats.seen_missed()).collect()
}

impl Seen {
    fn new(tasks: usize) -> Self {
        Seen {
            courses: vec![VecDeque::new(); tasks],
            stretches: vec![Stretch::new(0, vec![0; tasks])],
            said: Vec::new(),
            last: None,
            task: 0,
            frozen: None,
            has_linear_counts: false,
            is_without_tail: false,
            is_stopping: false,
        }
    }

    /// Takes a look in.
    fn look(&mut self, so_far: &SoFar) {
        let at_ns = so_far.elapsed_ns;
        for (course, task) in self.courses.iter_mut().zip(&so_far.tasks) {
            let worst = task.recent_max_ns.unwrap_or(0).max(0) as u64;
            match course.back_mut() {
                Some((begun_ns, before)) if at_ns - *begun_ns < LOOK_NS => *before = worst.max(*before),
                _ => course.push_back((at_ns, worst)),
            }
            if course.len() > HISTORY {
                course.pop_front();
            }
        }
        if let Some(stretch) = self.stretches.last_mut() {
            for (worst, task) in stretch.worst_ns.iter_mut().zip(&so_far.tasks) {
                *worst = (*worst).max(task.recent_max_ns);
            }
        }
        self.last = Some(so_far.clone());
    }

    fn heed(&mut self, key: Key, so_far: &SoFar) {
        let tasks = so_far.tasks.len().max(1);
        match key {
            Key::Stop => self.is_stopping = true,
            Key::Pause => self.frozen = if self.frozen.is_some() { None } else { Some(so_far.clone()) },
            Key::Next => self.task = (self.task + 1) % tasks,
            Key::Previous => self.task = (self.task + tasks - 1) % tasks,
            Key::Task(number) => self.task = number.min(tasks - 1),
            Key::Range => self.is_without_tail = !self.is_without_tail,
            Key::Counts => self.has_linear_counts = !self.has_linear_counts,
            Key::Mark => self.stretches.push(Stretch::new(so_far.elapsed_ns, missed(so_far))),
        }
    }

    /// The screen as lines, none wider and no more than it has.
    fn frame(&self, now: &SoFar, terminal: Terminal, rows: usize) -> Vec<String> {
        let columns = terminal.columns;
        let shown = self.frozen.as_ref().unwrap_or(now);
        let Some(task) = shown.tasks.get(self.task) else { return Vec::new() };
        let mut lines = vec![progress_line(now, "q", columns, terminal.ascii), titles(columns)];
        lines.extend(self.rows(shown, columns, rows.saturating_sub(8) / 2));
        lines.extend(self.since_mark(now).map(|text| clip(&text, columns)));
        let mut foot = vec![self.course(task, columns, terminal.ascii)];
        foot.extend(self.said.last().map(|said| format!("{YELLOW}{}{PLAIN}", clip(said, columns))));
        foot.push(format!("{DIM}{}{PLAIN}", clip(&self.keys(shown), columns)));
        let left = rows.saturating_sub(lines.len() + foot.len() + CHART_FOOT);
        let title = format!(
            "latency of {}{}",
            task.name,
            if self.is_without_tail { ", up to its p99.9" } else { "" }
        );
        match self.histogram(&task.stats.latency, &title, columns) {
            Some(chart) if left > 1 => {
                let figure = terminal.figure_of(&chart, left);
                lines.extend(figure.lines().map(str::to_owned));
            }
            _ => lines.push("nothing measured yet".into()),
        }
        // What follows stands at the bottom.
        lines.resize(rows.saturating_sub(foot.len()), String::new());
        lines.extend(foot);
        lines
    }

    /// The rows of the tasks that there is room for, the chosen one among them.
    fn rows<'a>(
        &'a self,
        shown: &'a SoFar,
        columns: usize,
        room: usize,
    ) -> impl Iterator<Item = String> + 'a {
        let skipped = (self.task + 1).saturating_sub(room.max(1));
        shown.tasks.iter().enumerate().skip(skipped).take(room.max(1)).map(move |(number, task)| {
            match shown.tasks.len() > 1 {
                true if number == self.task => task_row(&format!(">{}", task.name), shown, task, columns),
                true => task_row(&format!(" {}", task.name), shown, task, columns),
                false => task_row(&task.name, shown, task, columns),
            }
        })
    }

    /// What came after the last mark.
    fn since_mark(&self, now: &SoFar) -> Option<String> {
        let [_, .., stretch] = self.stretches.as_slice() else { return None };
        let missed = now.tasks.get(self.task)?.stats.seen_missed();
        let missed = missed.saturating_sub(*stretch.missed_before.get(self.task)?);
        let ago = words::time((now.elapsed_ns - stretch.from_ns).max(0) as f64);
        Some(format!(
            "since mark {}, {ago} ago: worst {}, missed {missed}",
            self.stretches.len() - 1,
            time(*stretch.worst_ns.get(self.task)?)
        ))
    }

    /// The worst latency of each look of the chosen task, marks between them.
    fn course(&self, task: &TaskSoFar, columns: usize, ascii: bool) -> String {
        const LABEL: usize = 20;
        let Some(course) = self.courses.get(self.task) else { return String::new() };
        let room = columns.saturating_sub(LABEL);
        let shown = || course.iter().skip(course.len().saturating_sub(room));
        let worst = shown().map(|(_, ns)| *ns).max().map_or_else(String::new, |ns| words::time(ns as f64));
        let values: Vec<u64> = shown().map(|(_, ns)| *ns).collect();
        let mut spark: Vec<char> = sparkline(&values, ascii).chars().collect();
        for stretch in self.stretches.iter().skip(1) {
            if let Some(at) = shown().position(|(at_ns, _)| *at_ns > stretch.from_ns)
                && shown().next().is_some_and(|(first_ns, _)| *first_ns <= stretch.from_ns)
                && let Some(place) = spark.get_mut(at)
            {
                *place = if ascii { '|' } else { '┃' };
            }
        }
        let label = format!("{:.8} up to {worst}", printable(&task.name));
        format!("{DIM}{:LABEL$}{PLAIN}{}", clip(&label, LABEL - 1), spark.into_iter().collect::<String>())
    }

    fn keys(&self, shown: &SoFar) -> String {
        if self.is_stopping {
            return "ending the measurement".into();
        }
        let pause = if self.frozen.is_some() { "PAUSED, space goes on" } else { "space pause" };
        let tasks = match shown.tasks.len() {
            0 | 1 => String::new(),
            of => format!("  tab task {} of {of}", self.task + 1),
        };
        format!("q stop  {pause}{tasks}  r range  c counts  m mark")
    }

    /// The latencies so far; `None` where there are none.
    fn histogram(&self, latency: &Distribution, title: &str, columns: usize) -> Option<Chart> {
        let (low, high) = (latency.min_ns()?, latency.max_ns()?);
        let end = if self.is_without_tail { latency.quantile_ns(0.999)? } else { high };
        // A few large values would press all others into one line.
        let far = low > 0 && latency.quantile_ns(0.5).is_some_and(|median| end > 30 * median);
        let bins = latency.bins().filter(|bin| bin.low_ns <= end);
        let bins = bins.map(|bin| [bin.low_ns as f64, bin.high_ns as f64 + 1.0, bin.count as f64]);
        let chart = Chart {
            name: "live",
            caption: String::new(),
            x: Axis::span(printable(title), low, far),
            y: if self.has_linear_counts { Axis::linear("count") } else { Axis::log("count") },
            layers: vec![Layer::new("", 0, Shape::Counts(bins.collect()))],
            height: 0,
        };
        Some(chart.with_bars(columns as f64))
    }

    /// What is said again where the terminal keeps it.
    fn kept(&self) -> Vec<String> {
        let mut kept = self.said.clone();
        let Some(last) = self.last.as_ref().filter(|_| self.stretches.len() > 1) else { return kept };
        let ends = self.stretches.iter().skip(1).map(|next| (next.from_ns, next.missed_before.clone()));
        let ends = ends.chain([(last.elapsed_ns, missed(last))]);
        for (number, (stretch, (to_ns, missed))) in self.stretches.iter().zip(ends).enumerate() {
            let begun = match number {
                0 => "from the start".into(),
                _ => format!("from mark {number} at {}", words::time(stretch.from_ns as f64)),
            };
            for (task, of) in last.tasks.iter().enumerate() {
                let missed = missed[task].saturating_sub(stretch.missed_before[task]);
                kept.push(format!(
                    "{begun} to {}: {} up to {} late, {missed} missed",
                    words::time(to_ns as f64),
                    printable(&of.name),
                    time(stretch.worst_ns[task])
                ));
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::so_far;
    use super::*;

    fn framed(seen: &Seen, so_far: &SoFar, columns: usize, rows: usize, ascii: bool) -> String {
        let terminal = Terminal { columns, ascii, colour: false };
        let lines = spelled(seen.frame(so_far, terminal, rows), terminal);
        assert_eq!(lines.len(), rows, "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:#?}");
        lines.join("\n")
    }

    fn two_tasks(latencies_ns: &[i64]) -> SoFar {
        let mut so_far = so_far(latencies_ns);
        let base = TaskSoFar { name: "base".into(), ..so_far.tasks[0].clone() };
        so_far.tasks.push(base);
        so_far
    }

    #[test]
    fn the_screen_is_filled_and_never_overfull() {
        let so_far = two_tasks(&[2_000, 2_500, 2_600, 90_000]);
        let mut seen = Seen::new(2);
        seen.look(&so_far);
        for (columns, rows) in [(64, 18), (80, 24), (120, 40), (200, 60)] {
            for ascii in [false, true] {
                let text = framed(&seen, &so_far, columns, rows, ascii);
                assert!(!ascii || text.is_ascii(), "{text}");
                for part in ["4 s of 10 s", ">servo", " base", "latency of servo", "q stop", "task 1 of 2"] {
                    assert!(text.contains(part), "{part} is missing:\n{text}");
                }
            }
        }
        let many = SoFar { tasks: vec![so_far.tasks[0].clone(); 40], ..so_far };
        let mut seen = Seen::new(40);
        seen.look(&many);
        seen.heed(Key::Previous, &many);
        assert!(framed(&seen, &many, 80, 24, false).contains("task 40 of 40"));
    }

    #[test]
    fn keys_do_what_they_say() {
        let first = two_tasks(&[2_000, 2_500]);
        let later = SoFar { elapsed_ns: 6_000_000_000, ..two_tasks(&[2_000, 2_500, 700_000]) };
        let mut seen = Seen::new(2);
        seen.look(&first);
        seen.heed(Key::Next, &first);
        seen.heed(Key::Mark, &first);
        seen.heed(Key::Pause, &first);
        seen.look(&later);
        let paused = framed(&seen, &later, 80, 24, false);
        assert!(paused.contains("PAUSED") && paused.contains(">base"), "{paused}");
        // What is shown stands still, what is counted does not.
        assert!(
            paused.lines().nth(3).is_some_and(|row| row.starts_with(">base") && row.ends_with("2.50 µs"))
        );
        seen.heed(Key::Pause, &later);
        let on = framed(&seen, &later, 80, 24, false);
        assert!(on.contains("since mark 1, 2 s ago: worst 700 µs, missed 0"), "{on}");
        let bars = |text: &str| text.chars().filter(|c| "█▀▄".contains(*c)).count();
        seen.heed(Key::Range, &later);
        assert!(framed(&seen, &later, 80, 24, false).contains("up to its p99.9"));
        seen.heed(Key::Range, &later);
        seen.heed(Key::Counts, &later);
        assert_ne!(bars(&framed(&seen, &later, 80, 24, false)), bars(&on));
        assert!(!seen.is_stopping);
        seen.heed(Key::Stop, &later);
        assert!(seen.is_stopping);
        let kept = seen.kept();
        assert_eq!(kept[1], "from the start to 4 s: base up to 2.50 µs late, 0 missed");
        assert_eq!(kept[2], "from mark 1 at 4 s to 6 s: servo up to 700 µs late, 0 missed");
    }

    #[test]
    fn nothing_measured_and_a_hostile_name_do_no_harm() {
        let mut so_far = so_far(&[]);
        so_far.tasks[0].name = "\x1b[2J\n".into();
        let mut seen = Seen::new(1);
        seen.look(&so_far);
        let text = framed(&seen, &so_far, 80, 24, false);
        assert!(text.contains("nothing measured yet") && !text.contains('\x1b'), "{text}");
    }
}
