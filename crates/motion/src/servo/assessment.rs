//! Judgement of a plant's loops by their jobs: verdict, costs, guarantees and responses.

use serde::Serialize;

use jitterlab_model::Error;

use super::design_margins::Margins;
use super::evaluate::{Evaluation, EvaluationWithCycles};
use super::given_task::GivenTask;
use super::job_sources::JobSource;
use super::miss_guarantees::stability_of_recorded_jobs;
use super::multi_task_loop::MultiTaskLoop;
use super::overrun::OverrunPolicy;
use super::overrun_costs::ActionCost;
use super::redesign::Redesign;
use super::reference_tracking::FollowedReference;
use super::response::Reference;
use super::verdict::{LateTask, LoopVerdict, jitter_or_misses_reason, plant_verdict};
use super::weakly_hard::{Guarantee, StabilityUnderMisses, Step, StepSet, StoppingRule, WeaklyHard};

/// Effect of a run's timing, or of a schedule's, on the loops of a plant.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopAssessment {
    /// Verdict on closing the loop on this machine.
    pub verdict: LoopVerdict,
    /// Cost of the timing.
    pub evaluation: Evaluation,
    /// Cost of each overrun action, if all of the plant's tasks took it.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub actions: Vec<ActionCost>,
    /// Stability proved for any sequence with as many misses as the run has.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses_seen: Option<StabilityUnderMisses>,
    /// Stability proved for any sequence with the number of misses that was asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses: Vec<StabilityUnderMisses>,
    /// The cycles of the run that it is proved of, evenly from all.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub shown: u64,
    /// Controllers redesigned for this timing, if that was asked for and one task closes the plant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub redesigns: Vec<Redesign>,
    /// Responses of the outer loops around the worst event.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub responses: Vec<FollowedReference>,
}

/// Facts about the loops of a plant beside their jobs.
pub(super) struct LoopFacts<'a> {
    /// Rate of the slowest part, in rad/s.
    pub rate: f64,
    /// The task that alone closes the plant, to do the jobs that might be missed.
    pub alone: Option<GivenTask>,
    /// Longest constant delay of each task's outputs with which the plant is stable; `None` for any.
    pub delay_margin_ns: Vec<Option<i64>>,
    pub margins: Option<&'a Margins>,
}

/// Further questions about a run, beyond the loop.
#[derive(Debug, Clone, Default)]
pub struct AssessmentOptions {
    /// References to follow; usual ones where there are none.
    pub references: Vec<Reference>,
    /// Misses that the loop should survive in any order.
    pub misses: Vec<WeaklyHard>,
    pub redesign: bool,
}

/// Longest window, in periods, for which stability under the recorded misses is proved.
const LONGEST_SEEN: u32 = 20;

impl MultiTaskLoop {
    /// Assesses the loops by the jobs behind `found`; `under` gives the jobs under another overrun policy.
    pub(super) fn assess<S: JobSource, T: JobSource>(
        &self,
        found: &EvaluationWithCycles,
        sources: &[S],
        under: impl Fn(OverrunPolicy) -> Vec<T>,
        wishes: &AssessmentOptions,
        facts: &LoopFacts<'_>,
    ) -> Result<LoopAssessment, Error> {
        let EvaluationWithCycles { evaluation, cycles, timings } = found;
        let timing = &evaluation.timing;
        let is_one = self.tasks.len() == 1 && self.others.is_empty();
        let mut closed = self.closed_loop()?;
        let responses = self.worst_event_responses(sources, &closed, facts.rate, timings, wishes)?;
        let jobs = cycles.steps(&mut closed);
        let misses = stability_of_recorded_jobs(facts.alone.as_ref(), &mut closed, &jobs, &wishes.misses);
        let observed = if is_one { timing.misses.clone() } else { cycles.observed_misses() };
        let misses_seen = stability_under_observed_misses(&jobs, &observed);
        let tasks = timings.iter().zip(&self.tasks).zip(&facts.delay_margin_ns);
        let late = tasks.map(|((timing, task), delay_margin_ns)| LateTask {
            timing: &timing.mean,
            period_ns: task.period_ns,
            delay_margin_ns: *delay_margin_ns,
        });
        let margin =
            facts.margins.and_then(|margins| jitter_or_misses_reason(timing, margins, misses_seen.as_ref()));
        // A job that another plant's task delays is late, too.
        let is_late = !is_one || timing.worst_response_ns >= self.period_ns();
        let redesign = wishes.redesign && self.tasks.iter().all(|task| task.loops.is_empty());
        let verdict = plant_verdict(evaluation, &late.collect::<Vec<_>>(), margin, &misses, &responses);
        let has_lost_extremes = sources.iter().any(JobSource::has_lost_extremes);
        Ok(LoopAssessment {
            verdict: if has_lost_extremes { verdict.with_lost_records() } else { verdict },
            evaluation: evaluation.clone(),
            actions: self.overrun_costs(evaluation, is_late, under)?,
            misses_seen,
            misses,
            shown: jobs.len() as u64,
            redesigns: if redesign { self.redesigns(found, sources)? } else { Vec::new() },
            responses,
        })
    }
}

/// Stability under the observed misses of the longest window with a proof, else of the longest of all.
fn stability_under_observed_misses(jobs: &[Step], observed: &[WeaklyHard]) -> Option<StabilityUnderMisses> {
    let steps = StepSet::new(jobs.to_vec());
    let mut windows =
        observed.iter().rev().filter(|w| w.of <= LONGEST_SEEN && w.misses > 0 && w.misses < w.of);
    let mut found: Option<StabilityUnderMisses> = None;
    windows
        .find_map(|window| {
            let under = steps.stability(*window, StoppingRule::Decide);
            let stable = under.guarantee == Guarantee::Stable;
            found.get_or_insert(under.clone());
            stable.then_some(under)
        })
        .or(found)
}
