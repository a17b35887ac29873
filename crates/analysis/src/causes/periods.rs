//! Times at which kernel timers ended periods of limits: of real-time computing, of CPU quotas, and of budgets.

use std::collections::VecDeque;

use super::event::{Functions, Name};

/// Expiries of these timers on any processor.
#[derive(Debug, Default)]
pub struct Periods {
    limit: VecDeque<i64>,
    quota: VecDeque<i64>,
    budget: VecDeque<i64>,
}

impl Periods {
    /// Notes that a timer expired.
    pub fn expired(&mut self, t_ns: i64, function: Name, functions: Functions) {
        if function == functions.limit {
            self.limit.push_back(t_ns);
        } else if function == functions.quota {
            self.quota.push_back(t_ns);
        } else if function == functions.replenish {
            self.budget.push_back(t_ns);
        }
    }

    /// True if a period of the limit on real-time computing ended at most `within_ns` before a time.
    pub fn limit_ended(&self, within_ns: i64, t_ns: i64) -> bool {
        ended(&self.limit, within_ns, t_ns)
    }

    /// True if a period of a CPU quota ended at most `within_ns` before a time.
    pub fn quota_ended(&self, within_ns: i64, t_ns: i64) -> bool {
        ended(&self.quota, within_ns, t_ns)
    }

    /// True if a deadline thread got its next budget at most `within_ns` before a time.
    pub fn budget_began(&self, within_ns: i64, t_ns: i64) -> bool {
        ended(&self.budget, within_ns, t_ns)
    }

    /// Forgets everything before this time.
    pub fn forget_before(&mut self, t_ns: i64) {
        for times in [&mut self.limit, &mut self.quota, &mut self.budget] {
            while times.front().is_some_and(|t| *t < t_ns) {
                times.pop_front();
            }
        }
    }
}

fn ended(times: &VecDeque<i64>, within_ns: i64, t_ns: i64) -> bool {
    let last = times.partition_point(|t| *t <= t_ns).checked_sub(1).and_then(|place| times.get(place));
    last.is_some_and(|last| t_ns - last <= within_ns)
}
