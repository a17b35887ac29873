//! Cause of a fragment of a latency, and the evidence for it.

use std::collections::BTreeMap;

use jitterlab_model::causes::{Cause, CauseClass as Class, Evidence, SparseHistogram, Step};

use super::event::{HandlerKind, NameId, NameTable, is_same_clock};
use super::fragments::Fragment;
use super::machine::{Machine, Platform};
use super::periods::LimitPeriods;
use super::processor::{ObservedThread, Occupant, Processor};
use super::thread::{ArmedTimer, State, Thread, WakeUp, Waker};

/// Cause whose name is an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseId {
    pub class: Class,
    pub who: Option<NameId>,
}

impl CauseId {
    /// Returns the cause with its name as text.
    pub fn to_cause(self, names: &NameTable) -> Cause {
        let who = self.who.map(|name| names.name(name).to_owned()).filter(|name| !name.is_empty());
        Cause { class: self.class, who }
    }
}

impl From<Class> for CauseId {
    fn from(class: Class) -> Self {
        CauseId { class, who: None }
    }
}

/// Cause of a fragment of a latency, or of its excess over the typical length, with the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentCause {
    /// Step of the wake-up that the fragment belongs to, if only the excess over the typical length has the cause.
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

/// Attributes all of a fragment to a cause.
pub(super) fn cause_of_whole(cause: impl Into<CauseId>, evidence: Evidence) -> FragmentCause {
    FragmentCause { step: None, cause: cause.into(), evidence, function: None }
}

/// Attributes the excess of a fragment over the typical length of a step to a cause.
pub(super) fn cause_of_excess(step: Step, cause: impl Into<CauseId>, evidence: Evidence) -> FragmentCause {
    FragmentCause { step: Some(step), cause: cause.into(), evidence, function: None }
}

/// Knowledge of an activation, from which the causes of its fragments are found.
pub struct FragmentContext<'a> {
    pub thread: &'a Thread,
    pub processors: &'a BTreeMap<u16, Processor>,
    pub names: &'a NameTable,
    /// The wake-up that led to the start, if there was one since the previous activation.
    pub wake: Option<&'a WakeUp>,
    /// Timer that was waited for, with times on the clock of the due times.
    pub due_timer: Option<ArmedTimer>,
    /// True if the task woke early and polled for its due time.
    pub polled: bool,
    /// Properties of the machine.
    pub machine: Machine,
    /// Ends of the periods of limits.
    pub periods: &'a LimitPeriods,
    /// Processor of the activation before.
    pub previous_cpu: Option<u16>,
    /// End of its previous work, if known, in ns.
    pub worked_until_ns: Option<i64>,
    /// Lengths of its work so far.
    pub work: &'a SparseHistogram,
}

