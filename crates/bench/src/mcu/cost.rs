//! What one alarm costs: flash, RAM, cycles, sleep; and beside it what most firmware does instead.

use super::{Board, Compiler, CostFigures, McuError, Program, Setup, Size, Strategy, simulate};

/// The alarm's period.
pub const PERIOD_US: u32 = 20_000;

/// The longest periods that programs are built for: one that 16 bits hold, and one that they do not.
const MAX_PERIODS_US: [u32; 2] = [PERIOD_US, 10_000_000];

const CHIP: &str = "atmega328p";
const CLOCK_HZ: u32 = 8_000_000;
const PRESCALER: u16 = 64;

/// Events measured of each.
const EVENTS: u64 = 100;

/// The time services under each strategy, for periods that the hardware holds and for longer ones.
///
/// # Errors
/// Firmware that does not build or run.
pub fn measure(compiler: &Compiler) -> Result<Vec<CostFigures>, McuError> {
    let mut all = Vec::new();
    for strategy in Strategy::ALL {
        for max_period_us in MAX_PERIODS_US {
            all.push(measure_strategy(strategy, max_period_us, compiler)?);
        }
    }
    Ok(all)
}

/// The same event by the tick of the Arduino core, `millis()` polled as in its tutorial "BlinkWithoutDelay".
///
/// # Errors
/// [`McuError::Missing`] without the Arduino core.
pub fn measure_arduino(compiler: &Compiler) -> Result<CostFigures, McuError> {
    let board = board(Strategy::Periodic, PERIOD_US);
    let program = Program::ArduinoMillis { period_us: PERIOD_US };
    one_event("Arduino millis(), polled".into(), &program, &board, compiler)
}

fn measure_strategy(
    strategy: Strategy,
    max_period_us: u32,
    compiler: &Compiler,
) -> Result<CostFigures, McuError> {
    let board = board(strategy, max_period_us);
    let name = format!("{strategy}, up to {}", if max_period_us == PERIOD_US { "20 ms" } else { "10 s" });
    let program = Program::OneAlarm { period_us: PERIOD_US };
    let figures = one_event(name, &program, &board, compiler)?;
    // Where ticks are counted, the timer is not programmed for events.
    let in_hardware = f64::from(max_period_us) * board.timer_hz() / 1e6 <= 65_535.0;
    let programmed = match strategy {
        Strategy::Periodic => false,
        Strategy::SingleShot => in_hardware,
        Strategy::Anchored => true,
    };
    let programming_cycles = programmed.then(|| programming(&board, compiler)).transpose()?;
    Ok(CostFigures { programming_cycles, ..figures })
}

fn board(strategy: Strategy, max_period_us: u32) -> Board {
    Board { max_period_us, tick_us: 1_000, ..Board::ideal(strategy, PRESCALER, PERIOD_US) }.on(CHIP, CLOCK_HZ)
}

fn one_event(
    name: String,
    program: &Program,
    board: &Board,
    compiler: &Compiler,
) -> Result<CostFigures, McuError> {
    let firmware = compiler.build(program, board)?;
    let empty = compiler.build(&Program::Empty, board)?.size;
    let cycles = (EVENTS + 2) * u64::from(PERIOD_US) * u64::from(CLOCK_HZ) / 1_000_000;
    let recording = simulate(&setup(&firmware.elf, board, cycles)?)?;
    let starts: Vec<u64> = recording.log.edges_of(0, true).take(EVENTS as usize + 1).collect();
    let us = |cycles: u64| cycles as f64 * 1e6 / f64::from(CLOCK_HZ);
    let errors = || starts.windows(2).map(|w| us(w[1] - w[0]) - f64::from(PERIOD_US));
    let in_interrupts: u64 = recording.log.vectors.iter().map(|v| v.cycles).sum();
    Ok(CostFigures {
        name,
        size: Size {
            flash: firmware.size.flash.saturating_sub(empty.flash),
            ram: firmware.size.ram.saturating_sub(empty.ram),
        },
        programming_cycles: None,
        interrupts_per_s: recording.log.entries as f64 * f64::from(CLOCK_HZ) / recording.log.cycles as f64,
        interrupt_share: in_interrupts as f64 / recording.log.cycles as f64,
        asleep_share: recording.log.asleep_share(),
        min_error_us: errors().fold(f64::INFINITY, f64::min),
        max_error_us: errors().fold(f64::NEG_INFINITY, f64::max),
    })
}

fn programming(board: &Board, compiler: &Compiler) -> Result<u64, McuError> {
    /// Of the time that the pin is high, what setting it takes.
    const OF_THE_PIN: u64 = 2;
    let firmware = compiler.build(&Program::Reprogramming, board)?;
    let recording = simulate(&setup(&firmware.elf, board, 1_000_000)?)?;
    match (recording.log.edges_of(0, true).next(), recording.log.edges_of(0, false).next()) {
        (Some(begin), Some(end)) if end > begin => Ok(end - begin - OF_THE_PIN),
        _ => Err(McuError::Silent {
            pin: "B0".into(),
            edges: recording.log.edges.len(),
            seconds: recording.ns(recording.log.cycles) as f64 / 1e9,
        }),
    }
}

fn setup(elf: &std::path::Path, board: &Board, cycles: u64) -> Result<Setup, McuError> {
    Ok(Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        pins: vec!["B0".parse()?],
        ..Setup::new(elf, cycles)
    })
}
