//! State of a processor: its occupants over time, and the time stolen from it.

use std::collections::{HashMap, VecDeque};

use super::event::{Event, EventKind, Functions, Handler, HandlerKind, NameId, PrevState};
use super::machine::{Machine, Platform};
use super::silence::Silences;
use super::timeline::{Timeline, pop_front_while};

/// Occupant of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupant {
    /// Not known: events were lost.
    Unknown,
    /// Not known: no events of it are recorded, or none had come yet.
    Unrecorded,
    /// A thread; 0 is the idle one.
    Thread(ObservedThread),
    /// A handler of interrupts.
    Handler(Handler),
    /// The function of a timer.
    Callback(NameId),
    /// The tracer, while it records the functions that the timer interrupt has interrupted.
    Tracer,
}

/// A thread as events show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedThread {
    /// Number of the thread; 0 for idle.
    pub pid: i32,
    /// Name, once an event has shown it.
    pub name: Option<NameId>,
    /// Priority in kernel numbering, once an event has shown it.
    pub priority: Option<i16>,
}

/// Processor time that a hypervisor took (steal time), at an unknown moment between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stolen {
    pub from_ns: i64,
    pub to_ns: i64,
    pub ns: i64,
}

/// Time in which ready real-time threads were held off a processor that another thread had, or that idled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldOff {
    pub from_ns: i64,
    /// End of the hold-off, or `i64::MAX` while it lasts.
    pub to_ns: i64,
    /// The real-time thread that was displaced.
    displaced: i32,
    /// True if the fair server's timer had just expired.
    pub by_server: bool,
}

/// A timer interrupt, and the last events of its processor before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerInterrupt {
    pub begin_ns: i64,
    /// The last event of any kind, in ns.
    pub event_ns: i64,
    /// The last event that shows interrupts enabled, in ns.
    pub let_in_ns: i64,
}

/// Departure of a thread from the processor; its number is -1 where no event shows which one it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    pub t_ns: i64,
    pub pid: i32,
    /// True if it was still ready to run.
    pub ready: bool,
}

/// Stay of a thread on the processor in which its priority changed, at an unknown time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reprioritized {
    from_ns: i64,
    to_ns: i64,
    /// Priority of the thread when it left.
    priority: i16,
}

/// Highest priority of ordinary threads in kernel numbering; real-time priorities are below.
pub const ORDINARY_PRIORITY: i16 = 100;
/// Longest time from the expiry of the fair server's timer to its start.
const SERVER_BEGINS_NS: i64 = 50_000;

/// Error of the accounted processor time against the clock; more missing time counts as stolen.
const STOLEN_FROM_NS: i64 = 60_000;
/// Longest time accounted together.
const LONGEST_COUNT_NS: i64 = 10_000_000;

/// One processor.
#[derive(Debug)]
pub struct Processor {
    thread: ObservedThread,
    nest: Vec<Occupant>,
    /// The timer whose callback runs.
    pub expiring: Option<u64>,
    /// Occupants over time.
    pub occupants: Timeline<Occupant>,
    /// Times at which processor time was stolen.
    pub stolen: VecDeque<Stolen>,
    /// Functions that timer interrupts have interrupted, by the time at which the interrupt began.
    pub interrupted: VecDeque<(i64, Box<[NameId]>)>,
    /// Timer interrupts, in order.
    pub timer_interrupts: VecDeque<TimerInterrupt>,
    /// Times at which real-time threads were held off.
    pub hold_offs: VecDeque<HoldOff>,
    /// Threads that left it.
    pub departures: VecDeque<Departure>,
    reprioritized: VecDeque<Reprioritized>,
    /// Times in which it had a thread and no event came.
    pub silences: Silences,
    /// The idle state it went into last, over time.
    pub idle: Timeline<Option<u32>>,
    functions: Functions,
    /// Last expiry of a timer of the fair server or of a budget, in ns.
    replenished_ns: i64,
    /// Last event that shows interrupts enabled, in ns.
    let_in_ns: i64,
    /// Earliest time at which the current thread began, if it came out of idle without an event.
    came_ns: Option<i64>,
    /// Last wake-up of a thread for this processor, in ns.
    woken_ns: i64,
    accounting: Option<Accounting>,
    machine: Machine,
    last_ns: i64,
}