impl FragmentContext<'_> {
    /// Returns the cause of a fragment, with time outside this kernel considered.
    pub fn cause_of(&self, fragment: &Fragment) -> FragmentCause {
        let verdict = self.cause_by_kernel(fragment);
        match fragment.stolen {
            true if !self.would_wait_anyway(fragment) => FragmentCause {
                cause: Class::Outside.into(),
                evidence: Evidence::Stolen,
                function: None,
                ..verdict
            },
            _ if self.takes_too_long(verdict.cause.class, fragment.to_ns - fragment.from_ns) => {
                FragmentCause { cause: Class::Outside.into(), evidence: Evidence::TooLong, ..verdict }
            }
            _ if matches!(verdict.evidence, Evidence::Events | Evidence::LetIn)
                && (self.may_include_outside(verdict.cause.class)
                    || matches!(fragment.state, State::Ready(_)) && self.has_late_tick(fragment)) =>
            {
                FragmentCause { evidence: Evidence::EventsOrOutside, ..verdict }
            }
            _ => verdict,
        }
    }

    /// True if the task would have waited whatever had the processor: for others, or for a time that had not come.
    fn would_wait_anyway(&self, fragment: &Fragment) -> bool {
        if !matches!(fragment.state, State::Off(_)) {
            return false;
        }
        let Some(wake) = self.thread.wake_ending_wait(fragment.to_ns) else { return false };
        let ends = |armed: ArmedTimer| fragment.to_ns <= armed.soft_ns;
        match wake.by {
            Waker::Timer(_) => {
                self.is_before_its_wait(fragment) || self.timer_on_due_clock(wake).is_some_and(ends)
            }
            Waker::OtherTimer(_) | Waker::Handler(_) | Waker::Thread(..) => true,
        }
    }

    /// Returns the timer behind a wake-up, if its times are on the clock of the due times.
    fn timer_on_due_clock(&self, wake: &WakeUp) -> Option<ArmedTimer> {
        match self.wake.is_some_and(|own| own.t_ns == wake.t_ns) {
            true => self.due_timer,
            false => self
                .thread
                .timer_behind(wake)
                .copied()
                .filter(|armed| is_same_clock(armed.soft_ns, wake.t_ns)),
        }
    }

    /// True if the task has not come to its wait for the next start.
    fn is_before_its_wait(&self, fragment: &Fragment) -> bool {
        self.worked_until_ns.is_some_and(|ns| fragment.to_ns <= ns)
    }

    /// True if a hypervisor may have held the occupant without reporting it. It never reports, or the occupant is a
    /// timer interrupt: setting a timer leaves the guest, which no hypervisor counts as steal time.
    fn may_include_outside(&self, class: Class) -> bool {
        match self.machine.platform {
            _ if is_thread_state(class) => false,
            Platform::Hypervisor => true,
            Platform::StealTimeHypervisor => class == Class::TimerInterrupt,
            Platform::Hardware | Platform::VirtualTime { .. } => false,
        }
    }

    /// True if a hypervisor is a likelier cause than a timer or inter-processor interrupt that takes this long.
    fn takes_too_long(&self, class: Class, ns: i64) -> bool {
        matches!(self.machine.platform, Platform::Hypervisor | Platform::StealTimeHypervisor)
            && matches!(class, Class::TimerInterrupt | Class::OtherTimer | Class::Vector)
            && ns > LONG_HANDLER_NS
    }

    /// Returns the cause of a fragment as this kernel sees it.
    fn cause_by_kernel(&self, fragment: &Fragment) -> FragmentCause {
        if let State::Off(off) = fragment.state
            && let Some(held) = self.cause_of_off_state(off, fragment)
        {
            return held;
        }
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => cause_of_whole(Class::Lost, Evidence::None),
            (State::Off(_), Occupant::Unrecorded) => self.cause_while_sleeping(fragment),
            (_, Occupant::Unrecorded) => cause_of_whole(Class::Lost, Evidence::None),
            (_, Occupant::Tracer) => self.cause_of_stack_recording(),
            (State::Running(_), Occupant::Thread(_)) if self.is_setting_timer(fragment) => {
                self.cause_while_setting_timer(fragment)
            }
            (State::Running(_), _) if self.is_setting_timer(fragment) => {
                self.cause_of_late_timer(fragment, self.wake)
            }
            (State::Running(_), Occupant::Thread(_)) => self.cause_while_running(fragment),
            (State::Off(_), _) => self.cause_while_sleeping(fragment),
            (State::Ready(_), Occupant::Thread(thread)) => self.cause_while_ready(fragment, thread),
            (_, Occupant::Handler(handler)) => match handler.kind {
                HandlerKind::Timer if self.is_own_interrupt(fragment) => {
                    cause_of_excess(Step::InterruptEnd, Class::TimerInterrupt, Evidence::Events)
                }
                _ => handler_cause(fragment.occupant),
            },
            (_, Occupant::Callback(_)) if self.is_own_interrupt(fragment) => {
                cause_of_excess(Step::InterruptEnd, Class::TimerInterrupt, Evidence::Events)
            }
            (_, occupant) => handler_cause(occupant),
        }
    }

    /// True if a fragment of a timer interrupt follows the wake-up without anything else in between.
    fn is_own_interrupt(&self, fragment: &Fragment) -> bool {
        let Some((wake, processor)) = self.wake.zip(self.processor(fragment.cpu)) else { return false };
        if !matches!(wake.by, Waker::Timer(_)) || wake.cpu != fragment.cpu || wake.t_ns > fragment.from_ns {
            return false;
        }
        match fragment.occupant {
            // A timer that expired after the task's own belongs to another thread.
            Occupant::Callback(_) => processor.occupants.segment_begin(fragment.from_ns) <= wake.t_ns,
            _ => processor
                .occupants
                .segments(wake.t_ns, fragment.to_ns)
                .all(|(_, _, o)| !matches!(o, Occupant::Thread(_))),
        }
    }

    pub(super) fn processor(&self, cpu: u16) -> Option<&Processor> {
        self.processors.get(&cpu)
    }

    /// Returns the cause of a fragment in which the task had the processor.
    fn cause_while_running(&self, fragment: &Fragment) -> FragmentCause {
        let faults = &self.thread.faults;
        let last = faults.partition_point(|t| *t <= fragment.from_ns).checked_sub(1);
        let last = last.and_then(|place| faults.get(place));
        if !self.polled && !self.was_woken(fragment) {
            return match last {
                Some(t) if fragment.from_ns - t < FAULT_NS => {
                    cause_of_whole(Class::PageFault, Evidence::UpTo)
                }
                _ if self.thread.has_lost_events(fragment.from_ns, fragment.to_ns) => {
                    cause_of_whole(Class::OwnWork, Evidence::None)
                }
                Some(t) if self.is_silent_since(*t, fragment) => {
                    cause_of_whole(Class::PageFault, Evidence::None)
                }
                _ => self.cause_while_working(fragment),
            };
        }
        match last.is_some_and(|t| self.wake.is_none_or(|wake| *t >= wake.t_ns)) {
            true => cause_of_excess(Step::Return, Class::PageFault, Evidence::UpTo),
            false => cause_of_excess(Step::Return, Class::SlowReturn, Evidence::None),
        }
    }

    /// True if a wake-up has ended the wait for the next start, even if a tracer stops the task on its way back.
    fn was_woken(&self, fragment: &Fragment) -> bool {
        let free_ns = self.worked_until_ns.unwrap_or(i64::MIN);
        let ended = self.thread.last_wake(free_ns, fragment.from_ns).is_some_and(|wake| !wake.interrupts);
        ended || self.wake.is_some_and(|wake| wake.t_ns <= fragment.from_ns)
    }

    /// True if the task, its work done, was still in the call that set the timer which woke it. The timer expired
    /// before the kernel could let another thread run.
    fn is_setting_timer(&self, fragment: &Fragment) -> bool {
        let woken = |wake: &WakeUp| matches!(wake.by, Waker::Timer(_)) && wake.t_ns > fragment.from_ns;
        !self.polled
            && self.worked_until_ns.is_some_and(|ns| ns <= fragment.from_ns)
            && self.due_timer.is_some_and(|armed| armed.t_ns <= fragment.from_ns)
            && self.wake.is_some_and(woken)
    }

    /// Returns the cause of a late timer interrupt while the task was in the call that set the timer. Setting a timer
    /// leaves a virtual machine: there this takes the time, and not kernel code with interrupts disabled.
    fn cause_while_setting_timer(&self, fragment: &Fragment) -> FragmentCause {
        let verdict = self.cause_of_late_interrupt(fragment, self.wake);
        match (self.machine.platform, verdict.cause.class) {
            (Platform::StealTimeHypervisor | Platform::Hypervisor, Class::InterruptsOff) => {
                FragmentCause { cause: Class::TimerInterrupt.into(), evidence: Evidence::Events, ..verdict }
            }
            _ => verdict,
        }
    }

    /// Returns the cause of a fragment in which the task waited.
    fn cause_while_sleeping(&self, fragment: &Fragment) -> FragmentCause {
        let wake = self.thread.wake_ending_wait(fragment.to_ns);
        match wake.map(|wake| wake.by) {
            // It waits for a time in its work.
            Some(Waker::Timer(_)) if self.is_before_its_wait(fragment) => {
                cause_of_whole(Class::OwnWork, Evidence::Events)
            }
            Some(Waker::Timer(_)) => self.cause_of_late_timer(fragment, wake),
            Some(Waker::Thread(_, who)) => self.cause_of_block(fragment, who),
            Some(Waker::Handler(who)) => self.cause_of_block(fragment, Some(who)),
            Some(Waker::OtherTimer(who)) => {
                cause_of_whole(CauseId { class: Class::Blocked, who: Some(who) }, Evidence::None)
            }
            None => cause_of_whole(Class::Blocked, Evidence::None),
        }
    }

    /// Returns the cause of a fragment before the wake-up by a timer: up to its interrupt, and within it.
    fn cause_of_late_timer(&self, fragment: &Fragment, wake: Option<&WakeUp>) -> FragmentCause {
        let armed = wake.and_then(|wake| self.timer_on_due_clock(wake));
        if let Some(armed) = armed {
            if fragment.to_ns <= armed.soft_ns {
                let class = if armed.is_budget { Class::Budget } else { Class::AskedLate };
                return cause_of_whole(class, Evidence::Events);
            }
            if fragment.to_ns <= armed.hard_ns {
                return cause_of_whole(Class::TimerSlack, Evidence::Events);
            }
        }
        match fragment.occupant {
            Occupant::Handler(handler) if handler.kind == HandlerKind::Timer => {
                cause_of_excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            // A softirq does not block the timer interrupt, but code in it may disable interrupts.
            Occupant::Handler(handler) if handler.kind != HandlerKind::Softirq => {
                handler_cause(fragment.occupant)
            }
            Occupant::Callback(_) if self.is_own_callback(fragment) => {
                cause_of_excess(Step::Interrupt, Class::TimerInterrupt, Evidence::Events)
            }
            Occupant::Callback(_) => handler_cause(fragment.occupant),
            _ => self.cause_of_late_interrupt(fragment, wake),
        }
    }

    /// True if the callback of this timer wakes the task.
    fn is_own_callback(&self, fragment: &Fragment) -> bool {
        self.thread.next_wake(fragment.to_ns).is_some_and(|wake| wake.t_ns == fragment.to_ns)
    }

    /// Returns the cause of the time in which the tracer recorded the interrupted functions. Only the platform can make that
    /// longer than usual, since the handler is not interrupted.
    fn cause_of_stack_recording(&self) -> FragmentCause {
        match self.machine.platform {
            Platform::VirtualTime { .. } => cause_of_whole(Class::Tracer, Evidence::Events),
            _ => cause_of_excess(Step::StackRecording, Class::Outside, Evidence::TooLong),
        }
    }

    /// Returns the cause of a late timer interrupt during one occupant. The occupant delayed it without a break: before
    /// the last event that shows interrupts enabled they were not disabled, and before the last event the kernel ran.
    fn cause_of_late_interrupt(&self, fragment: &Fragment, wake: Option<&WakeUp>) -> FragmentCause {
        let who = match fragment.occupant {
            Occupant::Thread(thread) if thread.pid != 0 => thread.name,
            Occupant::Handler(handler) => Some(handler.name),
            _ => None,
        };
        if matches!(fragment.occupant, Occupant::Thread(ObservedThread { pid: 0, .. })) {
            return cause_of_excess(Step::Timer, Class::Idle, Evidence::WasIdle);
        }
        let wake = wake.and_then(|wake| Some((wake, self.processor(wake.cpu)?)));
        let interrupt = wake.and_then(|(wake, on)| on.timer_interrupt_at(wake.t_ns));
        let behind = |ns: Option<i64>| ns.is_none_or(|ns| fragment.from_ns >= ns);
        let let_in = behind(interrupt.map(|interrupt| interrupt.let_in_ns));
        let silent = behind(interrupt.map(|interrupt| interrupt.event_ns));
        let off = |function, evidence| FragmentCause {
            function,
            ..cause_of_excess(Step::Timer, CauseId { class: Class::InterruptsOff, who }, evidence)
        };
        let ns = fragment.to_ns - fragment.from_ns;
        let found = wake
            .and_then(|(wake, on)| on.interrupted_at(wake.t_ns))
            .map(|found| self.interrupted_code(found));
        match (found, self.machine.platform) {
            // Only the kernel itself can delay the emulator's interrupt for so long.
            (Some(InterruptedCode::Kernel(function)), Platform::VirtualTime { ns_per_instruction })
                if ns > BLOCK_INSTRUCTIONS * i64::from(ns_per_instruction) =>
            {
                off(function, Evidence::KernelMode)
            }
            (Some(InterruptedCode::LetsIn(function)), _) if let_in => off(function, Evidence::LetIn),
            (Some(InterruptedCode::User), _) if silent => {
                let (class, evidence) = self.cause_outside(Evidence::UserMode);
                cause_of_excess(Step::Timer, class, evidence)
            }
            // The function may have enabled interrupts itself, or the layer below the kernel held the processor.
            (Some(InterruptedCode::Kernel(function)), _) => FragmentCause {
                function,
                ..cause_of_excess(Step::Timer, Class::LateInterrupt, Evidence::Interruptible)
            },
            _ => cause_of_excess(Step::Timer, Class::LateInterrupt, Evidence::None),
        }
    }

    /// Returns the cause of a late timer interrupt that nothing in this kernel explains; undecided in virtual time.
    fn cause_outside(&self, evidence: Evidence) -> (Class, Evidence) {
        match self.machine.platform {
            Platform::VirtualTime { .. } => (Class::LateInterrupt, Evidence::None),
            _ => (Class::Outside, evidence),
        }
    }

    /// Returns the context that a timer interrupt found, from the functions that it interrupted.
    pub(super) fn interrupted_code(&self, frames: &[NameId]) -> InterruptedCode {
        let Some(innermost) = frames.first() else { return InterruptedCode::User };
        let function = frames.iter().copied().find(|f| !is_primitive(self.names.name(*f)));
        match lets_interrupts_in(self.names.name(*innermost)) {
            true => InterruptedCode::LetsIn(function.or(Some(*innermost))),
            false => InterruptedCode::Kernel(function),
        }
    }

    /// Returns the cause that takes the processor from the task while it works; `None` if the task has it.
    pub fn interrupting_cause(&self, fragment: &Fragment) -> Option<CauseId> {
        if fragment.stolen && !self.would_wait_anyway(fragment) {
            return Some(Class::Outside.into());
        }
        if let State::Off(off) = fragment.state
            && let Some(held) = self.cause_of_off_state(off, fragment)
        {
            return Some(held.cause);
        }
        match (fragment.state, fragment.occupant) {
            (State::Unknown, _) | (_, Occupant::Unknown) => Some(Class::Lost.into()),
            (State::Off(_), _) => {
                let who = match self.thread.wake_ending_wait(fragment.to_ns).map(|wake| wake.by) {
                    Some(Waker::Thread(_, who)) => who,
                    Some(Waker::Handler(who) | Waker::OtherTimer(who)) => Some(who),
                    Some(Waker::Timer(_)) | None => None,
                };
                Some(CauseId { class: Class::Blocked, who })
            }
            (_, Occupant::Unrecorded) => Some(Class::Lost.into()),
            (State::Running(_), Occupant::Thread(_)) => None,
            (State::Ready(_), Occupant::Thread(thread)) => {
                Some(self.cause_while_ready(fragment, thread).cause)
            }
            (_, occupant) => Some(handler_cause(occupant).cause),
        }
    }
}

/// True if a cause is a state of the thread, to which no hypervisor contributes.
const fn is_thread_state(class: Class) -> bool {
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

/// Attributes a fragment to the handler or callback that has the processor.
fn handler_cause(occupant: Occupant) -> FragmentCause {
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
    cause_of_whole(CauseId { class, who }, Evidence::Events)
}

/// Code that a timer interrupt interrupted.
pub(super) enum InterruptedCode {
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

/// True for locking functions and their like, which do not show the operation in progress.
fn is_primitive(function: &str) -> bool {
    const PARTS: [&str; 6] = ["_raw_spin", "_raw_read", "_raw_write", "local_irq", "preempt_", "rcu_read_"];
    PARTS.iter().any(|part| function.contains(part)) || lets_interrupts_in(function)
}
