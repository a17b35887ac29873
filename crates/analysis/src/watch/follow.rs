//! Activations of a found loop, from its waits.

use jitterlab_model::watched::{DueTimes, Waits};
use jitterlab_model::{Activation, Known, Overrun};

use super::find::{Found, left_out};
use super::wait_tracker::Wait;

/// Largest distance of a time from the grid, as a part of a period.
const ON_GRID: f64 = 0.01;

/// Converts the waits of one loop into activations.
#[derive(Debug)]
pub struct Follower {
    found: Found,
    /// Time from its return from the kernel to its start, in ns.
    return_ns: i64,
    /// The current activation; until it ends, its end is the time of its return.
    running: Option<Activation>,
    /// Due time of the activation before the current one.
    before_ns: Option<i64>,
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
    left_out: u32,
}

/// Number of waits for times at other distances after which the thread has another period, or none.
const OTHER_PERIOD: u32 = 8;

/// Number of starts whose earliest one corrects a fitted grid, and the part of the difference that corrects
/// its period: another clock has a slightly different rate.
const FOLLOWED: u32 = 256;
const GAIN: f64 = 0.25;

impl Follower {
    /// Creates a follower of a loop.
    #[must_use]
    pub fn new(found: Found) -> Self {
        Self::reading_after(found, 0)
    }

    /// Creates a follower of a loop whose thread can read a clock `return_ns` after its return from the
    /// kernel, where its starts count.
    #[must_use]
    pub fn reading_after(mut found: Found, return_ns: i64) -> Self {
        if found.due == DueTimes::FittedGrid {
            found.origin_ns += return_ns as f64;
        }
        Follower {
            found,
            return_ns,
            running: None,
            before_ns: None,
            before_gap: None,
            has_ended: false,
            unknown: 0,
            caught_up: 0,
            since_fitted: (0, i64::MAX),
            left_out: 0,
        }
    }

