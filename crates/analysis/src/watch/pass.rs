//! Waits of a thread, one after the other.

use std::collections::HashMap;

use jitterlab_model::watched::Waits;

use crate::causes::{Call, Event, EventKind, HandlerKind, Name, Names, PrevState, same_clock};

/// Identity of a wait: the same call for the same object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitKey {
    /// The system call.
    pub call: Call,
    /// The object it waits for: a file's number, a futex's address; 0 if it is only a time.
    pub object: u64,
}

/// One wait of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Identity of the wait.
    pub key: WaitKey,
    /// Time at which it called the kernel, in ns.
    pub began_ns: i64,
    /// Time at which it returned, in ns.
    pub ended_ns: i64,
    /// The processor it returned on.
    pub cpu: u16,
    /// Its way to wait, as far as this pass shows it.
    pub waits: Waits,
    /// Expiry of the own timer that ended it, on CLOCK_MONOTONIC.
    pub due_ns: Option<i64>,
}

/// Callbacks of timers that end waits.
#[derive(Debug, Clone, Copy)]
struct Functions {
    sleep: Name,
    file: Name,
    signals: [Name; 2],
    budget: Name,
}

/// Source of the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Timer,
    Thread,
    Softirq,
    Interrupt,
}

/// A system call that has not returned.
#[derive(Debug, Clone, Copy)]
struct Open {
    call: Call,
    arguments: [u64; 3],
    began_ns: i64,
    slept: bool,
    ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    soft_ns: i64,
    function: Name,
}

/// Tracks one thread.
#[derive(Debug)]
pub struct Passes {
    pid: i32,
    functions: Functions,
    /// Offset from CLOCK_REALTIME to CLOCK_MONOTONIC, in ns.
    to_monotonic_ns: i64,
    open: Option<Open>,
    /// Timers that are set. If a timer is set again in the call that takes its expiry, that expiry is kept
    /// here instead.
    timers: HashMap<u64, Timer>,
    taken: Option<Timer>,
    /// Nested handlers of each processor, innermost last.
    nest: HashMap<u16, Vec<HandlerKind>>,
}

impl Passes {
    /// Tracks the thread of this number.
    pub fn new(pid: i32, names: &mut Names, to_monotonic_ns: i64) -> Self {
        let mut name = |name: &str| names.number(name);
        let functions = Functions {
            sleep: name("hrtimer_wakeup"),
            file: name("timerfd_tmrproc"),
            signals: [name("posix_timer_fn"), name("it_real_fn")],
            budget: name("dl_task_timer"),
        };
        Passes {
            pid,
            functions,
            to_monotonic_ns,
            open: None,
            timers: HashMap::new(),
            taken: None,
            nest: HashMap::new(),
        }
    }

    /// Notes that events were left out: open calls are unknown from here on.
    pub fn restart(&mut self) {
        (self.open, self.taken) = (None, None);
        self.timers.clear();
        self.nest.clear();
    }

    /// Takes the next event of any processor, and returns the wait that it ends.
    pub fn event(&mut self, event: &Event) -> Option<Pass> {
        match &event.what {
            EventKind::Enter(handler) => self.nest.entry(event.cpu).or_default().push(handler.kind),
            EventKind::Exit(handler) => {
                let nest = self.nest.entry(event.cpu).or_default();
                if let Some(place) = nest.iter().rposition(|kind| *kind == handler.kind) {
                    nest.truncate(place);
                }
            }
            EventKind::Waking { pid, .. } if *pid == self.pid => {
                let ended = self.waker(event);
                if let Some(open) = &mut self.open {
                    open.ended = Some(ended);
                }
            }
            EventKind::Switch { from, leaves, .. } if *from == self.pid => {
                if let Some(open) = &mut self.open {
                    open.slept |= *leaves != PrevState::Ready || open.call == Call::Yield;
                }
            }
            EventKind::Switch { .. } => {
                self.nest.remove(&event.cpu);
            }
            EventKind::CallsLost => self.restart(),
            _ if event.pid != self.pid => {}
            EventKind::TimerStart { timer, function, soft_ns, .. } if !event.in_interrupt => {
                self.set(*timer, *function, *soft_ns, event.t_ns);
            }
            EventKind::Call { call, arguments, .. } => {
                self.open = Some(Open {
                    call: *call,
                    arguments: *arguments,
                    began_ns: event.t_ns,
                    slept: false,
                    ended: None,
                });
                self.taken = None;
            }
            EventKind::Return { .. } => return self.returned(event),
            _ => {}
        }
        None
    }

