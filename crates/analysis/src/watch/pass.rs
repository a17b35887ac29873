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

/// Answers of calls that a stop interrupted, and that go on after it (include/linux/errno.h): they have not returned.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// A tracer stops a call's return within this, before the program has its processor again.
const RETURNS_NS: i64 = 20_000;

/// True if this answer is none: the call goes on.
pub(super) fn goes_on(answer: i64) -> bool {
    RESTARTS.contains(&answer)
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

/// A wait whose call has returned, as far as the kernel's part of it.
#[derive(Debug)]
struct Returned {
    /// The wait; `None` if the call was none.
    pass: Option<Pass>,
    /// The stop by a tracer on the way back to the program.
    stop: Stop,
    /// The call and its timers, if it was interrupted: a stop lets it go on, a handler of a signal ends it.
    interrupted: Option<(Open, HashMap<u64, Timer>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    None,
    GoesOn,
    Over,
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
    returned: Option<Returned>,
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
            returned: None,
            timers: HashMap::new(),
            taken: None,
            nest: HashMap::new(),
        }
    }

    /// Notes that events were left out: open calls are unknown from here on.
    pub fn restart(&mut self) {
        (self.open, self.returned, self.taken) = (None, None, None);
        self.timers.clear();
        self.nest.clear();
    }

    /// Takes the next event of any processor, and returns the wait after which the program is known to have gone on.
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
                return self.left(event.t_ns, *leaves);
            }
            EventKind::Switch { to, .. } => {
                self.nest.remove(&event.cpu);
                if let Some(returned) = self.returned.as_mut().filter(|_| *to == self.pid)
                    && returned.stop == Stop::GoesOn
                    && let Some(pass) = &mut returned.pass
                {
                    returned.stop = Stop::Over;
                    (pass.ended_ns, pass.cpu) = (event.t_ns, event.cpu);
                }
            }
            EventKind::CallsLost { .. } => self.restart(),
            _ if event.pid != self.pid => {}
            EventKind::TimerStart { timer, function, soft_ns, .. } if !event.in_interrupt => {
                self.set(*timer, *function, *soft_ns, event.t_ns);
            }
            EventKind::Call { call, arguments, .. } => {
                self.taken = None;
                let (call, arguments, began_ns) = (*call, *arguments, event.t_ns);
                let returned = self.returned.take();
                let (pass, interrupted) = returned.map_or((None, None), |of| (of.pass, of.interrupted));
                if let Some((open, timers)) = interrupted
                    && [Call::Restart, open.call].contains(&call)
                {
                    self.timers = timers;
                    self.open = Some(Open { ended: None, ..open });
                    return None;
                }
                self.open = Some(Open { call, arguments, began_ns, slept: false, ended: None });
                return pass;
            }
            EventKind::Return { answer } => {
                let interrupted =
                    self.open.filter(|_| goes_on(*answer)).map(|open| (open, self.timers.clone()));
                let pass = self.wait_until(event);
                self.returned = Some(Returned { pass, stop: Stop::None, interrupted });
            }
            _ => {}
        }
        None
    }

    /// Notes that the thread has left its processor.
    fn left(&mut self, t_ns: i64, leaves: PrevState) -> Option<Pass> {
        let returned = self.returned.as_mut()?;
        let pass = returned.pass?;
        let is_on_its_way = returned.stop == Stop::None && t_ns - pass.ended_ns <= RETURNS_NS;
        if leaves == PrevState::Traced && is_on_its_way {
            returned.stop = Stop::GoesOn;
            return None;
        }
        if returned.interrupted.is_some() {
            return None;
        }
        returned.pass.take()
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

    /// Returns the wait that the open call was, which has returned now.
    fn wait_until(&mut self, event: &Event) -> Option<Pass> {
        let open = self.open.take()?;
        if matches!(open.call, Call::Other(_) | Call::Lock { .. } | Call::Restart) {
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
