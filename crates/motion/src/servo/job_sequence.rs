//! The jobs of several tasks as one course of moments, in order of time.

use std::collections::VecDeque;

use jitterlab_model::Error;

use super::closed_loop::LoopAction;
use super::cycles::IdleInstant;
use super::mean_timing::TimingCollector;
use super::timing::{Job, Moment, MomentGenerator};

/// The jobs of one task, in order.
pub(super) type Jobs<'a> = Box<dyn Iterator<Item = Result<Job, Error>> + 'a>;

struct TaskStream<'a> {
    period_ns: i64,
    jobs: Jobs<'a>,
    moments: MomentGenerator,
    ahead: VecDeque<Moment>,
    /// Due times since all tasks were last idle together.
    due_count: i64,
    timings: TimingCollector,
}

impl TaskStream<'_> {
    /// Fetches the next moment unless one is ahead; false at the end of the jobs.
    fn fetch_next_moment(&mut self) -> Result<bool, Error> {
        while self.ahead.is_empty() {
            let Some(job) = self.jobs.next().transpose()? else { return Ok(false) };
            self.timings.add(&job);
            let ahead = &mut self.ahead;
            self.moments.add_job(&job, |moment| ahead.push_back(moment));
        }
        Ok(true)
    }
}

/// Order of moments at the same time: ends, then due times, then starts.
fn order_key(moment: Moment) -> (i64, u8) {
    match moment {
        Moment::At(time, event) => match event.act {
            LoopAction::Finish | LoopAction::Compute | LoopAction::Write => (time, 0),
            LoopAction::Zero | LoopAction::Predict => (time, 1),
            LoopAction::Sample => (time, 4),
        },
        Moment::Cut(time) => (time, 2),
        Moment::IdleDue(time) => (time, 3),
    }
}

/// Least common multiple of the periods; `None` if it is longer than 4096 of the shortest.
pub(super) fn hyperperiod(periods_ns: impl Iterator<Item = i64>) -> Option<i64> {
    const MOST_JOBS: i64 = 1 << 12;
    let (mut all, mut shortest) = (1i64, i64::MAX);
    for period in periods_ns {
        let (mut a, mut b) = (all, period);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        all = (all / a).checked_mul(period)?;
        shortest = shortest.min(period);
    }
    (all / shortest <= MOST_JOBS).then_some(all)
}

/// Jobs of tasks of several periods, merged in order of time.
pub(super) struct MergedTasks<'a> {
    streams: Vec<TaskStream<'a>>,
    hyperperiod_ns: i64,
}

impl<'a> MergedTasks<'a> {
    pub fn new(hyperperiod_ns: i64) -> MergedTasks<'a> {
        MergedTasks { streams: Vec::new(), hyperperiod_ns }
    }

    pub fn add(&mut self, period_ns: i64, moments: MomentGenerator, jobs: Jobs<'a>) {
        let by = self.streams.len() as u8;
        let (ahead, moments) = (VecDeque::new(), moments.for_controller(by));
        let timings = TimingCollector::new(period_ns);
        self.streams.push(TaskStream { period_ns, jobs, moments, ahead, due_count: 0, timings });
    }

    /// Gives all moments in the order of time, until a task ends or `give` wants no more; returns each task's timing.
    pub fn for_each_moment(
        mut self,
        mut give: impl FnMut(Result<Moment, IdleInstant>) -> bool,
    ) -> Result<Vec<TimingCollector>, Error> {
        self.merge_moments(&mut give)?;
        Ok(self.streams.into_iter().map(|stream| stream.timings).collect())
    }

    /// Gives the moments of all tasks in the order of time, until a task ends or `give` wants no more.
    fn merge_moments(
        &mut self,
        give: &mut impl FnMut(Result<Moment, IdleInstant>) -> bool,
    ) -> Result<(), Error> {
        // The due times of the slowest task decide.
        let Some(lead) = (0..self.streams.len()).max_by_key(|i| self.streams[*i].period_ns) else {
            return Ok(());
        };
        let (mut origin, mut last) = (None, None::<i64>);
        loop {
            for stream in &mut self.streams {
                if !stream.fetch_next_moment()? {
                    return Ok(());
                }
            }
            let key = |i: &usize| {
                let (time, rank) = self.streams[*i].ahead.front().map_or((i64::MAX, 0), |m| order_key(*m));
                (time, rank, *i != lead)
            };
            let Some(first) = (0..self.streams.len()).min_by_key(key) else { return Ok(()) };
            let Some(moment) = self.streams[first].ahead.front().copied() else { return Ok(()) };
            if let Moment::IdleDue(time) = moment {
                if first == lead && self.all_idle_at(time, lead, *origin.get_or_insert(time)) {
                    let length = last.map(|last| time - last);
                    let near =
                        |length: i64| (length - self.hyperperiod_ns).abs() < self.streams[lead].period_ns / 2;
                    let all_served =
                        self.streams.iter().all(|s| s.due_count == self.hyperperiod_ns / s.period_ns);
                    let in_time = length.is_some_and(near) && all_served;
                    self.streams.iter_mut().for_each(|stream| stream.due_count = 0);
                    last = Some(time);
                    if !give(Err(IdleInstant { time_ns: time, in_time })) {
                        return Ok(());
                    }
                }
                self.streams[first].due_count += 1;
            } else {
                if matches!(moment, Moment::Cut(_)) {
                    last = None;
                }
                if !give(Ok(moment)) {
                    return Ok(());
                }
            }
            self.streams[first].ahead.pop_front();
        }
    }

    /// True if this due time of the slowest task (`lead`) begins a hyperperiod and no task is at work.
    fn all_idle_at(&self, time: i64, lead: usize, origin: i64) -> bool {
        let period_ns = self.streams[lead].period_ns;
        let number = (time - origin + period_ns / 2).div_euclid(period_ns);
        let waits = |s: &TaskStream<'_>| matches!(s.ahead.front(), Some(Moment::IdleDue(_) | Moment::Cut(_)));
        number % (self.hyperperiod_ns / period_ns) == 0 && self.streams.iter().all(waits)
    }
}
