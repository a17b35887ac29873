//! Result of `servo`: a loop, its margins, and its cost under a timing.

use jitterlab_analysis::random::Random;
use jitterlab_model::units::Human;
use jitterlab_model::{Activation, Error};
use serde::Serialize;

use super::along_trace::Interval;
use super::assessment::{AssessmentOptions, LoopAssessment, LoopFacts};
use super::design_margins::Margins;
use super::execution::Execution;
use super::given_task::GivenTask;
use super::markov_chain::Stationary;
use super::mean_timing::{JobTiming, VelocityError};
use super::overrun::OverrunAction;
use super::overrun_costs::{self, ActionCost};
use super::record::Record;
use super::remedies::Remedy;
use super::single_task_loop::SingleTaskLoop;
use super::verdict::{LoopVerdict, cost_reason, requirement_reason};
use super::weakly_hard::{StabilityUnderMisses, WeaklyHard};
use crate::error;
use crate::judged_run::JudgedRun;

/// Loop that an answer is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopDescription {
    /// Name of the plant.
    pub plant: String,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// The controller: `pd`, `pid`, `state-feedback`, `lqg` or `discrete`.
    pub controller: String,
    /// The period it is designed for.
    pub period_ns: i64,
}

impl From<&SingleTaskLoop> for LoopDescription {
    fn from(question: &SingleTaskLoop) -> Self {
        let SingleTaskLoop { plant, period_ns, .. } = question;
        let (plant, outputs, controller) = (plant.name.clone(), plant.outputs.clone(), plant.design.name());
        LoopDescription { plant, outputs, controller: controller.into(), period_ns: *period_ns }
    }
}

/// Margins of a loop, and the effect of timing on it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServoResult {
    /// The loop that was asked about.
    #[serde(rename = "loop")]
    pub closed: LoopDescription,
    /// Margins against further delay and jitter.
    pub margins: Margins,
    /// Timing that it was judged by.
    pub judged: TimingSource,
}

/// Timing that a loop was judged by.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Judged"))]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum TimingSource {
    /// A run.
    Run(Box<LoopUnderRun>),
    /// Execution times that were given.
    Execution(Box<LoopUnderExecution>),
    /// Constant delays, where there is neither.
    ConstantDelays {
        /// The cost of each tenth of a period of delay, from none on.
        costs: Vec<DelayCost>,
    },
}

/// The cost of a constant delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayCost {
    /// From sampling to the output.
    pub delay_ns: i64,
    /// The loop with it.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
}

/// A loop under a run's timing.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopUnderRun {
    /// The run that was judged.
    pub run: JudgedRun,
    /// Assessment of the loop.
    #[serde(flatten)]
    pub assessment: LoopAssessment,
    /// Changes that would lower the cost.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub remedies: Vec<Remedy>,
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub velocity: VelocityError,
}

/// A loop under given execution times.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopUnderExecution {
    /// Verdict on such a loop.
    pub verdict: LoopVerdict,
    /// The execution times, as they were written.
    pub execution: String,
    /// Action for a job that is not finished in time.
    pub overrun: OverrunAction,
    /// Share of its time that the task works if it serves every due time.
    pub utilisation: f64,
    /// The loop with no work to do.
    pub ideal: Stationary,
    /// The loop with these execution times.
    #[serde(flatten)]
    pub stationary: Stationary,
    /// Confidence interval of its cost, if that comes from a drawn sequence; `None` if it is exact.
    pub cost_interval: Option<Interval>,
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub actions: Vec<ActionCost>,
    /// Stability proved for any sequence with the number of misses that was asked for, whenever a late job
    /// ends.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses: Vec<StabilityUnderMisses>,
}

/// Activations with which a controller that measures its interval is tried.
const WINDOW: u64 = 20_000;

impl LoopUnderRun {
    /// Judges a run's activations of the task that closes the loop, and gives its margins, also with the run's delay.
    pub fn new<R: Record + ?Sized>(
        question: &SingleTaskLoop,
        run: JudgedRun,
        record: &R,
        wishes: &AssessmentOptions,
    ) -> Result<(LoopUnderRun, Margins), Error> {
        let multi_task = question.to_multi_task_loop();
        let sources = multi_task.recorded_sources(&[record]);
        let found = multi_task.evaluate(&sources)?;
        let Some(JobTiming { worst: (worst_row, _), velocity, .. }) = found.timings.first() else {
            return Err(error::too_few_activations(0));
        };
        let timing = &found.evaluation.timing;
        let (wait_ns, execution_ns) = (timing.wait_ns.round() as i64, timing.execution_ns.round() as i64);
        let mean_ns = question.output_delay_ns(wait_ns, execution_ns);
        let margins = Margins::new(question, mean_ns, timing.least_response_ns.max(0))?;
        let task = question.task_with_execution(Execution::constant(0.0));
        let facts = LoopFacts {
            rate: margins.crossover_rad_per_s(question.period_ns),
            alone: Some(GivenTask { wait_ns: timing.wait_ns.max(0.0), ..task }),
            delay_margin_ns: vec![margins.delay.longest_ns()],
            margins: Some(&margins),
        };
        let under = |late| multi_task.replayed_sources(&sources, late);
        let window =
            record.rows(worst_row.saturating_sub(WINDOW / 2)..worst_row.saturating_add(WINDOW / 2))?;
        let judged = LoopUnderRun {
            run,
            assessment: multi_task.assess(&found, &sources, under, wishes, &facts)?,
            remedies: question.remedies(&found.cycles, &window, &found.evaluation)?,
            velocity: *velocity,
        };
        Ok((judged, margins))
    }
}

