//! All of it at once: verdict, costs, margins, velocity noise, remedies and responses of one loop under one run.

use serde::Serialize;

use jitterlab_model::Error;

use super::curves::{DelayCost, PeriodCost, over_delays, over_periods};
use super::design_margins::Margins;
use super::evaluate::{Evaluated, Evaluation};
use super::execution::Execution;
use super::jobs::GivenTask;
use super::late_jobs::under_recorded;
use super::mean_timing::{JobTiming, VelocityError};
use super::misses::AtMost;
use super::overrun_costs::ActionCost;
use super::question::Question;
use super::record::Record;
use super::redesign::Redesign;
use super::reference_tracking::FollowedReference;
use super::remedies::Remedy;
use super::response::Reference;
use super::verdict::{self, Verdict};
use super::weakly_hard::{Guarantee, Step, Steps, StoppingRule, UnderMisses};
use crate::error;

/// Effect of a run's timing on a loop.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopAssessment {
    /// Verdict on closing the loop on this machine.
    pub verdict: Verdict,
    /// Cost of the timing.
    pub evaluation: Evaluation,
    /// Cost of each overrun action.
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
    /// Changes that would lower the cost.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub remedies: Vec<Remedy>,
    /// Controllers redesigned for this timing, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub redesigns: Vec<Redesign>,
    /// Error of the velocity estimate.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub velocity: VelocityError,
    /// Responses around the run's worst event.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub responses: Vec<FollowedReference>,
    /// The cost over the period.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub over_periods: Vec<PeriodCost>,
    /// The cost over a constant delay.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub over_delays: Vec<DelayCost>,
}

/// Further questions about a run, beyond the loop.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// References to follow; usual ones where there are none.
    pub references: Vec<Reference>,
    /// Misses that the loop should survive in any order.
    pub misses: Vec<AtMost>,
    /// True to redesign controllers for this timing.
    pub redesign: bool,
}

/// Activations with which a controller that measures its interval is tried.
const WINDOW: u64 = 20_000;
/// Longest window, in periods, for which stability under the recorded misses is proved.
const LONGEST_SEEN: u32 = 20;

impl LoopAssessment {
    /// Judges a run's activations of the task that closes the loop, and gives its margins, also with the run's delay.
    pub fn new<R: Record + ?Sized>(
        question: &Question,
        record: &R,
        wishes: &Wishes,
    ) -> Result<(LoopAssessment, Margins), Error> {
        let (period_ns, several) = (question.period_ns, question.alone());
        let sources = several.recorded(&[record]);
        let found = several.evaluate(&sources)?;
        let Evaluated { evaluation, cycles, timings } = &found;
        let [JobTiming { worst: (worst_row, _), velocity, .. }, ..] = timings.as_slice() else {
            return Err(error::too_few_activations(0));
        };
        let worst_row = *worst_row;
        let jobs = cycles.steps(&mut question.closed()?);
        let timing = &evaluation.timing;
        let (wait_ns, execution_ns) = (timing.wait_ns.round() as i64, timing.execution_ns.round() as i64);
        let margins = Margins::new(question, question.output_delay_ns(wait_ns, execution_ns))?;
        let crossover = margins.crossover_rad_per_s(period_ns);
        let responses = several.responses(&sources, &question.closed()?, crossover, timings, wishes)?;
        let window =
            record.rows(worst_row.saturating_sub(WINDOW / 2)..worst_row.saturating_add(WINDOW / 2))?;
        let task = GivenTask { wait_ns: timing.wait_ns.max(0.0), ..question.task(Execution::constant(0.0)) };
        let misses = under_recorded(Some(&task), &mut question.closed()?, &jobs, &wishes.misses);
        let misses_seen = proved_of_seen(&jobs, &timing.misses);
        let proved = (misses_seen.as_ref(), misses.as_slice());
        let verdict = verdict::of_run(evaluation, &margins, proved, &responses, period_ns);
        let is_late = timing.worst_response_ns >= period_ns;
        let assessment = LoopAssessment {
            redesigns: if wishes.redesign { several.redesigns(&found, &sources)? } else { Vec::new() },
            verdict,
            actions: several.actions(evaluation, is_late, |late| several.replayed(&sources, late))?,
            misses_seen,
            misses,
            shown: jobs.len() as u64,
            remedies: question.remedies(cycles, &window, evaluation)?,
            velocity: *velocity,
            responses,
            over_periods: over_periods(question, wait_ns, execution_ns),
            over_delays: over_delays(question),
            evaluation: evaluation.clone(),
        };
        Ok((assessment, margins))
    }
}

/// Stability proved for the misses in the run: the result for the longest window with a proof, else for the
/// longest tried.
pub(super) fn proved_of_seen(jobs: &[Step], seen: &[AtMost]) -> Option<UnderMisses> {
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
