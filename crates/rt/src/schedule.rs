//! Next due time and number of missed ones: pure arithmetic on an absolute grid.

use jitterlab_model::{Flags, Overrun};

/// One due time of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTime {
    /// k, its number on the task's grid, from 0.
    pub index: u64,
    /// t_k.
    pub due_ns: i64,
    /// [`Flags::CAUGHT_UP`] or [`Flags::RE_PHASED`], where they apply.
    pub flags: Flags,
}

/// The grid of one task and the position on it.
///
/// With t the due time that was served and f its end, the due times in (t, f] were missed: floor((f - t) / T).
/// The overrun policy decides their treatment. At any time
/// `executed + missed = floor((f - t_0 - phase_loss) / T) + 1`, with `missed` including [`Schedule::backlog`].
///
/// ```
/// use jitterlab_model::Overrun;
/// use jitterlab_rt::Schedule;
///
/// let mut schedule = Schedule::new(0, 1_000, Overrun::Skip);
/// // The activation of 0 ends at 2500: the due times 1000 and 2000 passed.
/// assert_eq!((schedule.complete(2_500), schedule.next().due_ns), (2, 3_000));
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    period_ns: i64,
    overrun: Overrun,
    next: DueTime,
    phase_loss_ns: i64,
    /// The last end that was late.
    late_end_ns: i64,
}

impl Schedule {
    /// A grid whose first due time is `first_due_ns`. A period below 1 ns counts as 1 ns.
    pub fn new(first_due_ns: i64, period_ns: i64, overrun: Overrun) -> Self {
        Schedule {
            period_ns: period_ns.max(1),
            overrun,
            next: DueTime { index: 0, due_ns: first_due_ns, flags: Flags::default() },
            phase_loss_ns: 0,
            late_end_ns: i64::MIN,
        }
    }

    /// The due time to wait for.
    #[inline]
    pub fn next(&self) -> DueTime {
        self.next
    }

    /// Period T of the grid, in nanoseconds.
    #[inline]
    pub fn period_ns(&self) -> i64 {
        self.period_ns
    }

    /// Sum of the shifts of the grid so far (policy re-phase).
    pub fn phase_loss_ns(&self) -> i64 {
        self.phase_loss_ns
    }

    /// Advances past [`Schedule::next`], whose work ended at `end_ns`; returns the number of skipped times.
    /// These are skipped for good.
    #[inline]
    pub fn complete(&mut self, end_ns: i64) -> u64 {
        let DueTime { index, due_ns, .. } = self.next;
        match due_ns.checked_add(self.period_ns) {
            Some(due_ns) if end_ns < due_ns => {
                // There are more numbers than due times.
                self.next = DueTime { index: index.wrapping_add(1), due_ns, flags: Flags::default() };
                0
            }
            _ => self.complete_late(end_ns),
        }
    }

    /// Advances where due times have passed, as the overrun policy demands; returns the number of skipped ones.
    #[cold]
    fn complete_late(&mut self, end_ns: i64) -> u64 {
        let DueTime { index, due_ns, .. } = self.next;
        self.late_end_ns = end_ns;
        let passed = self.due_times_passed(due_ns, end_ns);
        let (missed, flags) = match self.overrun {
            Overrun::CatchUp => (0, Flags::CAUGHT_UP),
            Overrun::RePhase => (passed, Flags::RE_PHASED),
            Overrun::Skip => (passed, Flags::default()),
        };
        let step = self.period_ns.saturating_mul(missed.saturating_add(1).min(i64::MAX as u64) as i64);
        let mut due_ns = due_ns.saturating_add(step);
        if flags.contains(Flags::RE_PHASED) {
            let restarted_ns = end_ns.saturating_add(self.period_ns);
            self.phase_loss_ns = self.phase_loss_ns.saturating_add(restarted_ns.saturating_sub(due_ns));
            due_ns = restarted_ns;
        }
        self.next = DueTime { index: index.saturating_add(missed).saturating_add(1), due_ns, flags };
        missed
    }

    /// Number of due times that had passed by the last end and are still to be caught up (policy catch-up).
    pub fn backlog(&self) -> u64 {
        // An end that was not late is before the next due time.
        if self.next.due_ns > self.late_end_ns {
            return 0;
        }
        self.due_times_passed(self.next.due_ns, self.late_end_ns).saturating_add(1)
    }

    /// Returns the number of due times in (due, now], where now is not before due.
    fn due_times_passed(&self, due_ns: i64, now_ns: i64) -> u64 {
        (now_ns.saturating_sub(due_ns) / self.period_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(overrun: Overrun, end_ns: i64) -> (u64, Schedule) {
        let mut s = Schedule::new(10_000, 1_000, overrun);
        let missed = s.complete(end_ns);
        (missed, s)
    }

    #[test]
    fn on_time_every_policy_goes_to_the_next_due_time() {
        for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::RePhase] {
            let (missed, s) = after(overrun, 10_999);
            assert_eq!((missed, s.next().index, s.next().due_ns, s.backlog()), (0, 1, 11_000, 0));
            assert_eq!(s.next().flags, Flags::default());
        }
    }

    #[test]
    fn ending_exactly_at_the_next_due_time_has_missed_it() {
        assert_eq!(after(Overrun::Skip, 11_000).0, 1);
    }

    #[test]
    fn an_early_end_misses_nothing() {
        let (missed, s) = after(Overrun::Skip, 9_990);
        assert_eq!((missed, s.next().due_ns), (0, 11_000));
    }

    #[test]
    fn skip_stays_on_the_grid() {
        let (missed, s) = after(Overrun::Skip, 15_300);
        assert_eq!((missed, s.next().index, s.next().due_ns, s.phase_loss_ns()), (5, 6, 16_000, 0));
    }

    #[test]
    fn catch_up_serves_every_due_time_and_says_so() {
        let (missed, mut s) = after(Overrun::CatchUp, 12_300);
        assert_eq!((missed, s.next().index, s.next().due_ns, s.backlog()), (0, 1, 11_000, 2));
        assert_eq!(s.next().flags, Flags::CAUGHT_UP);
        s.complete(12_310);
        assert_eq!((s.next().flags, s.backlog()), (Flags::CAUGHT_UP, 1));
        s.complete(12_320);
        assert_eq!((s.next().flags, s.backlog(), s.next().due_ns), (Flags::default(), 0, 13_000));
    }

    #[test]
    fn re_phase_restarts_one_period_after_the_end_and_counts_the_shift() {
        let (missed, mut s) = after(Overrun::RePhase, 15_300);
        assert_eq!((missed, s.next().index, s.next().due_ns, s.phase_loss_ns()), (5, 6, 16_300, 300));
        assert_eq!(s.next().flags, Flags::RE_PHASED);
        s.complete(16_310);
        assert_eq!((s.next().flags, s.next().due_ns), (Flags::default(), 17_300));
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::RePhase] {
            let mut s = Schedule::new(i64::MAX - 1, i64::MAX, overrun);
            s.complete(i64::MAX);
            s.complete(i64::MAX);
            let mut s = Schedule::new(i64::MIN, 1, overrun);
            s.complete(i64::MAX);
            s.backlog();
        }
    }
}