    /// True if the thread asks for times at other distances than its period, or is woken at others: further waits are no
    /// activations of this loop.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.left_out >= OTHER_PERIOD
    }

    /// Returns the loop.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Returns the overrun policy, as far as it was seen. A thread that waits for a later due time may have skipped
    /// those that passed, or served them without a wait.
    #[must_use]
    pub fn overrun(&self) -> Known<Overrun> {
        match self.found.waits {
            // Each of its times counts from its last wait.
            Waits::NanosleepRelative => Known::Exactly(Overrun::RePhase),
            _ if self.caught_up > 0 => Known::Exactly(Overrun::CatchUp),
            _ => Known::Unknown,
        }
    }

    /// Processes the next wait of the thread, and returns the activation that it completes.
    ///
    /// An activation ends when its thread waits for the next one. Missed due times are known when that begins.
    pub fn process_wait(&mut self, wait: &Wait) -> Option<Activation> {
        if wait.key != self.found.key || self.has_changed() {
            return None;
        }
        if wait.clock_was_set {
            return self.ended(wait.began_ns);
        }
        let start_ns = wait.ended_ns.saturating_add(self.return_ns);
        let due_ns = match self.found.due {
            DueTimes::OwnTimer => self.own_due(wait)?,
            DueTimes::FittedGrid => {
                if self.found.is_woken {
                    self.put_on_grid(start_ns);
                }
                let due_ns = self.grid_at(start_ns);
                if !self.found.is_woken {
                    self.correct_grid(due_ns, start_ns);
                }
                due_ns
            }
        };
        let complete = self.running.take().map(|running| {
            let periods = self.periods_since_wait(due_ns - running.due_ns);
            let left_out = self.left_out(running.due_ns, due_ns, wait.began_ns);
            if !self.found.is_woken {
                self.note_distance(left_out == 0);
            }
            let missed = match self.found.is_woken {
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
        let index = match (complete, self.before_gap.take()) {
            (Some((before, periods)), _) => before.index + periods,
            (None, Some(before)) => {
                let periods = self.periods_since_wait(due_ns - before.due_ns);
                self.unknown += periods - u64::from(self.has_ended);
                before.index + periods
            }
            (None, None) => 0,
        };
        self.before_ns = complete.map(|(before, _)| before.due_ns);
        self.running = Some(Activation {
            index,
            due_ns,
            start_ns,
            end_ns: wait.ended_ns,
            cpu: wait.cpu,
            ..Activation::default()
        });
        complete.map(|(before, _)| before)
    }

    /// Notes that events were lost: the end of the current activation and everything up to the next wait is unknown.
    pub fn lost(&mut self) {
        if let Some(running) = self.running.take() {
            (self.before_gap, self.has_ended) = (Some(running), false);
        }
    }

    /// Ends the current activation and returns it; everything up to the next wait is unknown.
    pub fn ended(&mut self, end_ns: i64) -> Option<Activation> {
        let running = self.running.take()?;
        (self.before_gap, self.has_ended) = (Some(running), true);
        Some(Activation { end_ns: end_ns.max(running.start_ns), ..running })
    }

    /// Returns the due time of a wait of a thread with its own timer. A late thread may ask for a past time,
    /// which is on its grid, or for no time at all: then the next time of its grid is meant.
    fn own_due(&mut self, wait: &Wait) -> Option<i64> {
        let asked_ns = wait.due_ns?;
        let Some(before) = self.running.filter(|_| asked_ns <= wait.began_ns) else { return Some(asked_ns) };
        let periods = (asked_ns - before.due_ns) as f64 / self.found.period_ns;
        let next_ns = before.due_ns + self.found.period_ns as i64;
        let on_grid = periods >= 0.5 && (periods - periods.round()).abs() < ON_GRID;
        // One that skips does not serve a due time when the next one has passed. A timer of the kernel's gives all that
        // have passed at once.
        let is_behind = next_ns.saturating_add(self.found.period_ns as i64) <= wait.began_ns;
        let gives_all = matches!(self.found.waits, Waits::Timerfd | Waits::TimerSignal);
        self.caught_up += u64::from((on_grid || is_behind) && !gives_all);
        Some(if on_grid { asked_ns } else { next_ns.min(asked_ns) })
    }

    /// Puts the current activation, which others woke, on the grid, once the next start is known. Behind a late start,
    /// those that waited for it follow at once: they and it are one period apart. Otherwise nobody woke it for longer.
    fn put_on_grid(&mut self, next_ns: i64) {
        let period_ns = self.found.period_ns;
        let Some(mut running) = self.running else { return };
        if let Some(before_ns) = self.before_ns {
            let periods = ((running.due_ns - before_ns) as f64 / period_ns).round() as i64;
            let is_behind = periods > 1 && ((next_ns - running.start_ns) as f64) < period_ns / 2.0;
            self.note_distance(periods == 1 || is_behind);
            if is_behind {
                running.due_ns = before_ns + period_ns as i64;
                running.index = running.index.saturating_sub(periods.unsigned_abs() - 1);
                self.running = Some(running);
            }
        }
        self.correct_grid(running.due_ns, running.start_ns);
    }

    fn note_distance(&mut self, is_usual: bool) {
        self.left_out = if is_usual { self.left_out.saturating_sub(1) } else { self.left_out + 1 };
    }

    /// Corrects the fitted grid by a start on it.
    fn correct_grid(&mut self, due_ns: i64, start_ns: i64) {
        let (starts, least_ns) = self.since_fitted;
        self.since_fitted = (starts + 1, least_ns.min(start_ns - due_ns));
        if self.since_fitted.0 == FOLLOWED {
            let off_ns = self.since_fitted.1 as f64;
            self.found.origin_ns = due_ns as f64 + off_ns;
            self.found.period_ns += GAIN * off_ns / f64::from(FOLLOWED);
            self.since_fitted = (0, i64::MAX);
        }
    }

    /// Returns the grid's due time that a start belongs to.
    fn grid_at(&self, start_ns: i64) -> i64 {
        let Found { period_ns, origin_ns, .. } = self.found;
        // A start slightly before the grid is early rather than late by a whole period.
        let k = ((start_ns as f64 - origin_ns) / period_ns + 0.25).floor();
        (origin_ns + k * period_ns) as i64
    }

    /// Returns the number of grid times that the thread left out on purpose; 0 for one that sleeps for lengths of time.
    fn left_out(&self, before_ns: i64, due_ns: i64, asked_ns: i64) -> u64 {
        match (self.found.due, self.found.waits) {
            (DueTimes::FittedGrid, _) | (_, Waits::Deadline | Waits::NanosleepRelative) => 0,
            _ => left_out(before_ns, due_ns, asked_ns, self.found.period_ns),
        }
    }

    fn periods_since_wait(&self, ns: i64) -> u64 {
        if self.found.waits == Waits::NanosleepRelative {
            return 1;
        }
        ((ns as f64 / self.found.period_ns).round() as u64).max(1)
    }
}
