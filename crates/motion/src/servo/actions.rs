//! What each overrun action would cost on the same machine: the run's waits and execution times, one after the other, under it.

use serde::Serialize;

use super::chain::{Chain, Stationary, Stretches};
use super::classes::{Memory, Rows};
use super::cycles::{Course, Cycles};
use super::execution::Execution;
use super::given_task::GivenTask;
use super::looped::{Act, Event, Loop};
use super::overrun::{Late, OverrunAction, Without};
use super::question::Question;
use super::record::Record;
use super::replay::Replay;
use super::timing::Moments;
use crate::error::MotionError;

/// The loop under an overrun action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionCost {
    /// The action.
    pub action: OverrunAction,
    /// The loop under it.
    #[serde(flatten)]
    pub stationary: Stationary,
}

/// The actions that a loop's controller can take, under given execution times.
///
/// # Errors
/// As [`super::Design::controller`].
pub(super) fn under_execution(
    question: &Question,
    execution: &Execution,
) -> Result<Vec<ActionCost>, MotionError> {
    let mut closed = question.closed()?;
    possible(&closed)
        .map(|action| {
            let task = GivenTask { action, ..question.task(execution.clone()) };
            Ok(ActionCost { action, stationary: task.stationary(&mut closed)? })
        })
        .collect()
}

/// The actions that a loop's controller can take.
pub(super) fn possible(closed: &Loop) -> impl Iterator<Item = OverrunAction> + use<> {
    let predicts = closed.can(Act::Predict);
    OverrunAction::ALL.into_iter().filter(move |action| predicts || action.without != Without::Predict)
}

/// A task under another overrun action, and what its cycles are.
struct Alternative {
    late: Late,
    replay: Replay,
    moments: Moments,
    cycles: Cycles,
    /// How cycles follow each other: those in time and the others.
    rows: Rows,
}

impl Alternative {
    fn new(question: &Question, late: Late, most_jobs: usize, early_ns: i64) -> Alternative {
        // Where the output could do something, a mark is left.
        let without = matches!(late, Late::Skip | Late::Kill).then_some(Act::Zero);
        Alternative {
            late,
            replay: Replay::new(late, question.period_ns),
            moments: Moments::new(question.timing, question.period_ns, early_ns).without(without),
            cycles: Cycles::new(question.period_ns, most_jobs),
            rows: Rows::new(Course::COUNT),
        }
    }

    fn job(&mut self, wait_ns: i64, execution_ns: i64, after_gap: bool, period_ns: i64) {
        let job = self.replay.job(wait_ns, execution_ns, after_gap);
        let (cycles, rows) = (&mut self.cycles, &mut self.rows);
        self.moments.job(&job, |moment| {
            cycles.pass_with(moment, |whole| {
                rows.pass(whole.map(|cycle| Course::of_cycle(cycle, period_ns) as usize));
            });
        });
    }

    /// The loop under the action, the output doing this without a job's.
    fn stationary(&self, closed: &mut Loop, without: Without, period_ns: i64) -> Stationary {
        let act = match without {
            Without::Hold => None,
            Without::Zero => Some(Act::Zero),
            Without::Predict => Some(Act::Predict),
        };
        let memory = self.rows.memory();
        let mut of_kinds = vec![Stretches::new(closed.lasting()); Course::COUNT];
        for pattern in self.cycles.patterns() {
            let marked = |(time, event): &(f64, Event)| match event.act {
                Act::Zero => act.map(|act| (*time, Event { act, ..*event })),
                _ => Some((*time, *event)),
            };
            let events: Vec<(f64, Event)> = pattern.events.iter().filter_map(marked).collect();
            let passage = closed.passage(&events, pattern.length_ns);
            let to = if memory == Memory::None { 0 } else { pattern.course(period_ns) as usize };
            of_kinds[to].add(&passage, pattern.length_ns * 1e-9, pattern.count as f64);
        }
        if memory == Memory::None {
            return Chain::independent(&of_kinds[0], period_ns).stationary();
        }
        Chain::of_present(&of_kinds, &self.rows.pairs, period_ns).stationary()
    }
}

/// What each action would cost with the waits and execution times of a run; one whose jobs are all done before they are due again is the
/// same under each.
///
/// # Errors
/// As [`super::Design::controller`], and a record that cannot be read.
pub(super) fn under_record<R: Record + ?Sized>(
    question: &Question,
    record: &R,
    worst_response_ns: i64,
) -> Result<Vec<ActionCost>, MotionError> {
    let period_ns = question.period_ns;
    let in_time = worst_response_ns < period_ns;
    let early_ns = -record.least_latency_ns();
    let all = [Late::Skip, Late::CatchUp, Late::RePhase, Late::Kill];
    let lates = if in_time { &all[..1] } else { &all[..] };
    let mut most_jobs = Cycles::WHOLE;
    let alternatives = loop {
        let new = |late| Alternative::new(question, late, most_jobs, early_ns);
        let mut all: Vec<Alternative> = lates.iter().copied().map(new).collect();
        let mut free_ns: Option<i64> = None;
        record.visit(&mut |rows| {
            for a in rows {
                let after_gap = a.flags.contains(jitterlab_model::Flags::AFTER_GAP);
                let ready = free_ns.filter(|_| !after_gap).map_or(a.due_ns, |free| free.max(a.due_ns));
                free_ns = Some(a.end_ns);
                for alternative in &mut all {
                    alternative.job(a.start_ns - ready, a.execution_ns(), after_gap, period_ns);
                }
            }
        })?;
        if most_jobs > 1 && all.iter().any(|a| a.cycles.must_cut_bursts()) {
            most_jobs = 1;
            continue;
        }
        break all;
    };
    let mut closed = question.closed()?;
    let actions: Vec<OverrunAction> = possible(&closed).collect();
    let of = |action: OverrunAction| {
        let found = alternatives.iter().find(|a| in_time || a.late == action.late)?;
        let stationary = found.stationary(&mut closed, action.without, period_ns);
        Some(ActionCost { action, stationary })
    };
    Ok(actions.into_iter().filter_map(of).collect())
}
