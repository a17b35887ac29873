//! A run with its figures: the result of everything that measures.

use std::borrow::Cow;
use std::path::PathBuf;

use jitterlab_model::distribution::{Beyond, Moments, SourceGaps};
use jitterlab_model::{Activation, Distribution, RunCauses, RunInfo, TaskRun, TimingStats};
use serde::Serialize;

use crate::causes::{ListedEvents, TaskWhy};
use crate::caveats::Caveat;
use crate::outlook::Outlook;
use crate::purposes::Purpose;
use crate::summary::Summary;
use crate::verdict::Verdict;

/// A run with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredRun {
    /// The run file, if one was written.
    pub file: Option<PathBuf>,
    /// The figures of its tasks, in their order.
    pub tasks: Vec<MeasuredTask>,
    /// Verdict on the purposes it serves; `None` if the run says nothing about a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Judgement of the requirements; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Outlook>,
    /// The run's description.
    pub run: RunInfo,
    /// The same tasks measured just before without isolation, if the run was isolated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_isolation: Vec<Summary>,
    /// The activations around a latency above the limit, if one ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub around: Option<Neighbours>,
    /// Causes of late activations, if they were traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<TaskWhy>,
}

/// The figures of one task of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredTask {
    /// The main figures.
    pub summary: Summary,
    /// Caveats on them; the gravest first.
    pub caveats: Vec<Caveat>,
    /// The occupied bins of the latency's histogram, lowest first: the largest value of the bin, in
    /// nanoseconds, and its number of latencies.
    pub latency_bins: Vec<(i64, u64)>,
    /// True if each bin is the range between two percentiles, with an unknown distribution within it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub between_percentiles: bool,
}

/// A measurement in progress, at one moment.
#[derive(Debug, Clone)]
pub struct MeasurementProgress {
    /// Time since the first due time, in ns.
    pub elapsed_ns: i64,
    /// Planned length; `None` when only a count or a signal ends it.
    pub planned_ns: Option<i64>,
    /// The tasks in their order.
    pub tasks: Vec<TaskProgress>,
}

/// One task of a measurement in progress.
#[derive(Debug, Clone)]
pub struct TaskProgress {
    /// The task's name.
    pub name: String,
    /// Everything counted so far.
    pub stats: TimingStats,
}

/// An activation above the limit, with its neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbours {
    /// The task, by its number.
    pub task: usize,
    /// The index of the activation above the limit.
    pub index: u64,
    /// The activation above the limit and its neighbours, in order.
    pub activations: Vec<Activation>,
}

impl MeasuredRun {
    /// Computes the figures of a run from the counts of each task.
    #[must_use]
    pub fn new(run: RunInfo, stats: &[TimingStats], file: Option<PathBuf>) -> Self {
        let tasks = run.tasks.iter().zip(stats).map(|(task, stats)| MeasuredTask::new(task, stats, &run));
        let (tasks, verdict, without_isolation) = (tasks.collect(), None, Vec::new());
        let (required, around, why) = (None, None, Vec::new());
        MeasuredRun { file, tasks, verdict, required, run, without_isolation, around, why }
            .with_verdict_for(None)
    }

    /// Judges the run for this purpose, or for all usual ones if none is named.
    #[must_use]
    pub fn with_verdict_for(mut self, purpose: Option<&Purpose>) -> Self {
        let tasks: Vec<(&Summary, Option<f64>)> = self.summaries().map(|summary| (summary, None)).collect();
        self.verdict = Verdict::from_run(&self.run, &tasks, purpose);
        self
    }

    /// Returns the causes of late starts of each task; it lists only the activation that ended the run, if one did.
    #[must_use]
    pub fn why(run: &RunInfo, causes: Option<&RunCauses>, around: Option<&Neighbours>) -> Vec<TaskWhy> {
        let tasks = run.tasks.iter().zip(causes.into_iter().flat_map(|causes| &causes.tasks)).enumerate();
        let listed = |task| match around {
            Some(around) if around.task == task => ListedEvents::Index(around.index),
            _ => ListedEvents::Worst(0),
        };
        tasks.map(|(number, (task, causes))| TaskWhy::new(&task.spec.name, causes, listed(number))).collect()
    }

    /// Returns the main figures of each task.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.tasks.iter().map(|task| &task.summary)
    }
}

impl MeasuredTask {
    /// Computes the figures of a task of a run from its counts, less those that the run leaves unknown.
    #[must_use]
    pub fn new(task: &TaskRun, stats: &TimingStats, run: &RunInfo) -> Self {
        let mut stats = Cow::Borrowed(stats);
        if !task.unknown.is_empty() {
            stats.to_mut().drop_unknown(&task.unknown);
        }
        let summary = Summary::new(task, &stats);
        let caveats = Caveat::for_task(&summary, task, run);
        let latency_bins = stats.latency.bins().map(|bin| (bin.high_ns, bin.count)).collect();
        let between_percentiles = stats.latency.has_bins() && !stats.latency.has_shape();
        MeasuredTask { summary, caveats, latency_bins, between_percentiles }
    }

    /// Returns the latency's distribution from its histogram: its bins and extremes, and the number above the bins.
    #[must_use]
    pub fn latency_histogram(&self) -> Distribution {
        let latency = &self.summary.latency;
        let highest = self.latency_bins.last().map(|(high_ns, _)| *high_ns);
        let lowest = latency.min_ns.or(highest).unwrap_or(0);
        let moments = Moments {
            count: latency.count,
            min_ns: lowest,
            max_ns: latency.max_ns.or(highest).unwrap_or(lowest),
            sum: 0,
            sum_of_squares: 0,
        };
        let above = latency.count.saturating_sub(self.latency_bins.iter().map(|(_, count)| count).sum());
        let beyond = Beyond { count: above, from_ns: highest.unwrap_or(lowest), to_ns: latency.max_ns };
        let lacks = SourceGaps {
            beyond: (above > 0 || latency.max_ns.is_none()).then_some(beyond),
            min: latency.min_ns.is_none(),
            mean: true,
            deviation: true,
            shape: self.between_percentiles,
            bin_ns: 0,
        };
        Distribution::from_parts(moments, self.latency_bins.iter().copied()).with_gaps(lacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, Bench, Gap, Known, TaskSpec};

    #[test]
    fn gaps_that_are_known_at_the_end_of_a_run_hold_for_all_that_was_counted() {
        let mut run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        run.tasks[0].add_gap(Gap::Missed);
        let mut stats = TimingStats::new(1_000_000);
        stats.push(&Activation { missed: 2, ..Activation::default() });
        let summary = MeasuredRun::new(run, &[stats], None).tasks.remove(0).summary;
        assert_eq!((summary.missed, summary.corrected_latency.count), (Known::AtLeast { at_least: 2 }, 0));
    }
}
