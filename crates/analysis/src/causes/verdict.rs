//! What a fragment of a latency is called, and what shows it.

use jitterlab_model::causes::{CauseClass as Class, Evidence, Step};

use super::event::{HandlerKind, Name, Names};
use super::machine::Below;
use super::processor::{Occupant, Processor, Seen};
use super::split::Fragment;
use super::thread::{Armed, State, Thread, Wake, Waker};

/// A cause whose names are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Named {
    pub class: Class,
    pub who: Option<Name>,
}

impl From<Class> for Named {
    fn from(class: Class) -> Self {
        Named { class, who: None }
    }
}

/// What a fragment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The step of the usual way that it belongs to, of which only what is too much has the cause.
    pub step: Option<Step>,
    pub cause: Named,
    pub evidence: Evidence,
    /// The function of the kernel that the timer interrupt found.
    pub function: Option<Name>,
}

/// Handlers of timers and of interrupts between processors do not take so long by themselves.
const LONG_HANDLER_NS: i64 = 500_000;

/// An emulator looks for interrupts after so many instructions at the latest, with room.
const BLOCK_INSTRUCTIONS: i64 = 2_000;

fn all(cause: impl Into<Named>, evidence: Evidence) -> Verdict {
    Verdict { step: None, cause: cause.into(), evidence, function: None }
}

fn excess(step: Step, cause: impl Into<Named>, evidence: Evidence) -> Verdict {
    Verdict { step: Some(step), cause: cause.into(), evidence, function: None }
}

/// What is known around a fragment.
pub struct Around<'a> {
    pub thread: &'a Thread,
    pub processor: Option<&'a Processor>,
    pub names: &'a Names,
    /// The wake-up that led to the start, if there was one since the activation before.
    pub wake: Option<&'a Wake>,
    /// The timer that was waited for, where its times are of the clock of due times.
    pub armed: Option<&'a Armed>,
    /// Whether the task polled for its due time, having come early.
    pub polled: bool,
    /// What is below the kernel.
    pub below: Below,
    /// The processor on which the task ran before it waited.
    pub before: Option<u16>,
    /// When its work before was done, where that is known.
    pub worked_until_ns: Option<i64>,
}

