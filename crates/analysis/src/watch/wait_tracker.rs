//! Waits of a thread, one after the other.

use std::collections::HashMap;

use jitterlab_model::watched::WaitKind;

use super::system_state::SystemState;
use crate::causes::event::was_interrupted;
use crate::causes::{Call, Event, EventKind, HandlerKind, NameId, NameTable, PrevState, is_same_clock};

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
pub struct Wait {
    /// Identity of the wait.
    pub key: WaitKey,
    /// Time at which it called the kernel, in ns.
    pub began_ns: i64,
    /// Time at which it returned, in ns.
    pub ended_ns: i64,
    /// The processor it returned on.
    pub cpu: u16,
    /// Its way to wait, as far as this wait shows it.
    pub waits: WaitKind,
    /// Expiry of the own timer that ended it, on CLOCK_MONOTONIC.
    pub due_ns: Option<i64>,
    /// Source of its end; `None` if it did not sleep, or if that is unknown.
    pub waker: Option<Waker>,
    /// True if its timer is one of CLOCK_REALTIME.
    pub on_realtime: bool,
    /// True if the clock of its timer was set meanwhile: its due time on CLOCK_MONOTONIC is unknown.
    pub clock_was_set: bool,
}

/// Source of the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waker {
    /// A timer.
    Timer,
    /// The thread of this number.
    Thread(i32),
    /// A softirq, such as that of a packet.
    Softirq,
    /// An interrupt of a device.
    Interrupt,
}

impl Waker {
    /// True if the end is an event that others make, so that the wait has no due time.
    pub(super) fn is_other(self) -> bool {
        self != Waker::Timer
    }
}

/// Callbacks of timers that end waits.
#[derive(Debug, Clone, Copy)]
struct TimerFunctions {
    sleep: NameId,
    file: NameId,
    signals: [NameId; 2],
    budget: NameId,
}

/// Number of `rt_sigreturn`, the last call of a signal's handler.
const SIGRETURN: i64 = if cfg!(target_arch = "x86_64") {
    15
} else if cfg!(target_arch = "arm") {
    173
} else {
    139
};
/// A tracer stops a call's return within this, before the program has its processor again.
const RETURNS_NS: i64 = 20_000;

/// System call that has not returned.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    call: Call,
    arguments: [u64; 3],
    began_ns: i64,
    slept: bool,
    waker: Option<Waker>,
}

/// A wait that a signal with a handler ended.
#[derive(Debug, Clone, Copy)]
struct SignalledWait {
    key: WaitKey,
    began_ns: i64,
    /// True if the handler has returned.
    is_handled: bool,
}

