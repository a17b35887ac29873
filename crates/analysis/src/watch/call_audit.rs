//! System calls of a watched loop in its activations, and the time spent in them.

use std::collections::BTreeMap;

use jitterlab_model::causes::SparseHistogram;
use jitterlab_model::watched::CallCount;

use super::wait_tracker::Wait;
use crate::causes::event::will_restart;
use crate::causes::{Call, Event, EventKind, NameId, NameTable};

/// Calls that are named, those that took longest.
const NAMED: usize = 12;

/// The calls of one thread.
#[derive(Debug)]
pub struct CallAudit {
    /// Callback of the timers that are read as files.
    file_timer: NameId,
    open: Option<PendingCall>,
    /// Calls since the last wait of the loop, by number.
    since: BTreeMap<i64, CallTotals>,
    calls: BTreeMap<i64, CallCosts>,
}

/// Call that has not returned.
#[derive(Debug)]
struct PendingCall {
    call: Call,
    number: i64,
    since_ns: i64,
    takes_expiry: bool,
}

/// Calls of one number: how many, and their total time in ns.
#[derive(Debug, Default)]
struct CallTotals {
    all: (u64, i64),
    /// Of these, those that took the expiry of a timer, which belongs to the wait.
    of_timers: (u64, i64),
}

#[derive(Debug, Default)]
struct CallCosts {
    times: u64,
    lengths: SparseHistogram,
    worst_ns: i64,
}

impl CallAudit {
    /// Begins without calls.
    pub fn new(names: &mut NameTable) -> Self {
        let file_timer = names.intern("timerfd_tmrproc");
        CallAudit { file_timer, open: None, since: BTreeMap::new(), calls: BTreeMap::new() }
    }

    /// Adds up calls and their times by the next event of the thread's own context.
    pub fn process_event(&mut self, event: &Event) {
        match &event.what {
            EventKind::SyscallEnter { call, number, .. } => {
                let is_open = |open: &PendingCall| open.number == *number || *call == Call::Restart;
                if !self.open.as_ref().is_some_and(is_open) {
                    let (call, number) = (*call, *number);
                    self.open = Some(PendingCall { call, number, since_ns: event.t_ns, takes_expiry: false });
                }
            }
            // The read of a periodic timer sets it again.
            EventKind::TimerStart { function, .. } if *function == self.file_timer && !event.in_interrupt => {
                if let Some(open) = self.open.as_mut().filter(|open| open.call == Call::Read) {
                    open.takes_expiry = true;
                }
            }
            EventKind::SyscallExit { return_value } if !will_restart(*return_value) => {
                if let Some(open) = self.open.take() {
                    let since = self.since.entry(open.number).or_default();
                    let ns = event.t_ns - open.since_ns;
                    let add = |(times, sum): &mut (u64, i64)| (*times, *sum) = (*times + 1, *sum + ns);
                    add(&mut since.all);
                    if open.takes_expiry {
                        add(&mut since.of_timers);
                    }
                }
            }
            _ => {}
        }
    }

    /// Discards the calls of the current activation, of which events were lost.
    pub fn restart(&mut self) {
        self.open = None;
        self.since.clear();
    }

    /// Counts the calls since the last wait as the loop's work, without the wait itself, made by this call.
    pub fn note_wait(&mut self, wait: &Wait, number: i64) {
        let since = std::mem::take(&mut self.since);
        for (call, CallTotals { all: (times, ns), of_timers }) in since {
            let (own_times, own_ns) = match call == number {
                true => (1, wait.ended_ns - wait.began_ns),
                false => of_timers,
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

    /// Returns the 12 calls that took longest in one activation, the longest first; `name` returns a call's name.
    pub fn calls(&self, name: impl Fn(i64) -> String) -> Vec<CallCount> {
        let count = |(number, costs): (&i64, &CallCosts)| CallCount {
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
