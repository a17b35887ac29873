//! State of a task's thread: running, waiting for the processor or for something else; and its wake-ups.

use std::collections::{HashSet, VecDeque};

use super::event::{
    Call, Event, EventKind, Functions, HandlerKind, NameId, PrevState, same_clock, was_interrupted,
};
use super::processor::{Occupant, Processor};
use super::track::{Track, remove_past, remove_replaced};

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not known: events are missing.
    Unknown,
    /// It has a processor.
    Running(u16),
    /// It could run, and waits for this processor.
    Ready(u16),
    /// It cannot run.
    Off(Off),
}

/// Reason why a thread cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// It waits for a time, or for an action of others.
    Sleeps,
    /// It waits in the kernel, uninterruptible by signals.
    SleepsDeeply,
    /// It waits for a page of its memory to be read from disk.
    Fault,
    /// It waits for a lock.
    Lock {
        /// True if the holder inherits the priority of waiting threads.
        inherits: bool,
    },
    /// A signal has stopped it.
    Stopped,
    /// A tracer has stopped it.
    Traced,
    /// Its timer has expired, and it was not woken: it is frozen.
    Frozen,
    /// Its SCHED_DEADLINE budget is used up.
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
pub struct Wake {
    /// Its time, in ns.
    pub t_ns: i64,
    /// Processor on which the waker ran.
    pub cpu: u16,
    /// Its source.
    pub by: Waker,
    /// True if it came for a signal, and the wait did not end by it.
    pub interrupts: bool,
}

/// A timer that the thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// Time at which it was set, in ns.
    pub t_ns: i64,
    /// Its time, in ns.
    pub soft_ns: i64,
    /// The latest time at which it is still on time, in ns.
    pub hard_ns: i64,
    /// True if it gives the thread its next budget under SCHED_DEADLINE.
    pub is_budget: bool,
    timer: u64,
}

impl Armed {
    /// The same on the clock of this due time: the timer's own time where it is on another clock.
    pub fn as_due_at(self, due_ns: i64) -> Self {
        match same_clock(self.soft_ns, due_ns) {
            true => self,
            false => Armed { soft_ns: due_ns, hard_ns: due_ns + (self.hard_ns - self.soft_ns), ..self },
        }
    }
}

