//! State of a task's thread: running, waiting for the processor or for something else; and its wake-ups.

use std::collections::{HashSet, VecDeque};

use super::event::{
    Call, Event, EventKind, Functions, HandlerKind, NameId, PrevState, is_same_clock, was_interrupted,
};
use super::processor::{Occupant, Processor};
use super::timeline::{Timeline, pop_front_while, pop_superseded};

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not known: events are missing.
    Unknown,
    /// Running on this processor.
    Running(u16),
    /// Ready to run, waiting for this processor.
    Ready(u16),
    /// Unable to run, for this reason.
    Off(OffReason),
}

/// Reason why a thread cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffReason {
    /// Waiting for a time, or for an action of others.
    Sleeps,
    /// Waiting in the kernel, uninterruptible by signals.
    SleepsDeeply,
    /// Waiting for a page of its memory to be read from disk.
    Fault,
    /// Waiting for a lock.
    Lock {
        /// True if the holder inherits the priority of waiting threads.
        inherits: bool,
    },
    /// A signal has stopped it.
    Stopped,
    /// A tracer has stopped it.
    Traced,
    /// Frozen: its timer has expired, and it was not woken.
    Frozen,
    /// Out of its SCHED_DEADLINE budget.
    Budget,
}

/// Source of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// A timer, by its identity where its callback did it.
    Timer(Option<u64>),
    /// The callback of a timer that the thread did not set.
    OtherTimer(NameId),
    /// Another handler.
    Handler(NameId),
    /// Another thread, with its name if known.
    Thread(i32, Option<NameId>),
}

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeUp {
    /// Time, in ns.
    pub t_ns: i64,
    /// Processor on which the waker ran.
    pub cpu: u16,
    /// Source of the wake-up.
    pub by: Waker,
    /// True if it came for a signal, and the wait did not end by it.
    pub interrupts: bool,
}

/// A timer that the thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArmedTimer {
    /// Time at which it was set, in ns.
    pub t_ns: i64,
    /// Time, in ns.
    pub soft_ns: i64,
    /// The latest time at which it is still on time, in ns.
    pub hard_ns: i64,
    /// True if it gives the thread its next budget under SCHED_DEADLINE.
    pub is_budget: bool,
    timer: u64,
}

impl ArmedTimer {
    /// Returns the timer as it is; if set on another clock than `due_ns`, as one that expires at `due_ns`.
    pub fn on_clock_of(self, due_ns: i64) -> Self {
        match is_same_clock(self.soft_ns, due_ns) {
            true => self,
            false => ArmedTimer { soft_ns: due_ns, hard_ns: due_ns + (self.hard_ns - self.soft_ns), ..self },
        }
    }
}

/// An action of another thread on this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadAction {
    /// Time, in ns.
    pub t_ns: i64,
    /// Name of the acting thread, if known.
    pub who: Option<NameId>,
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    /// Number of the thread.
    pub pid: i32,
    /// The threads of its process.
    pub siblings: Vec<i32>,
    /// The path of its control group, if known.
    pub group: Option<String>,
    /// State over time.
    pub state: Timeline<State>,
    /// Wake-ups, in order.
    pub wakes: VecDeque<WakeUp>,
    /// The timers it set.
    pub armed: VecDeque<ArmedTimer>,
    /// Times of page faults.
    pub faults: VecDeque<i64>,
    /// Times at which it was moved to another processor.
    pub moves: VecDeque<i64>,
    /// Signals that stop its process, with their senders.
    pub stops: VecDeque<ThreadAction>,
    /// Signals that report its stop to its tracer, with their receivers.
    pub tracers: VecDeque<ThreadAction>,
    /// Holders of locks that it lent its priority to.
    pub holders: VecDeque<ThreadAction>,
    /// Frozen state of its control group over time, with the name of the thread that froze it.
    pub frozen: Timeline<Option<Option<NameId>>>,
    /// Priority over time, in kernel numbering.
    pub priority: Timeline<i16>,
    /// True once a switch has shown it.
    was_seen: bool,
    /// Times in which events of its calls and faults were lost.
    pub lost_spans: VecDeque<(i64, i64)>,
    /// Knowledge of its CPU quota.
    pub quota: Quota,
    /// Timer of its next budget under SCHED_DEADLINE, once set, and whether the budget was used up before.
    budget: Option<(u64, bool)>,
    /// Timers of budgets that are not its own, but of the fair server.
    foreign_budgets: HashSet<u64>,
    /// System call that has not returned.
    open: Option<Call>,
    /// Time of its last call.
    called_ns: i64,
    /// True if its calls are recorded.
    has_called: bool,
    /// True if its own last event was a page fault.
    has_faulted: bool,
    /// Time of its return from a call that nothing interrupted, if it has not called or faulted since.
    returned_ns: Option<i64>,
    /// Processor and time at which its own timer's callback began, if the thread has not been woken.
    expired: Option<(u16, i64)>,
}

