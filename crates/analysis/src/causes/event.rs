//! Events of a kernel trace that can explain a late start.

use std::collections::HashMap;

/// Index of a name in [`NameTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// Interned names of threads, handlers and functions.
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    names: Vec<String>,
    numbers: HashMap<String, NameId>,
}

impl NameTable {
    /// Returns the id of a name, which may be new.
    pub fn intern(&mut self, name: &str) -> NameId {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = NameId(self.names.len() as u32);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// Returns the name of an id; empty if the id was never assigned.
    #[must_use]
    pub fn name(&self, number: NameId) -> &str {
        self.names.get(number.0 as usize).map_or("", String::as_str)
    }
}

/// Timer callbacks of the kernel that identify causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Functions {
    /// Gives a deadline thread its next budget; no wake-up event accompanies it.
    pub replenish: NameId,
    /// Ends a period of the limit on real-time computing.
    pub limit: NameId,
    /// Ends a period of a CPU quota.
    pub quota: NameId,
    /// Wakes a thread that sleeps.
    pub sleep: NameId,
    /// The kernel's tick, by its older and its newer name.
    pub ticks: [NameId; 2],
}

/// Something that happened on a processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time on CLOCK_MONOTONIC, in ns.
    pub t_ns: i64,
    /// Number of the processor.
    pub cpu: u16,
    /// The thread that had the processor; 0 for none.
    pub pid: i32,
    /// True if it happened in an interrupt handler or a softirq.
    pub in_interrupt: bool,
    /// True if interrupts were disabled on that processor.
    pub interrupts_off: bool,
    /// Kind of the event.
    pub what: EventKind,
}

/// Kind of an event, with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The processor went from one thread to another.
    Switch {
        /// The thread that had it.
        from: i32,
        /// The name of that thread.
        from_name: NameId,
        /// Priority of that thread.
        from_priority: i16,
        /// Reason why that thread left the processor.
        prev_state: PrevState,
        /// The thread that has it now.
        to: i32,
        /// Name of that thread, group or handler.
        name: NameId,
        /// Its priority in kernel numbering: lower is preferred, below 100 is real-time, below 0 is deadline.
        priority: i16,
    },
    /// The thread in whose context this happens has another name from now on.
    ThreadRenamed {
        /// Name of that thread, group or handler.
        name: NameId,
    },
    /// A thread is being woken.
    Waking {
        /// Thread being woken.
        pid: i32,
        /// The processor it was on.
        cpu: u16,
    },
    /// A thread is moved to another processor.
    Migrate {
        /// Thread being moved.
        pid: i32,
        /// Destination processor.
        to: u16,
    },
    /// Processor time was accounted to the running thread. Time stolen by the hypervisor is excluded if the
    /// kernel knows it.
    RuntimeAccounted {
        /// Running thread.
        pid: i32,
        /// Time in ns since the last accounting, or since the thread got the processor.
        ns: i64,
    },
    /// A timer was set.
    TimerStart {
        /// Identity of the timer.
        timer: u64,
        /// Callback of the timer.
        function: NameId,
        /// Expiry time on the timer's own clock, in ns.
        soft_ns: i64,
        /// Latest expiry that is still on time, in ns.
        hard_ns: i64,
    },
    /// A timer expired: it is being called.
    TimerExpire {
        /// Identity of the timer.
        timer: u64,
        /// Callback of the timer.
        function: NameId,
    },
    /// The timer's callback returned.
    TimerExpireEnd,
    /// A handler began.
    HandlerEnter(Handler),
    /// A handler ended.
    HandlerExit(Handler),
    /// Functions that the timer interrupt just begun has interrupted, innermost first; none in user mode.
    InterruptedStack(Box<[NameId]>),
    /// Events of calls or of followed threads were lost; events of the processor itself were not.
    CallsLost {
        /// Time of the last event before them.
        from_ns: i64,
    },
    /// A page was not there for the thread that runs.
    PageFault,
    /// The thread that runs calls the kernel.
    SyscallEnter {
        /// The system call.
        call: Call,
        /// Its number.
        number: i64,
        /// Its first arguments.
        arguments: [u64; 3],
    },
    /// The system call returned.
    SyscallExit {
        /// Return value of the system call.
        return_value: i64,
    },
    /// The processor goes into an idle state of this number.
    IdleEnter(u32),
    /// A signal was sent to a thread.
    Signal {
        /// Its number.
        number: i32,
        /// The thread.
        to: i32,
        /// Name of that thread, group or handler.
        name: NameId,
    },
    /// The running thread lends its priority to this thread, which has the lock that it waits for.
    LendPriority {
        /// The holder.
        to: i32,
        /// Name of that thread, group or handler.
        name: NameId,
    },
    /// A control group is frozen, or let go.
    Freeze {
        /// Its path.
        group: NameId,
        /// True if it is frozen.
        on: bool,
    },
    /// Events of this processor are missing before the next one.
    Lost,
}

/// Reason why a thread left its processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrevState {
    /// Still ready: another thread was preferred.
    Ready,
    /// Waiting.
    Sleeps,
    /// Waiting, uninterruptible by signals.
    SleepsDeeply,
    /// A signal stops it.
    Stopped,
    /// A tracer stops it.
    Traced,
}

impl PrevState {
    /// Decodes `prev_state` of `sched_switch`.
    #[must_use]
    pub const fn from_state(state: i64) -> Self {
        match state & 0xff {
            0 => PrevState::Ready,
            state if state & 4 != 0 => PrevState::Stopped,
            state if state & 8 != 0 => PrevState::Traced,
            state if state & 2 != 0 => PrevState::SleepsDeeply,
            _ => PrevState::Sleeps,
        }
    }
}

/// True if two times in ns are within an hour of each other, as times of different clocks are not.
#[must_use]
pub fn is_same_clock(a_ns: i64, b_ns: i64) -> bool {
    a_ns.abs_diff(b_ns) < 3_600_000_000_000
}

/// True if the kernel restarts an interrupted call (-ERESTARTSYS and its like): it has not returned.
pub(crate) fn will_restart(return_value: i64) -> bool {
    matches!(return_value, -512 | -513 | -514 | -516)
}

/// True if a signal interrupted a call (-EINTR), even if the kernel restarts it.
pub(crate) fn was_interrupted(return_value: i64) -> bool {
    return_value == -4 || will_restart(return_value)
}

/// A system call, as far as it can be a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// `nanosleep`.
    Nanosleep,
    /// `clock_nanosleep`.
    ClockNanosleep,
    /// `read` and its relatives, on files and sockets.
    Read,
    /// `poll`, `select`, `epoll_wait` and their relatives.
    Poll,
    /// `futex`, except for the operations below.
    Futex,
    /// `futex` that takes a lock, without a timeout.
    Lock {
        /// True if the holder inherits the priority of waiting threads (priority inheritance).
        inherits: bool,
    },
    /// Waiting for a signal.
    Signal,
    /// `sched_yield`, which under SCHED_DEADLINE waits for the next period.
    Yield,
    /// `restart_syscall`, by which the kernel goes on with a call that a stop interrupted.
    Restart,
    /// Any other, by its number.
    Other(i64),
}

/// A handler of interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handler {
    /// Kind of the handler.
    pub kind: HandlerKind,
    /// Its number within its kind.
    pub number: u32,
    /// Its name. Ends of handlers need not have it.
    pub name: NameId,
}

/// The kinds of handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandlerKind {
    /// The processor's own timer.
    Timer,
    /// An interrupt between processors, or another of the processor's own.
    Vector,
    /// A device.
    Device,
    /// Work put off by the others.
    Softirq,
}
