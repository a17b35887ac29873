//! Cost of one alarm: flash, RAM, cycles, sleep; and the cost of the usual alternatives.
use jitterlab_model::Error;

use super::{Board, Compiler, CostFigures, Program, Size, Strategy, simulate};

/// Conditions of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditions {
    /// Divider of the chip's clock.
    pub prescaler: u16,
    /// The alarm's period, in microseconds.
    pub period_us: u32,
}

/// The paper's prescaler and period: a microsecond is an eighth of a count, so that fractions are carried.
pub const OF_THE_PAPER: Conditions = Conditions { prescaler: 64, period_us: 20_000 };

/// Conditions in which a microsecond is a count, and the period is within a quarter of the counter's range.
pub const WHOLE_COUNTS: Conditions = Conditions { prescaler: 8, period_us: 10_000 };

/// The longest period that programs are built for besides the alarm's own: one that exceeds 16 bits.
const LONG_US: u32 = 10_000_000;

pub const CHIP: &str = "atmega328p";
pub const CLOCK_HZ: u32 = 8_000_000;

/// Number of events in each measurement.
const EVENTS: u64 = 100;

/// Measures the time services under each strategy, for periods that the hardware counts and for longer ones.
pub fn measure(under: Conditions, compiler: &Compiler) -> Result<Vec<CostFigures>, Error> {
    let mut all = Vec::new();
    for strategy in Strategy::ALL {
        for max_period_us in [under.period_us, LONG_US] {
            all.push(measure_strategy(under, strategy, max_period_us, compiler)?);
        }
    }
    Ok(all)
}

/// Measures one anchored alarm with its handler in the interrupt: the minimum for an event.
pub fn measure_inline(under: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let program = Program::with_period("inline_alarm", under.period_us);
    let board = board(under, Strategy::Anchored, under.period_us);
    one_event("anchored, inline handler".into(), &program, &board, under, compiler)
}

/// Measures the same event written by hand: an interrupt that calls through a pointer, without the library.
pub fn measure_by_hand(under: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let program = Program::with_period("by_hand", under.period_us);
    let board = board(under, Strategy::Periodic, under.period_us);
    one_event("by hand, one period".into(), &program, &board, under, compiler)
}

/// Measures the same event by the tick of the Arduino core, with `millis()` polled as in its tutorial
/// "BlinkWithoutDelay".
///
/// # Errors
/// [`Trouble::Missing`](crate::Trouble::Missing) without the Arduino core.
pub fn measure_arduino(under: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let board = board(under, Strategy::Periodic, under.period_us);
    let program = Program::with_period("arduino_millis", under.period_us);
    one_event("Arduino millis(), polled".into(), &program, &board, under, compiler)
}

/// Measures a pin moved by `tone()` of the Arduino core: one period, on one pin, without a handler.
///
/// # Errors
/// [`Trouble::Missing`](crate::Trouble::Missing) without the Arduino core.
pub fn measure_tone(under: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let board = board(under, Strategy::Periodic, under.period_us);
    let program = Program::with_period("arduino_tone", under.period_us);
    one_event("Arduino tone(), one pin".into(), &program, &board, under, compiler)
}

fn measure_strategy(
    under: Conditions,
    strategy: Strategy,
    max_period_us: u32,
    compiler: &Compiler,
) -> Result<CostFigures, Error> {
    let board = board(under, strategy, max_period_us);
    let longest =
        if max_period_us == LONG_US { "10 s".into() } else { format!("{} ms", max_period_us / 1_000) };
    let program = Program::with_period("one_alarm", under.period_us);
    let figures = one_event(format!("{strategy}, up to {longest}"), &program, &board, under, compiler)?;
    // A strategy that counts ticks does not program the timer for events.
    let in_hardware = f64::from(max_period_us) * board.timer_hz() / 1e6 <= 65_535.0;
    let programmed = match strategy {
        Strategy::Periodic => false,
        Strategy::SingleShot => in_hardware,
        Strategy::Anchored => true,
    };
    let programming_cycles = programmed.then(|| programming(&board, compiler)).transpose()?;
    Ok(CostFigures { programming_cycles, ..figures })
}

fn board(under: Conditions, strategy: Strategy, max_period_us: u32) -> Board {
    Board { max_period_us, tick_us: 1_000, ..Board::ideal(strategy, under.prescaler, under.period_us) }
        .on(CHIP, CLOCK_HZ)
}

fn one_event(
    name: String,
    program: &Program,
    board: &Board,
    under: Conditions,
    compiler: &Compiler,
) -> Result<CostFigures, Error> {
    let firmware = compiler.build(program, board)?;
    let empty = compiler.build(&Program::EMPTY, board)?.size;
    let cycles = (EVENTS + 2) * u64::from(under.period_us) * u64::from(CLOCK_HZ) / 1_000_000;
    let recording = simulate(&firmware.setup(&["B0"], cycles)?)?;
    let starts: Vec<u64> = recording.log.edges_of(0, true).take(EVENTS as usize + 1).collect();
    let us = |cycles: u64| cycles as f64 * 1e6 / f64::from(CLOCK_HZ);
    let errors = || starts.windows(2).map(|w| us(w[1] - w[0]) - f64::from(under.period_us));
    let in_interrupts: u64 = recording.log.vectors.iter().map(|v| v.cycles).sum();
    Ok(CostFigures {
        name,
        size: Size {
            flash: firmware.size.flash.saturating_sub(empty.flash),
            ram: firmware.size.ram.saturating_sub(empty.ram),
        },
        programming_cycles: None,
        longest_interrupt_cycles: recording
            .log
            .vectors
            .iter()
            .map(|v| v.max_cycles)
            .max()
            .unwrap_or_default(),
        interrupts_per_s: recording.log.entries as f64 * f64::from(CLOCK_HZ) / recording.log.cycles as f64,
        interrupt_share: in_interrupts as f64 / recording.log.cycles as f64,
        asleep_share: recording.log.asleep_share(),
        min_error_us: errors().fold(f64::INFINITY, f64::min),
        max_error_us: errors().fold(f64::NEG_INFINITY, f64::max),
    })
}

fn programming(board: &Board, compiler: &Compiler) -> Result<u64, Error> {
    /// Cycles for setting the pin, which are part of the time that it is high.
    const OF_THE_PIN: u64 = 2;
    let firmware = compiler.build(&Program::new("reprogramming"), board)?;
    let recording = simulate(&firmware.setup(&["B0"], 1_000_000)?)?;
    match (recording.log.edges_of(0, true).next(), recording.log.edges_of(0, false).next()) {
        (Some(begin), Some(end)) if end > begin => Ok(end - begin - OF_THE_PIN),
        _ => Err(recording.silent("B0", recording.log.edges.len())),
    }
}
