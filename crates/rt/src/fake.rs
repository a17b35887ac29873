//! A system whose time is a variable: wake-ups, work and signals happen to the nanosecond as scripted.
//!
//! ```
//! use jitterlab_rt::fake::FakeSystem;
//! use jitterlab_rt::system::{Slept, System};
//!
//! let system = FakeSystem::new(0);
//! system.script_latencies([70, 20]);
//! assert_eq!(system.sleep_until(1_000), Slept::ToTheEnd);
//! assert_eq!(system.now_ns(), 1_070);
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::system::{Slept, System};

#[derive(Debug, Default)]
struct State {
    now_ns: i64,
    read_cost_ns: i64,
    cpu_time_ns: i64,
    latencies: VecDeque<i64>,
    signals_at_ns: VecDeque<i64>,
    sleeps: u64,
}

/// Scripted time. Clones share the same time.
#[derive(Debug, Clone, Default)]
pub struct FakeSystem {
    state: Arc<Mutex<State>>,
}

impl FakeSystem {
    /// A system whose clock shows `now_ns`. Sleeps wake exactly on time, reading the clock takes no time.
    pub fn new(now_ns: i64) -> Self {
        let system = FakeSystem::default();
        system.state().now_ns = now_ns;
        system
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How late each further sleep wakes (negative: early). When the script is used up, sleeps are on time.
    pub fn script_latencies(&self, latencies_ns: impl IntoIterator<Item = i64>) {
        self.state().latencies.extend(latencies_ns);
    }

    /// Signals that arrive at these times, in order: a sleep across one is interrupted.
    pub fn script_signals(&self, at_ns: impl IntoIterator<Item = i64>) {
        self.state().signals_at_ns.extend(at_ns);
    }

    /// Makes every reading of the clock take this long.
    pub fn set_read_cost_ns(&self, cost_ns: i64) {
        self.state().read_cost_ns = cost_ns;
    }

    /// Lets time pass while the task computes.
    pub fn work(&self, ns: i64) {
        let mut state = self.state();
        state.now_ns += ns;
        state.cpu_time_ns += ns;
    }

    /// Lets time pass while something else runs on the task's processor.
    pub fn preempt(&self, ns: i64) {
        self.state().now_ns += ns;
    }

    /// How many sleeps there were.
    pub fn sleeps(&self) -> u64 {
        self.state().sleeps
    }
}

impl System for FakeSystem {
    fn now_ns(&self) -> i64 {
        let mut state = self.state();
        let now = state.now_ns;
        state.now_ns += state.read_cost_ns;
        state.cpu_time_ns += state.read_cost_ns;
        now
    }

    fn sleep_until(&self, due_ns: i64) -> Slept {
        let mut state = self.state();
        state.sleeps += 1;
        if let Some(signal) = state.signals_at_ns.front().copied().filter(|at| *at < due_ns) {
            state.signals_at_ns.pop_front();
            state.now_ns = state.now_ns.max(signal);
            return Slept::Interrupted;
        }
        let late = state.latencies.pop_front().unwrap_or(0);
        state.now_ns = state.now_ns.max(due_ns.saturating_add(late));
        Slept::ToTheEnd
    }

    fn current_cpu(&self) -> u16 {
        0
    }

    fn thread_cpu_time_ns(&self) -> i64 {
        self.state().cpu_time_ns
    }
}
