//! What a task's thread did: whether it ran, waited for the processor or for something else, and what woke it.

use std::collections::VecDeque;

use super::event::{Event, HandlerKind, Name, What};
use super::processor::{Occupant, Processor};
use super::track::Track;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not known: events are missing.
    Unknown,
    /// It has a processor.
    Running(u16),
    /// It could run, and waits for this processor.
    Ready(u16),
    /// It waits for something else.
    Sleeping,
}

/// What woke a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// A timer.
    Timer,
    /// Another handler.
    Handler(Name),
    /// Another thread, of this name where it is known.
    Thread(Option<Name>),
}

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub t_ns: i64,
    /// On which processor the waker ran.
    pub cpu: u16,
    /// What it was.
    pub by: Waker,
}

/// A timer that the thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// When it was set.
    pub t_ns: i64,
    /// Its time.
    pub soft_ns: i64,
    /// The latest time at which it is still on time.
    pub hard_ns: i64,
}

/// Names of functions that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Functions {
    /// Gives a deadline thread its next budget: no event of a wake-up comes with it.
    pub replenish: Name,
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    /// Its number.
    pub pid: i32,
    /// What it did, over time.
    pub state: Track<State>,
    /// Its wake-ups.
    pub wakes: VecDeque<Wake>,
    /// The timers it set.
    pub armed: VecDeque<Armed>,
    /// Pages that were not there.
    pub faults: VecDeque<i64>,
    /// When it was moved to another processor.
    pub moves: VecDeque<i64>,
    /// Its priority as the kernel counts.
    pub priority: i16,
    /// The timer of its next budget, under SCHED_DEADLINE.
    budget: Option<u64>,
}

impl Thread {
    pub fn new(pid: i32) -> Self {
        Thread {
            pid,
            state: Track::new(State::Unknown),
            wakes: VecDeque::new(),
            armed: VecDeque::new(),
            faults: VecDeque::new(),
            moves: VecDeque::new(),
            priority: 120,
            budget: None,
        }
    }

    fn now(&self) -> State {
        self.state.last().map_or(State::Unknown, |(_, state)| state)
    }

    /// Takes the next event of any processor; `on` is the one it is of, which has taken it already.
    pub fn event(&mut self, event: &Event, on: &Processor, functions: Functions) {
        let (t, cpu) = (event.t_ns, event.cpu);
        match &event.what {
            What::Switch { to, priority, .. } if *to == self.pid => {
                self.priority = *priority;
                self.state.push(t, State::Running(cpu));
            }
            What::Switch { from, waits, .. } if *from == self.pid => {
                let sleeps = *waits || self.budget.is_some();
                self.state.push(t, if sleeps { State::Sleeping } else { State::Ready(cpu) });
            }
            What::Waking { pid, cpu: target } if *pid == self.pid => {
                self.wakes.push_back(Wake { t_ns: t, cpu, by: waker(event, on) });
                if !matches!(self.now(), State::Running(_)) {
                    self.state.push(t, State::Ready(*target));
                }
            }
            What::Migrate { pid, to } if *pid == self.pid => {
                self.moves.push_back(t);
                if matches!(self.now(), State::Ready(_)) {
                    self.state.push(t, State::Ready(*to));
                }
            }
            What::TimerStart { timer, function, soft_ns, hard_ns }
                if event.pid == self.pid && !event.in_interrupt =>
            {
                if *function == functions.replenish {
                    self.budget = Some(*timer);
                }
                self.armed.push_back(Armed { t_ns: t, soft_ns: *soft_ns, hard_ns: *hard_ns });
            }
            What::Expire { timer, .. } if self.budget == Some(*timer) => {
                self.budget = None;
                self.wakes.push_back(Wake { t_ns: t, cpu, by: Waker::Timer });
                if self.now() == State::Sleeping {
                    self.state.push(t, State::Ready(cpu));
                }
            }
            What::PageFault if event.pid == self.pid => self.faults.push_back(t),
            What::Lost if matches!(self.now(), State::Running(c) | State::Ready(c) if c == cpu) => {
                self.state.push(t, State::Unknown);
            }
            // Whatever happens in its context shows that it runs.
            _ if event.pid == self.pid && self.now() == State::Unknown && !event.in_interrupt => {
                self.state.push(t, State::Running(cpu));
            }
            _ => {}
        }
    }

    /// The last wake-up after one time and up to another.
    pub fn last_wake(&self, after_ns: i64, until_ns: i64) -> Option<&Wake> {
        let beyond = self.wakes.partition_point(|wake| wake.t_ns <= until_ns);
        self.wakes.get(beyond.checked_sub(1)?).filter(|wake| wake.t_ns > after_ns)
    }

    /// The first wake-up from this time on.
    pub fn next_wake(&self, from_ns: i64) -> Option<&Wake> {
        self.wakes.get(self.wakes.partition_point(|wake| wake.t_ns < from_ns))
    }

    /// The timer that was set last before this time.
    pub fn armed_before(&self, t_ns: i64) -> Option<&Armed> {
        self.armed.get(self.armed.partition_point(|armed| armed.t_ns <= t_ns).checked_sub(1)?)
    }

    /// Forgets what was before this time, but for what still holds.
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
    }
}

/// What ran where a wake-up happened.
fn waker(event: &Event, on: &Processor) -> Waker {
    match on.ran.last() {
        Some((_, Occupant::Callback(_) | Occupant::Tracer)) => Waker::Timer,
        Some((_, Occupant::Handler(handler))) if handler.kind == HandlerKind::Timer => Waker::Timer,
        Some((_, Occupant::Handler(handler))) => Waker::Handler(handler.name),
        Some((_, Occupant::Thread(thread))) if !event.in_interrupt => Waker::Thread(thread.name),
        _ => Waker::Thread(None),
    }
}
