//! Cause of a fragment of a latency, and the evidence for it.

use std::collections::BTreeMap;

use jitterlab_model::causes::{CauseClass as Class, Evidence, SparseHistogram, Step};

use super::event::{HandlerKind, NameId, NameTable, same_clock};
use super::fragments::Fragment;
use super::machine::{Machine, Platform};
use super::periods::Periods;
use super::processor::{ObservedThread, Occupant, Processor};
use super::thread::{Armed, State, Thread, Wake, Waker};

/// A cause with names as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CauseId {
    pub class: Class,
    pub who: Option<NameId>,
}

impl From<Class> for CauseId {
    fn from(class: Class) -> Self {
        CauseId { class, who: None }
    }
}

/// Judgement of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentCause {
    /// The step of the usual way that it belongs to, if only the excess over the usual length has the cause.
    pub step: Option<Step>,
    pub cause: CauseId,
    pub evidence: Evidence,
    /// Kernel function that the timer interrupt found.
    pub function: Option<NameId>,
}

/// Longest time that handlers of timers and of inter-processor interrupts take by themselves.
const LONG_HANDLER_NS: i64 = 500_000;

/// Most instructions after which an emulator checks for interrupts, with a margin.
const BLOCK_INSTRUCTIONS: i64 = 2_000;

/// Longest memory fault assumed; no event shows its end.
pub const FAULT_NS: i64 = 20_000;
pub(super) fn all(cause: impl Into<CauseId>, evidence: Evidence) -> FragmentCause {
    FragmentCause { step: None, cause: cause.into(), evidence, function: None }
}

pub(super) fn excess(step: Step, cause: impl Into<CauseId>, evidence: Evidence) -> FragmentCause {
    FragmentCause { step: Some(step), cause: cause.into(), evidence, function: None }
}

/// Circumstances of a fragment.
pub struct FragmentContext<'a> {
    pub thread: &'a Thread,
    pub processors: &'a BTreeMap<u16, Processor>,
    pub names: &'a NameTable,
    /// The wake-up that led to the start, if there was one since the previous activation.
    pub wake: Option<&'a Wake>,
    /// The timer that was waited for, if it is on the clock of the due times.
    pub armed: Option<Armed>,
    /// True if the task woke early and polled for its due time.
    pub polled: bool,
    /// Properties of the machine.
    pub machine: Machine,
    /// Ends of the periods of limits.
    pub periods: &'a Periods,
    /// The processor on which the task ran before it waited.
    pub before: Option<u16>,
    /// End of its previous work, if known, in ns.
    pub worked_until_ns: Option<i64>,
    /// Lengths of its work so far.
    pub work: &'a SparseHistogram,
}