/// Knowledge of a thread's CPU quota.
#[derive(Debug, Default)]
pub struct Quota {
    /// True if a quota is set for its group or an ancestor.
    pub is_set: bool,
    /// Times between two readings of the counter in which it was used up.
    pub used_up: VecDeque<(i64, i64)>,
}

/// Signals that stop a process (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU), and the signal to the parent or tracer
/// of a thread that stops (SIGCHLD).
const STOPS: std::ops::RangeInclusive<i32> = 19..=22;
const CHILD: i32 = 17;
/// Most timers that are remembered.
const TIMERS: usize = 4_096;
/// Longest time from the return of a call to the work that the kernel put off until then.
const PUT_OFF_NS: i64 = 1_000_000;

impl Thread {
    pub fn new(pid: i32) -> Self {
        Thread {
            pid,
            siblings: Vec::new(),
            group: None,
            state: Timeline::new(State::Unknown),
            wakes: VecDeque::new(),
            armed: VecDeque::new(),
            faults: VecDeque::new(),
            moves: VecDeque::new(),
            stops: VecDeque::new(),
            tracers: VecDeque::new(),
            holders: VecDeque::new(),
            frozen: Timeline::new(None),
            priority: Timeline::new(120),
            was_seen: false,
            lost_spans: VecDeque::new(),
            quota: Quota::default(),
            budget: None,
            foreign_budgets: HashSet::new(),
            open: None,
            called_ns: i64::MIN,
            has_called: false,
            has_faulted: false,
            returned_ns: None,
            expired: None,
        }
    }

    fn current_state(&self) -> State {
        self.state.last().map_or(State::Unknown, |(_, state)| state)
    }

