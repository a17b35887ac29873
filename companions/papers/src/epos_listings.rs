//! The programs that the EPOS paper prints, compiled as they are with the names of EPOS, and simulated.

use std::fs;

use crate::claims::epos::Listings;
use jitterlab_host::scratch::Scratch;
use jitterlab_mcu::{Board, Compiler, Firmware, Program, Setup, Strategy, is_missing, simulate};
use jitterlab_model::Error;

const FIGURE_3: &str = include_str!("../data/epos-figure-3.cc");
const FIGURE_4: &str = include_str!("../data/epos-figure-4.cc");
const QUANTUM: &str = include_str!("../data/epos-quantum.cc");

/// Period of both programs' alarms, in microseconds.
const PERIOD_US: u32 = 100_000;
/// Figure 3's delay is one period longer than its events.
const EVENTS: u32 = 100;

/// Compiles and runs figures 3 and 4; figure 4 also with the handler's name and the chronometer's start mended.
pub fn run(compiler: &Compiler) -> Result<Listings, Error> {
    let hidden = FIGURE_4.replace("handler(&handler)", "handler(&::handler)");
    let mended =
        hidden.replace("    // Register the events", "    chron.start();\n    // Register the events");
    Ok(Listings {
        figure_3: printed(compiler, FIGURE_3, EVENTS + 2)?,
        figure_4: printed(compiler, FIGURE_4, 13)?,
        figure_4_named: printed(compiler, &hidden, 13)?,
        figure_4_mended: printed(compiler, &mended, 13)?,
    })
}

/// Cycles by which a tick lengthens the led thread's rounds where it can preempt, and so saves all registers; `None` if no round was
/// longer.
pub fn preemptive_tick_cycles(compiler: &Compiler) -> Result<Option<u64>, Error> {
    let board = Board::ideal(Strategy::Periodic, 64, 1_000).on("atmega128", 8_000_000);
    let firmware = build(compiler, QUANTUM, &Program::Empty, &board)?;
    let recording = simulate(&Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        pins: vec!["B0".parse()?],
        ..Setup::new(&firmware.elf, u64::from(board.clock_hz) / 50)
    })?;
    let begins: Vec<u64> = recording.log.edges_of(0, true).collect();
    let mut rounds: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    rounds.sort_unstable();
    let usual = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    // Most ticks end before the quantum does.
    let longer: Vec<u64> = rounds.into_iter().filter(|cycles| *cycles > usual).collect();
    Ok(longer.get(longer.len() / 2).map(|cycles| cycles - usual))
}

/// Builds a program of the paper.
fn build(compiler: &Compiler, source: &str, program: &Program, board: &Board) -> Result<Firmware, Error> {
    let scratch =
        Scratch::new().map_err(|cause| Error::refused("cannot make a temporary directory").because(cause))?;
    let file = scratch.path().join("program.cc");
    fs::write(&file, source).map_err(Error::file("write", &file))?;
    compiler.build_file(&file.display().to_string(), program, board)
}

/// Lines that a program prints within so many periods; `None` if it does not compile.
fn printed(compiler: &Compiler, source: &str, periods: u32) -> Result<Option<Vec<String>>, Error> {
    let longest_us = PERIOD_US * (EVENTS + 1);
    let board = Board { max_period_us: longest_us, ..Board::ideal(Strategy::Anchored, 64, PERIOD_US) };
    let program = Program::TimeServices { period_us: PERIOD_US, events: EVENTS };
    let firmware = match build(compiler, source, &program, &board) {
        Ok(firmware) => firmware,
        Err(error) if is_missing(&error) => return Err(error),
        Err(_) => return Ok(None),
    };
    let cycles = u64::from(board.clock_hz) * u64::from(PERIOD_US) * u64::from(periods) / 1_000_000;
    let recording = simulate(&Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        ..Setup::new(&firmware.elf, cycles)
    })?;
    let said = String::from_utf8_lossy(&recording.log.serial).into_owned();
    Ok(Some(said.lines().map(|line| line.trim().to_owned()).collect()))
}
