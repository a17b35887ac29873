//! Activations of a found loop, from its waits.

use jitterlab_model::watched::{DueTimeSource, WaitKind};
use jitterlab_model::{Activation, Flags, Known, Overrun};

use super::periodic_wait::{PeriodicWait, count_left_out};
use super::wait_tracker::Wait;

/// Largest distance of a time from the grid, as a part of a period.
const ON_GRID: f64 = 0.01;

/// Converts the waits of one loop into activations.
#[derive(Debug)]
pub struct LoopFollower {
    periodic_wait: PeriodicWait,
    /// Time from its return from the kernel to its start, in ns.
    return_ns: i64,
    /// The current activation; until it ends, its end is the time of its return.
    running: Option<Activation>,
    /// Due time of the activation before the current one.
    previous_due_ns: Option<i64>,
    /// The last activation before events were lost: its end, and everything up to the next wait, is unknown.
    before_gap: Option<Activation>,
    /// True if that activation ended before.
    has_ended: bool,
    /// Number of due times in such gaps.
    pub unknown: u64,
    /// Number of activations whose due times had passed when the thread asked for them.
    pub caught_up: u64,
    /// Starts after their due times since the last fit of the grid: their number, and the smallest latency.
    since_fitted: (u32, i64),
    /// Recent waits that left out due times that had not passed, or that others ended at other distances than the
    /// period, less those that did not.
    unusual_intervals: u32,
}

/// Number of waits for times at other distances after which the thread has another period, or none.
const OTHER_PERIOD: u32 = 8;

/// Number of starts whose earliest one corrects a fitted grid, and the part of the difference that corrects
/// its period: another clock has a slightly different rate.
const FOLLOWED: u32 = 256;
const GAIN: f64 = 0.25;

impl LoopFollower {
    /// Creates a follower of a loop.
    #[must_use]
    pub fn new(periodic_wait: PeriodicWait) -> Self {
        Self::with_return_time(periodic_wait, 0)
    }

    /// Creates a follower of a loop whose starts count `return_ns` after each return from the kernel. Then the thread
    /// can read a clock.
    #[must_use]
    pub fn with_return_time(mut periodic_wait: PeriodicWait, return_ns: i64) -> Self {
        if periodic_wait.due == DueTimeSource::FittedGrid {
            periodic_wait.origin_ns += return_ns as f64;
        }
        LoopFollower {
            periodic_wait,
            return_ns,
            running: None,
            previous_due_ns: None,
            before_gap: None,
            has_ended: false,
            unknown: 0,
            caught_up: 0,
            since_fitted: (0, i64::MAX),
            unusual_intervals: 0,
        }
    }

