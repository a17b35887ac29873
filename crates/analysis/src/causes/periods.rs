//! Times at which kernel timers ended periods of limits.

use std::collections::VecDeque;

use super::event::{Functions, NameId};
use super::timeline::pop_front_while;

/// A limit whose periods a timer of the kernel ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The limit on real-time computing.
    RealTime,
    /// A CPU quota.
    Quota,
    /// The budget of a deadline thread, which gets its next one.
    Budget,
}

/// Times at which periods of each limit ended, by timers on any processor.
#[derive(Debug, Default)]
pub struct LimitPeriods([VecDeque<i64>; 3]);

impl LimitPeriods {
    /// Notes that a timer expired, if it ends the period of a limit.
    pub fn note_expiry(&mut self, t_ns: i64, function: NameId, functions: Functions) {
        let of_limits = [functions.limit, functions.quota, functions.replenish];
        if let Some(limit) = of_limits.iter().position(|known| *known == function) {
            self.0[limit].push_back(t_ns);
        }
    }

    /// True if a period of a limit ended at most `within_ns` before a time.
    pub fn has_ended(&self, limit: Limit, within_ns: i64, t_ns: i64) -> bool {
        let times = &self.0[limit as usize];
        let last = times.partition_point(|t| *t <= t_ns).checked_sub(1).and_then(|place| times.get(place));
        last.is_some_and(|last| t_ns - last <= within_ns)
    }

    /// Forgets everything before this time.
    pub fn forget_before(&mut self, t_ns: i64) {
        self.0.iter_mut().for_each(|times| pop_front_while(times, |t| *t < t_ns));
    }
}
