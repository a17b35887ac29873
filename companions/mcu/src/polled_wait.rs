//! A task that polls for its due time, as NIST's paper compensates jitter, while another timer interrupts.

use jitterlab_model::Error;

use super::run::PinTask;
use super::{Board, Compiler, McuRun, Program, Setup, Strategy, simulate};

/// Chip and clock: those of an Arduino Uno.
const CHIP: &str = "atmega328p";
const CLOCK_HZ: u32 = 16_000_000;

/// Simulates this many activations of the task; `locked` turns interrupts off while it polls.
pub fn measure(
    period_us: u32,
    locked: bool,
    activations: usize,
    compiler: &Compiler,
) -> Result<McuRun, Error> {
    let board = Board::with_ideal_timing(Strategy::Periodic, 1, period_us).with_chip(CHIP, CLOCK_HZ);
    let mut program = Program::with_period("polled_wait", period_us);
    if locked {
        program = program.with_macro("MCU_LOCKED");
    }
    let firmware = compiler.build(&program, &board)?;
    let setup = firmware.setup(&["B0"], u64::from(board.clock_hz) * 3_600)?;
    let recording = simulate(&Setup { max_edges: Some(2 * activations as u64), ..setup })?;
    let name = if locked { "polls, interrupts off" } else { "polls, interrupts on" };
    let cycles = u64::from(period_us) * u64::from(CLOCK_HZ) / 1_000_000;
    let period = Some(format!("{cycles}/{CLOCK_HZ}Hz").parse()?);
    let pin_task = PinTask { name: name.into(), period, ..PinTask::default() };
    McuRun::new(&recording, "B0".parse()?, &pin_task)
}
