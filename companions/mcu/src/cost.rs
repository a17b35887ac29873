//! Cost of one alarm: flash, RAM, cycles, sleep; and the cost of the usual alternatives.
use jitterlab_model::Error;

use super::{Board, Compiler, CostFigures, FirmwareSize, Program, Strategy, simulate};

/// Conditions of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditions {
    pub prescaler: u16,
    pub period_us: u32,
}

/// The paper's prescaler and period: a microsecond is an eighth of a count, so that fractions are carried.
pub const PAPER_CONDITIONS: Conditions = Conditions { prescaler: 64, period_us: 20_000 };

/// Conditions in which a microsecond is a count, and the period is within a quarter of the counter's range.
pub const WHOLE_COUNT_CONDITIONS: Conditions = Conditions { prescaler: 8, period_us: 10_000 };

/// The longest period that programs are built for besides the alarm's own: one that exceeds 16 bits.
const LONG_US: u32 = 10_000_000;

pub const CHIP: &str = "atmega328p";
pub const CLOCK_HZ: u32 = 8_000_000;

const EVENTS: u64 = 100;

/// Measures the time services under each strategy, for periods that the hardware counts and for longer ones.
pub fn measure(conditions: Conditions, compiler: &Compiler) -> Result<Vec<CostFigures>, Error> {
    let mut all = Vec::new();
    for strategy in Strategy::ALL {
        for max_period_us in [conditions.period_us, LONG_US] {
            all.push(measure_strategy(conditions, strategy, max_period_us, compiler)?);
        }
    }
    Ok(all)
}

/// Measures one anchored alarm with its handler in the interrupt: the minimum for an event.
pub fn measure_inline(conditions: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let program = Program::with_period("inline_alarm", conditions.period_us);
    let board = board_for(conditions, Strategy::Anchored, conditions.period_us);
    measure_event("anchored, inline handler".into(), &program, &board, conditions, compiler)
}

/// Measures one event written by hand: an interrupt that calls through a pointer, without the library.
pub fn measure_by_hand(conditions: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let program = Program::with_period("by_hand", conditions.period_us);
    let board = board_for(conditions, Strategy::Periodic, conditions.period_us);
    measure_event("by hand, one period".into(), &program, &board, conditions, compiler)
}

/// Measures one event by the Arduino core's tick, `millis()` polled as in "BlinkWithoutDelay".
///
/// # Errors
/// [`FailureCase::Missing`](crate::FailureCase::Missing) without the Arduino core.
pub fn measure_arduino(conditions: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let board = board_for(conditions, Strategy::Periodic, conditions.period_us);
    let program = Program::with_period("arduino_millis", conditions.period_us);
    measure_event("Arduino millis(), polled".into(), &program, &board, conditions, compiler)
}

/// Measures a pin moved by `tone()` of the Arduino core: one period, on one pin, without a handler.
///
/// # Errors
/// [`FailureCase::Missing`](crate::FailureCase::Missing) without the Arduino core.
pub fn measure_tone(conditions: Conditions, compiler: &Compiler) -> Result<CostFigures, Error> {
    let board = board_for(conditions, Strategy::Periodic, conditions.period_us);
    let program = Program::with_period("arduino_tone", conditions.period_us);
    measure_event("Arduino tone(), one pin".into(), &program, &board, conditions, compiler)
}

fn measure_strategy(
    conditions: Conditions,
    strategy: Strategy,
    max_period_us: u32,
    compiler: &Compiler,
) -> Result<CostFigures, Error> {
    let board = board_for(conditions, strategy, max_period_us);
    let longest =
        if max_period_us == LONG_US { "10 s".into() } else { format!("{} ms", max_period_us / 1_000) };
    let program = Program::with_period("one_alarm", conditions.period_us);
    let figures =
        measure_event(format!("{strategy}, up to {longest}"), &program, &board, conditions, compiler)?;
    // A strategy that counts ticks does not program the timer for events.
    let in_hardware = f64::from(max_period_us) * board.timer_hz() / 1e6 <= 65_535.0;
    let programmed = match strategy {
        Strategy::Periodic => false,
        Strategy::SingleShot => in_hardware,
        Strategy::Anchored => true,
    };
    let programming_cycles = programmed.then(|| programming_cycles(&board, compiler)).transpose()?;
    Ok(CostFigures { programming_cycles, ..figures })
}

fn board_for(conditions: Conditions, strategy: Strategy, max_period_us: u32) -> Board {
    Board {
        max_period_us,
        tick_us: 1_000,
        ..Board::with_ideal_timing(strategy, conditions.prescaler, conditions.period_us)
    }
    .with_chip(CHIP, CLOCK_HZ)
}

fn measure_event(
    name: String,
    program: &Program,
    board: &Board,
    conditions: Conditions,
    compiler: &Compiler,
) -> Result<CostFigures, Error> {
    let firmware = compiler.build(program, board)?;
    let empty = compiler.build(&Program::EMPTY, board)?.size;
    let cycles = (EVENTS + 2) * u64::from(conditions.period_us) * u64::from(CLOCK_HZ) / 1_000_000;
    let recording = simulate(&firmware.setup(&["B0"], cycles)?)?;
    let starts: Vec<u64> = recording.log.edge_cycles(0, true).take(EVENTS as usize + 1).collect();
    let us = |cycles: u64| cycles as f64 * 1e6 / f64::from(CLOCK_HZ);
    let errors = || starts.windows(2).map(|w| us(w[1] - w[0]) - f64::from(conditions.period_us));
    let in_interrupts: u64 = recording.log.vectors.iter().map(|v| v.cycles).sum();
    Ok(CostFigures {
        name,
        size: FirmwareSize {
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
        interrupts_per_s: recording.log.entry_count as f64 * f64::from(CLOCK_HZ)
            / recording.log.cycles as f64,
        interrupt_share: in_interrupts as f64 / recording.log.cycles as f64,
        asleep_share: recording.log.asleep_share(),
        min_error_us: errors().fold(f64::INFINITY, f64::min),
        max_error_us: errors().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// Measures the cycles that programming the timer for the next event takes.
fn programming_cycles(board: &Board, compiler: &Compiler) -> Result<u64, Error> {
    /// Cycles for setting the pin, which are part of the time that it is high.
    const OF_THE_PIN: u64 = 2;
    let firmware = compiler.build(&Program::new("reprogramming"), board)?;
    let recording = simulate(&firmware.setup(&["B0"], 1_000_000)?)?;
    match (recording.log.edge_cycles(0, true).next(), recording.log.edge_cycles(0, false).next()) {
        (Some(begin), Some(end)) if end > begin => Ok(end - begin - OF_THE_PIN),
        _ => Err(recording.silent_pin_error("B0", recording.log.edges.len())),
    }
}
