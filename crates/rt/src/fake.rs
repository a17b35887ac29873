//! A system whose time is a variable: wake-ups, work, signals and set clocks happen to the nanosecond as scripted.
//!
//! ```
//! use jitterlab_model::SleepClock;
//! use jitterlab_rt::fake::FakeSystem;
//! use jitterlab_rt::system::{Sleep, Slept, System};
//!
//! let system = FakeSystem::new(0);
//! system.script_latencies([70, 20]);
//! assert_eq!(system.sleep(SleepClock::Monotonic, Sleep::Until(1_000))?, Slept::ToTheEnd);
//! assert_eq!(system.now_ns(), 1_070);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jitterlab_model::{Policy, SleepClock};

use crate::system::{Expired, Kernel, Sleep, Slept, System, Timer, TimerKind};

/// Event at a scripted time, in the middle of whatever sleep is going on.
#[derive(Debug, Clone, Copy)]
enum Event {
    Signal,
    CivilTimeMoves { by_ns: i64 },
    Error { number: i32 },
}

#[derive(Debug, Default)]
struct State {
    now_ns: i64,
    /// Civil time minus monotonic time.
    civil_offset_ns: i64,
    read_cost_ns: i64,
    cpu_time_ns: i64,
    latencies: VecDeque<i64>,
    /// In order of time.
    events: VecDeque<(i64, Event)>,
    watched: bool,
    sleeps: u64,
    cpu_time_readings: u64,
    policy: Option<Policy>,
    deadline: Option<DeadlineGrid>,
}

/// The kernel's periods of a deadline thread.
#[derive(Debug, Clone, Copy)]
struct DeadlineGrid {
    period_ns: i64,
    anchor_ns: Option<i64>,
}

impl State {
    fn offset_ns(&self, clock: SleepClock) -> i64 {
        match clock {
            SleepClock::Monotonic => 0,
            SleepClock::Realtime => self.civil_offset_ns,
            SleepClock::Tai => self.civil_offset_ns + TAI_MINUS_UTC_NS,
        }
    }

    /// Sleeps until `clock` shows `due_ns`. The next scripted latency is used only if the sleep comes to its end.
    fn sleep_until(&mut self, clock: SleepClock, due_ns: i64) -> io::Result<Slept> {
        self.sleeps += 1;
        loop {
            let wake_ns = due_ns.saturating_sub(self.offset_ns(clock)).max(self.now_ns);
            let Some((at, event)) = self.events.front().copied().filter(|(at, _)| *at < wake_ns) else {
                let late = self.latencies.pop_front().unwrap_or(0);
                self.now_ns = self.now_ns.max(wake_ns.saturating_add(late));
                if let Some(grid) = &mut self.deadline {
                    grid.anchor_ns.get_or_insert(self.now_ns);
                }
                return Ok(Slept::ToTheEnd);
            };
            self.events.pop_front();
            self.now_ns = self.now_ns.max(at);
            match event {
                Event::CivilTimeMoves { by_ns } => self.civil_offset_ns += by_ns,
                Event::Signal => return Ok(Slept::Interrupted),
                Event::Error { number } => return Err(io::Error::from_raw_os_error(number)),
            }
            if self.watched {
                return Ok(Slept::Interrupted);
            }
        }
    }
}

/// Difference of TAI and UTC since 2017.
const TAI_MINUS_UTC_NS: i64 = 37_000_000_000;

/// Scripted time. Clones share the same time.
#[derive(Debug, Clone, Default)]
pub struct FakeSystem {
    state: Arc<Mutex<State>>,
}

impl FakeSystem {
    /// Creates a system whose clock shows `now_ns`. Sleeps wake exactly on time, reading the clock takes no time.
    pub fn new(now_ns: i64) -> Self {
        let system = FakeSystem::default();
        system.lock_state().now_ns = now_ns;
        system.lock_state().civil_offset_ns = 1_700_000_000_000_000_000;
        system
    }

    /// Makes its thread a SCHED_DEADLINE thread of this period.
    #[must_use]
    pub fn with_deadline_period_ns(self, period_ns: i64) -> Self {
        self.lock_state().deadline = Some(DeadlineGrid { period_ns, anchor_ns: None });
        self.with_policy(Policy::Deadline { runtime_ns: period_ns })
    }

    /// Makes its thread run with this policy. Default: other.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        self.lock_state().policy = Some(policy);
        self
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scripts the latency of each further sleep (negative: early). When the script is used up, sleeps are on time.
    pub fn script_latencies(&self, latencies_ns: impl IntoIterator<Item = i64>) {
        self.lock_state().latencies.extend(latencies_ns);
    }

    fn script_event(&self, at_ns: i64, event: Event) {
        let events = &mut self.lock_state().events;
        let place = events.partition_point(|(at, _)| *at <= at_ns);
        events.insert(place, (at_ns, event));
    }

    /// Scripts signals at these times: a sleep across one is interrupted.
    pub fn script_signals(&self, at_ns: impl IntoIterator<Item = i64>) {
        at_ns.into_iter().for_each(|at| self.script_event(at, Event::Signal));
    }

