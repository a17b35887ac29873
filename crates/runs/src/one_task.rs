//! One task of a run, for models that need a single one: a motor, a control loop.

use std::borrow::Cow;
use std::ops::Range;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::patterns::SlowChange;
use jitterlab_analysis::verdict::Verdict;
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_model::{Activation, Bench, Error, Gap, RunInfo, TaskResult, TaskSpec, TimingStats, Warning};
use jitterlab_trace::Columns;

use crate::Run;
use crate::error::nothing_known_error;

/// A task of a run, with its figures, their caveats, and its activations on demand.
#[derive(Debug)]
pub struct OneTask {
    run: Run,
    number: usize,
    /// Standing figures.
    pub stats: TimingStats,
    /// Warnings of the run itself.
    pub warnings: Vec<Warning>,
    /// Consequences of the warnings, and further caveats.
    pub caveats: Vec<Caveat>,
    /// Place of its largest latency among its rows; `None` where not every activation is kept.
    worst_row: Option<u64>,
    /// Names of the run's other tasks, if none was named and this one was taken.
    others: Vec<String>,
    clocks: Option<TwoClocks>,
}

/// Due times that another tool stated by another clock than the starts: this drift delays no motor and no loop.
#[derive(Debug, Clone, Copy)]
struct TwoClocks {
    first_due_ns: i64,
    /// By how many millionths starts gain on due times.
    millionths: f64,
    /// The smallest latency without the drift: the offset of the clocks is unknown, and the earliest start counts as
    /// punctual.
    least_ns: i64,
}

impl TwoClocks {
    /// Finds due times of a clock that drifts against that of the starts; `None` if there is no drift.
    fn detect(run: &Run, task: usize) -> Result<Option<Self>, Error> {
        if run.info().bench != Bench::Import || !run.keeps_all_rows(task) {
            return Ok(None);
        }
        let (scans, _) = run.scan()?.into_parts();
        let Some(millionths) = SlowChange::from_scan(&scans[task]).clock_gain_ppm(run.period_ns(task) as f64)
        else {
            return Ok(None);
        };
        let Some(first) = run.activations(task, 0..1)?.into_iter().next() else { return Ok(None) };
        let apart = TwoClocks { first_due_ns: first.due_ns, millionths, least_ns: 0 };
        let mut least_ns = i64::MAX;
        run.visit(task, Columns::TIMING, |rows| {
            let latencies = rows.iter().map(|row| row.start_ns - apart.due_on_start_clock(row.due_ns));
            least_ns = latencies.fold(least_ns, i64::min);
        })?;
        Ok(Some(TwoClocks { least_ns, ..apart }))
    }

    /// Converts a due time to the clock of the starts.
    fn due_on_start_clock(&self, due_ns: i64) -> i64 {
        let gained_ns = (due_ns - self.first_due_ns) as f64 * self.millionths * 1e-6;
        due_ns + gained_ns.round() as i64 + self.least_ns
    }

    /// Activations with their due times by the clock of their starts.
    fn on_start_clock(of: Option<Self>, rows: &[Activation]) -> Cow<'_, [Activation]> {
        let Some(clocks) = of else { return Cow::Borrowed(rows) };
        rows.iter().map(|row| Activation { due_ns: clocks.due_on_start_clock(row.due_ns), ..*row }).collect()
    }
}

/// Results of one pass: the figures, the largest latency with its place, and the number of rows.
#[derive(Debug, Clone)]
struct TaskCounts {
    stats: TimingStats,
    worst: Option<(i64, u64)>,
    rows: u64,
}

impl TaskCounts {
    fn push_all(&mut self, rows: &[Activation]) {
        self.stats.push_all(rows);
        for (a, place) in rows.iter().zip(self.rows..) {
            if self.worst.is_none_or(|w| a.latency_ns() > w.0) {
                self.worst = Some((a.latency_ns(), place));
            }
        }
        self.rows += rows.len() as u64;
    }

    fn merge(&mut self, next: &TaskCounts) {
        self.stats.append(&next.stats);
        if let Some((ns, place)) = next.worst.filter(|next| self.worst.is_none_or(|mine| next.0 > mine.0)) {
            self.worst = Some((ns, self.rows + place));
        }
        self.rows += next.rows;
    }
}

