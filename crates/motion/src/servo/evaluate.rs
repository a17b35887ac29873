//! Cost of a run's timing for a loop, and the share of each part of the timing.

use serde::Serialize;

use jitterlab_model::Error;

use super::along_trace::{AlongTrace, Interval};
use super::burst_stability::Stability;
use super::covariance_propagation::{CovariancePropagation, PropagationResult};
use super::cycles::CycleCollector;
use super::job_sources::{JobSource, RecordedJobs};
use super::markov_chain::Stationary;
use super::mean_timing::{JobTiming, MeanTiming};
use super::multi_task_loop::MultiTaskLoop;
use super::record::Record;
use super::single_task_loop::SingleTaskLoop;
use crate::error;

/// Cost of a run's timing. All costs are means of the plant's cost rate; infinite if the loop is not
/// mean-square stable.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Every activation punctual, with no work to do.
    pub ideal: Stationary,
    /// Every activation late by the mean wait and working the mean execution time.
    pub mean_delay: Stationary,
    /// The run's cycles that are in time, in random order.
    pub jitter: Stationary,
    /// The run's cycles in random order.
    pub independent: Stationary,
    /// The run's cycles as they followed each other: the cost along the run, and the rates with as much memory as changes them.
    pub clustered: Stationary,
    /// Confidence interval of the mean cost of such runs; `None` if the run is too short for one.
    pub cost_interval: Option<Interval>,
    /// Stability of the loop under its cycles in their recorded order.
    pub stability: Stability,
    /// Cycles that the rates remember.
    pub memory: usize,
    /// The run itself, from event to event.
    pub along: AlongTrace,
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub timing: MeanTiming,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loss {
    /// (cost - ideal) / ideal of the run.
    pub total: f64,
    pub mean_delay: f64,
    /// Part due to the variation around the mean; negative where jitter happens to help.
    pub jitter: f64,
    pub missed: f64,
    /// Part due to the order in which they came.
    pub clusters: f64,
}

impl Evaluation {
    /// The loss and its parts, each as a share of the ideal cost; infinite from the first unstable step on.
    pub fn loss(&self) -> Loss {
        let ideal = self.ideal.cost;
        let part = |now: &Stationary, before: &Stationary| match (now.is_stable(), before.is_stable()) {
            (true, true) => (now.cost - before.cost) / ideal,
            (true, false) => f64::NEG_INFINITY,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
        Loss {
            total: part(&self.clustered, &self.ideal),
            mean_delay: part(&self.mean_delay, &self.ideal),
            jitter: part(&self.jitter, &self.mean_delay),
            missed: part(&self.independent, &self.jitter),
            clusters: part(&self.clustered, &self.independent),
        }
    }

    /// Loss as a share of the ideal cost, and its confidence interval.
    pub fn loss_with_interval(&self) -> (f64, Option<Interval>) {
        let share = |cost: f64| cost / self.ideal.cost - 1.0;
        let interval = self.cost_interval.map(|i| Interval { low: share(i.low), high: share(i.high) });
        (share(self.clustered.cost), interval)
    }
}

impl SingleTaskLoop {
    /// Judges a run's activations of the task that closes the loop.
    pub fn evaluate<R: Record + ?Sized>(&self, record: &R) -> Result<Evaluation, Error> {
        let source = RecordedJobs { record, period_ns: self.period_ns };
        Ok(self.to_multi_task_loop().evaluate(&[source])?.evaluation)
    }
}

/// An evaluation with the cycles and the timing of each task that it comes from.
pub(super) struct EvaluationWithCycles {
    pub evaluation: Evaluation,
    pub cycles: CycleCollector,
    pub timings: Vec<JobTiming>,
}

impl MultiTaskLoop {
    /// Evaluates the jobs of all tasks in one pass: timing, cost along them, cycles.
    pub(super) fn evaluate<S: JobSource>(&self, sources: &[S]) -> Result<EvaluationWithCycles, Error> {
        let ideal = self.ideal_stationary()?;
        let own = self.tasks.len();
        let mut course = CovariancePropagation::new(
            &self.closed_loop()?,
            self.period_ns(),
            self.new_cycle_collector()?,
            &ideal,
        );
        let timings =
            self.for_each_moment(sources, |moment| self.process_moment(moment, None, &mut course))?;
        let timings =
            timings.into_iter().take(own).map(|t| t.finish()).collect::<Result<Vec<JobTiming>, _>>()?;
        let mean = |timing: &JobTiming| {
            (timing.mean.wait_ns.round() as i64, timing.mean.execution_ns.round() as i64)
        };
        let mean_delay = self.stationary_with_timing(&timings.iter().map(mean).collect::<Vec<_>>())?;
        let PropagationResult { cycles, analysis, stationary: clustered, along, interval: cost_interval } =
            course.finish();
        let independent = analysis.independent.ok_or_else(error::never_idle_together)?;
        let evaluation = Evaluation {
            ideal,
            mean_delay,
            jitter: analysis.in_time.unwrap_or_else(|| independent.clone()),
            independent,
            clustered,
            cost_interval,
            stability: analysis.stability,
            memory: analysis.memory,
            along,
            timing: timings.first().map(|t| t.mean.clone()).ok_or_else(|| error::too_few_activations(0))?,
        };
        Ok(EvaluationWithCycles { evaluation, cycles, timings })
    }
}
