//! Judgement of a plant's loops by their jobs: verdict, costs, guarantees and responses.

use serde::Serialize;

use jitterlab_model::Error;

use super::design_margins::Margins;
use super::evaluate::{Evaluated, Evaluation};
use super::jobs::GivenTask;
use super::late_jobs::under_recorded;
use super::misses::AtMost;
use super::overrun::Late;
use super::overrun_costs::ActionCost;
use super::redesign::Redesign;
use super::reference_tracking::FollowedReference;
use super::response::Reference;
use super::several::Several;
use super::sources::Source;
use super::verdict::{LateTask, Verdict, margin_side, of_loops};
use super::weakly_hard::{Guarantee, Step, Steps, StoppingRule, UnderMisses};

/// Effect of a run's timing, or of a schedule's, on the loops of a plant.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopAssessment {
    /// Verdict on closing the loop on this machine.
    pub verdict: Verdict,
    /// Cost of the timing.
    pub evaluation: Evaluation,
    /// Cost of each overrun action, if all of the plant's tasks took it.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub actions: Vec<ActionCost>,
    /// Stability proved for any sequence with as many misses as the run has.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses_seen: Option<UnderMisses>,
    /// Stability proved for any sequence with the number of misses that was asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses: Vec<UnderMisses>,
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
    pub stands_ns: Vec<Option<i64>>,
    pub margins: Option<&'a Margins>,
}

/// Further questions about a run, beyond the loop.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// References to follow; usual ones where there are none.
    pub references: Vec<Reference>,
    /// Misses that the loop should survive in any order.
    pub misses: Vec<AtMost>,
    pub redesign: bool,
}

/// Longest window, in periods, for which stability under the recorded misses is proved.
const LONGEST_SEEN: u32 = 20;

impl Several {
    /// Judges the loops by the jobs in which `found` was found; `under` has them under another overrun action.
    pub(super) fn assessed<S: Source, T: Source>(
        &self,
        found: &Evaluated,
        sources: &[S],
        under: impl Fn(Late) -> Vec<T>,
        wishes: &Wishes,
        facts: &LoopFacts<'_>,
    ) -> Result<LoopAssessment, Error> {
        let Evaluated { evaluation, cycles, timings } = found;
        let timing = &evaluation.timing;
        let is_one = self.tasks.len() == 1 && self.others.is_empty();
        let mut closed = self.closed()?;
        let responses = self.responses(sources, &closed, facts.rate, timings, wishes)?;
        let jobs = cycles.steps(&mut closed);
        let misses = under_recorded(facts.alone.as_ref(), &mut closed, &jobs, &wishes.misses);
        let seen = if is_one { timing.misses.clone() } else { cycles.misses_seen() };
        let misses_seen = proved_of_seen(&jobs, &seen);
        let tasks = timings.iter().zip(&self.tasks).zip(&facts.stands_ns);
        let late = tasks.map(|((timing, task), stands_ns)| LateTask {
            timing: &timing.mean,
            period_ns: task.period_ns,
            stands_ns: *stands_ns,
        });
        let margin = facts.margins.and_then(|margins| margin_side(timing, margins, misses_seen.as_ref()));
        // A job that another plant's task delays is late, too.
        let is_late = !is_one || timing.worst_response_ns >= self.period_ns();
        let redesign = wishes.redesign && self.tasks.iter().all(|task| task.loops.is_empty());
        Ok(LoopAssessment {
            verdict: of_loops(evaluation, &late.collect::<Vec<_>>(), margin, &misses, &responses),
            evaluation: evaluation.clone(),
            actions: self.actions(evaluation, is_late, under)?,
            misses_seen,
            misses,
            shown: jobs.len() as u64,
            redesigns: if redesign { self.redesigns(found, sources)? } else { Vec::new() },
            responses,
        })
    }
}

/// Stability proved for the misses in the run, in the longest window with a proof, else in the longest tried.
fn proved_of_seen(jobs: &[Step], seen: &[AtMost]) -> Option<UnderMisses> {
    let steps = Steps::new(jobs.to_vec());
    let mut windows = seen.iter().rev().filter(|w| w.of <= LONGEST_SEEN && w.misses > 0 && w.misses < w.of);
    let mut found: Option<UnderMisses> = None;
    windows
        .find_map(|window| {
            let under = steps.under(*window, StoppingRule::Decide);
            let stable = under.guarantee == Guarantee::Stable;
            found.get_or_insert(under.clone());
            stable.then_some(under)
        })
        .or(found)
}