impl OneTask {
    /// Counts the task of this name, or without one the task that `prefer` gives the smallest key.
    ///
    /// # Errors
    /// There is no such task, it is not periodic, it never ran, or the file cannot be read.
    pub fn new<K: Ord>(run: Run, name: Option<&str>, prefer: impl Fn(&TaskSpec) -> K) -> Result<Self, Error> {
        let number = run.task_or_preferred(name, prefer)?;
        if !run.info().tasks[number].is_periodic() {
            return Err(Error::not_measured(format!(
                "{}: what was measured is no periodic task, so nothing follows for a motor or a \
                 loop",
                run.path.display()
            ))
            .remedy(
                "take the output of a tool that wakes periodically, or measure with `jitterlab \
                 run`",
            ));
        }
        if let Some(gap) = Gap::EVERYTHING.into_iter().find(|gap| !run.info().tasks[number].knows(*gap)) {
            return Err(nothing_known_error(&run.path, gap));
        }
        let clocks = TwoClocks::detect(&run, number)?;
        let (stats, worst) = if run.keeps_all_rows(number) {
            let new =
                |task| TaskCounts { stats: TimingStats::new(run.period_ns(task)), worst: None, rows: 0 };
            let mut all = run.accumulate(
                Columns::TIMING,
                new,
                |counted, rows| counted.push_all(&TwoClocks::on_start_clock(clocks, rows)),
                |all, next| all.merge(&next),
            )?;
            let mut counted = all.swap_remove(number);
            counted.stats.drop_unknown(&run.info().tasks[number].unknown);
            (counted.stats, counted.worst)
        } else {
            let (mut all, _) = run.timing()?.into_parts();
            (all.swap_remove(number), None)
        };
        if stats.executed() == 0 {
            return Err(Error::not_measured(format!(
                "{}: its task ran not once, so there is nothing to judge",
                run.path.display()
            )));
        }
        let task = &run.info().tasks[number];
        let mut caveats = Caveat::for_task(&Summary::new(task, &stats), task, run.info());
        if let Some(TwoClocks { millionths, .. }) = clocks {
            caveats.insert(0, Caveat::TwoClocks { millionths });
        }
        let ((), warnings) = run.warned(()).into_parts();
        let tasks =
            run.info().tasks.iter().enumerate().filter(|(other, _)| name.is_none() && *other != number);
        let others = tasks.map(|(_, task)| task.spec.name.clone()).collect();
        Ok(OneTask { run, number, stats, warnings, caveats, worst_row: worst.map(|w| w.1), others, clocks })
    }

    /// Returns the run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the task as requested.
    pub fn spec(&self) -> &TaskSpec {
        &self.run.info().tasks[self.number].spec
    }

    /// The task's name.
    pub fn name(&self) -> &str {
        &self.run.info().tasks[self.number].spec.name
    }

    /// Judges its timing alone, for the usual purposes; `None` for runs without a real machine.
    pub fn verdict(&self) -> Option<Verdict> {
        let info = self.run.info();
        let alone = RunInfo { tasks: vec![info.tasks[self.number].clone()], ..info.clone() };
        MeasuredRun::new(alone, std::slice::from_ref(&self.stats), None).verdict
    }

    /// Returns the properties that its source leaves unknown.
    pub fn unknown(&self) -> &[Gap] {
        &self.run.info().tasks[self.number].unknown
    }

    /// Returns true if lost records may be of earlier or later activations than all that are recorded.
    pub fn has_lost_extremes(&self) -> bool {
        let task = &self.run.info().tasks[self.number];
        let recorded = self.stats.latency.min_ns().zip(self.stats.latency.max_ns());
        let is_beyond = |counted: &TaskResult| {
            let holds_all = |(min, max)| min <= counted.min_latency_ns && counted.max_latency_ns <= max;
            counted.dropped > 0 && !recorded.is_some_and(holds_all)
        };
        !task.knows(Gap::Unseen) || task.result.as_ref().is_some_and(is_beyond)
    }

    /// Names of the run's other tasks, if none was named and this one was taken.
    pub fn other_tasks(&self) -> &[String] {
        &self.others
    }

    /// Row numbers from `before` activations before the worst latency to `after` behind it.
    ///
    /// # Errors
    /// Not every activation is kept.
    pub fn rows_around_worst(&self, before: u64, after: u64) -> Result<Range<u64>, Error> {
        let worst = self.worst_row.ok_or_else(|| self.run.needs_activations())?;
        Ok(worst.saturating_sub(before)..worst.saturating_add(after))
    }

    /// Goes through all of its activations in order of time, with their times and flags.
    ///
    /// # Errors
    /// Not every activation is kept, or the file cannot be read.
    pub fn visit(&self, mut visit: impl FnMut(&[Activation])) -> Result<(), Error> {
        if !self.run.keeps_all_rows(self.number) {
            return Err(self.run.needs_activations());
        }
        self.run
            .visit(self.number, Columns::TIMING, |rows| visit(&TwoClocks::on_start_clock(self.clocks, rows)))
    }

    /// Activations in these rows of the task.
    ///
    /// # Errors
    /// Not every activation is kept, or the file cannot be read.
    pub fn activations(&self, rows: Range<u64>) -> Result<Vec<Activation>, Error> {
        let rows = self.run.activations(self.number, rows)?;
        Ok(TwoClocks::on_start_clock(self.clocks, &rows).into_owned())
    }
}
