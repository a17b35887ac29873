//! What an output tells of its tasks, and what it leaves open: how an [`Import`] is put together.

use jitterlab_model::{
    Activation, Bench, Gap, Overrun, RunInfo, TaskResult, TaskRun, TaskSpec, TimingStats, Warning,
};

use super::{Hints, Import, Measured, Mistake};
use crate::error::Unreadable;

/// The distance of a task's due times, as far as an output tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    /// By the output or the user.
    Told(i64),
    /// The tool's usual one.
    Assumed(i64),
    /// What was measured is not periodic.
    None,
}

impl Period {
    /// In nanoseconds; a millisecond that stands for nothing where there is none.
    pub(super) fn ns(self) -> i64 {
        match self {
            Period::Told(ns) | Period::Assumed(ns) => ns,
            Period::None => 1_000_000,
        }
    }

    /// The period of a thread that the tool gives a longer one.
    pub(super) fn longer_by(self, ns: i64) -> Self {
        let longer = |period: i64| period.saturating_add(ns).max(1);
        match self {
            Period::Told(period) => Period::Told(longer(period)),
            Period::Assumed(period) => Period::Assumed(longer(period)),
            Period::None => Period::None,
        }
    }
}

/// What an output tells of a task beside its figures.
pub(super) struct Told {
    name: String,
    period: Period,
    cpu: Option<u16>,
    /// What the tool does with due times that passed, where it has due times and its sources say it.
    overrun: Option<Overrun>,
    /// What it does not tell: lost activations, execution times and settings hardly any does.
    unknown: Vec<Gap>,
}

impl Told {
    pub(super) fn new(name: impl Into<String>, period: Period) -> Self {
        let unknown = vec![Gap::Lost, Gap::Execution, Gap::Settings];
        Told { name: name.into(), period, cpu: None, overrun: None, unknown }
    }

    /// It tells when activations ended.
    pub(super) fn with_ends(mut self) -> Self {
        self.unknown.retain(|gap| *gap != Gap::Execution);
        self
    }

    pub(super) fn on(self, cpu: Option<u16>) -> Self {
        Told { cpu, ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn period_ns(&self) -> i64 {
        self.period.ns()
    }

    /// It goes on with the next due time, and does not count those it missed.
    pub(super) fn skips(self) -> Self {
        Told { overrun: Some(Overrun::Skip), ..self }.lacks(Gap::Missed)
    }

    /// It runs every due time, late ones back to back: none is missed.
    pub(super) fn catches_up(self) -> Self {
        Told { overrun: Some(Overrun::CatchUp), ..self }
    }

    pub(super) fn lacks(mut self, gap: Gap) -> Self {
        self.unknown.push(gap);
        self
    }

    /// All that is unknown, each once.
    fn gaps(&self) -> Vec<Gap> {
        let mut all = self.unknown.clone();
        match self.period {
            Period::Told(_) => {}
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

    /// Adds a task with what is known of it; not one that never ran.
    pub(super) fn task(&mut self, told: Told, mut measured: Measured) {
        let mut unknown = told.gaps();
        if let Measured::Distributions(stats) = &mut measured {
            if stats.executed() == 0 {
                return;
            }
            if stats.latency.count() == 0 {
                unknown.push(Gap::Latency);
            }
            stats.forget(&unknown);
        }
        let overrun = told.overrun.unwrap_or_default();
        let spec = TaskSpec {
            name: told.name,
            period_ns: told.period.ns(),
            cpu: told.cpu,
            overrun,
            ..TaskSpec::default()
        };
        let result = Some(measured.result());
        self.info.tasks.push(TaskRun { result, unknown, ..TaskRun::new(spec) });
        self.tasks.push(measured);
    }

    pub(super) fn warn(&mut self, warning: impl Into<Warning>) {
        let warning = warning.into();
        if !self.info.warnings.contains(&warning) {
            self.info.warnings.push(warning);
        }
    }

    /// The period: as the output says, else as the user says, else the tool's default, with a warning.
    pub(super) fn period(&mut self, said: Option<i64>, hints: &Hints, default_ns: i64) -> Period {
        let each = (hints.periods_ns.len() > 1).then(|| hints.periods_ns.get(self.tasks.len()).copied());
        match said.or(each.unwrap_or(hints.period_ns())).filter(|p| *p > 0) {
            Some(period_ns) => Period::Told(period_ns),
            None => {
                self.warn(Warning::PeriodAssumed { period_ns: default_ns });
                Period::Assumed(default_ns)
            }
        }
    }

    /// The unit: as the output says, else as the user says, else the tool's default, with a warning.
    pub(super) fn unit(&mut self, said: Option<i64>, hints: &Hints, default_ns: i64) -> i64 {
        said.or(hints.unit_ns).filter(|unit| (1..=1_000_000_000).contains(unit)).unwrap_or_else(|| {
            self.warn(Warning::UnitAssumed { unit_ns: default_ns });
            default_ns
        })
    }

    /// Refuses an output without any task.
    pub(super) fn complete(self) -> Result<Self, Mistake> {
        if self.tasks.is_empty() {
            return Err(Unreadable::Nothing.into());
        }
        Ok(self)
    }
}

impl Measured {
    /// The standing figures of a task that this was measured of, counted from the rows where there are rows.
    pub fn stats(&self, task: &TaskRun) -> TimingStats {
        match self {
            Measured::Distributions(stats) => TimingStats::clone(stats),
            Measured::Rows(rows) => {
                let mut stats = TimingStats::new(task.spec.period_ns);
                stats.push_all(rows);
                stats.forget(&task.unknown);
                stats
            }
        }
    }

    /// The same with due times missed that the tool counts.
    pub(super) fn with_missed(mut self, missed: u64) -> Self {
        if let Measured::Distributions(stats) = &mut self {
            stats.add_missed(missed);
        }
        self
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
                let last = executed.saturating_add(stats.seen_missed()).saturating_sub(1);
                TaskResult {
                    executed,
                    missed: stats.seen_missed(),
                    last_end_ns: i64::try_from(last).unwrap_or(i64::MAX).saturating_mul(stats.period_ns()),
                    min_latency_ns: stats.latency.min_ns().unwrap_or(0),
                    max_latency_ns: stats.latency.max_ns().unwrap_or(0),
                    ..TaskResult::default()
                }
            }
        }
    }
}
