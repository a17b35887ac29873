//! State of a task's thread: running, waiting for the processor or for something else; and its wake-ups.

use std::collections::{HashSet, VecDeque};

use super::event::{Call, Event, EventKind, Functions, HandlerKind, Name, PrevState};
use super::processor::{Occupant, Processor};
use super::track::Track;

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
    Lock { inherits: bool },
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
    /// A timer.
    Timer,
    /// Another handler.
    Handler(Name),
    /// Another thread, with its name if known.
    Thread(i32, Option<Name>),
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
    timer: u64,
}

/// An action of another thread on this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadAction {
    /// Its time, in ns.
    pub t_ns: i64,
    /// Name of the acting thread, if known.
    pub who: Option<Name>,
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
    pub frozen: Track<Option<Option<Name>>>,
    /// Its priority in kernel numbering.
    pub priority: i16,
    /// Knowledge of its CPU quota.
    pub quota: Quota,
    /// Timer of its next budget under SCHED_DEADLINE, once set, and whether the budget was used up before.
    budget: Option<(u64, bool)>,
    /// Timers of budgets that are not its own, but of the fair server.
    foreign_budgets: HashSet<u64>,
    /// System call that has not returned.
    open: Option<Call>,
    /// True if its calls are recorded.
    has_called: bool,
    /// True if its own last event was a page fault.
    has_faulted: bool,
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
            priority: 120,
            quota: Quota::default(),
            budget: None,
            foreign_budgets: HashSet::new(),
            open: None,
            has_called: false,
            has_faulted: false,
            expired: None,
        }
    }

    fn now(&self) -> State {
        self.state.last().map_or(State::Unknown, |(_, state)| state)
    }

    /// Takes the next event of any processor; `on` is its processor, which has taken it already. `by` is the
    /// name of the thread in whose context it happened.
    pub fn event(&mut self, event: &Event, on: &Processor, f: Functions, by: Option<Name>) {
        let (t, cpu) = (event.t_ns, event.cpu);
        match &event.what {
            EventKind::Switch { to, priority, .. } if *to == self.pid => {
                self.priority = *priority;
                self.budget = None;
                self.state.push(t, State::Running(cpu));
            }
            EventKind::Switch { from, from_priority, leaves, .. } if *from == self.pid => {
                self.priority = *from_priority;
                let state = self.left(*leaves).map_or(State::Ready(cpu), State::Off);
                self.state.push(t, state);
            }
            EventKind::Waking { pid, cpu: target } if *pid == self.pid => {
                self.expired = None;
                self.wakes.push_back(Wake { t_ns: t, cpu, by: waker(event, on) });
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
                self.wakes.push_back(Wake { t_ns: t, cpu, by: Waker::Timer });
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
                    true => self.priority < 0 && !self.foreign_budgets.contains(timer),
                    false => !event.in_interrupt,
                };
                if is_own && is_budget {
                    self.budget = Some((*timer, event.in_interrupt));
                }
                if is_own {
                    let (soft_ns, hard_ns) = (*soft_ns, *hard_ns);
                    self.armed.push_back(Armed { t_ns: t, soft_ns, hard_ns, timer: *timer });
                    self.has_faulted = false;
                }
            }
            EventKind::PageFault => {
                self.faults.push_back(t);
                self.has_faulted = true;
            }
            EventKind::Call { call, .. } => {
                (self.open, self.has_called, self.has_faulted) = (Some(*call), true, false);
            }
            EventKind::Return { .. } => (self.open, self.has_faulted) = (None, false),
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
    fn left(&self, leaves: PrevState) -> Option<Off> {
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
            (PrevState::Sleeps, None) if self.has_called && !self.has_faulted => Off::Frozen,
            (PrevState::Sleeps, _) => Off::Sleeps,
            (PrevState::SleepsDeeply, _) if self.has_faulted => Off::Fault,
            // The freezer of an older control group, or that of a suspended system.
            (PrevState::SleepsDeeply, None) if self.has_called => Off::Frozen,
            (PrevState::SleepsDeeply, _) => Off::SleepsDeeply,
        })
    }

    /// Notes that a control group is frozen or thawed, and by which thread.
    pub fn freeze(&mut self, t_ns: i64, path: &str, by: Option<Option<Name>>) {
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

    /// Events were lost from this time on: the state is unknown until the next event.
    pub fn lost(&mut self, from_ns: i64) {
        (self.open, self.has_called, self.expired) = (None, false, None);
        self.state.push(from_ns, State::Unknown);
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

    /// Returns the last timer set before this time.
    pub fn armed_before(&self, t_ns: i64) -> Option<&Armed> {
        self.armed.get(self.armed.partition_point(|armed| armed.t_ns <= t_ns).checked_sub(1)?)
    }

    /// Forgets everything before this time that no longer holds.
    pub fn forget_before(&mut self, t_ns: i64) {
        self.state.forget_before(t_ns);
        let before = |t: i64| t < t_ns;
        while self.wakes.front().is_some_and(|w| before(w.t_ns)) {
            self.wakes.pop_front();
        }
        while self.armed.get(1).is_some_and(|a| before(a.t_ns)) {
            self.armed.pop_front();
        }
        for times in [&mut self.faults, &mut self.moves] {
            while times.front().is_some_and(|t| before(*t)) {
                times.pop_front();
            }
        }
        // The last action may still have effect.
        for deeds in [&mut self.stops, &mut self.tracers, &mut self.holders] {
            while deeds.get(1).is_some_and(|deed| before(deed.t_ns)) {
                deeds.pop_front();
            }
        }
        while self.quota.used_up.front().is_some_and(|(_, to)| before(*to)) {
            self.quota.used_up.pop_front();
        }
        self.frozen.forget_before(t_ns);
    }
}

/// Returns the name of the thread that acted last before a time.
pub fn last_deed(deeds: &VecDeque<ThreadAction>, until_ns: i64) -> Option<Name> {
    deeds.get(deeds.partition_point(|deed| deed.t_ns <= until_ns).checked_sub(1)?)?.who
}

/// Returns the source of a wake-up from the occupant of its processor.
fn waker(event: &Event, on: &Processor) -> Waker {
    match on.ran.last() {
        Some((_, Occupant::Callback(_) | Occupant::Tracer)) => Waker::Timer,
        Some((_, Occupant::Handler(handler))) if handler.kind == HandlerKind::Timer => Waker::Timer,
        Some((_, Occupant::Handler(handler))) => Waker::Handler(handler.name),
        Some((_, Occupant::Thread(thread))) if !event.in_interrupt => Waker::Thread(thread.pid, thread.name),
        _ => Waker::Thread(event.pid, None),
    }
}
