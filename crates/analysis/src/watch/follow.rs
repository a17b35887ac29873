//! The activations of a loop that was found, from its waits.

use jitterlab_model::Activation;
use jitterlab_model::watched::{DueTimes, Waits};

use super::find::{Found, left_out};
use super::pass::Pass;

/// A time of the grid is within this part of a period.
const ON_GRID: f64 = 0.01;

/// Makes activations of the passes of one loop.
#[derive(Debug)]
pub struct Follower {
    found: Found,
    /// How long after its return from the kernel a start counts.
    return_ns: i64,
    /// The activation that runs; its end is when it returned.
    running: Option<Activation>,
    /// The last one before events were lost: of it and of what came up to the next pass nothing is known.
    before_gap: Option<Activation>,
    /// Due times that fell into such gaps.
    pub unknown: u64,
    /// Starts after their due times since the grid was fitted last: how many, and the least.
    since_fitted: (u32, i64),
    /// Of the last waits, how many left out due times that had not passed, less those that did not.
    left_out: u32,
}

/// After so many waits for times at other distances the thread has another period, or none.
const OTHER_PERIOD: u32 = 8;

/// A fitted grid follows the earliest of so many starts, and its period this part of how far they are from it: nobody
/// else's clock runs at our rate.
const FOLLOWED: u32 = 256;
const GAIN: f64 = 0.25;

impl Follower {
    /// Follows a loop.
    #[must_use]
    pub fn new(found: Found) -> Self {
        Self::reading_after(found, 0)
    }

    /// Follows a loop whose thread can read a clock so long after its return from the kernel: its starts count then.
    #[must_use]
    pub fn reading_after(mut found: Found, return_ns: i64) -> Self {
        if found.due == DueTimes::FittedGrid {
            found.origin_ns += return_ns as f64;
        }
        Follower {
            found,
            return_ns,
            running: None,
            before_gap: None,
            unknown: 0,
            since_fitted: (0, i64::MAX),
            left_out: 0,
        }
    }

    /// Whether the thread asks for times at other distances than those of its period: what comes is none of its activations.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.left_out >= OTHER_PERIOD
    }

    /// The loop.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Takes the thread's next pass; the answer is an activation of which all is known.
    ///
    /// An activation ends where its thread waits for the next one. What it missed shows when that begins.
    pub fn pass(&mut self, pass: &Pass) -> Option<Activation> {
        if pass.key != self.found.key || self.has_changed() {
            return None;
        }
        let start_ns = pass.ended_ns.saturating_add(self.return_ns);
        let due_ns = match self.found.due {
            DueTimes::OwnTimer => self.own_due(pass)?,
            DueTimes::FittedGrid => self.fitted_due(start_ns),
        };
        let complete = self.running.take().map(|running| {
            let periods = self.periods(due_ns - running.due_ns);
            let left_out = self.left_out(running.due_ns, due_ns, pass.began_ns);
            self.left_out = if left_out > 0 { self.left_out + 1 } else { self.left_out.saturating_sub(1) };
            let missed = u32::try_from(periods - 1 - left_out.min(periods - 1)).unwrap_or(u32::MAX);
            // One that waits again before it could have read a clock began somewhere in between.
            let start_ns = match running.start_ns <= pass.began_ns {
                true => running.start_ns,
                false => running.end_ns + (pass.began_ns - running.end_ns).max(0) / 2,
            };
            (Activation { start_ns, end_ns: pass.began_ns.max(start_ns), missed, ..running }, periods)
        });
        let index = match (complete, self.before_gap.take()) {
            (Some((before, periods)), _) => before.index + periods,
            (None, Some(before)) => {
                let periods = self.periods(due_ns - before.due_ns);
                self.unknown += periods;
                before.index + periods
            }
            (None, None) => 0,
        };
        self.running = Some(Activation {
            index,
            due_ns,
            start_ns,
            end_ns: pass.ended_ns,
            cpu: pass.cpu,
            ..Activation::default()
        });
        complete.map(|(before, _)| before)
    }

    /// Events were lost: the end of what runs will not be known, nor what comes up to the next pass.
    pub fn lost(&mut self) {
        self.before_gap = self.running.take().or(self.before_gap);
    }

    /// What runs ended then, and what comes up to the next pass is not known: the answer is what ran.
    pub fn ended(&mut self, end_ns: i64) -> Option<Activation> {
        let running = self.running.take()?;
        self.before_gap = Some(running);
        Some(Activation { end_ns: end_ns.max(running.start_ns), ..running })
    }

    /// The due time of a pass of a thread with a timer of its own. One that is late may ask for the time that has passed,
    /// which is on its grid, or for none at all: then the next one of its grid is meant.
    fn own_due(&self, pass: &Pass) -> Option<i64> {
        let asked_ns = pass.due_ns?;
        let Some(before) = self.running.filter(|_| asked_ns <= pass.began_ns) else { return Some(asked_ns) };
        let periods = (asked_ns - before.due_ns) as f64 / self.found.period_ns;
        let next_ns = before.due_ns + self.found.period_ns as i64;
        let on_grid = periods >= 0.5 && (periods - periods.round()).abs() < ON_GRID;
        Some(if on_grid { asked_ns } else { next_ns.min(asked_ns) })
    }

    /// The due time of a start on the fitted grid, which follows.
    fn fitted_due(&mut self, start_ns: i64) -> i64 {
        let due_ns = self.grid_at(start_ns);
        let (starts, least_ns) = self.since_fitted;
        self.since_fitted = (starts + 1, least_ns.min(start_ns - due_ns));
        if self.since_fitted.0 == FOLLOWED {
            let off_ns = self.since_fitted.1 as f64;
            self.found.origin_ns = due_ns as f64 + off_ns;
            self.found.period_ns += GAIN * off_ns / f64::from(FOLLOWED);
            self.since_fitted = (0, i64::MAX);
        }
        due_ns
    }

    /// The due time of the grid that a start belongs to.
    fn grid_at(&self, start_ns: i64) -> i64 {
        let Found { period_ns, origin_ns, .. } = self.found;
        // A little before the grid is rather early than a whole period late.
        let k = ((start_ns as f64 - origin_ns) / period_ns + 0.25).floor();
        (origin_ns + k * period_ns) as i64
    }

    /// Times of the grid that the thread left out on purpose. One that sleeps for lengths of time has no others.
    fn left_out(&self, before_ns: i64, due_ns: i64, asked_ns: i64) -> u64 {
        match (self.found.due, self.found.waits) {
            (DueTimes::FittedGrid, _) => 0,
            _ => left_out(before_ns, due_ns, asked_ns, self.found.period_ns),
        }
    }

    fn periods(&self, ns: i64) -> u64 {
        if self.found.waits == Waits::NanosleepRelative {
            return 1;
        }
        ((ns as f64 / self.found.period_ns).round() as u64).max(1)
    }
}
