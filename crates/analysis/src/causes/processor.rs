//! What ran on a processor, and what was taken away from it.

use std::collections::{HashMap, VecDeque};

use super::event::{Event, Handler, HandlerKind, Name, What};
use super::machine::{Below, Machine};
use super::track::Track;

/// What has a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupant {
    /// Not known: events are missing.
    Unknown,
    /// A thread; 0 is the idle one.
    Thread(Seen),
    /// A handler of interrupts.
    Handler(Handler),
    /// The function of a timer.
    Callback(Name),
    /// The tracer, while it notes what the timer interrupt has interrupted.
    Tracer,
}

/// A thread as events show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number; 0 for idle.
    pub pid: i32,
    /// Its name, once an event told it.
    pub name: Option<Name>,
    /// Its priority as the kernel counts, once an event told it.
    pub priority: Option<i16>,
}

/// Time that was taken away from a processor, at some time between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stolen {
    pub from_ns: i64,
    pub to_ns: i64,
    pub ns: i64,
}

/// Processor time is counted within so much of the clock: what is missing beyond was taken away.
const STOLEN_FROM_NS: i64 = 60_000;
/// Nothing is counted together over longer than this.
const LONGEST_COUNT_NS: i64 = 10_000_000;

/// One processor.
#[derive(Debug)]
pub struct Processor {
    thread: Seen,
    nest: Vec<Occupant>,
    /// What had it, over time.
    pub ran: Track<Occupant>,
    /// When time was taken away from it.
    pub stolen: VecDeque<Stolen>,
    /// What timer interrupts have interrupted, by the time at which they began.
    pub interrupted: VecDeque<(i64, Box<[Name]>)>,
    /// The idle state it went into last, over time.
    pub idle: Track<Option<u32>>,
    counting: Option<Counting>,
    machine: Machine,
    last_ns: i64,
}

/// Processor time that is being counted.
///
/// A wake-up that makes the kernel switch threads saves it one look at the clock: the thread that has to go is counted up to
/// the wake-up only, and what it still does in the kernel is counted for the thread that comes (`rq_clock_skip_update`).
/// Where that may be, both are counted together.
#[derive(Debug, Clone, Copy)]
struct Counting {
    since_ns: i64,
    counted_ns: i64,
    /// Time in handlers that may not be counted for threads.
    handlers_ns: i64,
    /// Whether a wake-up came since the last switch.
    woken: bool,
    /// Whether the thread that runs was counted since it got the processor.
    has_counted: bool,
}

impl Processor {
    /// Nothing is known yet.
    pub fn new(machine: Machine) -> Self {
        Processor {
            thread: Seen { pid: -1, name: None, priority: None },
            nest: Vec::new(),
            ran: Track::new(Occupant::Unknown),
            stolen: VecDeque::new(),
            interrupted: VecDeque::new(),
            idle: Track::new(None),
            counting: None,
            machine,
            last_ns: i64::MIN,
        }
    }

    /// Takes the next event; `known` is what was told of threads on any processor.
    pub fn event(&mut self, event: &Event, known: &HashMap<i32, Seen>) {
        let t = event.t_ns;
        self.pass_time(t);
        if event.what == What::Lost {
            self.nest.clear();
            self.counting = None;
            self.thread.pid = -1;
            // Nothing is known from the last event before the gap on.
            self.ran.push(self.last_ns.max(i64::MIN + 1), Occupant::Unknown);
            self.last_ns = t;
            return;
        }
        self.last_ns = t;
        if self.thread.pid != event.pid && !matches!(event.what, What::Switch { .. }) {
            self.thread =
                known.get(&event.pid).copied().unwrap_or(Seen { pid: event.pid, name: None, priority: None });
            self.counting = None;
        }
        match &event.what {
            What::Switch { to, name, priority, .. } => {
                self.thread = Seen { pid: *to, name: Some(*name), priority: Some(*priority) };
                // No handler is left behind: what still seems open lost its end.
                self.nest.clear();
                self.count_on(t);
            }
            What::Ran { ns, .. } => self.count(t, *ns),
            What::Enter(handler) => self.nest.push(Occupant::Handler(*handler)),
            What::Exit(handler) => self.leave(
                |o| matches!(o, Occupant::Handler(h) if h.kind == handler.kind && h.number == handler.number),
            ),
            What::Expire { function, .. } => self.nest.push(Occupant::Callback(*function)),
            What::ExpireEnd => self.leave(|o| matches!(o, Occupant::Callback(_))),
            What::Interrupted(frames) => self.note_interrupted(t, frames),
            What::Idle(state) => self.idle.push(t, Some(*state)),
            _ => {}
        }
        self.ran.push(t, self.nest.last().copied().unwrap_or(Occupant::Thread(self.thread)));
    }

