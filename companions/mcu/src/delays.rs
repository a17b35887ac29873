//! The delay in the paper's introduction: one and a half ticks long, requested at any position between two ticks.
use jitterlab_model::Error;

use super::{Board, Compiler, DelayFigures, Program, Setup, Strategy, simulate};

pub const REQUESTED_US: u32 = 15_000;
/// The tick of the strategy that has one.
pub const TICK_US: u32 = 10_000;
/// Number of delays: the program's positions between two ticks.
const DELAYS: u64 = 128;

/// Measures the delay from every position between two ticks, under a strategy.
pub fn measure(strategy: Strategy, compiler: &Compiler) -> Result<DelayFigures, Error> {
    let board = Board { tick_us: TICK_US, ..Board::with_ideal_timing(strategy, 64, REQUESTED_US) };
    let firmware = compiler.build(&Program::with_period("delays", REQUESTED_US), &board)?;
    let setup = firmware.setup(&["B0"], u64::from(board.clock_hz) * 60)?;
    let recording = simulate(&Setup { max_edges: Some(2 * DELAYS), ..setup })?;
    let (begun, ended) = (recording.log.edge_cycles(0, true), recording.log.edge_cycles(0, false));
    let us = |cycles: u64| cycles as f64 * 1e6 / f64::from(board.clock_hz);
    let took: Vec<f64> = begun.zip(ended).map(|(begun, ended)| us(ended - begun)).collect();
    Ok(DelayFigures {
        strategy,
        tick_us: (strategy == Strategy::Periodic).then_some(TICK_US),
        asked_us: REQUESTED_US,
        delays: took.len() as u64,
        shortest_us: took.iter().copied().fold(f64::INFINITY, f64::min),
        longest_us: took.iter().copied().fold(0.0, f64::max),
        interrupts_per_delay: recording.log.entry_count as f64 / took.len().max(1) as f64,
    })
}