impl ServoResult {
    /// Judges the activations of the run's task that closes the loop.
    pub fn under_run<R: Record + ?Sized>(
        question: &SingleTaskLoop,
        run: JudgedRun,
        record: &R,
        wishes: &AssessmentOptions,
    ) -> Result<ServoResult, Error> {
        let (under, margins) = LoopUnderRun::new(question, run, record, wishes)?;
        Ok(ServoResult { closed: question.into(), margins, judged: TimingSource::Run(Box::new(under)) })
    }

    /// Judges a loop by starts that are late by anything up to a time, all alike likely.
    pub fn under_jitter(
        question: &SingleTaskLoop,
        jitter_ns: i64,
        wishes: &AssessmentOptions,
    ) -> Result<ServoResult, Error> {
        const JOBS: u64 = 20_000;
        let mut random = Random::new(JOBS);
        let mut job = |index: u64| {
            let due_ns = i64::try_from(index).unwrap_or(i64::MAX).saturating_mul(question.period_ns);
            let start_ns = due_ns.saturating_add((random.uniform() * jitter_ns as f64) as i64);
            Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
        };
        let jobs: Vec<Activation> = (0..JOBS).map(&mut job).collect();
        let run =
            JudgedRun::assumed(format!("--jitter {}", Human(jitter_ns as f64)), question.period_ns, JOBS);
        ServoResult::under_run(question, run, jobs.as_slice(), wishes)
    }

    /// Judges a loop by execution times (as [`Execution::parse`] reads them), without a run.
    pub fn under_execution(
        question: &SingleTaskLoop,
        text: &str,
        misses: &[WeaklyHard],
    ) -> Result<ServoResult, Error> {
        let execution = Execution::parse(text, question.period_ns)?;
        let ideal = question.ideal_stationary()?;
        let (stationary, stability, cost_interval) = question
            .task_with_execution(execution.clone())
            .stationary_with_stability(&mut question.closed_loop()?)?;
        let share = |cost: f64| cost / ideal.cost - 1.0;
        let lies = cost_interval.map(|i| Interval { low: share(i.low), high: share(i.high) });
        let side = cost_reason(&stationary, &stability, (share(stationary.cost), lies));
        let misses = question.stability_under_misses(&execution, misses)?;
        let sides = std::iter::once(side).chain(misses.iter().map(requirement_reason)).collect();
        let under = LoopUnderExecution {
            verdict: LoopVerdict::new(sides),
            execution: text.into(),
            overrun: question.overrun,
            utilisation: execution.mean_ns() / question.period_ns as f64,
            ideal,
            stationary,
            cost_interval,
            actions: overrun_costs::under_execution(question, &execution)?,
            misses,
        };
        let mean_ns = question.output_delay_ns(0, execution.mean_ns().round() as i64);
        let margins = Margins::new(question, mean_ns, 0)?;
        Ok(ServoResult { closed: question.into(), margins, judged: TimingSource::Execution(Box::new(under)) })
    }

    /// Margins of a loop, and its costs at constant delays from 0 to one period.
    pub fn without_run(question: &SingleTaskLoop) -> Result<ServoResult, Error> {
        let margins = Margins::new(question, 0, 0)?;
        let tenths = (0..=10).map(|tenth| question.period_ns * tenth / 10);
        let of = |delay_ns| {
            Some(DelayCost { delay_ns, cost: question.stationary_with_delay(delay_ns).ok()?.cost })
        };
        let judged = TimingSource::ConstantDelays { costs: tenths.filter_map(of).collect() };
        Ok(ServoResult { closed: question.into(), margins, judged })
    }

    /// The verdict; `None` if only constant delays were looked at.
    pub fn verdict(&self) -> Option<&LoopVerdict> {
        match &self.judged {
            TimingSource::Run(under) => Some(&under.assessment.verdict),
            TimingSource::Execution(under) => Some(&under.verdict),
            TimingSource::ConstantDelays { .. } => None,
        }
    }
}
