//! Results of measurements on a simulated microcontroller, for display.

use serde::Serialize;

use jitterlab_model::Error;
use jitterlab_model::firmware::FirmwareSize;

/// Strategy of the time services of `mcu/` for using the timer.
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
    pub const ALL: [Strategy; 3] = [Strategy::Periodic, Strategy::SingleShot, Strategy::Anchored];

    /// Name used in options, tables and files.
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

/// Cost of one periodic event, in memory and in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostFigures {
    pub name: String,
    /// Memory of the program beyond one that only starts and sleeps, including its alarm.
    pub size: FirmwareSize,
    /// Cycles to program the timer for the next event, if that is done.
    pub programming_cycles: Option<u64>,
    /// Cycles of the longest interrupt, from its entry to its end: an event with a handler that moves a pin.
    pub longest_interrupt_cycles: u64,
    pub interrupts_per_s: f64,
    pub interrupt_share: f64,
    pub asleep_share: f64,
    /// Shortest distance of two events minus the period, in microseconds.
    pub min_error_us: f64,
    /// Longest distance minus the period, in microseconds.
    pub max_error_us: f64,
}

/// One alarm under one strategy, clock and period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlarmFigures {
    pub strategy: Strategy,
    /// True if compare registers held the period itself, one count too long, as in the paper's equation 1.
    pub compare_as_paper: bool,
    pub prescaler: u16,
    pub timer_hz: f64,
    pub period_us: u32,
    pub events: u32,
    /// Mean distance of the events, in microseconds.
    pub mean_period_us: f64,
    /// Shortest distance minus the period, in microseconds.
    pub min_error_us: f64,
    /// Longest distance minus the period, in microseconds.
    pub max_error_us: f64,
    /// Distance of the last event from the first, minus as many periods, in counts of the timer.
    pub total_error_counts: f64,
    /// Interrupts per second, from the beginning to the last event.
    pub interrupts_per_s: f64,
    pub longest_interrupt_cycles: u64,
    /// Share of the time asleep, 0 to 1, which saves energy.
    pub asleep_share: f64,
    pub size: FirmwareSize,
}

impl AlarmFigures {
    /// Mean period minus the requested one, in microseconds.
    pub fn mean_error_us(&self) -> f64 {
        self.mean_period_us - f64::from(self.period_us)
    }
}

/// Interruptions of a thread of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interruption {
    /// Cycles by which a round took longer than an undisturbed one.
    pub cycles: u64,
    pub rounds: u64,
}

/// A thread that should not be disturbed, under one strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadFigures {
    pub strategy: Strategy,
    /// Cycles of an undisturbed round, all of which take the same.
    pub round_cycles: u64,
    pub rounds: u64,
    pub mean_ns: f64,
    pub standard_deviation_ns: f64,
    /// Interruptions of the other rounds, shortest first.
    pub interruptions: Vec<Interruption>,
    /// Cycles of an alarm's event with an empty handler, from the interrupt's entry to its end.
    pub event_cycles: u64,
    /// Cycles of a tick with nothing due, for the strategy that has ticks.
    pub tick_cycles: Option<u64>,
}

/// A repeated delay of a thread, each time at another position between two ticks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayFigures {
    pub strategy: Strategy,
    /// Its tick in microseconds, for the strategy that has one.
    pub tick_us: Option<u32>,
    pub asked_us: u32,
    pub delays: u64,
    pub shortest_us: f64,
    pub longest_us: f64,
    /// Interrupts while the program ran, whatever their source, for each delay.
    pub interrupts_per_delay: f64,
}

/// A kind of timer of the paper's introduction and related work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerKind {
    Tick,
    /// An interrupt for each event (one-shot timers).
    SingleShot,
    /// Events served when the program asks, and at the latest by a tick (Aron and Druschel).
    Soft,
    /// One interrupt, which may come later, for all events due by then (Tsafrir and others).
    Smart,
    /// Such an interrupt, with events also served earlier when the program asks (Goel and others).
    Firm,
}

impl TimerKind {
    pub const ALL: [TimerKind; 5] =
        [TimerKind::Tick, TimerKind::SingleShot, TimerKind::Soft, TimerKind::Smart, TimerKind::Firm];

    /// True if its events may be late on purpose.
    #[must_use]
    pub const fn is_lenient(self) -> bool {
        !matches!(self, TimerKind::SingleShot)
    }

    /// True if the program asks for due events.
    #[must_use]
    pub const fn is_polled(self) -> bool {
        matches!(self, TimerKind::Soft | TimerKind::Firm)
    }
}

/// Three alarms of one period with events close to each other, under one kind of timer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearbyFigures {
    pub kind: TimerKind,
    /// Permitted lateness of its events, or its tick, in microseconds; `None` if it has neither.
    pub lenient_us: Option<u32>,
    pub events: u64,
    pub interrupts_per_s: f64,
    /// Share of the time spent in interrupts; handlers served when the program asks are excluded.
    pub interrupt_share: f64,
    /// Lateness of the handlers in microseconds, counted from the request of the alarm: the smallest,
    pub earliest_us: f64,
    /// the median,
    pub median_us: f64,
    /// and the largest.
    pub latest_us: f64,
}

/// Output of the program of the paper's figure 3 under one strategy: an alarm, a delay of one more period
/// than the alarm has events, and a chronometer around that.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServicesOutput {
    pub strategy: Strategy,
    pub period_us: u32,
    pub events: u32,
    pub said: String,
}