    fn leave(&mut self, of: impl Fn(&Occupant) -> bool) {
        if let Some(place) = self.nest.iter().rposition(of) {
            self.nest.truncate(place);
        }
    }

    /// The time from the begin of the interrupt to this event is the tracer's: it went through the stack.
    fn note_interrupted(&mut self, t_ns: i64, frames: &[Name]) {
        let Some((begin_ns, Occupant::Handler(timer))) = self.ran.last() else { return };
        if timer.kind != HandlerKind::Timer || self.nest.last() != Some(&Occupant::Handler(timer)) {
            return;
        }
        self.ran.replace_last(Occupant::Tracer);
        self.ran.push(t_ns, Occupant::Handler(timer));
        self.interrupted.push_back((begin_ns, frames.into()));
    }

    fn pass_time(&mut self, t_ns: i64) {
        let (last_ns, in_handler) = (self.last_ns, self.machine.handlers_apart && !self.nest.is_empty());
        if let (Some(counting), true) = (&mut self.counting, in_handler) {
            counting.handlers_ns += t_ns - last_ns;
        }
    }

    /// A thread is being woken for this processor.
    pub fn woken(&mut self) {
        if let Some(counting) = &mut self.counting {
            counting.woken = true;
        }
    }

    fn count_from(&mut self, t_ns: i64) {
        self.counting = Some(Counting {
            since_ns: t_ns,
            counted_ns: 0,
            handlers_ns: 0,
            woken: false,
            has_counted: false,
        });
    }

    /// Another thread has the processor: it is counted with the one before where that was not counted to its end.
    fn count_on(&mut self, t_ns: i64) {
        match &mut self.counting {
            Some(counting)
                if counting.woken && counting.has_counted && t_ns - counting.since_ns <= LONGEST_COUNT_NS =>
            {
                (counting.woken, counting.has_counted) = (false, false);
            }
            _ => self.count_from(t_ns),
        }
    }

    /// So much was counted for the thread that runs. Time that passed and was counted neither for threads nor for handlers
    /// was taken away.
    fn count(&mut self, t_ns: i64, ns: i64) {
        let Some(counting) = &mut self.counting else { return self.count_from(t_ns) };
        counting.counted_ns = counting.counted_ns.saturating_add(ns);
        counting.has_counted = true;
        if counting.woken {
            return;
        }
        let counted_ns = counting.counted_ns.saturating_add(counting.handlers_ns);
        let (from_ns, ns) = (counting.since_ns, (t_ns - counting.since_ns).saturating_sub(counted_ns));
        if ns >= STOLEN_FROM_NS && self.machine.below == Below::TellingHypervisor {
            self.stolen.push_back(Stolen { from_ns, to_ns: t_ns, ns });
        }
        self.count_from(t_ns);
    }

    /// What the timer interrupt that had this processor at a time has interrupted; `None` where that was not noted.
    pub fn interrupted_at(&self, t_ns: i64) -> Option<&[Name]> {
        let after = self.interrupted.partition_point(|(t, _)| *t <= t_ns);
        let (begin_ns, frames) = self.interrupted.get(after.checked_sub(1)?)?;
        let handler = |o| matches!(o, Occupant::Handler(_) | Occupant::Callback(_) | Occupant::Tracer);
        // Of the same interrupt: nothing else had the processor in between.
        self.ran.over(*begin_ns, t_ns.max(begin_ns + 1)).all(|(_, _, o)| handler(o)).then_some(&**frames)
    }

    /// Forgets what was before this time.
    pub fn forget_before(&mut self, t_ns: i64) {
        self.ran.forget_before(t_ns);
        self.idle.forget_before(t_ns);
        while self.stolen.front().is_some_and(|stolen| stolen.to_ns < t_ns) {
            self.stolen.pop_front();
        }
        while self.interrupted.front().is_some_and(|(t, _)| *t < t_ns) {
            self.interrupted.pop_front();
        }
    }
}