/// A wait whose call has returned, as far as the kernel's part of it.
#[derive(Debug)]
struct ReturnedCall {
    /// The wait; `None` if the call was none.
    wait: Option<Wait>,
    /// The stop by a tracer on the way back to the program.
    stop: TracerStop,
    /// The call and its timers, if it was interrupted: a stop lets it go on, a handler of a signal ends it.
    interrupted: Option<(OpenCall, HashMap<u64, Timer>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TracerStop {
    None,
    GoesOn,
    Over,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    /// Expiry on its own clock.
    soft_ns: i64,
    is_realtime: bool,
    function: NameId,
}

/// Tracks one thread.
#[derive(Debug)]
pub struct WaitTracker {
    pid: i32,
    functions: TimerFunctions,
    open: Option<OpenCall>,
    returned: Option<ReturnedCall>,
    signalled: Option<SignalledWait>,
    /// Timers that are set. If a timer is set again in the call that takes its expiry, that expiry is kept
    /// here instead.
    timers: HashMap<u64, Timer>,
    taken_timer: Option<Timer>,
}

impl WaitTracker {
    /// Tracks the thread of this number.
    pub fn new(pid: i32, names: &mut NameTable) -> Self {
        let mut name = |name: &str| names.intern(name);
        let functions = TimerFunctions {
            sleep: name("hrtimer_wakeup"),
            file: name("timerfd_tmrproc"),
            signals: [name("posix_timer_fn"), name("it_real_fn")],
            budget: name("dl_task_timer"),
        };
        WaitTracker {
            pid,
            functions,
            open: None,
            returned: None,
            signalled: None,
            timers: HashMap::new(),
            taken_timer: None,
        }
    }

    /// Notes that events were left out: open calls are unknown from here on.
    pub fn restart(&mut self) {
        (self.open, self.returned, self.signalled, self.taken_timer) = (None, None, None, None);
        self.timers.clear();
    }

    /// Processes the next event, and returns the wait after which the program is known to have gone on, if any. It
    /// concerns the thread ([`SystemState::threads_concerned`]); `system` has processed it before.
    pub fn process_event(&mut self, event: &Event, system: &SystemState) -> Option<Wait> {
        match &event.what {
            EventKind::Waking { pid, .. } if *pid == self.pid => {
                if let Some(open) = &mut self.open {
                    open.waker = Some(waker(event, system));
                }
            }
            EventKind::Switch { from, prev_state, .. } if *from == self.pid => {
                if let Some(open) = &mut self.open {
                    open.slept |= *prev_state != PrevState::Ready || open.call == Call::Yield;
                }
                return self.note_departure(event.t_ns, *prev_state);
            }
            EventKind::Switch { to, .. } => {
                if let Some(returned) = self.returned.as_mut().filter(|_| *to == self.pid)
                    && returned.stop == TracerStop::GoesOn
                    && let Some(wait) = &mut returned.wait
                {
                    returned.stop = TracerStop::Over;
                    (wait.ended_ns, wait.cpu) = (event.t_ns, event.cpu);
                }
            }
            EventKind::CallsLost { .. } => self.restart(),
            _ if event.pid != self.pid => {}
            EventKind::TimerStart { timer, function, soft_ns, .. } if !event.in_interrupt => {
                self.note_timer(*timer, *function, *soft_ns, event.t_ns, system);
            }
            EventKind::SyscallEnter { call, arguments, number } => {
                self.taken_timer = None;
                let returned = self.returned.take();
                let (wait, interrupted) = returned.map_or((None, None), |of| (of.wait, of.interrupted));
                if let Some((open, timers)) = interrupted {
                    if [Call::Restart, open.call].contains(call) {
                        self.timers = timers;
                        self.open = Some(OpenCall { waker: None, ..open });
                        return None;
                    }
                    // A handler of the signal runs. The wait is over only if the program does not repeat it.
                    if wait.is_none() && can_wait(open.call) {
                        self.signalled = Some(SignalledWait {
                            key: wait_key(&open),
                            began_ns: open.began_ns,
                            is_handled: false,
                        });
                    }
                }
                let mut open = OpenCall {
                    call: *call,
                    arguments: *arguments,
                    began_ns: event.t_ns,
                    slept: false,
                    waker: None,
                };
                if let Some(signalled) = &mut self.signalled {
                    if *number == SIGRETURN {
                        signalled.is_handled = true;
                    } else if signalled.is_handled {
                        if signalled.key == wait_key(&open) {
                            open.began_ns = signalled.began_ns;
                        }
                        self.signalled = None;
                    }
                }
                self.open = Some(open);
                return wait;
            }
            EventKind::SyscallExit { return_value } => {
                let interrupted = self.open.filter(|_| was_interrupted(*return_value));
                let interrupted = interrupted.map(|open| (open, self.timers.clone()));
                let wait = self.finished_wait(event, system, interrupted.is_some());
                self.returned = Some(ReturnedCall { wait, stop: TracerStop::None, interrupted });
            }
            _ => {}
        }
        None
    }

    /// Notes that the thread has left its processor, and returns the wait that is over by then, if any.
    fn note_departure(&mut self, t_ns: i64, prev_state: PrevState) -> Option<Wait> {
        let returned = self.returned.as_mut()?;
        let wait = returned.wait?;
        let is_on_its_way = returned.stop == TracerStop::None && t_ns - wait.ended_ns <= RETURNS_NS;
        if prev_state == PrevState::Traced && is_on_its_way {
            returned.stop = TracerStop::GoesOn;
            return None;
        }
        if returned.interrupted.is_some() {
            return None;
        }
        returned.wait.take()
    }

    fn note_timer(&mut self, timer: u64, function: NameId, soft_ns: i64, now_ns: i64, system: &SystemState) {
        let f = self.functions;
        if ![f.sleep, f.file, f.signals[0], f.signals[1], f.budget].contains(&function) {
            return;
        }
        let is_realtime = !is_same_clock(soft_ns, now_ns);
        // A periodic timer is set again when its expiry is taken: the wait that takes it was for the previous time.
        let before = self.timers.insert(timer, Timer { soft_ns, is_realtime, function });
        if let Some(before) = before.filter(|before| before.due_ns(system) <= now_ns && self.open.is_some()) {
            self.taken_timer = Some(before);
        }
    }

    /// Closes the open call, which has returned, and returns its wait; `None` if it was none. A call that a signal
    /// interrupted is no wait, unless the signal is what it waits for.
    fn finished_wait(&mut self, event: &Event, system: &SystemState, is_interrupted: bool) -> Option<Wait> {
        let open = self.open.take()?;
        if !can_wait(open.call) {
            return None;
        }
        // An expired timer ends the wait, whether the thread slept for it or found it past; the last of several.
        let expired = self.timers.values().filter(|timer| timer.due_ns(system) <= event.t_ns);
        let timer = expired.copied().chain(self.taken_timer.take()).max_by_key(|timer| timer.due_ns(system));
        // Timers of sleeps live no longer than their call.
        let sleep = self.functions.sleep;
        self.timers.retain(|_, timer| timer.function != sleep && timer.due_ns(system) > event.t_ns);
        if !open.slept && timer.is_none() {
            return None;
        }
        // A sleep that no signal interrupts lasts until its timer expires, even if a signal wakes the thread just before.
        let is_sleep = matches!(open.call, Call::Nanosleep | Call::ClockNanosleep) && !is_interrupted;
        let timer = timer.filter(|_| is_sleep || matches!(open.waker, None | Some(Waker::Timer)));
        let is_signal = timer.is_some_and(|timer| self.functions.signals.contains(&timer.function));
        if is_interrupted && open.call != Call::Signal && !is_signal {
            return None;
        }
        let on_realtime = timer.is_some_and(|timer| timer.is_realtime);
        Some(Wait {
            key: wait_key(&open),
            began_ns: open.began_ns,
            ended_ns: event.t_ns,
            cpu: event.cpu,
            waits: self.wait_method(&open, timer)?,
            due_ns: timer.map(|timer| timer.due_ns(system)),
            waker: open.waker,
            on_realtime,
            clock_was_set: on_realtime && system.clock_was_set_within(open.began_ns, event.t_ns),
        })
    }

    fn wait_method(&self, open: &OpenCall, timer: Option<Timer>) -> Option<WaitKind> {
        let f = self.functions;
        let by = timer.map(|timer| timer.function);
        Some(match open.call {
            Call::ClockNanosleep if open.arguments[1] & 1 == 1 => WaitKind::Nanosleep,
            Call::Nanosleep | Call::ClockNanosleep => WaitKind::NanosleepRelative,
            Call::Yield => timer.filter(|timer| timer.function == f.budget).map(|_| WaitKind::Deadline)?,
            _ if by == Some(f.file) => WaitKind::Timerfd,
            _ if by.is_some_and(|by| f.signals.contains(&by)) => WaitKind::TimerSignal,
            Call::Futex if by.is_some() => WaitKind::TimedFutex,
            Call::Futex => WaitKind::Futex,
            Call::Poll if by.is_some() => WaitKind::TimedPoll,
            _ => match open.waker {
                Some(Waker::Softirq) => WaitKind::Packet,
                Some(Waker::Interrupt) => WaitKind::Interrupt,
                _ => WaitKind::Read,
            },
        })
    }
}

impl Timer {
    /// Returns its expiry on CLOCK_MONOTONIC.
    fn due_ns(self, system: &SystemState) -> i64 {
        if self.is_realtime { system.to_monotonic_ns(self.soft_ns) } else { self.soft_ns }
    }
}

fn waker(event: &Event, system: &SystemState) -> Waker {
    match system.innermost_handler(event.cpu) {
        _ if !event.in_interrupt => Waker::Thread(event.pid),
        Some(HandlerKind::Device | HandlerKind::Vector) => Waker::Interrupt,
        Some(HandlerKind::Softirq) => Waker::Softirq,
        Some(HandlerKind::Timer) | None => Waker::Timer,
    }
}

fn can_wait(call: Call) -> bool {
    !matches!(call, Call::Other(_) | Call::Lock { .. } | Call::Restart)
}

fn wait_key(open: &OpenCall) -> WaitKey {
    WaitKey { call: open.call, object: wait_object(open.call, &open.arguments) }
}

/// Returns the object of a call, where different objects make different waits.
fn wait_object(call: Call, arguments: &[u64; 3]) -> u64 {
    match call {
        Call::Read | Call::Poll => arguments[0],
        // A condition variable alternates between two neighbouring words.
        Call::Futex => arguments[0] & !7,
        _ => 0,
    }
}