impl FragmentContext<'_> {
    /// Judges a fragment.
    pub fn judge(&self, fragment: &Fragment) -> FragmentCause {
        let verdict = self.seen(fragment);
        match fragment.stolen {
            true if !self.waits_on(fragment) => FragmentCause {
                cause: Class::Outside.into(),
                evidence: Evidence::Stolen,
                function: None,
                ..verdict
            },
            _ if self.takes_too_long(verdict.cause.class, fragment.to_ns - fragment.from_ns) => {
                FragmentCause { cause: Class::Outside.into(), evidence: Evidence::TooLong, ..verdict }
            }
            _ if matches!(verdict.evidence, Evidence::Events | Evidence::LetIn)
                && (self.may_be_outside(verdict.cause.class)
                    || matches!(fragment.state, State::Ready(_)) && self.has_late_tick(fragment)) =>
            {
                FragmentCause { evidence: Evidence::EventsOrOutside, ..verdict }
            }
            _ => verdict,
        }
    }

    /// True if the task would have waited whatever had the processor: for others, or for a time that had not come.
    fn waits_on(&self, fragment: &Fragment) -> bool {
        if !matches!(fragment.state, State::Off(_)) {
            return false;
        }
        let Some(wake) = self.thread.end_of_wait(fragment.to_ns) else { return false };
        let ends = |armed: Armed| fragment.to_ns <= armed.soft_ns;
        match wake.by {
            Waker::Timer(_) => self.is_before_its_wait(fragment) || self.armed_by(wake).is_some_and(ends),
            Waker::OtherTimer(_) | Waker::Handler(_) | Waker::Thread(..) => true,
        }
    }

    /// The timer behind a wake-up, as times of the due times' clock.
    fn armed_by(&self, wake: &Wake) -> Option<Armed> {
        match self.wake.is_some_and(|own| own.t_ns == wake.t_ns) {
            true => self.armed,
            false => {
                self.thread.armed_for(wake).copied().filter(|armed| same_clock(armed.soft_ns, wake.t_ns))
            }
        }
    }

    /// True if the task has not come to its wait for the next start.
    fn is_before_its_wait(&self, fragment: &Fragment) -> bool {
        self.worked_until_ns.is_some_and(|ns| fragment.to_ns <= ns)
    }

    /// True if a hypervisor may have held the occupant without reporting it: one that never reports, or one
    /// where setting a timer leaves the guest, which no hypervisor counts as steal time.
    fn may_be_outside(&self, class: Class) -> bool {
        match self.machine.below {
            _ if is_of_thread(class) => false,
            Platform::Hypervisor => true,
            Platform::TellingHypervisor => class == Class::TimerInterrupt,
            Platform::Hardware | Platform::Nothing { .. } => false,
        }
    }

    /// True if a hypervisor is a likelier cause than the occupant: handlers of timers and of inter-processor
    /// interrupts do little.
    fn takes_too_long(&self, class: Class, ns: i64) -> bool {
        matches!(self.machine.below, Platform::Hypervisor | Platform::TellingHypervisor)
            && matches!(class, Class::TimerInterrupt | Class::OtherTimer | Class::Vector)
            && ns > LONG_HANDLER_NS
    }

    /// Judges a fragment from the kernel's point of view.
    fn seen(&self, fragment: &Fragment) -> FragmentCause {
        if let State::Off(off) = fragment.state
            && let Some(held) = self.held(off, fragment)
        {
            return held;
        }
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => all(Class::Lost, Evidence::None),
            (State::Off(_), Occupant::Unrecorded) => self.sleeping(fragment),
            (_, Occupant::Unrecorded) => all(Class::Lost, Evidence::None),
            (_, Occupant::Tracer) => self.noting(),
            (State::Running(_), Occupant::Thread(_)) if self.sets_timer(fragment) => self.setting(fragment),
            (State::Running(_), _) if self.sets_timer(fragment) => self.late_timer(fragment, self.wake),
            (State::Running(_), Occupant::Thread(_)) => self.running(fragment),
            (State::Off(_), _) => self.sleeping(fragment),
            (State::Ready(_), Occupant::Thread(thread)) => self.ready(fragment, thread),
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

    /// True if a fragment of a timer interrupt follows the wake-up without anything else in between.
    fn is_own_interrupt(&self, fragment: &Fragment) -> bool {
        let Some((wake, processor)) = self.wake.zip(self.of(fragment.cpu)) else { return false };
        if !matches!(wake.by, Waker::Timer(_)) || wake.cpu != fragment.cpu || wake.t_ns > fragment.from_ns {
            return false;
        }
        match fragment.occupant {
            // A timer that expired after the task's own belongs to another thread.
            Occupant::Callback(_) => processor.ran.since(fragment.from_ns) <= wake.t_ns,
            _ => processor
                .ran
                .over(wake.t_ns, fragment.to_ns)
                .all(|(_, _, o)| !matches!(o, Occupant::Thread(_))),
        }
    }

    pub(super) fn of(&self, cpu: u16) -> Option<&Processor> {
        self.processors.get(&cpu)
    }

    fn running(&self, fragment: &Fragment) -> FragmentCause {
        let faults = &self.thread.faults;
        let last = faults.partition_point(|t| *t <= fragment.from_ns).checked_sub(1);
        let last = last.and_then(|place| faults.get(place));
        if !self.polled && !self.was_woken(fragment) {
            return match last {
                Some(t) if fragment.from_ns - t < FAULT_NS => all(Class::PageFault, Evidence::UpTo),
                _ if self.thread.is_blind(fragment.from_ns, fragment.to_ns) => {
                    all(Class::OwnWork, Evidence::None)
                }
                Some(t) if self.is_silent_since(*t, fragment) => all(Class::PageFault, Evidence::None),
                _ => self.own_work(fragment),
            };
        }
        match last.is_some_and(|t| self.wake.is_none_or(|wake| *t >= wake.t_ns)) {
            true => excess(Step::Return, Class::PageFault, Evidence::UpTo),
            false => excess(Step::Return, Class::SlowReturn, Evidence::None),
        }
    }

    /// True if a wake-up has ended the wait for the next start, even if a tracer stops the task on its way back.
    fn was_woken(&self, fragment: &Fragment) -> bool {
        let free_ns = self.worked_until_ns.unwrap_or(i64::MIN);
        let ended = self.thread.last_wake(free_ns, fragment.from_ns).is_some_and(|wake| !wake.interrupts);
        ended || self.wake.is_some_and(|wake| wake.t_ns <= fragment.from_ns)
    }

    /// True if the task had finished its work, and was in the call that set the timer that woke it: the timer
    /// expired before the kernel could let another thread run.
    fn sets_timer(&self, fragment: &Fragment) -> bool {
        let woken = |wake: &Wake| matches!(wake.by, Waker::Timer(_)) && wake.t_ns > fragment.from_ns;
        !self.polled
            && self.worked_until_ns.is_some_and(|ns| ns <= fragment.from_ns)
            && self.armed.is_some_and(|armed| armed.t_ns <= fragment.from_ns)
            && self.wake.is_some_and(woken)
    }

    /// Judges a timer interrupt that came late while the kernel was still in the call that set the timer.
    /// Setting a timer leaves a virtual machine: there this takes the time, and not kernel code with
    /// interrupts disabled.
    fn setting(&self, fragment: &Fragment) -> FragmentCause {
        let verdict = self.late_interrupt(fragment, self.wake);
        match (self.machine.below, verdict.cause.class) {
            (Platform::TellingHypervisor | Platform::Hypervisor, Class::InterruptsOff) => {
                FragmentCause { cause: Class::TimerInterrupt.into(), evidence: Evidence::Events, ..verdict }
            }
            _ => verdict,
        }
    }

    /// Judges a fragment that ends with the wake-up.
    fn sleeping(&self, fragment: &Fragment) -> FragmentCause {
        let wake = self.thread.end_of_wait(fragment.to_ns);
        match wake.map(|wake| wake.by) {
            // It waits for a time in its work.
            Some(Waker::Timer(_)) if self.is_before_its_wait(fragment) => {
                all(Class::OwnWork, Evidence::Events)
            }
            Some(Waker::Timer(_)) => self.late_timer(fragment, wake),
            Some(Waker::Thread(_, who)) => self.blocked(fragment, who),
            Some(Waker::Handler(who)) => self.blocked(fragment, Some(who)),
            Some(Waker::OtherTimer(who)) => {
                all(CauseId { class: Class::Blocked, who: Some(who) }, Evidence::None)
            }
            None => all(Class::Blocked, Evidence::None),
        }
    }

    /// Judges a fragment up to the timer interrupt that woke the task, and within it.
    fn late_timer(&self, fragment: &Fragment, wake: Option<&Wake>) -> FragmentCause {
        let armed = wake.and_then(|wake| self.armed_by(wake));
        if let Some(armed) = armed {
            if fragment.to_ns <= armed.soft_ns {
                let class = if armed.is_budget { Class::Budget } else { Class::AskedLate };
                return all(class, Evidence::Events);
            }
            if fragment.to_ns <= armed.hard_ns {
                return all(Class::TimerSlack, Evidence::Events);
            }
        }
        match fragment.occupant {
            Occupant::Handler(handler) if handler.kind == HandlerKind::Timer => {
                excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            // A softirq does not block the timer interrupt, but code in it may disable interrupts.
            Occupant::Handler(handler) if handler.kind != HandlerKind::Softirq => {
                handler_of(fragment.occupant)
            }
            Occupant::Callback(_) if self.is_own_callback(fragment) => {
                excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            Occupant::Callback(_) => handler_of(fragment.occupant),
            _ => self.late_interrupt(fragment, wake),
        }
    }

    /// True if the callback of this timer wakes the task.
    fn is_own_callback(&self, fragment: &Fragment) -> bool {
        self.thread.next_wake(fragment.to_ns).is_some_and(|wake| wake.t_ns == fragment.to_ns)
    }

    /// Judges the time in which the tracer recorded the interrupted functions. Only the layer below this
    /// kernel can make that longer than usual, since the handler is not interrupted.
    fn noting(&self) -> FragmentCause {
        match self.machine.below {
            Platform::Nothing { .. } => all(Class::Tracer, Evidence::Events),
            _ => excess(Step::StackRecording, Class::Outside, Evidence::TooLong),
        }
    }

    /// Judges the occupant during which the timer interrupt came late. The occupant held it without a break:
    /// before the last event that shows interrupts enabled they were not disabled, and before the last event
    /// of any kind the kernel ran.
    fn late_interrupt(&self, fragment: &Fragment, wake: Option<&Wake>) -> FragmentCause {
        let who = match fragment.occupant {
            Occupant::Thread(thread) if thread.pid != 0 => thread.name,
            Occupant::Handler(handler) => Some(handler.name),
            _ => None,
        };
        if matches!(fragment.occupant, Occupant::Thread(ObservedThread { pid: 0, .. })) {
            return excess(Step::Timer, Class::Idle, Evidence::WasIdle);
        }
        let wake = wake.and_then(|wake| Some((wake, self.of(wake.cpu)?)));
        let interrupt = wake.and_then(|(wake, on)| on.timer_interrupt_at(wake.t_ns));
        let behind = |ns: Option<i64>| ns.is_none_or(|ns| fragment.from_ns >= ns);
        let let_in = behind(interrupt.map(|interrupt| interrupt.let_in_ns));
        let silent = behind(interrupt.map(|interrupt| interrupt.event_ns));
        let off = |function, evidence| FragmentCause {
            function,
            ..excess(Step::Timer, CauseId { class: Class::InterruptsOff, who }, evidence)
        };
        let ns = fragment.to_ns - fragment.from_ns;
        let found = wake.and_then(|(wake, on)| on.interrupted_at(wake.t_ns)).map(|found| self.context(found));
        match (found, self.machine.below) {
            // Only the kernel itself can delay the emulator's interrupt for so long.
            (Some(Context::Kernel(function)), Platform::Nothing { ns_per_instruction })
                if ns > BLOCK_INSTRUCTIONS * i64::from(ns_per_instruction) =>
            {
                off(function, Evidence::KernelMode)
            }
            (Some(Context::LetsIn(function)), _) if let_in => off(function, Evidence::LetIn),
            (Some(Context::User), _) if silent => {
                let (class, evidence) = self.outside(Evidence::UserMode);
                excess(Step::Timer, class, evidence)
            }
            // The function may have enabled interrupts itself, or the layer below the kernel held the processor.
            (Some(Context::Kernel(function)), _) => FragmentCause {
                function,
                ..excess(Step::Timer, Class::LateInterrupt, Evidence::Interruptible)
            },
            _ => excess(Step::Timer, Class::LateInterrupt, Evidence::None),
        }
    }

    /// Returns the cause of a late timer interrupt where nothing in this kernel explains it; undecided if
    /// nothing lies outside the kernel.
    fn outside(&self, evidence: Evidence) -> (Class, Evidence) {
        match self.machine.below {
            Platform::Nothing { .. } => (Class::LateInterrupt, Evidence::None),
            _ => (Class::Outside, evidence),
        }
    }

    /// Returns the context that a timer interrupt found, from the functions that it interrupted.
    pub(super) fn context(&self, frames: &[NameId]) -> Context {
        let Some(innermost) = frames.first() else { return Context::User };
        let function = frames.iter().copied().find(|f| !is_primitive(self.names.name(*f)));
        match lets_interrupts_in(self.names.name(*innermost)) {
            true => Context::LetsIn(function.or(Some(*innermost))),
            false => Context::Kernel(function),
        }
    }

    /// Returns the cause that takes the processor from the task while it works; `None` if the task has it.
    pub fn interruption(&self, fragment: &Fragment) -> Option<CauseId> {
        if fragment.stolen && !self.waits_on(fragment) {
            return Some(Class::Outside.into());
        }
        if let State::Off(off) = fragment.state
            && let Some(held) = self.held(off, fragment)
        {
            return Some(held.cause);
        }
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => Some(Class::Lost.into()),
            (State::Off(_), _) => {
                let who = match self.thread.end_of_wait(fragment.to_ns).map(|wake| wake.by) {
                    Some(Waker::Thread(_, who)) => who,
                    Some(Waker::Handler(who) | Waker::OtherTimer(who)) => Some(who),
                    Some(Waker::Timer(_)) | None => None,
                };
                Some(CauseId { class: Class::Blocked, who })
            }
            (_, Occupant::Unrecorded) => Some(Class::Lost.into()),
            (State::Running(_), Occupant::Thread(_)) => None,
            (State::Ready(_), Occupant::Thread(thread)) => Some(self.ready(fragment, thread).cause),
            (_, occupant) => Some(handler_of(occupant).cause),
        }
    }
}

/// True if a cause is the thread's own state, to which no hypervisor contributes.
const fn is_of_thread(class: Class) -> bool {
    use Class::{
        Budget, FairServer, Frozen, Inversion, Lock, LockInheriting, Quota, Stopped, Throttled, Traced,
    };
    matches!(
        class,
        Budget
            | FairServer
            | Frozen
            | Inversion
            | Lock
            | LockInheriting
            | Quota
            | Stopped
            | Throttled
            | Traced
    )
}

fn handler_of(occupant: Occupant) -> FragmentCause {
    let (class, who) = match occupant {
        Occupant::Callback(function) => (Class::OtherTimer, Some(function)),
        Occupant::Handler(handler) => match handler.kind {
            HandlerKind::Timer => (Class::TimerInterrupt, None),
            HandlerKind::Vector => (Class::Vector, Some(handler.name)),
            HandlerKind::Device => (Class::Interrupt, Some(handler.name)),
            HandlerKind::Softirq => (Class::Softirq, Some(handler.name)),
        },
        Occupant::Tracer => (Class::Tracer, None),
        Occupant::Thread(_) | Occupant::Unknown | Occupant::Unrecorded => (Class::Lost, None),
    };
    all(CauseId { class, who }, Evidence::Events)
}

/// Context that the timer interrupt found.
pub(super) enum Context {
    /// A program.
    User,
    /// A kernel function that enables interrupts, with the function that called it.
    LetsIn(Option<NameId>),
    /// Kernel code that is interruptible.
    Kernel(Option<NameId>),
}

/// True for Linux functions that enable interrupts at their end, where pending ones come in.
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

/// True for functions that do not show the operation in progress.
fn is_primitive(function: &str) -> bool {
    const PARTS: [&str; 6] = ["_raw_spin", "_raw_read", "_raw_write", "local_irq", "preempt_", "rcu_read_"];
    PARTS.iter().any(|part| function.contains(part)) || lets_interrupts_in(function)
}
