//! From the activations of a task to the events of its loop.

use std::str::FromStr;

use jitterlab_model::{Activation, Error, Flags};

use super::closed_loop::{Event, LoopAction};
use super::overrun::MissedOutput;

/// Point at which the sensors are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// By the task, when it starts.
    #[default]
    AtStart,
    /// By hardware, at the due time.
    AtDue,
}

/// Point at which the output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Actuation {
    /// By the task, when its work is done.
    #[default]
    AtEnd,
    /// By the task, when it starts, with the output computed from the sample just read.
    AtStart,
    /// By the task, when it starts next time: one period of delay, but without the jitter of its work.
    AtNextStart,
    /// By hardware, at the next due time after the work is done.
    AtNextDue,
}

impl FromStr for Sampling {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "start" => Ok(Sampling::AtStart),
            "due" => Ok(Sampling::AtDue),
            _ => Err(Error::bad_use(format!("{text:?} is not a moment of sampling: write start or due"))),
        }
    }
}

impl FromStr for Actuation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "end" => Ok(Actuation::AtEnd),
            "start" => Ok(Actuation::AtStart),
            "next-start" => Ok(Actuation::AtNextStart),
            "next-due" => Ok(Actuation::AtNextDue),
            _ => Err(Error::bad_use(format!(
                "{text:?} is not a moment of actuation: write end, start, next-start or next-due"
            ))),
        }
    }
}

/// Points in the task at which it samples and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskTiming {
    pub sampling: Sampling,
    pub actuation: Actuation,
}

/// A job of the task: one pass from sampling to the output, as it was recorded or would have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    pub due_ns: i64,
    pub start_ns: i64,
    /// End of the work, or time of the abort.
    pub end_ns: i64,
    /// It was aborted: its output is lost.
    pub killed: bool,
    /// Records are lost before it.
    pub after_gap: bool,
}

impl From<&Activation> for Job {
    fn from(a: &Activation) -> Job {
        let after_gap = a.flags.contains(Flags::AFTER_GAP);
        Job { due_ns: a.due_ns, start_ns: a.start_ns, end_ns: a.end_ns, killed: false, after_gap }
    }
}

/// A time at which something happens to a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    At(i64, Event),
    /// A job is due and no other at work: later events do not depend on the end of the work before.
    IdleDue(i64),
    /// Time restarts here: records are lost before it.
    Cut(i64),
}

/// Makes the moments of a loop of the jobs of its task, in order. A task is one sequence: nothing overtakes.
#[derive(Debug, Clone)]
pub struct MomentGenerator {
    timing: TaskTiming,
    by: u8,
    period_ns: i64,
    /// Largest time before its due time at which a job may start and still be the first of its turn.
    early_ns: i64,
    /// Act at a due time that no job serves.
    missed_action: Option<LoopAction>,
    last_ns: i64,
    /// Time at which the output that was computed last is to be written.
    pending_ns: Option<i64>,
    begun: bool,
}

impl MomentGenerator {
    /// The moments of a task whose earliest start is `early_ns` before its due time, at most half a period.
    pub fn new(timing: TaskTiming, period_ns: i64, early_ns: i64) -> MomentGenerator {
        let early_ns = early_ns.clamp(0, period_ns / 2);
        MomentGenerator {
            timing,
            by: 0,
            period_ns,
            early_ns,
            missed_action: None,
            last_ns: i64::MIN,
            pending_ns: None,
            begun: false,
        }
    }

    #[must_use]
    pub fn for_controller(self, by: u8) -> MomentGenerator {
        MomentGenerator { by, ..self }
    }

    /// Generator with an act at each due time that is not served, and when a job is killed.
    #[must_use]
    pub fn with_missed_action(self, act: Option<LoopAction>) -> MomentGenerator {
        MomentGenerator { missed_action: act, ..self }
    }

    fn emit(&mut self, time: i64, act: LoopAction, give: &mut impl FnMut(Moment)) {
        self.last_ns = self.last_ns.max(time);
        give(Moment::At(self.last_ns, Event { by: self.by, act }));
    }