    fn waker(&self, event: &Event) -> Ended {
        let innermost = self.nest.get(&event.cpu).and_then(|nest| nest.last());
        match innermost {
            _ if !event.in_interrupt => Ended::Thread,
            Some(HandlerKind::Device | HandlerKind::Vector) => Ended::Interrupt,
            Some(HandlerKind::Softirq) => Ended::Softirq,
            Some(HandlerKind::Timer) | None => Ended::Timer,
        }
    }

    fn set(&mut self, timer: u64, function: Name, soft_ns: i64, now_ns: i64) {
        let f = self.functions;
        if ![f.sleep, f.file, f.signals[0], f.signals[1], f.budget].contains(&function) {
            return;
        }
        let is_monotonic = same_clock(soft_ns, now_ns);
        let soft_ns = if is_monotonic { soft_ns } else { soft_ns.saturating_add(self.to_monotonic_ns) };
        // A periodic timer is set again when its expiry is taken: the wait that takes it was for the previous time.
        let before = self.timers.insert(timer, Timer { soft_ns, function });
        if let Some(before) = before.filter(|before| before.soft_ns <= now_ns && self.open.is_some()) {
            self.taken = Some(before);
        }
    }

    fn returned(&mut self, event: &Event) -> Option<Pass> {
        let open = self.open.take()?;
        if matches!(open.call, Call::Other(_) | Call::Lock { .. }) {
            return None;
        }
        // An expired timer ends the wait, whether the thread slept for it or found it past; the last of several.
        let expired = self.timers.values().filter(|timer| timer.soft_ns <= event.t_ns);
        let timer = expired.copied().chain(self.taken.take()).max_by_key(|timer| timer.soft_ns);
        // Timers of sleeps live no longer than their call.
        let sleep = self.functions.sleep;
        self.timers.retain(|_, timer| timer.function != sleep && timer.soft_ns > event.t_ns);
        if !open.slept && timer.is_none() {
            return None;
        }
        let timer = timer.filter(|_| matches!(open.ended, None | Some(Ended::Timer)));
        let key = WaitKey { call: open.call, object: object(open.call, &open.arguments) };
        let waits = self.waits(&open, timer)?;
        let due_ns = timer.map(|timer| timer.soft_ns);
        Some(Pass { key, began_ns: open.began_ns, ended_ns: event.t_ns, cpu: event.cpu, waits, due_ns })
    }

    fn waits(&self, open: &Open, timer: Option<Timer>) -> Option<Waits> {
        let f = self.functions;
        let by = timer.map(|timer| timer.function);
        Some(match open.call {
            Call::ClockNanosleep if open.arguments[1] & 1 == 1 => Waits::Nanosleep,
            Call::Nanosleep | Call::ClockNanosleep => Waits::NanosleepRelative,
            Call::Yield => timer.filter(|timer| timer.function == f.budget).map(|_| Waits::Deadline)?,
            _ if by == Some(f.file) => Waits::Timerfd,
            _ if by.is_some_and(|by| f.signals.contains(&by)) => Waits::TimerSignal,
            Call::Futex if by.is_some() => Waits::TimedFutex,
            Call::Futex => Waits::Futex,
            Call::Poll if by.is_some() => Waits::TimedPoll,
            _ => match open.ended {
                Some(Ended::Softirq) => Waits::Packet,
                Some(Ended::Interrupt) => Waits::Interrupt,
                _ => Waits::Read,
            },
        })
    }
}

/// Returns the object of a call, where different objects make different waits.
fn object(call: Call, arguments: &[u64; 3]) -> u64 {
    match call {
        Call::Read | Call::Poll => arguments[0],
        // A condition variable alternates between two neighbouring words.
        Call::Futex => arguments[0] & !7,
        _ => 0,
    }
}