    /// Updates states, wake-ups and timers by the next event of any processor; `on` has processed it already. `by` is
    /// the name of the thread in whose context it happened.
    pub fn process_event(&mut self, event: &Event, on: &Processor, f: Functions, by: Option<NameId>) {
        let (t, cpu) = (event.t_ns, event.cpu);
        match &event.what {
            EventKind::Switch { to, priority, .. } if *to == self.pid => {
                self.record_priority(t, *priority);
                self.budget = None;
                self.state.push(t, State::Running(cpu));
            }
            EventKind::Switch { from, from_priority, prev_state, .. } if *from == self.pid => {
                self.record_priority(t, *from_priority);
                let state = self.off_reason(t, *prev_state).map_or(State::Ready(cpu), State::Off);
                self.state.push(t, state);
            }
            EventKind::Waking { pid, cpu: target } if *pid == self.pid => {
                self.expired = None;
                self.wakes.push_back(WakeUp {
                    t_ns: t,
                    cpu,
                    by: self.find_waker(event, on, f),
                    interrupts: false,
                });
                if self.current_state() == State::Off(OffReason::Stopped) {
                    // Signals until now have nothing to do with the next stop.
                    self.stops.push_back(ThreadAction { t_ns: t, who: None });
                }
                if !matches!(self.current_state(), State::Running(_)) {
                    self.state.push(t, State::Ready(*target));
                }
            }
            EventKind::Migrate { pid, to } if *pid == self.pid => {
                self.moves.push_back(t);
                if matches!(self.current_state(), State::Ready(_)) {
                    self.state.push(t, State::Ready(*to));
                }
            }
            EventKind::TimerExpire { timer, .. } if self.budget.is_some_and(|(own, _)| own == *timer) => {
                self.budget = None;
                self.wakes.push_back(WakeUp {
                    t_ns: t,
                    cpu,
                    by: Waker::Timer(Some(*timer)),
                    interrupts: false,
                });
                if matches!(self.current_state(), State::Off(_)) {
                    self.state.push(t, State::Ready(cpu));
                }
            }
            EventKind::TimerExpire { timer, function }
                if self.current_state() == State::Off(OffReason::Sleeps)
                    && *function == f.sleep
                    && self.armed.back().is_some_and(|armed| armed.timer == *timer) =>
            {
                self.expired = Some((cpu, t));
            }
            EventKind::TimerExpireEnd => {
                if let Some((_, expired_ns)) = self.expired.take_if(|(on, _)| *on == cpu)
                    && self.current_state() == State::Off(OffReason::Sleeps)
                {
                    self.state.push(expired_ns, State::Off(OffReason::Frozen));
                }
            }
            EventKind::TimerStart { timer, function, .. }
                if *function == f.replenish && event.pid != self.pid =>
            {
                self.foreign_budgets.insert(*timer);
            }
            EventKind::Signal { number, to, .. } if STOPS.contains(number) && self.is_own_or_sibling(*to) => {
                self.stops.push_back(ThreadAction { t_ns: t, who: by });
            }
            EventKind::Signal { number: CHILD, name, .. } if event.pid == self.pid => {
                self.tracers.push_back(ThreadAction { t_ns: t, who: Some(*name) });
            }
            // The lost events may include the end of its timer's callback.
            EventKind::Lost => self.expired = None,
            _ => {}
        }
        if event.pid == self.pid && !matches!(event.what, EventKind::Switch { .. } | EventKind::Lost) {
            self.process_own_event(event, f);
        }
    }

    /// Processes an event in the thread's context, which shows that it has the processor.
    fn process_own_event(&mut self, event: &Event, f: Functions) {
        let t = event.t_ns;
        match (self.current_state(), &event.what) {
            (State::Running(_), _) => {}
            // It spins until the holder releases the lock, whatever handlers run meanwhile.
            (State::Off(OffReason::Lock { .. }), what) if !matches!(what, EventKind::SyscallExit { .. }) => {}
            _ => self.state.push(t, State::Running(event.cpu)),
        }
        match &event.what {
            EventKind::TimerStart { timer, function, soft_ns, hard_ns } => {
                let is_budget = *function == f.replenish;
                let is_own = match is_budget {
                    // In a handler, the tick finds the budget used up.
                    true => {
                        self.priority.last().is_some_and(|(_, now)| now < 0)
                            && !self.foreign_budgets.contains(timer)
                    }
                    false => !event.in_interrupt,
                };
                if is_own && is_budget {
                    self.budget = Some((*timer, event.in_interrupt));
                }
                if is_own {
                    let (soft_ns, hard_ns) = (*soft_ns, *hard_ns);
                    self.armed.push_back(ArmedTimer { t_ns: t, soft_ns, hard_ns, is_budget, timer: *timer });
                    self.has_faulted = false;
                }
            }
            EventKind::PageFault => {
                self.faults.push_back(t);
                (self.has_faulted, self.returned_ns) = (true, None);
            }
            EventKind::SyscallEnter { call, .. } => {
                (self.open, self.has_called, self.has_faulted) = (Some(*call), true, false);
                (self.called_ns, self.returned_ns) = (t, None);
                // Called only where another thread has the lock: it may spin until that lets go.
                if *call == (Call::Lock { inherits: true }) {
                    self.state.push(t, State::Off(OffReason::Lock { inherits: true }));
                }
            }
            EventKind::SyscallExit { return_value } => {
                let call = self.open.take();
                self.has_faulted = false;
                if !was_interrupted(*return_value) {
                    self.returned_ns = Some(t);
                } else if call.is_some_and(|call| call != Call::Signal) {
                    self.note_interrupting_wake();
                }
            }
            EventKind::LendPriority { to, name }
                if *to != self.pid && self.open == Some(Call::Lock { inherits: true }) =>
            {
                self.holders.push_back(ThreadAction { t_ns: t, who: Some(*name) });
                self.state.push(t, State::Off(OffReason::Lock { inherits: true }));
            }
            _ => {}
        }
    }