impl Around<'_> {
    /// Says what a fragment is.
    pub fn judge(&self, fragment: &Fragment) -> Verdict {
        let verdict = self.seen(fragment);
        match fragment.stolen {
            true => Verdict {
                cause: Class::Outside.into(),
                evidence: Evidence::Stolen,
                function: None,
                ..verdict
            },
            false if self.takes_too_long(verdict.cause.class, fragment.to_ns - fragment.from_ns) => {
                Verdict { cause: Class::Outside.into(), evidence: Evidence::TooLong, ..verdict }
            }
            false
                if matches!(verdict.evidence, Evidence::Events | Evidence::LetIn)
                    && self.may_be_outside(verdict.cause.class) =>
            {
                Verdict { evidence: Evidence::EventsOrOutside, ..verdict }
            }
            false => verdict,
        }
    }

    /// Whether a hypervisor may have held what ran without saying so: one that never says, or where setting a timer
    /// leaves the machine, which no hypervisor counts as time taken away.
    fn may_be_outside(&self, class: Class) -> bool {
        match self.below {
            Below::Hypervisor => true,
            Below::TellingHypervisor => class == Class::TimerInterrupt,
            Below::Hardware | Below::Nothing { .. } => false,
        }
    }

    /// Whether a hypervisor is likelier than what ran: timers and interrupts between processors do little.
    fn takes_too_long(&self, class: Class, ns: i64) -> bool {
        matches!(self.below, Below::Hypervisor | Below::TellingHypervisor)
            && matches!(class, Class::TimerInterrupt | Class::OtherTimer | Class::Vector)
            && ns > LONG_HANDLER_NS
    }

    /// As this kernel saw it.
    fn seen(&self, fragment: &Fragment) -> Verdict {
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => all(Class::Lost, Evidence::None),
            (_, Occupant::Tracer) => self.noting(),
            (State::Running(_), Occupant::Thread(_)) if self.sets_timer(fragment) => self.setting(fragment),
            (State::Running(_), _) if self.sets_timer(fragment) => self.sleeping(fragment),
            (State::Running(_), Occupant::Thread(_)) => self.running(fragment),
            (State::Sleeping, _) => self.sleeping(fragment),
            (State::Ready(_), Occupant::Thread(thread)) => self.ready(fragment, thread, self.wake),
            (_, Occupant::Handler(handler)) => match handler.kind {
                HandlerKind::Timer if self.is_own_interrupt(fragment) => {
                    excess(Step::InterruptEnd, Class::TimerInterrupt, Evidence::Events)
                }
                _ => handler_of(fragment.occupant),
            },
            (_, Occupant::Callback(_)) if self.is_own_interrupt(fragment) => {
                excess(Step::InterruptEnd, Class::TimerInterrupt, Evidence::Events)
            }
            (_, occupant) => handler_of(occupant),
        }
    }

    /// Whether a fragment of a timer interrupt follows the wake-up without anything else in between.
    fn is_own_interrupt(&self, fragment: &Fragment) -> bool {
        let (Some(wake), Some(processor)) = (self.wake, self.processor) else { return false };
        if wake.by != Waker::Timer || wake.cpu != fragment.cpu || wake.t_ns > fragment.from_ns {
            return false;
        }
        match fragment.occupant {
            // A timer that expired after the task's own is another's.
            Occupant::Callback(_) => processor.ran.since(fragment.from_ns) <= wake.t_ns,
            _ => processor
                .ran
                .over(wake.t_ns, fragment.to_ns)
                .all(|(_, _, o)| !matches!(o, Occupant::Thread(_))),
        }
    }

    fn running(&self, fragment: &Fragment) -> Verdict {
        if !self.polled && self.wake.is_none_or(|wake| fragment.from_ns < wake.t_ns) {
            return all(Class::OwnWork, Evidence::Events);
        }
        let faulted = self
            .thread
            .faults
            .iter()
            .any(|t| *t <= fragment.from_ns && self.wake.is_none_or(|w| *t >= w.t_ns));
        match faulted {
            true => excess(Step::Return, Class::PageFault, Evidence::Events),
            false => excess(Step::Return, Class::SlowReturn, Evidence::None),
        }
    }

    /// Whether the task had done its work, and was in the call that sets the timer that woke it: the timer came before the
    /// kernel could let another thread run.
    fn sets_timer(&self, fragment: &Fragment) -> bool {
        let woken = |wake: &Wake| wake.by == Waker::Timer && wake.t_ns > fragment.from_ns;
        !self.polled
            && self.worked_until_ns.is_some_and(|ns| ns <= fragment.from_ns)
            && self.armed.is_some_and(|armed| armed.t_ns <= fragment.from_ns)
            && self.wake.is_some_and(woken)
    }

    /// The timer was set, and its interrupt came late while the kernel was still in that call. Setting a timer leaves a virtual
    /// machine: there it is this that took so long, not what the kernel does around it with interrupts off.
    fn setting(&self, fragment: &Fragment) -> Verdict {
        let verdict = self.late_interrupt(fragment.occupant, fragment.to_ns - fragment.from_ns);
        match (self.below, verdict.cause.class) {
            (Below::TellingHypervisor | Below::Hypervisor, Class::InterruptsOff) => {
                Verdict { cause: Class::TimerInterrupt.into(), evidence: Evidence::Events, ..verdict }
            }
            _ => verdict,
        }
    }

    /// Up to the wake-up.
    fn sleeping(&self, fragment: &Fragment) -> Verdict {
        match self.wake.map(|wake| wake.by) {
            Some(Waker::Thread(who)) => {
                return all(Named { class: Class::Blocked, who }, Evidence::Events);
            }
            Some(Waker::Handler(who)) => {
                return all(Named { class: Class::Blocked, who: Some(who) }, Evidence::Events);
            }
            Some(Waker::Timer) | None => {}
        }
        if let Some(armed) = self.armed {
            if fragment.to_ns <= armed.soft_ns {
                return all(Class::AskedLate, Evidence::Events);
            }
            if fragment.to_ns <= armed.hard_ns {
                return all(Class::TimerSlack, Evidence::Events);
            }
        }
        match fragment.occupant {
            Occupant::Handler(handler) if handler.kind == HandlerKind::Timer => {
                excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            // A softirq does not keep the timer interrupt away, but code in it may have interrupts off.
            Occupant::Handler(handler) if handler.kind != HandlerKind::Softirq => {
                handler_of(fragment.occupant)
            }
            Occupant::Callback(_) if self.is_own_callback(fragment) => {
                excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            Occupant::Callback(_) => handler_of(fragment.occupant),
            occupant => self.late_interrupt(occupant, fragment.to_ns - fragment.from_ns),
        }
    }

    /// Whether the function that a timer calls is the one that wakes the task.
    fn is_own_callback(&self, fragment: &Fragment) -> bool {
        self.wake.is_some_and(|wake| wake.t_ns == fragment.to_ns)
    }

    /// The tracer noted what was interrupted. Nothing but what is below this kernel can make that longer than it usually is:
    /// the interrupt's handler is not interrupted.
    fn noting(&self) -> Verdict {
        match self.below {
            Below::Nothing { .. } => all(Class::Tracer, Evidence::Events),
            _ => excess(Step::Noting, Class::Outside, Evidence::TooLong),
        }
    }

    /// The timer interrupt came late over this, which lasted so long.
    fn late_interrupt(&self, occupant: Occupant, ns: i64) -> Verdict {
        let who = match occupant {
            Occupant::Thread(thread) if thread.pid != 0 => thread.name,
            Occupant::Handler(handler) => Some(handler.name),
            _ => None,
        };
        let found = self.wake.zip(self.processor).and_then(|(wake, on)| on.interrupted_at(wake.t_ns));
        let (class, evidence) = match (occupant, found.map(|frames| self.context(frames))) {
            (Occupant::Thread(Seen { pid: 0, .. }), _) => (Class::Idle, Evidence::WasIdle),
            (_, Some(Context::User)) => self.outside(Evidence::UserMode),
            (_, Some(Context::LetsIn(function))) => {
                let named = Named { class: Class::InterruptsOff, who };
                return Verdict { function, ..excess(Step::Timer, named, Evidence::LetIn) };
            }
            (_, Some(Context::Kernel(function))) => {
                let verdict = match self.below {
                    // Only the kernel itself can keep the emulator's interrupt waiting for so long.
                    Below::Nothing { ns_per_instruction }
                        if ns > BLOCK_INSTRUCTIONS * i64::from(ns_per_instruction) =>
                    {
                        excess(Step::Timer, Named { class: Class::InterruptsOff, who }, Evidence::KernelMode)
                    }
                    Below::TellingHypervisor | Below::Hypervisor => {
                        excess(Step::Timer, Class::Outside, Evidence::Interruptible)
                    }
                    // The function may have let interrupts in itself, or firmware held the processor.
                    Below::Nothing { .. } | Below::Hardware => {
                        excess(Step::Timer, Class::LateInterrupt, Evidence::None)
                    }
                };
                return Verdict { function, ..verdict };
            }
            (_, None) => (Class::LateInterrupt, Evidence::None),
        };
        excess(Step::Timer, class, evidence)
    }

    /// What held the timer interrupt, where nothing in this kernel can have; undecided where nothing is outside of it.
    fn outside(&self, evidence: Evidence) -> (Class, Evidence) {
        match self.below {
            Below::Nothing { .. } => (Class::LateInterrupt, Evidence::None),
            _ => (Class::Outside, evidence),
        }
    }

    /// From the wake-up to the processor.
    fn ready(&self, fragment: &Fragment, thread: Seen, wake: Option<&Wake>) -> Verdict {
        let who = thread.name;
        let own = self.thread.priority;
        let named = |class| Named { class, who };
        if thread.pid == 0 || thread.pid == self.thread.pid {
            let moved = self.before.is_some_and(|before| before != fragment.cpu);
            let class = if moved { Class::Migration } else { Class::Idle };
            return excess(Step::Switch, class, if moved { Evidence::Events } else { Evidence::WasIdle });
        }
        match thread.priority {
            Some(priority) if priority < own.min(100) => {
                return all(named(Class::Preempted), Evidence::Events);
            }
            Some(priority) if priority == own || own >= 100 => {
                return all(named(Class::Shared), Evidence::Events);
            }
            _ => {}
        }
        let woken_ns = wake.map_or(i64::MAX, |wake| wake.t_ns);
        if self.processor.is_some_and(|on| got_after(on, woken_ns, fragment.from_ns, thread.pid)) {
            return all(named(Class::Throttled), Evidence::Events);
        }
        let found = wake.zip(self.processor).and_then(|(wake, on)| on.interrupted_at(wake.t_ns));
        let in_kernel = match self.below {
            Below::TellingHypervisor | Below::Nothing { .. } => Evidence::KernelMode,
            Below::Hardware | Below::Hypervisor => Evidence::KernelModeOrOutside,
        };
        match found.map(|frames| self.context(frames)) {
            Some(Context::User) if !matches!(self.below, Below::Nothing { .. }) => {
                excess(Step::Switch, Class::Outside, Evidence::UserMode)
            }
            Some(Context::LetsIn(function) | Context::Kernel(function)) => {
                Verdict { function, ..excess(Step::Switch, named(Class::NotPreemptible), in_kernel) }
            }
            // Where nothing is outside, it was the kernel on its way to the switch.
            Some(Context::User) | None => excess(Step::Switch, named(Class::NotPreemptible), Evidence::None),
        }
    }

    /// What a timer interrupt found, from the functions that it interrupted.
    fn context(&self, frames: &[Name]) -> Context {
        let Some(innermost) = frames.first() else { return Context::User };
        let function = frames.iter().copied().find(|f| !is_primitive(self.names.name(*f)));
        match lets_interrupts_in(self.names.name(*innermost)) {
            true => Context::LetsIn(function.or(Some(*innermost))),
            false => Context::Kernel(function),
        }
    }

    /// What takes the processor from the task while it works; `None` where it has it.
    pub fn interruption(&self, fragment: &Fragment) -> Option<Named> {
        if fragment.stolen {
            return Some(Class::Outside.into());
        }
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => Some(Class::Lost.into()),
            (State::Sleeping, _) => {
                let who = match self.thread.next_wake(fragment.to_ns).map(|wake| wake.by) {
                    Some(Waker::Thread(who)) => who,
                    Some(Waker::Handler(who)) => Some(who),
                    Some(Waker::Timer) | None => None,
                };
                Some(Named { class: Class::Blocked, who })
            }
            (State::Running(_), Occupant::Thread(_)) => None,
            (State::Ready(_), Occupant::Thread(thread)) => {
                let wake = self.thread.last_wake(i64::MIN, fragment.from_ns);
                Some(self.ready(fragment, thread, wake).cause)
            }
            (_, occupant) => Some(handler_of(occupant).cause),
        }
    }
}