/// Accounting of processor time to threads, of which the missing rest was stolen.
///
/// A wake-up that makes the kernel switch threads saves it one reading of the clock: the leaving thread is
/// accounted up to the wake-up only, and its remaining kernel time is accounted to the next thread
/// (`rq_clock_skip_update`). Where this is possible, both threads are accounted together.
#[derive(Debug, Clone, Copy)]
struct Accounting {
    since_ns: i64,
    counted_ns: i64,
    /// Time in handlers that may be missing from the time of threads, in ns.
    handlers_ns: i64,
    /// True if a wake-up came since the last switch.
    woken: bool,
    /// True if the running thread was accounted since it got the processor.
    has_counted: bool,
}

impl Processor {
    /// Creates a processor of which nothing is known yet.
    pub fn new(machine: Machine, functions: Functions) -> Self {
        Processor {
            thread: ObservedThread { pid: -1, name: None, priority: None },
            nest: Vec::new(),
            occupants: Timeline::new(Occupant::Unrecorded),
            expiring: None,
            stolen: VecDeque::new(),
            interrupted: VecDeque::new(),
            timer_interrupts: VecDeque::new(),
            hold_offs: VecDeque::new(),
            departures: VecDeque::new(),
            reprioritized: VecDeque::new(),
            silences: Silences::default(),
            idle: Timeline::new(None),
            functions,
            replenished_ns: i64::MIN,
            let_in_ns: i64::MIN,
            came_ns: None,
            woken_ns: i64::MIN,
            accounting: None,
            machine,
            last_ns: i64::MIN,
        }
    }

    /// Updates occupants, stolen time and hold-offs by the next event; `known` has the threads seen anywhere.
    pub fn process_event(&mut self, event: &Event, known: &HashMap<i32, ObservedThread>) {
        let t = event.t_ns;
        self.count_handler_time(t);
        if event.what == EventKind::Lost {
            self.nest.clear();
            (self.accounting, self.came_ns, self.expiring) = (None, None, None);
            self.thread.pid = -1;
            // A hold-off at that time may have ended.
            if self.hold_offs.back().is_some_and(|held| held.to_ns == i64::MAX) {
                self.hold_offs.pop_back();
            }
            self.let_in_ns = t;
            self.silences.note_lost_events();
            // Nothing is known from the last event before the gap on.
            self.occupants.push(self.last_ns.max(i64::MIN + 1), Occupant::Unknown);
            self.last_ns = t;
            return;
        }
        let before_ns = std::mem::replace(&mut self.last_ns, t);
        let is_current = self.thread.pid == event.pid;
        if !is_current {
            self.note_unannounced_switch(event, before_ns, known);
        } else if self.thread.pid > 0 && self.nest.is_empty() && self.machine.can_lose_processor() {
            self.silences.note_silence(before_ns, t);
        }
        self.silences.process_event(t, &event.what, self.functions);
        if let (EventKind::HandlerEnter(handler), true) = (&event.what, self.nest.is_empty())
            && handler.kind == HandlerKind::Timer
        {
            let let_in_ns = self.let_in_ns;
            self.timer_interrupts.push_back(TimerInterrupt { begin_ns: t, event_ns: before_ns, let_in_ns });
        }
        if !event.interrupts_off
            || matches!(event.what, EventKind::HandlerEnter(_) | EventKind::HandlerExit(_))
        {
            self.let_in_ns = t;
        }
        match &event.what {
            EventKind::Switch { from, from_priority, prev_state, to, name, priority, .. } => {
                if self.thread.pid == *from && self.thread.priority.is_some_and(|came| came != *from_priority)
                {
                    let from_ns = self.departures.back().map_or(i64::MIN, |left| left.t_ns);
                    let priority = *from_priority;
                    self.reprioritized.push_back(Reprioritized { from_ns, to_ns: t, priority });
                }
                self.departures.push_back(Departure {
                    t_ns: t,
                    pid: *from,
                    ready: *prev_state == PrevState::Ready,
                });
                self.note_switch(t, (*from, *from_priority, *prev_state), (*to, *priority));
                self.thread = ObservedThread { pid: *to, name: Some(*name), priority: Some(*priority) };
                // Handlers end before a switch: one that still seems open has lost its end.
                self.nest.clear();
                self.account_next_thread(t);
            }
            EventKind::RuntimeAccounted { pid, ns } => {
                if *pid == self.thread.pid {
                    self.correct_begin(t.saturating_sub(*ns));
                }
                self.account(t, *ns);
            }
            EventKind::HandlerEnter(handler) => self.nest.push(Occupant::Handler(*handler)),
            EventKind::HandlerExit(handler) => self.leave_nested(
                |o| matches!(o, Occupant::Handler(h) if h.kind == handler.kind && h.number == handler.number),
            ),
            EventKind::TimerExpire { timer, function } => {
                self.expiring = Some(*timer);
                if *function == self.functions.replenish {
                    self.replenished_ns = t;
                }
                self.nest.push(Occupant::Callback(*function));
            }
            EventKind::TimerExpireEnd => {
                self.expiring = None;
                self.leave_nested(|o| matches!(o, Occupant::Callback(_)));
            }
            EventKind::InterruptedStack(frames) => self.note_interrupted_stack(t, frames),
            EventKind::IdleEnter(state) => self.idle.push(t, Some(*state)),
            _ => {}
        }
        self.occupants.push(t, self.nest.last().copied().unwrap_or(Occupant::Thread(self.thread)));
    }

