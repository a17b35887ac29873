//! Measurements of one alarm for all strategies, timer clocks and periods: the paper's table 1 and beyond.

use jitterlab_model::Error;
use jitterlab_model::units::Exact;

use super::run::PinTask;
use super::{
    AlarmFigures, Board, Compiler, FirmwareSize, McuPins, McuRun, Program, Recording, Setup, Strategy,
    simulate, workers,
};

/// A measurement to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Chip, clock, prescaler, strategy.
    pub board: Board,
    pub period_us: u32,
    pub events: u32,
}

/// Result of one measurement.
#[derive(Debug, Clone)]
pub struct CellResult {
    pub figures: AlarmFigures,
    /// The run in the common form.
    pub run: McuPins,
}

/// All combinations, with everything set ideally for each period.
pub fn cells(strategies: &[Strategy], prescalers: &[u16], periods_us: &[u32], events: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &strategy in strategies {
        for &prescaler in prescalers {
            for &period_us in periods_us {
                cells.push(Cell {
                    board: Board::with_ideal_timing(strategy, prescaler, period_us),
                    period_us,
                    events,
                });
            }
        }
    }
    cells
}

/// Builds and simulates one cell.
///
/// # Errors
/// Firmware that does not build or run; events that never come.
pub fn measure(cell: &Cell, compiler: &Compiler) -> Result<CellResult, Error> {
    let Cell { board, period_us, events } = cell;
    let program = Program::with_events("periodic_alarm", *period_us, *events);
    let firmware = compiler.build(&program, board)?;
    // Twice the time of the events: enough for the worst strategy, and an end for one that fails.
    let planned_us = (u64::from(*events) + 2) * u64::from(*period_us) * 2 + 1_000_000;
    let setup = firmware
        .setup(&board.event_and_request_pins(), planned_us * u64::from(board.clock_hz) / 1_000_000)?;
    // Edges: one for the request, two for each event.
    let recording = simulate(&Setup { max_edges: Some(u64::from(*events) * 2 + 1), ..setup })?;
    let pin_task = PinTask {
        name: format!("{} {} Hz {}", board.strategy, board.timer_hz(), Exact(i64::from(*period_us) * 1_000)),
        period: Some((i64::from(*period_us) * 1_000).into()),
        requested_at: recording.log.edge_cycles(1, true).next(),
        ..PinTask::default()
    };
    let run = McuPins::from(McuRun::new(&recording, recording.pins[0], &pin_task)?);
    Ok(CellResult { figures: evaluate(cell, &recording, firmware.size), run })
}

fn evaluate(cell: &Cell, recording: &Recording, size: FirmwareSize) -> AlarmFigures {
    let board = &cell.board;
    let starts: Vec<u64> = recording.log.edge_cycles(0, true).collect();
    let us = |cycles: f64| cycles * 1e6 / f64::from(board.clock_hz);
    let errors = || starts.windows(2).map(|w| us((w[1] - w[0]) as f64) - f64::from(cell.period_us));
    let intervals = starts.len().saturating_sub(1).max(1) as f64;
    let span = (starts[starts.len() - 1] - starts[0]) as f64;
    let period_cycles = f64::from(cell.period_us) * f64::from(board.clock_hz) / 1e6;
    let interrupts = recording.log.vectors.iter();
    AlarmFigures {
        strategy: board.strategy,
        compare_as_paper: board.compare_as_paper,
        prescaler: board.prescaler,
        timer_hz: board.timer_hz(),
        period_us: cell.period_us,
        events: starts.len() as u32,
        mean_period_us: us(span / intervals),
        min_error_us: errors().fold(f64::INFINITY, f64::min),
        max_error_us: errors().fold(f64::NEG_INFINITY, f64::max),
        total_error_counts: (span - intervals * period_cycles) / f64::from(board.prescaler),
        interrupts_per_s: recording.log.entry_count as f64 * f64::from(board.clock_hz)
            / recording.log.cycles as f64,
        longest_interrupt_cycles: interrupts.map(|v| v.max_cycles).max().unwrap_or_default(),
        asleep_share: recording.log.asleep_share(),
        size,
    }
}

/// Measures cells on all processors; `done` is called with the number finished and the number of all.
pub fn measure_all(
    cells: &[Cell],
    compiler: &Compiler,
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<CellResult>, Error> {
    for cell in cells {
        super::simulator::avr_chip(&cell.board.mcu)?;
    }
    workers::map_in_parallel(cells, |cell| measure(cell, compiler), done)
}
