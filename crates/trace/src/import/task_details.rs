//! Properties of tasks in an output, stated and missing: construction of an [`Import`].

use jitterlab_model::warning::StatedQuantity;
use jitterlab_model::{
    Activation, Bench, Distribution, Gap, Overrun, RunInfo, TaskResult, TaskRun, TaskSpec, TimingStats,
    Warning,
};

use super::statement::Statements;
use super::{Hints, Import, ImportError, Measured};
use crate::error::Unreadable;

/// The distance of a task's due times, as far as an output states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    /// By the output or the user.
    Stated(i64),
    /// The tool's usual one.
    Assumed(i64),
    /// The measurement is not periodic.
    None,
}

impl Period {
    /// Returns it in nanoseconds; where there is none, a placeholder of a millisecond.
    pub(super) fn ns(self) -> i64 {
        match self {
            Period::Stated(ns) | Period::Assumed(ns) => ns,
            Period::None => 1_000_000,
        }
    }

    /// Period that is longer by `ns`, for a thread that its tool gives a longer one.
    pub(super) fn lengthened_by(self, ns: i64) -> Self {
        let longer = |period: i64| period.saturating_add(ns).max(1);
        match self {
            Period::Stated(period) => Period::Stated(longer(period)),
            Period::Assumed(period) => Period::Assumed(longer(period)),
            Period::None => Period::None,
        }
    }
}

/// Properties of a task in an output besides its figures.
pub(super) struct TaskDetails {
    name: String,
    period: Period,
    cpu: Option<u16>,
    /// Overrun policy of the tool, if it has due times and its sources show it.
    overrun: Option<Overrun>,
    /// Due times that passed, as far as the tool counts them.
    missed: u64,
    /// True if it misses due times only where a latency is longer than the period.
    misses_only_late: bool,
    /// Unknown properties: lost activations, execution times and settings are unknown from nearly every tool.
    unknown: Vec<Gap>,
}

impl TaskDetails {
    pub(super) fn new(name: impl Into<String>, period: Period) -> Self {
        let unknown = vec![Gap::Lost, Gap::Execution, Gap::Settings];
        TaskDetails {
            name: name.into(),
            period,
            cpu: None,
            overrun: None,
            missed: 0,
            misses_only_late: false,
            unknown,
        }
    }

    /// Marks the ends of activations as known.
    pub(super) fn with_ends(mut self) -> Self {
        self.unknown.retain(|gap| *gap != Gap::Execution);
        self
    }

