//! What was measured on a simulated microcontroller, for those who show it.

use serde::Serialize;

use jitterlab_model::Error;
use jitterlab_model::firmware::Size;

/// How the time services of `mcu/` use the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The timer interrupts at a constant rate; alarms count its ticks.
    Periodic,
    /// After each event the timer is programmed with the interval to the next, as in the EPOS paper.
    SingleShot,
    /// Due times are absolute counts of a counter that never stops.
    Anchored,
}

impl Strategy {
    /// All of them, the paper's first.
    pub const ALL: [Strategy; 3] = [Strategy::Periodic, Strategy::SingleShot, Strategy::Anchored];

    /// The name used in options, tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Periodic => "periodic",
            Strategy::SingleShot => "single-shot",
            Strategy::Anchored => "anchored",
        }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|s| s.name() == text).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is not a strategy"))
                .remedy("use periodic, single-shot or anchored")
        })
    }
}

/// What it costs to be told of one periodic event, in memory and in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostFigures {
    /// Whose time service.
    pub name: String,
    /// What the program takes above one that only starts and sleeps, its alarm included.
    pub size: Size,
    /// Cycles to program the timer for the next event, where that is done.
    pub programming_cycles: Option<u64>,
    /// Cycles of the longest interrupt, from its entry to its end: an event with a handler that moves a pin.
    pub longest_interrupt_cycles: u64,
    /// Interrupts a second.
    pub interrupts_per_s: f64,
    /// Share of the time in interrupts, 0 to 1.
    pub interrupt_share: f64,
    /// Share of the time asleep, 0 to 1.
    pub asleep_share: f64,
    /// Shortest distance of two events minus the period.
    pub min_error_us: f64,
    /// Longest distance minus the period.
    pub max_error_us: f64,
}

/// One alarm under one strategy, clock and period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlarmFigures {
    /// The strategy.
    pub strategy: Strategy,
    /// Whether compare registers held the period itself, one count too long, as the paper's equation 1 reads.
    pub compare_as_paper: bool,
    /// Divides the processor's clock.
    pub prescaler: u16,
    /// Counts of the timer a second.
    pub timer_hz: f64,
    /// The alarm's period.
    pub period_us: u32,
    /// Events measured.
    pub events: u32,
    /// Mean distance of the events.
    pub mean_period_us: f64,
    /// Shortest distance minus the period.
    pub min_error_us: f64,
    /// Longest distance minus the period.
    pub max_error_us: f64,
    /// Distance of the last event from the first, minus as many periods, in counts of the timer.
    pub total_error_counts: f64,
    /// Interrupts a second, from the beginning to the last event.
    pub interrupts_per_s: f64,
    /// Cycles spent in interrupts for each event, the ticks between events included.
    pub cycles_per_event: f64,
    /// Cycles of the shortest interrupt: a tick with nothing due, where there are any.
    pub shortest_interrupt_cycles: u64,
    /// Cycles of the longest interrupt.
    pub longest_interrupt_cycles: u64,
    /// Share of the time asleep, 0 to 1: the energy that is saved.
    pub asleep_share: f64,
    /// What the whole program takes.
    pub size: Size,
}

impl AlarmFigures {
    /// Mean period minus the requested one, in microseconds.
    pub fn mean_error_us(&self) -> f64 {
        self.mean_period_us - f64::from(self.period_us)
    }
}

/// What interrupted a thread, by how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interruption {
    /// Cycles that a round took longer than an undisturbed one.
    pub cycles: u64,
    /// Rounds that did.
    pub rounds: u64,
}

/// A thread that wants to be left alone, under one strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadFigures {
    /// The strategy.
    pub strategy: Strategy,
    /// Cycles of an undisturbed round; all of them take the same.
    pub round_cycles: u64,
    /// Rounds measured.
    pub rounds: u64,
    /// Mean length of a round.
    pub mean_ns: f64,
    /// Standard deviation of the length of a round.
    pub standard_deviation_ns: f64,
    /// What the others were longer by, shortest first.
    pub interruptions: Vec<Interruption>,
    /// Cycles of an alarm's event whose handler does nothing, from the interrupt's entry to its end.
    pub event_cycles: u64,
    /// Cycles of a tick with nothing due, for the strategy that has any.
    pub tick_cycles: Option<u64>,
}

/// A delay that a thread asks for again and again, each time at another place between two ticks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayFigures {
    /// The strategy.
    pub strategy: Strategy,
    /// Its tick, for the strategy that has one.
    pub tick_us: Option<u32>,
    /// The delay asked for.
    pub asked_us: u32,
    /// How often.
    pub delays: u64,
    /// The shortest that came of it.
    pub shortest_us: f64,
    /// The longest.
    pub longest_us: f64,
}

/// A kind of timer of the paper's introduction and related work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerKind {
    /// A periodic tick.
    Tick,
    /// An interrupt for each event (one-shot timers).
    SingleShot,
    /// Served where the program asks, and at the latest by a tick (Aron and Druschel).
    Soft,
    /// An interrupt that may come later, for all that is due by then (Tsafrir and others).
    Smart,
    /// The same, and served where the program asks before (Goel and others).
    Firm,
}

impl TimerKind {
    /// All of them.
    pub const ALL: [TimerKind; 5] =
        [TimerKind::Tick, TimerKind::SingleShot, TimerKind::Soft, TimerKind::Smart, TimerKind::Firm];

    /// Whether its events may be late on purpose.
    #[must_use]
    pub const fn is_lenient(self) -> bool {
        !matches!(self, TimerKind::SingleShot)
    }

    /// Whether the program asks for what is due.
    #[must_use]
    pub const fn is_asked(self) -> bool {
        matches!(self, TimerKind::Soft | TimerKind::Firm)
    }
}

/// Three alarms of one period whose events lie close to each other, under one kind of timer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearbyFigures {
    /// The kind.
    pub kind: TimerKind,
    /// By how much its events may be late on purpose, or its tick; `None` where neither is.
    pub lenient_us: Option<u32>,
    /// Events that were served.
    pub events: u64,
    /// Interrupts in a second.
    pub interrupts_per_s: f64,
    /// Share of the time spent in interrupts; handlers that are served where the program asks are not in it.
    pub interrupt_share: f64,
    /// By how much the first handler began after its due time, which counts from where the alarm was asked for: least, ...
    pub earliest_us: f64,
    /// ... median ...
    pub median_us: f64,
    /// ... and most.
    pub latest_us: f64,
}

/// What the program of the paper's figure 3 says under one strategy: an alarm, a delay of one period more than it has events,
/// and a chronometer around that.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServicesSaid {
    /// The strategy.
    pub strategy: Strategy,
    /// The alarm's period.
    pub period_us: u32,
    /// Its events.
    pub events: u32,
    /// What the program printed.
    pub said: String,
}