    /// Returns the reason for which the thread leaves its processor; `None` if it is still ready to run.
    fn off_reason(&self, t_ns: i64, prev_state: PrevState) -> Option<OffReason> {
        // A file is closed, or what a control group owes is paid, behind the end of a call.
        let has_put_off = self.returned_ns.is_some_and(|returned_ns| t_ns - returned_ns < PUT_OFF_NS);
        let may_be_frozen = self.open.is_none() && self.has_called && !has_put_off;
        Some(match (prev_state, self.open) {
            (PrevState::Stopped, _) => OffReason::Stopped,
            (PrevState::Traced, _) => OffReason::Traced,
            (PrevState::Ready, _) => match self.budget? {
                (_, true) => OffReason::Budget,
                // It has yielded the rest of its budget.
                (_, false) => OffReason::Sleeps,
            },
            (PrevState::Sleeps, Some(Call::Lock { inherits })) => OffReason::Lock { inherits },
            // Outside of a call, it is the freezer, whose own event another processor may have.
            (PrevState::Sleeps, _) if may_be_frozen && !self.has_faulted => OffReason::Frozen,
            (PrevState::Sleeps, _) => OffReason::Sleeps,
            // Within a call, the fault may be over.
            (PrevState::SleepsDeeply, None) if self.has_faulted => OffReason::Fault,
            // The freezer of an older control group, or that of a suspended system.
            (PrevState::SleepsDeeply, _) if may_be_frozen => OffReason::Frozen,
            (PrevState::SleepsDeeply, _) => OffReason::SleepsDeeply,
        })
    }