/// Whether a thread got the processor only after the wake-up.
fn got_after(on: &Processor, woken_ns: i64, until_ns: i64, pid: i32) -> bool {
    let mut before = None;
    on.ran.over(woken_ns, until_ns + 1).any(|(_, _, occupant)| {
        let Occupant::Thread(seen) = occupant else { return false };
        let got = seen.pid == pid && before.is_some_and(|before| before != pid);
        before = Some(seen.pid);
        got
    })
}

fn handler_of(occupant: Occupant) -> Verdict {
    let (class, who) = match occupant {
        Occupant::Callback(function) => (Class::OtherTimer, Some(function)),
        Occupant::Handler(handler) => match handler.kind {
            HandlerKind::Timer => (Class::TimerInterrupt, None),
            HandlerKind::Vector => (Class::Vector, Some(handler.name)),
            HandlerKind::Device => (Class::Interrupt, Some(handler.name)),
            HandlerKind::Softirq => (Class::Softirq, Some(handler.name)),
        },
        Occupant::Tracer => (Class::Tracer, None),
        Occupant::Thread(_) | Occupant::Unknown => (Class::Lost, None),
    };
    all(Named { class, who }, Evidence::Events)
}

/// What the timer interrupt found.
enum Context {
    /// A program.
    User,
    /// A function of the kernel that lets interrupts in, called by this one.
    LetsIn(Option<Name>),
    /// Kernel code that can be interrupted.
    Kernel(Option<Name>),
}

/// Functions at whose end interrupts that waited come in, as Linux names them.
fn lets_interrupts_in(function: &str) -> bool {
    const ENABLES: [&str; 8] = [
        "unlock_irq",
        "irq_enable",
        "irq_restore",
        "finish_task_switch",
        "finish_lock_switch",
        "__schedule",
        "irqentry_exit",
        "exit_to_user_mode",
    ];
    ENABLES.iter().any(|part| function.contains(part))
}

/// Functions that say nothing of what is being done.
fn is_primitive(function: &str) -> bool {
    const PARTS: [&str; 6] = ["_raw_spin", "_raw_read", "_raw_write", "local_irq", "preempt_", "rcu_read_"];
    PARTS.iter().any(|part| function.contains(part)) || lets_interrupts_in(function)
}
