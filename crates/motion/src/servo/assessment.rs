//! All of it at once: verdict, costs, margins, velocity noise, remedies and responses of one loop under one run.

use jitterlab_model::{Activation, Flags};
use serde::Serialize;

use super::actions::{self, ActionCost};
use super::curves::{DelayCost, PeriodCost, over_delays, over_periods};
use super::evaluate::{Evaluation, Judging};
use super::follow::{FollowedReference, follow, rows_needed, usual_references};
use super::misses::AtMost;
use super::question::Question;
use super::record::Record;
use super::redesign::{Redesign, redesigns};
use super::remedies::Remedy;
use super::response::Reference;
use super::stands::Margins;
use super::verdict::{self, Verdict};
use super::weakly_hard::{Aim, Guarantee, Steps, UnderMisses};
use crate::error::MotionError;

/// Error of a velocity that is computed from positions with the nominal period, as shares of the speed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VelocityError {
    /// Standard deviation: that of the period error over the period.
    pub standard_deviation: f64,
    /// Largest magnitude.
    pub worst: f64,
}

/// Sums over the intervals between samples taken at starts.
#[derive(Default)]
struct Intervals {
    last_ns: Option<i64>,
    count: f64,
    sum: f64,
    squares: f64,
    worst: f64,
}

impl Intervals {
    fn add(&mut self, a: &Activation, period_ns: i64) {
        let last = self.last_ns.replace(a.start_ns).filter(|_| !a.flags.contains(Flags::AFTER_GAP));
        if let Some(last) = last {
            // 1 - interval / period is what the nominal period makes of a steady speed.
            let error = (a.start_ns - last - period_ns) as f64 / period_ns as f64;
            self.count += 1.0;
            self.sum += error;
            self.squares += error * error;
            self.worst = self.worst.max(error.abs());
        }
    }

    fn error(&self) -> VelocityError {
        let count = f64::max(self.count, 1.0);
        let mean = self.sum / count;
        let standard_deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        VelocityError { standard_deviation, worst: self.worst }
    }
}

/// What a run's timing does to a loop.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopAssessment {
    /// Whether the loop may be closed on this machine.
    pub verdict: Verdict,
    /// What the timing costs.
    pub evaluation: Evaluation,
    /// What each overrun action would cost.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub actions: Vec<ActionCost>,
    /// What is proved of any sequence with so many misses: those seen, and those asked for.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub misses: Vec<UnderMisses>,
    /// What would help.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub remedies: Vec<Remedy>,
    /// Controllers designed anew for this timing, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub redesigns: Vec<Redesign>,
    /// Velocity noise.
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

/// What is asked of a run beyond the loop.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// References to follow; usual ones where there are none.
    pub references: Vec<Reference>,
    /// Misses that are to be stood in any order.
    pub misses: Vec<AtMost>,
    /// Controllers designed anew for this timing.
    pub redesign: bool,
}

/// Activations with which a controller that measures its interval is tried.
const WINDOW: u64 = 20_000;
/// Longest window of misses that is gone through with the misses that were seen.
const LONGEST_SEEN: u32 = 20;

impl LoopAssessment {
    /// Judges a run's activations of the task that closes the loop, and gives its margins, also with the run's delay.
    ///
    /// # Errors
    /// As [`Question::evaluate`].
    pub fn new<R: Record + ?Sized>(
        question: &Question,
        record: &R,
        wishes: &Wishes,
    ) -> Result<(LoopAssessment, Margins), MotionError> {
        let period_ns = question.period_ns;
        let judging = Judging::new(question, record)?;
        let steps = judging.steps(period_ns);
        let (worst_row, worst_ns) = judging.gathered.worst;
        let mut intervals = Intervals::default();
        record.visit(&mut |rows| rows.iter().for_each(|a| intervals.add(a, period_ns)))?;
        let (evaluation, counted) = judging.finish(question, record)?;
        let timing = &evaluation.timing;
        let (wait_ns, execution_ns) = (timing.wait_ns.round() as i64, timing.execution_ns.round() as i64);
        let margins = Margins::of(question, question.output_delay_ns(wait_ns, execution_ns))?;
        let crossover = margins.crossover_rad_per_s(period_ns);
        let usual = usual_references(crossover);
        let references = if wishes.references.is_empty() { &usual[..] } else { &wishes.references[..] };
        let (before, after) = rows_needed(references, crossover, period_ns);
        let rows = record.rows(worst_row.saturating_sub(before)..worst_row.saturating_add(after))?;
        let closed = question.closed()?;
        let around = (rows.as_slice(), worst_ns);
        let responses: Vec<FollowedReference> =
            references.iter().map(|r| follow(question, &closed, crossover, around, *r)).collect();
        let window =
            record.rows(worst_row.saturating_sub(WINDOW / 2)..worst_row.saturating_add(WINDOW / 2))?;
        let seen = proved_of_seen(&steps, &timing.misses);
        let verdict = verdict::of_run(&evaluation, &margins, seen.as_ref(), &responses, period_ns);
        let asked = wishes.misses.iter().map(|asked| steps.under(*asked, Aim::Decide));
        let wanted =
            wishes.redesign.then(|| redesigns(question, &counted, &evaluation, record)).transpose()?;
        let assessment = LoopAssessment {
            redesigns: wanted.unwrap_or_default(),
            verdict,
            actions: actions::under_record(question, record, evaluation.timing.worst_response_ns)?,
            misses: seen.into_iter().chain(asked).collect(),
            remedies: question.remedies(&counted.patterns, &window, &evaluation)?,
            velocity: intervals.error(),
            responses,
            over_periods: over_periods(question, wait_ns, execution_ns),
            over_delays: over_delays(question),
            evaluation,
        };
        Ok((assessment, margins))
    }
}

/// What is proved of the misses that were seen: of the longest window for which anything is.
pub(super) fn proved_of_seen(steps: &Steps, seen: &[AtMost]) -> Option<UnderMisses> {
    let mut windows = seen.iter().rev().filter(|w| w.of <= LONGEST_SEEN && w.misses > 0 && w.misses < w.of);
    let mut found: Option<UnderMisses> = None;
    windows
        .find_map(|window| {
            let under = steps.under(*window, Aim::Decide);
            let stable = under.guarantee == Guarantee::Stable;
            found.get_or_insert(under.clone());
            stable.then_some(under)
        })
        .or(found)
}