    pub(super) fn on_cpu(self, cpu: Option<u16>) -> Self {
        TaskDetails { cpu, ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn period_ns(&self) -> i64 {
        self.period.ns()
    }

    /// Sets the overrun policy: the tool skips missed due times and does not count them.
    pub(super) fn with_skips(self) -> Self {
        TaskDetails { overrun: Some(Overrun::Skip), ..self }.with_gap(Gap::Missed)
    }

    /// Sets the overrun policy: the tool skips due times uncounted, and only after a start that is a period late.
    pub(super) fn with_skips_when_late(self) -> Self {
        TaskDetails { misses_only_late: true, ..self.with_skips() }
    }

    /// Sets the overrun policy: the tool runs every due time, late ones back to back, and misses none.
    pub(super) fn with_catch_up(self) -> Self {
        TaskDetails { overrun: Some(Overrun::CatchUp), ..self }
    }

    /// Sets the number of missed due times; without a number it is unknown.
    pub(super) fn with_missed(self, missed: Option<u64>) -> Self {
        match missed {
            Some(missed) => TaskDetails { missed, ..self },
            None => self.with_gap(Gap::Missed),
        }
    }

    /// Warns and marks the figures as unknown if the last ones are missing: earlier ones decide nothing.
    pub(super) fn with_end_checked(self, import: &mut Import, has_end: bool) -> Self {
        if has_end {
            return self;
        }
        import.warn(Warning::EndMissing { task: self.name.clone() });
        self.with_gap(Gap::Figures)
    }

    pub(super) fn with_gap(mut self, gap: Gap) -> Self {
        self.unknown.push(gap);
        self
    }

    /// Returns all unknown properties, each once.
    fn gaps(&self) -> Vec<Gap> {
        let mut all = self.unknown.clone();
        match self.period {
            Period::Stated(_) => {}
            Period::Assumed(_) => all.push(Gap::Period),
            Period::None => all.extend([Gap::Grid, Gap::Period, Gap::Missed]),
        }
        if self.overrun.is_none() {
            all.push(Gap::Overrun);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Import {
    /// An import with nothing in it yet.
    pub(super) fn new(tool: &str, clock: &str) -> Self {
        let mut info = RunInfo::new(Bench::Import, clock, []);
        info.tool = tool.into();
        Import { info, tasks: Vec::new() }
    }

    /// Adds a task with its data; a task that never ran is left out.
    pub(super) fn add_task(&mut self, details: TaskDetails, mut measured: Measured) {
        let mut unknown = details.gaps();
        if let Measured::Distributions(stats) = &mut measured {
            if stats.executed() == 0 {
                return;
            }
            if stats.latency.count() == 0 {
                unknown.push(Gap::Latency);
            }
            stats.drop_unknown(&unknown);
        }
        let overrun = details.overrun.unwrap_or_default();
        let spec = TaskSpec {
            name: details.name,
            period_ns: details.period.ns(),
            cpu: details.cpu,
            overrun,
            ..TaskSpec::default()
        };
        let result = Some(measured.result());
        self.info.tasks.push(TaskRun { result, unknown, ..TaskRun::new(spec) });
        self.tasks.push(measured);
    }

    /// Adds a task with the output's statements about its latencies.
    pub(super) fn add_latencies(&mut self, details: TaskDetails, stated: &Statements) {
        self.add_stated(details, stated, |stats| &mut stats.latency);
    }

    /// Adds a task with the output's statements about its period errors.
    pub(super) fn add_period_errors(&mut self, details: TaskDetails, stated: &Statements) {
        self.add_stated(details, stated, |stats| &mut stats.period_error);
    }

    /// Adds a task with the output's statements about its execution times.
    pub(super) fn add_execution_times(&mut self, details: TaskDetails, stated: &Statements) {
        self.add_stated(details.with_ends(), stated, |stats| &mut stats.execution);
    }

    /// Adds a task with the distribution that reconciles the statements, and warnings where they disagree.
    fn add_stated(
        &mut self,
        details: TaskDetails,
        stated: &Statements,
        quantity: impl Fn(&mut TimingStats) -> &mut Distribution,
    ) {
        let found = stated.reconcile();
        if found.values.count() == 0 {
            return;
        }
        let task = details.name.clone();
        // Each is of one task, so none can be there already.
        let warnings = &mut self.info.warnings;
        if found.above > 0 && found.has_bins {
            warnings.push(Warning::AboveHistogram { task: task.clone(), count: found.above });
        }
        if found.missing > 0 && found.has_bins {
            warnings.push(Warning::NotInRows { task: task.clone(), count: found.missing });
        }
        let contradicts = !found.contradictions.is_empty();
        for (figure, values) in found.contradictions {
            warnings.push(Warning::Contradiction { task: task.clone(), figure, values });
        }
        let mut stats = TimingStats::new(details.period.ns());
        *quantity(&mut stats) = found.values;
        stats.add_missed(details.missed);
        let mut details = if contradicts { details.with_gap(Gap::Figures) } else { details };
        let is_sure = matches!(details.period, Period::Stated(_)) && !details.unknown.contains(&Gap::Figures);
        let is_late = || stats.latency.max_ns().is_none_or(|max| max >= details.period.ns());
        if details.misses_only_late && is_sure && !self.has_assumed_unit() && !is_late() {
            details.unknown.retain(|gap| *gap != Gap::Missed);
        }
        self.add_task(details, Measured::Distributions(Box::new(stats)));
    }

    /// Adds a task with the activations that an output lists, and its statements about all of them.
    pub(super) fn add_rows(&mut self, details: TaskDetails, rows: Vec<Activation>, stated: &Statements) {
        let (listed, task) = (rows.len() as u64, details.name.clone());
        let largest = rows.iter().map(Activation::latency_ns).max();
        let lost = stated.stated_count().unwrap_or(0).saturating_sub(listed);
        let larger = stated.stated_max_ns().zip(largest).filter(|(stated, largest)| stated > largest);
        let details = match larger.filter(|_| lost == 0) {
            Some((stated, largest)) => {
                let (figure, values) = (StatedQuantity::Largest, [stated, largest]);
                self.info.warnings.push(Warning::Contradiction { task: task.clone(), figure, values });
                details.with_gap(Gap::Figures)
            }
            None => details,
        };
        if lost > 0 {
            self.info.warnings.push(Warning::NotInRows { task, count: lost });
        }
        self.add_task(details, Measured::Rows(rows));
        let result = self.info.tasks.last_mut().and_then(|task| task.result.as_mut());
        if let Some(result) = result {
            (result.dropped, result.executed) = (lost, listed + lost);
            result.max_latency_ns =
                stated.stated_max_ns().map_or(result.max_latency_ns, |max| max.max(result.max_latency_ns));
        }
    }

    /// Warns if a tool states a larger maximum or count of all tasks of a kind than the tasks themselves have.
    pub(super) fn check_totals(&mut self, kind: &str, stated: &Statements, is_of: impl Fn(&str) -> bool) {
        let of_kind = |(task, _): &(&mut TaskRun, &Measured)| is_of(&task.spec.name);
        let each = || self.info.tasks.iter().zip(&self.tasks).filter(|(task, _)| is_of(&task.spec.name));
        let largest = each().map(|(task, of)| of.stats(task).latency.max_ns()).max().flatten();
        let count = each().map(|(task, of)| of.stats(task).executed()).fold(0, u64::saturating_add);
        let more = stated.stated_count().filter(|all| *all > count);
        let counts = more.map(|all| [all, count].map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
        let maxima = stated
            .stated_max_ns()
            .zip(largest)
            .filter(|(all, each)| all > each)
            .map(|(all, each)| [all, each]);
        let found = [(StatedQuantity::Largest, maxima), (StatedQuantity::Count, counts)];
        for (figure, values) in found.into_iter().filter_map(|(figure, values)| Some((figure, values?))) {
            self.info.warnings.push(Warning::Contradiction { task: kind.into(), figure, values });
            let tasks = self.info.tasks.iter_mut().zip(&self.tasks).filter(of_kind);
            tasks.for_each(|(task, _)| task.unknown.push(Gap::Figures));
        }
    }

    /// Warns if an output names more threads than it lists: without the figures of all, nothing is decided.
    pub(super) fn warn_of_unlisted_threads(&mut self, named: usize, listed: usize) {
        if named <= listed {
            return;
        }
        self.warn(Warning::NotListed { threads: (named - listed) as u64, of: named as u64 });
        self.info.tasks.iter_mut().for_each(|task| task.unknown.push(Gap::Figures));
    }

    /// Adds the warning that missed activations are not counted, unless it is known that there are none.
    pub(super) fn warn_uncounted_misses(&mut self, tool: &str) {
        if self.info.tasks.iter().any(|task| task.unknown.contains(&Gap::Missed)) {
            self.warn(Warning::MissedNotCounted { tool: tool.into() });
        }
    }

    fn has_assumed_unit(&self) -> bool {
        self.info.warnings.iter().any(|warning| matches!(warning, Warning::UnitAssumed { .. }))
    }

    pub(super) fn warn(&mut self, warning: impl Into<Warning>) {
        let warning = warning.into();
        if !self.info.warnings.contains(&warning) {
            self.info.warnings.push(warning);
        }
    }

    /// Returns the period that the output states, else the user, else the tool's default with a warning.
    pub(super) fn period_or_default(
        &mut self,
        stated_ns: Option<i64>,
        hints: &Hints,
        default_ns: i64,
    ) -> Period {
        let each = (hints.periods_ns.len() > 1).then(|| hints.periods_ns.get(self.tasks.len()).copied());
        match stated_ns.or(each.unwrap_or(hints.period_ns())).filter(|p| *p > 0) {
            Some(period_ns) => Period::Stated(period_ns),
            None => {
                self.warn(Warning::PeriodAssumed { period_ns: default_ns });
                Period::Assumed(default_ns)
            }
        }
    }

    /// Returns the period of a task that an output states in several places; warns where these differ.
    pub(super) fn consistent_period(
        &mut self,
        task: &str,
        stated_ns: &[i64],
        hints: &Hints,
        default_ns: i64,
    ) -> Period {
        let (least, most) = (stated_ns.iter().min().copied(), stated_ns.iter().max().copied());
        match least.zip(most).filter(|(least, most)| least != most) {
            Some((least, most)) => {
                let (figure, values) = (StatedQuantity::Period, [least, most]);
                self.info.warnings.push(Warning::Contradiction { task: task.into(), figure, values });
                hints.period_ns().map_or(Period::Assumed(least.max(1)), Period::Stated)
            }
            None => self.period_or_default(least, hints, default_ns),
        }
    }

    /// Returns the unit: as the output states it, else as the user states it, else the tool's default, with a warning.
    pub(super) fn unit_or_default(&mut self, stated_ns: Option<i64>, hints: &Hints, default_ns: i64) -> i64 {
        stated_ns.or(hints.unit_ns).filter(|unit| (1..=1_000_000_000).contains(unit)).unwrap_or_else(|| {
            self.warn(Warning::UnitAssumed { unit_ns: default_ns });
            default_ns
        })
    }

    /// Returns the import with its last warnings; an error if it has no task. An assumed unit in which a task would
    /// never be in time is marked as unknown.
    pub(super) fn complete(mut self) -> Result<Self, ImportError> {
        if self.tasks.is_empty() {
            return Err(Unreadable::Nothing.into());
        }
        let has_no_bins = |measured: &Measured| match measured {
            Measured::Distributions(stats) => {
                stats.counted().into_iter().all(|of| of.bins().next().is_none())
            }
            Measured::Rows(_) => false,
        };
        if self.tasks.iter().any(has_no_bins) {
            self.warn(Warning::OnlyExtremes);
        }
        let assumed = self.has_assumed_unit();
        let mut impossible = Vec::new();
        for (task, measured) in self.info.tasks.iter_mut().zip(&self.tasks).filter(|_| assumed) {
            let least = measured.stats(task).latency.min_ns();
            if task.is_periodic() && least.is_some_and(|least| least >= task.spec.period_ns) {
                task.unknown.push(Gap::Unit);
                impossible.push(Warning::UnitImpossible { task: task.spec.name.clone() });
            }
        }
        self.info.warnings.extend(impossible);
        Ok(self)
    }
}

impl Measured {
    /// Timing figures of the task that this was measured of, counted from the rows where there are rows.
    pub fn stats(&self, task: &TaskRun) -> TimingStats {
        match self {
            Measured::Distributions(stats) => TimingStats::clone(stats),
            Measured::Rows(rows) => {
                let mut stats = TimingStats::new(task.spec.period_ns);
                stats.push_all(rows);
                stats.drop_unknown(&task.unknown);
                stats
            }
        }
    }

    fn result(&self) -> TaskResult {
        match self {
            Measured::Rows(rows) => TaskResult {
                executed: rows.len() as u64,
                missed: rows.iter().map(|a| u64::from(a.missed)).sum(),
                first_due_ns: rows.first().map_or(0, |a| a.due_ns),
                last_end_ns: rows.last().map_or(0, |a| a.end_ns),
                min_latency_ns: rows.iter().map(Activation::latency_ns).min().unwrap_or(0),
                max_latency_ns: rows.iter().map(Activation::latency_ns).max().unwrap_or(0),
                ..TaskResult::default()
            },
            Measured::Distributions(stats) => {
                let executed = stats.executed();
                let last = executed.saturating_add(stats.least_missed()).saturating_sub(1);
                TaskResult {
                    executed,
                    missed: stats.least_missed(),
                    last_end_ns: i64::try_from(last).unwrap_or(i64::MAX).saturating_mul(stats.period_ns()),
                    min_latency_ns: stats.latency.min_ns().unwrap_or(0),
                    max_latency_ns: stats.latency.max_ns().or(stats.latency.min_ns()).unwrap_or(0),
                    ..TaskResult::default()
                }
            }
        }
    }
}