    /// Emits the moments of the next job.
    pub fn add_job(&mut self, job: &Job, mut give: impl FnMut(Moment)) {
        let give = &mut give;
        let turn = (job.due_ns - self.early_ns).min(job.start_ns);
        if !self.begun || job.after_gap {
            give(Moment::Cut(turn));
            (self.begun, self.last_ns, self.pending_ns) = (true, turn, None);
        }
        self.write_pending(|due| due <= turn, give);
        if self.last_ns <= turn {
            give(Moment::IdleDue(turn));
            self.last_ns = turn;
        }
        if job.killed && job.start_ns >= job.end_ns {
            self.emit_missed(job.end_ns, give);
            return;
        }
        if self.timing.actuation == Actuation::AtNextStart {
            self.pending_ns = self.pending_ns.map(|_| job.start_ns);
        }
        self.write_pending(|due| due <= job.start_ns, give);
        let began_ns = job.start_ns.min(job.end_ns - 1);
        self.emit_missed_between(job, job.due_ns, began_ns, give);
        let sampled_ns = if self.timing.sampling == Sampling::AtDue { job.due_ns } else { job.start_ns };
        self.emit(sampled_ns, LoopAction::Sample, give);
        if self.timing.actuation == Actuation::AtStart {
            self.emit(job.start_ns, LoopAction::Finish, give);
        }
        // A task that is behind is at work when its last output goes out, or done with the next one before.
        self.write_pending(|due| due < job.end_ns, give);
        if job.killed {
            self.emit_missed(job.end_ns, give);
            return;
        }
        self.emit_missed_between(job, began_ns, job.end_ns - 1, give);
        self.finish_job(job, give);
    }

    /// Writes the output that waits, if `is_now` holds for its time.
    fn write_pending(&mut self, is_now: impl Fn(i64) -> bool, give: &mut impl FnMut(Moment)) {
        if let Some(time) = self.pending_ns.take_if(|time| is_now(*time)) {
            self.emit(time, LoopAction::Write, give);
        }
    }

    /// Emits the act of a due time that is not served, or whose job is killed.
    fn emit_missed(&mut self, time: i64, give: &mut impl FnMut(Moment)) {
        if let Some(act) = self.missed_action {
            self.emit(time, act, give);
        }
    }

    /// Emits the acts of the due times behind `after` up to `until` that a job overruns.
    fn emit_missed_between(&mut self, job: &Job, after: i64, until: i64, give: &mut impl FnMut(Moment)) {
        if self.missed_action.is_some() {
            let period_ns = self.period_ns;
            let due_times = (1..).map(|n| job.due_ns + n * period_ns);
            let passed = due_times.skip_while(|due| *due <= after).take_while(|due| *due <= until);
            passed.for_each(|due| self.emit_missed(due, give));
        }
    }

    fn finish_job(&mut self, job: &Job, give: &mut impl FnMut(Moment)) {
        let since = (job.end_ns - job.due_ns).max(1);
        // A due time at the very end has passed; the output that comes with it stays.
        if since % self.period_ns == 0 {
            self.emit_missed(job.end_ns, give);
        }
        match self.timing.actuation {
            Actuation::AtStart => {}
            Actuation::AtEnd => self.emit(job.end_ns, LoopAction::Finish, give),
            Actuation::AtNextStart | Actuation::AtNextDue => {
                self.emit(job.end_ns, LoopAction::Compute, give);
                let periods = since.div_euclid(self.period_ns) + i64::from(since % self.period_ns > 0);
                let due_ns = job.due_ns + periods * self.period_ns;
                let at_due = self.timing.actuation == Actuation::AtNextDue;
                self.pending_ns = Some(if at_due { due_ns } else { i64::MAX });
            }
        }
    }
}