    /// Notes the switch to the thread of an event that is not the current one. Some kernels emit no event for the switch
    /// from idle to a thread: it happened after the last event of the idle thread.
    fn note_unannounced_switch(
        &mut self,
        event: &Event,
        before_ns: i64,
        known: &HashMap<i32, ObservedThread>,
    ) {
        let came = known.get(&event.pid).copied();
        let came = came.unwrap_or(ObservedThread { pid: event.pid, name: None, priority: None });
        let was_idle = self.thread.pid == 0 && event.pid != 0 && self.nest.is_empty();
        self.thread = came;
        self.accounting = None;
        self.came_ns = None;
        if was_idle && event.pid > 0 {
            let from_ns = before_ns.max(self.woken_ns).max(i64::MIN + 1);
            self.departures.push_back(Departure { t_ns: from_ns, pid: 0, ready: false });
            self.end_hold_off(from_ns, came.priority);
            self.occupants.push(from_ns, Occupant::Thread(came));
            self.came_ns = Some(from_ns);
        } else {
            self.departures.push_back(Departure { t_ns: event.t_ns, pid: -1, ready: false });
        }
    }

    /// Corrects the time from which the thread that came out of idle had the processor, by its accounted time.
    fn correct_begin(&mut self, t_ns: i64) {
        let Some(guessed_ns) = self.came_ns.take() else { return };
        if self.occupants.last() == Some((guessed_ns, Occupant::Thread(self.thread))) {
            self.occupants.delay_last_change(
                t_ns,
                Occupant::Thread(ObservedThread { pid: 0, name: None, priority: None }),
            );
            if let Some(idle) =
                self.departures.back_mut().filter(|idle| idle.t_ns == guessed_ns && idle.pid == 0)
            {
                idle.t_ns = t_ns.max(guessed_ns);
            }
        }
    }