    /// True if the thread has another period by now, or none: further waits are no activations of this loop.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.unusual_intervals >= OTHER_PERIOD
    }

    /// Returns the wait that begins each activation.
    #[must_use]
    pub fn periodic_wait(&self) -> &PeriodicWait {
        &self.periodic_wait
    }

    /// Returns the overrun policy, as far as it was seen. A thread that waits for a later due time may have skipped
    /// those that passed, or served them without a wait.
    #[must_use]
    pub fn overrun(&self) -> Known<Overrun> {
        match self.periodic_wait.waits {
            // Each of its times counts from its last wait.
            WaitKind::NanosleepRelative => Known::Exactly(Overrun::RePhase),
            _ if self.caught_up > 0 => Known::Exactly(Overrun::CatchUp),
            _ => Known::Unknown,
        }
    }

    /// Processes the next wait of the thread, and returns the activation that it completes, if any.
    ///
    /// An activation ends when its thread waits for the next one. Missed due times are known when that begins.
    pub fn process_wait(&mut self, wait: &Wait) -> Option<Activation> {
        if wait.key != self.periodic_wait.key || self.has_changed() {
            return None;
        }
        if wait.clock_was_set {
            return self.end_activation(wait.began_ns);
        }
        let start_ns = wait.ended_ns.saturating_add(self.return_ns);
        let due_ns = match self.periodic_wait.due {
            DueTimeSource::OwnTimer => self.own_timer_due_ns(wait)?,
            DueTimeSource::FittedGrid => {
                if self.periodic_wait.is_woken {
                    self.put_on_grid(start_ns);
                }
                let due_ns = self.grid_at(start_ns);
                if !self.periodic_wait.is_woken {
                    self.correct_grid(due_ns, start_ns);
                }
                due_ns
            }
        };
        let complete = self.running.take().map(|running| {
            let periods = self.periods_since_wait(due_ns - running.due_ns);
            let left_out = self.count_left_out(running.due_ns, due_ns, wait.began_ns);
            if !self.periodic_wait.is_woken {
                self.note_interval(left_out == 0);
            }
            let missed = match self.periodic_wait.is_woken {
                true => 0,
                false => u32::try_from(periods - 1 - left_out.min(periods - 1)).unwrap_or(u32::MAX),
            };
            // A thread that waits again before it could have read a clock began somewhere in between.
            let start_ns = match running.start_ns <= wait.began_ns {
                true => running.start_ns,
                false => running.end_ns + (wait.began_ns - running.end_ns).max(0) / 2,
            };
            (Activation { start_ns, end_ns: wait.began_ns.max(start_ns), missed, ..running }, periods)
        });
        let before_gap = self.before_gap.take();
        let flags = if before_gap.is_some() { Flags::AFTER_GAP } else { Flags::default() };
        let index = match (complete, before_gap) {
            (Some((before, periods)), _) => before.index + periods,
            (None, Some(before)) => {
                let periods = self.periods_since_wait(due_ns - before.due_ns);
                self.unknown += periods - u64::from(self.has_ended);
                before.index + periods
            }
            (None, None) => 0,
        };
        self.previous_due_ns = complete.map(|(before, _)| before.due_ns);
        self.running = Some(Activation {
            index,
            due_ns,
            start_ns,
            end_ns: wait.ended_ns,
            cpu: wait.cpu,
            flags,
            ..Activation::default()
        });
        complete.map(|(before, _)| before)
    }

    /// Notes that events were lost: the end of the current activation and everything up to the next wait is unknown.
    pub fn note_lost_events(&mut self) {
        if let Some(running) = self.running.take() {
            (self.before_gap, self.has_ended) = (Some(running), false);
        }
    }

    /// Ends the current activation, if any, and returns it; everything up to the next wait is unknown.
    pub fn end_activation(&mut self, end_ns: i64) -> Option<Activation> {
        let running = self.running.take()?;
        (self.before_gap, self.has_ended) = (Some(running), true);
        Some(Activation { end_ns: end_ns.max(running.start_ns), ..running })
    }

    /// Returns the due time of a wait by an own timer, counting those caught up; `None` if the wait has none. A late
    /// thread may ask for a past time, which is on its grid, or for no time at all: then the next time of its grid is
    /// meant.
    fn own_timer_due_ns(&mut self, wait: &Wait) -> Option<i64> {
        let requested_ns = wait.due_ns?;
        let Some(before) = self.running.filter(|_| requested_ns <= wait.began_ns) else {
            return Some(requested_ns);
        };
        let periods = (requested_ns - before.due_ns) as f64 / self.periodic_wait.period_ns;
        let next_ns = before.due_ns + self.periodic_wait.period_ns as i64;
        let on_grid = periods >= 0.5 && (periods - periods.round()).abs() < ON_GRID;
        // One that skips does not serve a due time when the next one has passed. A timer of the kernel's gives all that
        // have passed at once.
        let is_behind = next_ns.saturating_add(self.periodic_wait.period_ns as i64) <= wait.began_ns;
        let gives_all = matches!(self.periodic_wait.waits, WaitKind::Timerfd | WaitKind::TimerSignal);
        self.caught_up += u64::from((on_grid || is_behind) && !gives_all);
        Some(if on_grid { requested_ns } else { next_ns.min(requested_ns) })
    }

    /// Puts the current activation, which others woke, on the grid, once the next start is known. Behind a late start,
    /// those that waited for it follow at once: they and it are one period apart. Otherwise nobody woke it for longer.
    fn put_on_grid(&mut self, next_ns: i64) {
        let period_ns = self.periodic_wait.period_ns;
        let Some(mut running) = self.running else { return };
        if let Some(previous_due_ns) = self.previous_due_ns {
            let periods = ((running.due_ns - previous_due_ns) as f64 / period_ns).round() as i64;
            let is_behind = periods > 1 && ((next_ns - running.start_ns) as f64) < period_ns / 2.0;
            self.note_interval(periods == 1 || is_behind);
            if is_behind {
                running.due_ns = previous_due_ns + period_ns as i64;
                running.index = running.index.saturating_sub(periods.unsigned_abs() - 1);
                self.running = Some(running);
            }
        }
        self.correct_grid(running.due_ns, running.start_ns);
    }

    fn note_interval(&mut self, is_usual: bool) {
        self.unusual_intervals =
            if is_usual { self.unusual_intervals.saturating_sub(1) } else { self.unusual_intervals + 1 };
    }

    /// Takes a start on the fitted grid; the earliest of every 256 corrects it.
    fn correct_grid(&mut self, due_ns: i64, start_ns: i64) {
        let (starts, least_ns) = self.since_fitted;
        self.since_fitted = (starts + 1, least_ns.min(start_ns - due_ns));
        if self.since_fitted.0 == FOLLOWED {
            let off_ns = self.since_fitted.1 as f64;
            self.periodic_wait.origin_ns = due_ns as f64 + off_ns;
            self.periodic_wait.period_ns += GAIN * off_ns / f64::from(FOLLOWED);
            self.since_fitted = (0, i64::MAX);
        }
    }

    /// Returns the grid's due time that a start belongs to.
    fn grid_at(&self, start_ns: i64) -> i64 {
        let PeriodicWait { period_ns, origin_ns, .. } = self.periodic_wait;
        // A start slightly before the grid is early rather than late by a whole period.
        let k = ((start_ns as f64 - origin_ns) / period_ns + 0.25).floor();
        (origin_ns + k * period_ns) as i64
    }

    /// Returns the number of grid times that the thread left out on purpose; 0 for one that sleeps for lengths of time.
    fn count_left_out(&self, previous_due_ns: i64, due_ns: i64, call_ns: i64) -> u64 {
        match (self.periodic_wait.due, self.periodic_wait.waits) {
            (DueTimeSource::FittedGrid, _) | (_, WaitKind::Deadline | WaitKind::NanosleepRelative) => 0,
            _ => count_left_out(previous_due_ns, due_ns, call_ns, self.periodic_wait.period_ns),
        }
    }

    fn periods_since_wait(&self, ns: i64) -> u64 {
        if self.periodic_wait.waits == WaitKind::NanosleepRelative {
            return 1;
        }
        ((ns as f64 / self.periodic_wait.period_ns).round() as u64).max(1)
    }
}