    /// Scripts an error: a sleep across `at_ns` fails with this number of an error (errno).
    pub fn script_error(&self, at_ns: i64, number: i32) {
        self.script_event(at_ns, Event::Error { number });
    }

    /// Scripts that civil time (realtime and TAI) is set by `by_ns` at `at_ns`. It takes effect in the next sleep
    /// across that time.
    pub fn script_clock_set(&self, at_ns: i64, by_ns: i64) {
        self.script_event(at_ns, Event::CivilTimeMoves { by_ns });
    }

    /// Makes every reading of the clock take this long.
    pub fn set_read_cost_ns(&self, cost_ns: i64) {
        self.lock_state().read_cost_ns = cost_ns;
    }

    /// Advances time as the task's own computing.
    pub fn work(&self, ns: i64) {
        let mut state = self.lock_state();
        state.now_ns += ns;
        state.cpu_time_ns += ns;
    }

    /// Advances time while something else runs on the task's processor.
    pub fn preempt(&self, ns: i64) {
        self.lock_state().now_ns += ns;
    }

    /// Returns the number of readings of the thread's processor time, which is a system call on a real one.
    pub fn cpu_time_readings(&self) -> u64 {
        self.lock_state().cpu_time_readings
    }

    /// Returns the number of sleeps.
    pub fn sleeps(&self) -> u64 {
        self.lock_state().sleeps
    }
}

/// Interrupts sleeps on a [`FakeSystem`] when its civil time is set.
#[derive(Debug)]
struct FakeWatch(FakeSystem);

impl Drop for FakeWatch {
    fn drop(&mut self) {
        self.0.lock_state().watched = false;
    }
}

impl System for FakeSystem {
    type Kernel = FakeSystem;

    fn now_ns(&self) -> i64 {
        let mut state = self.lock_state();
        let now = state.now_ns;
        state.now_ns += state.read_cost_ns;
        state.cpu_time_ns += state.read_cost_ns;
        now
    }

    fn kernel(&self) -> &FakeSystem {
        self
    }
}

impl Kernel for FakeSystem {
    fn clock_ns(&self, clock: SleepClock) -> i64 {
        let offset_ns = self.lock_state().offset_ns(clock);
        self.now_ns() + offset_ns
    }

    fn sleep_on(&self, clock: SleepClock, sleep: Sleep) -> io::Result<Slept> {
        let mut state = self.lock_state();
        match sleep {
            Sleep::Until(due_ns) => state.sleep_until(clock, due_ns),
            // As in the kernel, setting civil time does not change how long a relative sleep takes.
            Sleep::For(ns) => {
                let due_ns = state.now_ns.saturating_add(ns.max(0));
                state.sleep_until(SleepClock::Monotonic, due_ns)
            }
        }
    }

    fn timer(&self, kind: TimerKind, clock: SleepClock) -> io::Result<Box<dyn Timer>> {
        match (kind, clock) {
            (TimerKind::File, SleepClock::Tai) => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(Box::new(FakeTimer { system: self.clone(), clock, next_ns: None, interval_ns: 0 })),
        }
    }

    fn watch_civil_time(&self) -> io::Result<Box<dyn Send>> {
        self.lock_state().watched = true;
        Ok(Box::new(FakeWatch(self.clone())))
    }

    fn policy(&self) -> io::Result<Policy> {
        Ok(self.lock_state().policy.unwrap_or(Policy::Other))
    }

    fn end_deadline_job(&self) {
        let mut state = self.lock_state();
        // Anything but a deadline thread goes on at once.
        let Some(DeadlineGrid { period_ns, anchor_ns: Some(anchor_ns) }) = state.deadline else { return };
        let periods = (state.now_ns - anchor_ns).div_euclid(period_ns) + 1;
        let late = state.latencies.pop_front().unwrap_or(0);
        state.now_ns = anchor_ns + periods * period_ns + late;
    }

    fn current_cpu(&self) -> u16 {
        0
    }

    fn cpu_time_ns(&self) -> i64 {
        let mut state = self.lock_state();
        state.cpu_time_readings += 1;
        state.cpu_time_ns
    }
}

/// A timer of a [`FakeSystem`]: file or signal behave alike.
#[derive(Debug)]
struct FakeTimer {
    system: FakeSystem,
    clock: SleepClock,
    next_ns: Option<i64>,
    interval_ns: i64,
}

impl Timer for FakeTimer {
    fn arm(&mut self, first_ns: i64, interval_ns: i64) -> io::Result<()> {
        (self.next_ns, self.interval_ns) = (Some(first_ns), interval_ns);
        Ok(())
    }

    fn wait(&mut self) -> io::Result<Expired> {
        // Nothing would ever end this wait.
        let next_ns = self.next_ns.ok_or(io::ErrorKind::InvalidInput)?;
        let mut state = self.system.lock_state();
        if state.sleep_until(self.clock, next_ns)? == Slept::Interrupted {
            return Ok(Expired::Interrupted);
        }
        let now_ns = state.now_ns + state.offset_ns(self.clock);
        let times = 1 + (now_ns - next_ns).max(0).checked_div(self.interval_ns).unwrap_or(0);
        self.next_ns = Some(next_ns + times * self.interval_ns);
        Ok(Expired::Times(times as u64))
    }
}