    /// Begins a hold-off if a switch displaces a real-time thread for an ordinary one or idle, or ends the open one.
    fn note_switch(
        &mut self,
        t_ns: i64,
        (from, from_priority, prev_state): (i32, i16, PrevState),
        (to, priority): (i32, i16),
    ) {
        let open = self.hold_offs.back().is_some_and(|held| held.to_ns == i64::MAX);
        let is_ordinary = |pid: i32, priority: i16| pid == 0 || priority >= ORDINARY_PRIORITY;
        if !is_ordinary(to, priority) {
            return self.end_hold_off(t_ns, Some(priority));
        }
        if !open && !is_ordinary(from, from_priority) && prev_state == PrevState::Ready && from_priority >= 0
        {
            let by_server = t_ns.saturating_sub(self.replenished_ns) <= SERVER_BEGINS_NS;
            self.hold_offs.push_back(HoldOff { from_ns: t_ns, to_ns: i64::MAX, displaced: from, by_server });
        }
    }

    /// Ends a hold-off if a thread of this priority is a real-time thread.
    fn end_hold_off(&mut self, t_ns: i64, priority: Option<i16>) {
        if let Some(held) = self.hold_offs.back_mut()
            && priority.is_some_and(|priority| (0..ORDINARY_PRIORITY).contains(&priority))
        {
            held.to_ns = held.to_ns.min(t_ns);
        }
    }

    /// Forgets a hold-off of a thread that is moved to another processor: this one did not hold it off.
    pub fn forget_hold_off(&mut self, pid: i32) {
        if self.hold_offs.back().is_some_and(|held| held.to_ns == i64::MAX && held.displaced == pid) {
            self.hold_offs.pop_back();
        }
    }

    /// Returns the hold-off of real-time threads around this time.
    pub fn hold_off_at(&self, t_ns: i64) -> Option<&HoldOff> {
        let begun = self.hold_offs.partition_point(|held| held.from_ns <= t_ns);
        self.hold_offs.get(begun.checked_sub(1)?).filter(|held| t_ns < held.to_ns)
    }

    /// Returns the priority with which the thread running at `t_ns` left, if it differs from the one it came with.
    pub fn priority_at_end(&self, t_ns: i64) -> Option<i16> {
        let ended = self.reprioritized.partition_point(|stay| stay.to_ns <= t_ns);
        self.reprioritized.get(ended).filter(|stay| stay.from_ns <= t_ns).map(|stay| stay.priority)
    }

    /// Returns the times in ns at which the thread running at `t_ns` came and left, as far as remembered.
    pub fn thread_span_at(&self, t_ns: i64) -> (i64, i64) {
        let next = self.departures.partition_point(|left| left.t_ns <= t_ns);
        let at = |place: usize| self.departures.get(place).map(|left| left.t_ns);
        (next.checked_sub(1).and_then(at).unwrap_or(i64::MIN), at(next).unwrap_or(i64::MAX))
    }

    /// True if a timer interrupt after `woken_ns` interrupted user code of the thread that runs at `t_ns`.
    pub fn interrupted_user_code(&self, woken_ns: i64, t_ns: i64) -> bool {
        let (came_ns, left_ns) = self.thread_span_at(t_ns);
        let found = self.interrupted.partition_point(|(t, _)| *t < left_ns);
        let found = self.interrupted.range(..found).rev().take_while(|(t, _)| *t > woken_ns.max(came_ns));
        found.into_iter().any(|(_, frames)| frames.is_empty())
    }

    /// Returns the timer interrupt in progress at a time, or the last one before it.
    pub fn timer_interrupt_at(&self, t_ns: i64) -> Option<&TimerInterrupt> {
        let after = self.timer_interrupts.partition_point(|interrupt| interrupt.begin_ns <= t_ns);
        self.timer_interrupts.get(after.checked_sub(1)?)
    }

    /// Ends the innermost nested occupant that `of` accepts, and all within it.
    fn leave_nested(&mut self, of: impl Fn(&Occupant) -> bool) {
        if let Some(place) = self.nest.iter().rposition(of) {
            self.nest.truncate(place);
        }
    }

