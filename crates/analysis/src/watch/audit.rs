//! System calls of a watched loop in its activations, and the time spent in them.

use std::collections::BTreeMap;

use jitterlab_model::causes::Bins;
use jitterlab_model::watched::CallCount;

use super::pass::{Pass, goes_on};
use crate::causes::{Call, Event, EventKind};

/// Calls that are named, those that took longest.
const NAMED: usize = 12;

/// The calls of one thread.
#[derive(Debug, Default)]
pub struct Audit {
    /// The call that has not returned: its number and time.
    open: Option<(i64, i64)>,
    /// Calls since the last wait of the loop, by number: how many, and their total time in ns.
    since: BTreeMap<i64, (u64, i64)>,
    calls: BTreeMap<i64, Costs>,
}

#[derive(Debug, Default)]
struct Costs {
    times: u64,
    lengths: Bins,
    worst_ns: i64,
}

impl Audit {
    /// Takes the next event of the thread's own context.
    pub fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::Call { call, number, .. } => {
                let goes_on = self.open.is_some_and(|(open, _)| open == *number || *call == Call::Restart);
                if !goes_on {
                    self.open = Some((*number, event.t_ns));
                }
            }
            EventKind::Return { answer } if !goes_on(*answer) => {
                if let Some((number, since_ns)) = self.open.take() {
                    let (times, ns) = self.since.entry(number).or_default();
                    *times += 1;
                    *ns += event.t_ns - since_ns;
                }
            }
            _ => {}
        }
    }

    /// Events were lost: of this activation not all is known.
    pub fn restart(&mut self) {
        self.open = None;
        self.since.clear();
    }

    /// Notes that the loop has waited for its next activation: the wait, made by this call, does not count as its work.
    pub fn waited(&mut self, wait: &Pass, number: i64) {
        let since = std::mem::take(&mut self.since);
        for (call, (times, ns)) in since {
            let (own_times, own_ns) = match call == number {
                true => (1, wait.ended_ns - wait.began_ns),
                false => (0, 0),
            };
            if times > own_times {
                let costs = self.calls.entry(call).or_default();
                let ns = (ns - own_ns).max(0);
                costs.times += times - own_times;
                costs.lengths.record(ns);
                costs.worst_ns = costs.worst_ns.max(ns);
            }
        }
    }

    /// Returns the calls, the one with the longest single call first; `name` returns a call's name.
    pub fn calls(&self, name: impl Fn(i64) -> String) -> Vec<CallCount> {
        let count = |(number, costs): (&i64, &Costs)| CallCount {
            number: *number,
            name: name(*number),
            times: costs.times,
            activations: costs.lengths.count(),
            p99_ns: costs.lengths.quantile_ns(0.99).unwrap_or(0).min(costs.worst_ns),
            worst_ns: costs.worst_ns,
        };
        let mut calls: Vec<CallCount> = self.calls.iter().map(count).collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.worst_ns));
        calls.truncate(NAMED);
        calls
    }
}