/// Event as it acts on the loop: at a mark without a job, the output follows `missed_output`.
pub(super) fn effective_event(event: Event, missed_action: MissedOutput) -> Option<Event> {
    match (event.act, missed_action) {
        (LoopAction::Zero, MissedOutput::Hold) => None,
        (LoopAction::Zero, MissedOutput::Predict) => Some(Event { act: LoopAction::Predict, ..event }),
        _ => Some(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoopAction::{Compute, Finish, Sample, Write, Zero};

    const H: i64 = 1_000;

    fn job(index: i64, latency: i64, execution: i64) -> Job {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Job { due_ns, start_ns, end_ns: start_ns + execution, killed: false, after_gap: false }
    }

    fn emitted(
        actuation: Actuation,
        missed_action: Option<LoopAction>,
        jobs: &[Job],
    ) -> Vec<(i64, Option<LoopAction>)> {
        let timing = TaskTiming { sampling: Sampling::AtStart, actuation };
        let mut moments = MomentGenerator::new(timing, H, 0).with_missed_action(missed_action);
        let mut all = Vec::new();
        for job in jobs {
            moments.add_job(job, |moment| match moment {
                Moment::At(time, event) => all.push((time, Some(event.act))),
                Moment::IdleDue(time) => all.push((time, None)),
                Moment::Cut(_) => {}
            });
        }
        all
    }

    const TURN: Option<LoopAction> = None;

    #[test]
    fn a_job_keeps_its_output_whatever_due_time_it_overruns() {
        let late = [job(0, 10, 50), job(1, 0, 1_200), job(3, 20, 50)];
        let expected = [
            (0, TURN),
            (10, Some(Sample)),
            (60, Some(Finish)),
            (1_000, TURN),
            (1_000, Some(Sample)),
            (2_200, Some(Finish)),
            (3_000, TURN),
            (3_020, Some(Sample)),
            (3_070, Some(Finish)),
        ];
        assert_eq!(emitted(Actuation::AtEnd, None, &late), expected);
        // Missed at 2000, while it works.
        assert_eq!(emitted(Actuation::AtEnd, Some(Zero), &late)[5], (2_000, Some(Zero)));
    }

    #[test]
    fn a_task_that_is_behind_has_no_turn() {
        let behind = [job(0, 0, 1_200), job(1, 200, 300), job(2, 0, 100)];
        let turns = |actuation| {
            let all = emitted(actuation, None, &behind);
            all.into_iter().filter(|(_, act)| act.is_none()).map(|(time, _)| time).collect::<Vec<_>>()
        };
        assert_eq!(turns(Actuation::AtEnd), [0, 2_000]);
        let due = emitted(Actuation::AtNextDue, None, &behind);
        // The first is done at 1200, the second at 1500, before the first would be written at 2000.
        let from_second =
            [(1_200, Some(Sample)), (1_500, Some(Compute)), (2_000, Some(Write)), (2_000, TURN)];
        assert_eq!(due[3..7], from_second);
    }

    #[test]
    fn outputs_can_be_put_off_to_the_next_start_or_due_time() {
        let jobs = [job(0, 10, 50), job(1, 30, 50)];
        let next_start = emitted(Actuation::AtNextStart, None, &jobs);
        assert_eq!(
            next_start[3..],
            [(1_000, TURN), (1_030, Some(Write)), (1_030, Some(Sample)), (1_080, Some(Compute))]
        );
        let next_due = emitted(Actuation::AtNextDue, None, &jobs);
        assert_eq!(next_due[3..6], [(1_000, Some(Write)), (1_000, TURN), (1_030, Some(Sample))]);
    }

    #[test]
    fn a_killed_job_samples_and_writes_nothing() {
        let killed = Job { killed: true, end_ns: 2_000, ..job(1, 100, 0) };
        let never = Job { killed: true, end_ns: 3_000, ..job(2, 1_500, 0) };
        let all = emitted(Actuation::AtEnd, Some(Zero), &[job(0, 0, 50), killed, never, job(3, 0, 50)]);
        let expected = [
            (1_000, TURN),
            (1_100, Some(Sample)),
            (2_000, Some(Zero)),
            (2_000, TURN),
            (3_000, Some(Zero)),
            (3_000, TURN),
        ];
        assert_eq!(all[3..9], expected);
    }

    #[test]
    fn an_end_on_a_due_time_keeps_its_output() {
        let all = emitted(Actuation::AtEnd, Some(Zero), &[job(0, 0, 1_000), job(2, 0, 10)]);
        assert_eq!(all[2..5], [(1_000, Some(Zero)), (1_000, Some(Finish)), (2_000, TURN)]);
    }

    #[test]
    fn an_early_start_is_in_its_own_turn() {
        let mut moments = MomentGenerator::new(TaskTiming::default(), H, 40);
        let mut turns = Vec::new();
        for job in [job(0, 0, 50), job(1, -40, 50), job(2, -10, 30)] {
            moments.add_job(&job, |moment| {
                if let Moment::IdleDue(time) = moment {
                    turns.push(time);
                }
            });
        }
        assert_eq!(turns, [-40, 960, 1_960]);
    }
}