    /// Notes that the thread's control group, or one above, is frozen by a thread, or thawed (`None`).
    pub fn note_freeze(&mut self, t_ns: i64, path: &str, by: Option<Option<NameId>>) {
        let is_above = |own: &String| {
            own.strip_prefix(path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.group.as_ref().is_some_and(is_above) {
            self.frozen.push(t_ns, by);
        }
    }

    fn is_own_or_sibling(&self, pid: i32) -> bool {
        pid == self.pid || self.siblings.contains(&pid)
    }

    /// Notes that events of this thread were lost between two times: its state is unknown until the next event.
    pub fn note_lost_events(&mut self, from_ns: i64, to_ns: i64) {
        (self.open, self.has_called, self.expired, self.returned_ns) = (None, false, None, None);
        self.lost_spans.push_back((from_ns, to_ns));
        self.state.push(to_ns, State::Unknown);
    }

    /// True if events of its calls and faults were lost within these times.
    pub fn has_lost_events(&self, from_ns: i64, to_ns: i64) -> bool {
        self.lost_spans.iter().any(|(from, to)| *from < to_ns && *to > from_ns)
    }

    /// Marks the last wake-up in this call as for a signal; one by a timer of its own ends the wait all the same.
    fn note_interrupting_wake(&mut self) {
        let called_ns = self.called_ns;
        let wake = self.wakes.back_mut().filter(|wake| wake.t_ns >= called_ns);
        if let Some(wake) = wake.filter(|wake| !matches!(wake.by, Waker::Timer(Some(_)))) {
            wake.interrupts = true;
        }
    }

    fn record_priority(&mut self, t_ns: i64, priority: i16) {
        // Before the first event of it, it most likely was the same.
        if !self.was_seen {
            (self.priority, self.was_seen) = (Timeline::new(priority), true);
        }
        self.priority.push(t_ns, priority);
    }

    /// Returns the priority at a time, in kernel numbering.
    pub fn priority_at(&self, t_ns: i64) -> i16 {
        self.priority.segments(t_ns, t_ns.saturating_add(1)).next().map_or(120, |(.., priority)| priority)
    }

    /// Returns the last wake-up after `after_ns` and up to `until_ns`.
    pub fn last_wake(&self, after_ns: i64, until_ns: i64) -> Option<&WakeUp> {
        let beyond = self.wakes.partition_point(|wake| wake.t_ns <= until_ns);
        self.wakes.get(beyond.checked_sub(1)?).filter(|wake| wake.t_ns > after_ns)
    }

    /// Returns the first wake-up from this time on.
    pub fn next_wake(&self, from_ns: i64) -> Option<&WakeUp> {
        self.wakes.get(self.wakes.partition_point(|wake| wake.t_ns < from_ns))
    }

    /// Returns the first wake-up from the end of a wait on that is not for a signal; if all are, the first of these.
    pub fn wake_ending_wait(&self, until_ns: i64) -> Option<&WakeUp> {
        let behind = self.wakes.partition_point(|wake| wake.t_ns < until_ns);
        self.wakes.range(behind..).find(|wake| !wake.interrupts).or_else(|| self.wakes.get(behind))
    }

    /// Returns the timer behind a wake-up, as it was set last before.
    pub fn timer_behind(&self, wake: &WakeUp) -> Option<&ArmedTimer> {
        let set = self.armed.partition_point(|armed| armed.t_ns <= wake.t_ns);
        let mut before = self.armed.range(..set).rev();
        match wake.by {
            Waker::Timer(Some(timer)) => before.find(|armed| armed.timer == timer),
            _ => before.next(),
        }
    }

    /// Returns the last timer set before this time.
    pub fn last_timer_before(&self, t_ns: i64) -> Option<&ArmedTimer> {
        self.armed.get(self.armed.partition_point(|armed| armed.t_ns <= t_ns).checked_sub(1)?)
    }

    /// Finds the source of a wake-up from the occupant of the processor.
    fn find_waker(&self, event: &Event, on: &Processor, f: Functions) -> Waker {
        match on.occupants.last() {
            Some((_, Occupant::Callback(function))) => match on.expiring {
                Some(timer) if function == f.sleep || self.armed.iter().any(|armed| armed.timer == timer) => {
                    Waker::Timer(Some(timer))
                }
                Some(_) => Waker::OtherTimer(function),
                None => Waker::Timer(None),
            },
            Some((_, Occupant::Tracer)) => Waker::Timer(None),
            Some((_, Occupant::Handler(handler))) if handler.kind == HandlerKind::Timer => Waker::Timer(None),
            Some((_, Occupant::Handler(handler))) => Waker::Handler(handler.name),
            Some((_, Occupant::Thread(thread))) if !event.in_interrupt => {
                Waker::Thread(thread.pid, thread.name)
            }
            _ => Waker::Thread(event.pid, None),
        }
    }

    /// Forgets everything before this time that no longer holds.
    pub fn forget_before(&mut self, t_ns: i64) {
        self.state.forget_before(t_ns);
        let before = |t: i64| t < t_ns;
        pop_front_while(&mut self.wakes, |wake| before(wake.t_ns));
        // Each timer as it was set last may still expire.
        let mut kept = HashSet::new();
        let latest: Vec<bool> =
            self.armed.iter().rev().map(|armed| kept.insert(armed.timer) || !before(armed.t_ns)).collect();
        let mut latest = latest.into_iter().rev();
        self.armed.retain(|_| latest.next().unwrap_or(true));
        while self.armed.len() > TIMERS {
            self.armed.pop_front();
        }
        pop_front_while(&mut self.lost_spans, |(_, to)| before(*to));
        self.priority.forget_before(t_ns);
        pop_front_while(&mut self.faults, |t| before(*t));
        pop_front_while(&mut self.moves, |t| before(*t));
        // The last action may still have effect.
        for actions in [&mut self.stops, &mut self.tracers, &mut self.holders] {
            pop_superseded(actions, |action| before(action.t_ns));
        }
        pop_front_while(&mut self.quota.used_up, |(_, to)| before(*to));
        self.frozen.forget_before(t_ns);
    }
}

/// Returns the last action up to a time.
pub fn last_action(actions: &VecDeque<ThreadAction>, until_ns: i64) -> Option<&ThreadAction> {
    actions.get(actions.partition_point(|action| action.t_ns <= until_ns).checked_sub(1)?)
}
