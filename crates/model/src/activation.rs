//! One activation of a periodic task: the record that everything else is about.

use serde::Serialize;

/// Further properties of an activation, as bits of [`Activation::flags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Flags(pub u16);

impl Flags {
    /// Its due time had passed before the task waited for it: it ran at once, in the catch-up policy's burst.
    pub const CAUGHT_UP: Flags = Flags(1);
    /// The grid was restarted before it (policy re-phase): its due time does not continue the previous grid.
    pub const RE_PHASED: Flags = Flags(1 << 1);
    /// Records of this task were lost just before it (the ring was full): differences to the previous record
    /// mean nothing.
    pub const AFTER_GAP: Flags = Flags(1 << 2);
    /// The thread was not in real-time mode (Xenomai: relaxed or in-band).
    pub const NOT_REAL_TIME: Flags = Flags(1 << 3);
    /// The task arrived early and polled the clock up to the due time.
    pub const POLLED: Flags = Flags(1 << 4);

    /// Returns true if all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of both sets of bits.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One activation of a periodic task. Times are nanoseconds of the run's clock; differences may be negative.
///
/// ```
/// use jitterlab_model::Activation;
///
/// let a = Activation { due_ns: 1_000_000, start_ns: 1_002_300, end_ns: 1_002_700, ..Activation::default() };
/// assert_eq!((a.latency_ns(), a.execution_ns(), a.response_ns()), (2_300, 400, 2_700));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Activation {
    /// k: the number of the due time on the task's grid, from 0. Missed due times leave gaps.
    pub index: u64,
    /// t_k: when the task should have started.
    pub due_ns: i64,
    /// w_k: when its first instruction ran.
    pub start_ns: i64,
    /// f_k: when its work was done.
    pub end_ns: i64,
    /// Due times after `due_ns` that had passed by `end_ns` and will not be served (policies skip and re-phase).
    pub missed: u32,
    /// The processor it started on.
    pub cpu: u16,
    /// Further properties of the activation.
    pub flags: Flags,
}

impl Activation {
    /// Release latency, start - due. Negative for an early wake-up.
    #[inline]
    pub const fn latency_ns(&self) -> i64 {
        self.start_ns.wrapping_sub(self.due_ns)
    }

    /// Execution time, end - start.
    #[inline]
    pub const fn execution_ns(&self) -> i64 {
        self.end_ns.wrapping_sub(self.start_ns)
    }

    /// Response time, end - due.
    #[inline]
    pub const fn response_ns(&self) -> i64 {
        self.end_ns.wrapping_sub(self.due_ns)
    }

    /// Returns the ages of the due times missed with this activation, in three sequences of even steps. The age is how
    /// late a due time already was when the task could first have served it (at the start if it was due by then, else at
    /// the end).
    ///
    /// A stall of 5.3 ms at a period of 1 ms misses five more due times, of ages 4.3, 3.3, 2.3, 1.3 and 0.3 ms.
    pub fn missed_ages(&self, period_ns: i64) -> [Ages; 3] {
        let (period_ns, missed) = (period_ns.max(1), i64::from(self.missed));
        let at_start = (self.latency_ns() / period_ns).clamp(0, missed);
        let at_end = (self.response_ns() / period_ns).clamp(at_start, missed);
        let ages = |since_ns: i64, from: i64, to: i64| Ages {
            first_ns: since_ns.saturating_sub(period_ns.saturating_mul(from + 1)),
            step_ns: period_ns,
            count: (to - from) as u64,
        };
        [
            ages(self.latency_ns(), 0, at_start),
            ages(self.response_ns(), at_start, at_end),
            // Not even due by the end, as some tools count.
            Ages { first_ns: 0, step_ns: 0, count: (missed - at_end) as u64 },
        ]
    }
}

/// Ages of missed due times that fall evenly: the first, the same less a step, and so on. None is below 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// The first and largest.
    pub first_ns: i64,
    /// Difference of each age to the one before it, which is larger.
    pub step_ns: i64,
    /// Number of ages.
    pub count: u64,
}

impl Ages {
    /// Counts the ages above a limit in nanoseconds.
    pub fn count_above(&self, limit_ns: i64) -> u64 {
        match self.first_ns.saturating_sub(limit_ns) {
            ..=0 => 0,
            _ if self.step_ns == 0 => self.count,
            excess_ns => self.count.min(((excess_ns - 1) / self.step_ns) as u64 + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_age_ns(a: &Activation) -> Vec<i64> {
        let ages = a.missed_ages(1_000).into_iter();
        ages.flat_map(|ages| (0..ages.count).map(move |k| ages.first_ns - k as i64 * ages.step_ns)).collect()
    }

    #[test]
    fn times_missed_during_a_stall_age_from_the_start() {
        let stall = Activation { start_ns: 5_300, end_ns: 5_300, missed: 5, ..Activation::default() };
        assert_eq!(each_age_ns(&stall), [4_300, 3_300, 2_300, 1_300, 300]);
    }

    #[test]
    fn times_missed_while_working_age_from_the_end() {
        let a = Activation { start_ns: 1_200, end_ns: 3_500, missed: 3, ..Activation::default() };
        assert_eq!(each_age_ns(&a), [200, 1_500, 500]);
    }

    #[test]
    fn a_stretch_of_ages_is_what_its_ages_are() {
        let a = Activation { start_ns: 1_200, end_ns: 3_500, missed: 5, ..Activation::default() };
        let each = each_age_ns(&a);
        assert_eq!(each, [200, 1_500, 500, 0, 0]);
        for limit in [-1, 0, 199, 200, 499, 500, 1_499, 1_500] {
            let above: u64 = a.missed_ages(1_000).iter().map(|ages| ages.count_above(limit)).sum();
            assert_eq!(above, each.iter().filter(|age| **age > limit).count() as u64, "{limit}");
        }
    }

    #[test]
    fn early_is_negative() {
        let a = Activation { due_ns: 100, start_ns: 40, end_ns: 45, ..Activation::default() };
        assert_eq!((a.latency_ns(), a.execution_ns(), a.response_ns()), (-60, 5, -55));
    }
}