/// An action of another thread on this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadAction {
    /// Its time, in ns.
    pub t_ns: i64,
    /// Name of the acting thread, if known.
    pub who: Option<NameId>,
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    /// Its number.
    pub pid: i32,
    /// The threads of its process.
    pub siblings: Vec<i32>,
    /// The path of its control group, if known.
    pub group: Option<String>,
    /// Its state over time.
    pub state: Track<State>,
    /// Its wake-ups.
    pub wakes: VecDeque<Wake>,
    /// The timers it set.
    pub armed: VecDeque<Armed>,
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
    pub frozen: Track<Option<Option<NameId>>>,
    /// Its priority in kernel numbering over time.
    pub priority: Track<i16>,
    /// True once a switch has shown it.
    was_seen: bool,
    /// Times in which events of its calls and faults were lost.
    pub blind: VecDeque<(i64, i64)>,
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
            state: Track::new(State::Unknown),
            wakes: VecDeque::new(),
            armed: VecDeque::new(),
            faults: VecDeque::new(),
            moves: VecDeque::new(),
            stops: VecDeque::new(),
            tracers: VecDeque::new(),
            holders: VecDeque::new(),
            frozen: Track::new(None),
            priority: Track::new(120),
            was_seen: false,
            blind: VecDeque::new(),
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

    fn now(&self) -> State {
        self.state.last().map_or(State::Unknown, |(_, state)| state)
    }

    /// Takes the next event of any processor; `on` is its processor, which has taken it already. `by` is the
    /// name of the thread in whose context it happened.
    pub fn event(&mut self, event: &Event, on: &Processor, f: Functions, by: Option<NameId>) {
        let (t, cpu) = (event.t_ns, event.cpu);
        match &event.what {
            EventKind::Switch { to, priority, .. } if *to == self.pid => {
                self.has_priority(t, *priority);
                self.budget = None;
                self.state.push(t, State::Running(cpu));
            }
            EventKind::Switch { from, from_priority, leaves, .. } if *from == self.pid => {
                self.has_priority(t, *from_priority);
                let state = self.left(t, *leaves).map_or(State::Ready(cpu), State::Off);
                self.state.push(t, state);
            }
            EventKind::Waking { pid, cpu: target } if *pid == self.pid => {
                self.expired = None;
                self.wakes.push_back(Wake { t_ns: t, cpu, by: self.waker(event, on, f), interrupts: false });
                if self.now() == State::Off(Off::Stopped) {
                    // Signals until now have nothing to do with the next stop.
                    self.stops.push_back(ThreadAction { t_ns: t, who: None });
                }
                if !matches!(self.now(), State::Running(_)) {
                    self.state.push(t, State::Ready(*target));
                }
            }
            EventKind::Migrate { pid, to } if *pid == self.pid => {
                self.moves.push_back(t);
                if matches!(self.now(), State::Ready(_)) {
                    self.state.push(t, State::Ready(*to));
                }
            }
            EventKind::Expire { timer, .. } if self.budget.is_some_and(|(own, _)| own == *timer) => {
                self.budget = None;
                self.wakes.push_back(Wake {
                    t_ns: t,
                    cpu,
                    by: Waker::Timer(Some(*timer)),
                    interrupts: false,
                });
                if matches!(self.now(), State::Off(_)) {
                    self.state.push(t, State::Ready(cpu));
                }
            }
            EventKind::Expire { timer, function }
                if self.now() == State::Off(Off::Sleeps)
                    && *function == f.sleep
                    && self.armed.back().is_some_and(|armed| armed.timer == *timer) =>
            {
                self.expired = Some((cpu, t));
            }
            EventKind::ExpireEnd => {
                if let Some((_, expired_ns)) = self.expired.take_if(|(on, _)| *on == cpu)
                    && self.now() == State::Off(Off::Sleeps)
                {
                    self.state.push(expired_ns, State::Off(Off::Frozen));
                }
            }
            EventKind::TimerStart { timer, function, .. }
                if *function == f.replenish && event.pid != self.pid =>
            {
                self.foreign_budgets.insert(*timer);
            }
            EventKind::Signal { number, to, .. } if STOPS.contains(number) && self.is_of_process(*to) => {
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
            self.own_event(event, f);
        }
    }

    /// Takes an event in the thread's context, which shows that it has the processor.
    fn own_event(&mut self, event: &Event, f: Functions) {
        let t = event.t_ns;
        match (self.now(), &event.what) {
            (State::Running(_), _) => {}
            // It spins until the holder releases the lock, whatever handlers run meanwhile.
            (State::Off(Off::Lock { .. }), what) if !matches!(what, EventKind::Return { .. }) => {}
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
                    self.armed.push_back(Armed { t_ns: t, soft_ns, hard_ns, is_budget, timer: *timer });
                    self.has_faulted = false;
                }
            }
            EventKind::PageFault => {
                self.faults.push_back(t);
                (self.has_faulted, self.returned_ns) = (true, None);
            }
            EventKind::Call { call, .. } => {
                (self.open, self.has_called, self.has_faulted) = (Some(*call), true, false);
                (self.called_ns, self.returned_ns) = (t, None);
                // Called only where another thread has the lock: it may spin until that lets go.
                if *call == (Call::Lock { inherits: true }) {
                    self.state.push(t, State::Off(Off::Lock { inherits: true }));
                }
            }
            EventKind::Return { answer } => {
                let call = self.open.take();
                self.has_faulted = false;
                if !was_interrupted(*answer) {
                    self.returned_ns = Some(t);
                } else if call.is_some_and(|call| call != Call::Signal) {
                    self.note_interrupting_wake();
                }
            }
            EventKind::Lends { to, name }
                if *to != self.pid && self.open == Some(Call::Lock { inherits: true }) =>
            {
                self.holders.push_back(ThreadAction { t_ns: t, who: Some(*name) });
                self.state.push(t, State::Off(Off::Lock { inherits: true }));
            }
            _ => {}
        }
    }

    /// Returns the state in which it leaves its processor; `None` if it is still ready to run.
    fn left(&self, t_ns: i64, leaves: PrevState) -> Option<Off> {
        // A file is closed, or what a control group owes is paid, behind the end of a call.
        let has_put_off = self.returned_ns.is_some_and(|returned_ns| t_ns - returned_ns < PUT_OFF_NS);
        let may_be_frozen = self.open.is_none() && self.has_called && !has_put_off;
        Some(match (leaves, self.open) {
            (PrevState::Stopped, _) => Off::Stopped,
            (PrevState::Traced, _) => Off::Traced,
            (PrevState::Ready, _) => match self.budget? {
                (_, true) => Off::Budget,
                // It has yielded the rest of its budget.
                (_, false) => Off::Sleeps,
            },
            (PrevState::Sleeps, Some(Call::Lock { inherits })) => Off::Lock { inherits },
            // Outside of a call, it is the freezer, whose own event another processor may have.
            (PrevState::Sleeps, _) if may_be_frozen && !self.has_faulted => Off::Frozen,
            (PrevState::Sleeps, _) => Off::Sleeps,
            // Within a call, the fault may be over.
            (PrevState::SleepsDeeply, None) if self.has_faulted => Off::Fault,
            // The freezer of an older control group, or that of a suspended system.
            (PrevState::SleepsDeeply, _) if may_be_frozen => Off::Frozen,
            (PrevState::SleepsDeeply, _) => Off::SleepsDeeply,
        })
    }

    /// Notes that a control group is frozen or thawed, and by which thread.
    pub fn freeze(&mut self, t_ns: i64, path: &str, by: Option<Option<NameId>>) {
        let is_above = |own: &String| {
            own.strip_prefix(path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.group.as_ref().is_some_and(is_above) {
            self.frozen.push(t_ns, by);
        }
    }

    fn is_of_process(&self, pid: i32) -> bool {
        pid == self.pid || self.siblings.contains(&pid)
    }

    /// Events of this thread were lost between two times: its state is unknown from then on until the next event.
    pub fn lost(&mut self, from_ns: i64, to_ns: i64) {
        (self.open, self.has_called, self.expired, self.returned_ns) = (None, false, None, None);
        self.blind.push_back((from_ns, to_ns));
        self.state.push(to_ns, State::Unknown);
    }

    /// True if events of its calls and faults were lost within these times.
    pub fn is_blind(&self, from_ns: i64, to_ns: i64) -> bool {
        self.blind.iter().any(|(from, to)| *from < to_ns && *to > from_ns)
    }

    /// The wake-up in this call, if there was one, came for a signal. One by a timer of its own ends the wait all the same.
    fn note_interrupting_wake(&mut self) {
        let called_ns = self.called_ns;
        let wake = self.wakes.back_mut().filter(|wake| wake.t_ns >= called_ns);
        if let Some(wake) = wake.filter(|wake| !matches!(wake.by, Waker::Timer(Some(_)))) {
            wake.interrupts = true;
        }
    }

    fn has_priority(&mut self, t_ns: i64, priority: i16) {
        // Before the first event of it, it most likely was the same.
        if !self.was_seen {
            (self.priority, self.was_seen) = (Track::new(priority), true);
        }
        self.priority.push(t_ns, priority);
    }

    /// Its priority then, in kernel numbering.
    pub fn priority_at(&self, t_ns: i64) -> i16 {
        self.priority.over(t_ns, t_ns.saturating_add(1)).next().map_or(120, |(.., priority)| priority)
    }

    /// Returns the last wake-up after one time and up to another.
    pub fn last_wake(&self, after_ns: i64, until_ns: i64) -> Option<&Wake> {
        let beyond = self.wakes.partition_point(|wake| wake.t_ns <= until_ns);
        self.wakes.get(beyond.checked_sub(1)?).filter(|wake| wake.t_ns > after_ns)
    }

    /// Returns the first wake-up from this time on.
    pub fn next_wake(&self, from_ns: i64) -> Option<&Wake> {
        self.wakes.get(self.wakes.partition_point(|wake| wake.t_ns < from_ns))
    }

    /// Returns the wake-up that ends a wait that lasts until this time: none that came for a signal.
    pub fn end_of_wait(&self, from_ns: i64) -> Option<&Wake> {
        let behind = self.wakes.partition_point(|wake| wake.t_ns < from_ns);
        self.wakes.range(behind..).find(|wake| !wake.interrupts).or_else(|| self.wakes.get(behind))
    }

    /// Returns the timer that made a wake-up, as it was set last before.
    pub fn armed_for(&self, wake: &Wake) -> Option<&Armed> {
        let set = self.armed.partition_point(|armed| armed.t_ns <= wake.t_ns);
        let mut before = self.armed.range(..set).rev();
        match wake.by {
            Waker::Timer(Some(timer)) => before.find(|armed| armed.timer == timer),
            _ => before.next(),
        }
    }

    /// Returns the last timer set before this time.
    pub fn armed_before(&self, t_ns: i64) -> Option<&Armed> {
        self.armed.get(self.armed.partition_point(|armed| armed.t_ns <= t_ns).checked_sub(1)?)
    }

    /// Returns the source of a wake-up from the occupant of its processor.
    fn waker(&self, event: &Event, on: &Processor, f: Functions) -> Waker {
        match on.ran.last() {
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
        remove_past(&mut self.wakes, |wake| before(wake.t_ns));
        // Each timer as it was set last may still expire.
        let mut kept = HashSet::new();
        let latest: Vec<bool> =
            self.armed.iter().rev().map(|armed| kept.insert(armed.timer) || !before(armed.t_ns)).collect();
        let mut latest = latest.into_iter().rev();
        self.armed.retain(|_| latest.next().unwrap_or(true));
        while self.armed.len() > TIMERS {
            self.armed.pop_front();
        }
        remove_past(&mut self.blind, |(_, to)| before(*to));
        self.priority.forget_before(t_ns);
        remove_past(&mut self.faults, |t| before(*t));
        remove_past(&mut self.moves, |t| before(*t));
        // The last action may still have effect.
        for deeds in [&mut self.stops, &mut self.tracers, &mut self.holders] {
            remove_replaced(deeds, |deed| before(deed.t_ns));
        }
        remove_past(&mut self.quota.used_up, |(_, to)| before(*to));
        self.frozen.forget_before(t_ns);
    }
}

/// Returns the action last before a time.
pub fn last_deed(deeds: &VecDeque<ThreadAction>, until_ns: i64) -> Option<&ThreadAction> {
    deeds.get(deeds.partition_point(|deed| deed.t_ns <= until_ns).checked_sub(1)?)
}