    /// Notes the functions that the timer interrupt interrupted, and attributes its time so far to the tracer.
    fn note_interrupted_stack(&mut self, t_ns: i64, frames: &[NameId]) {
        let Some((begin_ns, Occupant::Handler(timer))) = self.occupants.last() else { return };
        if timer.kind != HandlerKind::Timer || self.nest.last() != Some(&Occupant::Handler(timer)) {
            return;
        }
        self.occupants.replace_last(Occupant::Tracer);
        self.occupants.push(t_ns, Occupant::Handler(timer));
        self.interrupted.push_back((begin_ns, frames.into()));
    }

    fn count_handler_time(&mut self, t_ns: i64) {
        let (last_ns, in_handler) = (self.last_ns, self.machine.handler_time_apart && !self.nest.is_empty());
        if let (Some(accounting), true) = (&mut self.accounting, in_handler) {
            accounting.handlers_ns += t_ns - last_ns;
        }
    }

    /// Notes that a thread is being woken for this processor.
    pub fn note_wake_up(&mut self, t_ns: i64) {
        self.woken_ns = t_ns;
        if let Some(accounting) = &mut self.accounting {
            accounting.woken = true;
        }
    }

    fn restart_accounting(&mut self, t_ns: i64) {
        self.accounting = Some(Accounting {
            since_ns: t_ns,
            counted_ns: 0,
            handlers_ns: 0,
            woken: false,
            has_counted: false,
        });
    }

    /// Starts accounting the next thread: together with the one before, if that was not accounted to its end.
    fn account_next_thread(&mut self, t_ns: i64) {
        match &mut self.accounting {
            Some(accounting)
                if accounting.woken
                    && accounting.has_counted
                    && t_ns - accounting.since_ns <= LONGEST_COUNT_NS =>
            {
                (accounting.woken, accounting.has_counted) = (false, false);
            }
            _ => self.restart_accounting(t_ns),
        }
    }

    /// Accounts time to the running thread; time accounted neither to threads nor to handlers was stolen.
    fn account(&mut self, t_ns: i64, ns: i64) {
        let Some(accounting) = &mut self.accounting else { return self.restart_accounting(t_ns) };
        accounting.counted_ns = accounting.counted_ns.saturating_add(ns);
        accounting.has_counted = true;
        if accounting.woken {
            return;
        }
        let counted_ns = accounting.counted_ns.saturating_add(accounting.handlers_ns);
        let (from_ns, ns) = (accounting.since_ns, (t_ns - accounting.since_ns).saturating_sub(counted_ns));
        if ns >= STOLEN_FROM_NS && self.machine.platform == Platform::StealTimeHypervisor {
            self.stolen.push_back(Stolen { from_ns, to_ns: t_ns, ns });
        }
        self.restart_accounting(t_ns);
    }

    /// Returns the functions that the timer interrupt at this time interrupted; `None` if they were not recorded.
    pub fn interrupted_at(&self, t_ns: i64) -> Option<&[NameId]> {
        let after = self.interrupted.partition_point(|(t, _)| *t <= t_ns);
        let (begin_ns, frames) = self.interrupted.get(after.checked_sub(1)?)?;
        let handler = |o| matches!(o, Occupant::Handler(_) | Occupant::Callback(_) | Occupant::Tracer);
        // Of the same interrupt only if nothing else had the processor in between.
        self.occupants
            .segments(*begin_ns, t_ns.max(begin_ns + 1))
            .all(|(_, _, o)| handler(o))
            .then_some(&**frames)
    }

    /// Forgets everything before this time.
    pub fn forget_before(&mut self, t_ns: i64) {
        self.occupants.forget_before(t_ns);
        self.idle.forget_before(t_ns);
        self.silences.forget_before(t_ns);
        pop_front_while(&mut self.stolen, |stolen| stolen.to_ns < t_ns);
        pop_front_while(&mut self.interrupted, |(t, _)| *t < t_ns);
        pop_front_while(&mut self.timer_interrupts, |interrupt| interrupt.begin_ns < t_ns);
        pop_front_while(&mut self.hold_offs, |held| held.to_ns < t_ns);
        pop_front_while(&mut self.departures, |left| left.t_ns < t_ns);
        pop_front_while(&mut self.reprioritized, |stay| stay.to_ns < t_ns);
    }
}
