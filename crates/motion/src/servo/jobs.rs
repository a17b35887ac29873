//! The chain of a task whose execution times are given: each job samples when it starts, works, writes, and what becomes of the
//! due times it overruns is the overrun action's.
//!
//! The task starts when it is due, or when its last job ends. A due time at the very end of a job has passed.

use super::ServoError;
use super::backlog;
use super::chain::{Stationary, Stretches};
use super::execution::Kind;
use super::flow::Flow;
use super::given_task::GivenTask;
use super::looped::{Act, Event, Loop};
use super::overrun::{Late, Without};
use super::quadrature::mean_points;
use super::timing::{Actuation, Sampling};
use super::weakly_hard::{Step, Steps, missed_periods};
use crate::error::MotionError;

/// Points of each piece of a range of execution times.
const POINTS: usize = 24;

impl GivenTask {
    /// The stationary loop that it closes.
    ///
    /// # Errors
    /// An output that is predicted without an estimator.
    pub fn stationary(&self, closed: &mut Loop) -> Result<Stationary, MotionError> {
        if self.action.without == Without::Predict && !closed.can(Act::Predict) {
            return Err(ServoError::NoEstimator.into());
        }
        let mut task = self.clone();
        if self.timing.sampling == Sampling::AtDue {
            // What hardware samples waits for its output as long as the task waits and works.
            task.execution = self.execution.longer_by(self.wait_ns);
            task.wait_ns = 0.0;
        }
        if task.action.late == Late::CatchUp {
            return Ok(backlog::stationary(closed, &task));
        }
        let of_kinds: Vec<Stretches> =
            task.execution.kinds().iter().map(|kind| task.of_kind(closed, kind)).collect();
        Ok(task.execution.chained(&of_kinds, task.period_ns).stationary())
    }

    /// The jobs as steps of sequences with so many misses; of a range of execution times, some all over it. `None` for a task
    /// that can fall behind: what a job does then depends on the jobs before.
    pub fn steps(&self, closed: &mut Loop) -> Option<Steps> {
        const OF_RANGE: u32 = 8;
        if self.action.late == Late::CatchUp && self.execution.longest_ns() >= self.period_ns as f64 {
            return None;
        }
        let mut steps = Vec::new();
        for kind in self.execution.kinds() {
            let parts = if kind.high_ns > kind.low_ns { OF_RANGE } else { 0 };
            for part in 0..=parts {
                let share = f64::from(part) / f64::from(parts.max(1));
                let time = kind.low_ns + (kind.high_ns - kind.low_ns) * share;
                let (events, length) = self.course(time);
                let missed = missed_periods(&events, length, self.period_ns as f64);
                steps.push(Step { map: self.passage(closed, time).phi, missed });
            }
        }
        Some(Steps::new(steps))
    }

    /// All jobs of a kind.
    fn of_kind(&self, closed: &mut Loop, kind: &Kind) -> Stretches {
        let mut stretches = Stretches::new(closed.lasting());
        let due_times = (1..).map(|n| f64::from(n) * self.period_ns as f64 - self.wait_ns);
        let cuts = due_times.take_while(|t| *t < kind.high_ns);
        for (time, share) in mean_points(kind.low_ns, kind.high_ns, cuts, POINTS) {
            let (events, length) = self.events(time);
            stretches.add(&closed.passage(&events, length), length * 1e-9, share);
        }
        stretches
    }

    /// What a job that works so long does to the lasting part of the state, until the same of the next job.
    pub fn passage(&self, closed: &mut Loop, execution_ns: f64) -> Flow {
        let (events, length) = self.events(execution_ns);
        closed.passage(&events, length)
    }

    /// The same; where outputs wait for the next start, from start to start, so that nothing waits at the cut.
    pub(super) fn events(&self, time: f64) -> (Vec<(f64, Event)>, f64) {
        let (mut events, length) = self.course(time);
        let start = self.wait_ns;
        if self.timing.actuation == Actuation::AtNextStart && start < length {
            let before = events.partition_point(|event| event.0 < start);
            events[..before].iter_mut().for_each(|event| event.0 += length);
            events.rotate_left(before);
            events.iter_mut().for_each(|event| event.0 -= start);
            // What happens while the next one waits comes before its start.
            events.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        (events, length)
    }

    /// From the due time of a job that works so long to the next one that is served.
    fn course(&self, time: f64) -> (Vec<(f64, Event)>, f64) {
        let (start, end, period) = (self.wait_ns, self.wait_ns + time, self.period_ns as f64);
        let mut events = Vec::with_capacity(4);
        let mut at = |time: f64, act: Act| events.push((time, act.alone()));
        let without = match self.action.without {
            Without::Hold => None,
            Without::Zero => Some(Act::Zero),
            Without::Predict => Some(Act::Predict),
        };
        let passed = (end / period).floor();
        let length = match self.action.late {
            _ if passed == 0.0 => period,
            Late::Kill => period,
            Late::RePhase => end + period,
            Late::Skip | Late::CatchUp => (passed + 1.0) * period,
        };
        // Due times that pass before it starts, while it works, and at its very end.
        let missed = |from: f64, until: f64, at: &mut dyn FnMut(f64, Act)| {
            if let Some(act) = without.filter(|_| self.action.late == Late::Skip) {
                let due_times = (1..).map(|n| f64::from(n) * period);
                due_times.skip_while(|t| *t <= from).take_while(|t| *t <= until).for_each(|t| at(t, act));
            }
        };
        let is_killed = passed > 0.0 && self.action.late == Late::Kill;
        missed(0.0, start, &mut at);
        if !is_killed || start < period {
            at(start, Act::Sample);
            if self.timing.actuation == Actuation::AtStart {
                at(start, Act::Finish);
            }
        }
        if is_killed {
            without.into_iter().for_each(|act| at(period, act));
            return (events, length);
        }
        missed(start, end.next_down(), &mut at);
        match self.timing.actuation {
            Actuation::AtStart => {}
            Actuation::AtEnd => at(end, Act::Finish),
            Actuation::AtNextStart | Actuation::AtNextDue => at(end, Act::Compute),
        }
        missed(end.next_down().max(start), end, &mut at);
        match self.timing.actuation {
            Actuation::AtNextStart => at(length + start, Act::Write),
            // The first due time from its end on; on a grid that begins anew that is the next one.
            Actuation::AtNextDue if self.action.late == Late::RePhase => at(length, Act::Write),
            Actuation::AtNextDue => at((end / period).ceil().max(1.0) * period, Act::Write),
            Actuation::AtStart | Actuation::AtEnd => {}
        }
        (events, length)
    }
}
