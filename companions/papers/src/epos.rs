//! EPOS: table 1, figures 3, 5 and 7, the introduction's delay and the timers of the related work on a simulated
//! microcontroller, with a third strategy.

use crate::claims::epos::{self, EposReproduction, LedThread, Variant};
use crate::error::in_the_way;
use crate::words::Found;
use jitterlab_mcu::ServicesSaid;
use jitterlab_mcu::sweep::{self, Cell};
use jitterlab_mcu::{
    AlarmFigures, Board, Compiler, McuPins, Program, Setup, Strategy, TimerKind, cost, delays, epos_figure7,
    epos_related_timers, is_missing, simulate,
};
use jitterlab_model::Error;

use crate::{Workplace, epos_listings};

/// Rounds of the led thread: as many as the paper's figure shows and its standard deviation covers.
const ROUNDS: usize = 1_000;

/// Measures everything; `done` gets the number of measured cells of table 1, and of all cells.
pub fn reproduce(at: &Workplace<'_>, done: &(dyn Fn(usize, usize) + Sync)) -> Result<Found, Error> {
    at.make()?;
    let files = Strategy::ALL.map(|strategy| at.run_file(&format!("leds-{strategy}")));
    if let Some(file) = files.iter().find(|file| file.exists()) {
        return Err(in_the_way(file));
    }
    let compiler = Compiler::new()?;
    let results = sweep::measure_all(&cells(), &compiler, done)?;
    let table: Vec<AlarmFigures> = results.into_iter().map(|result| result.figures).collect();
    let mut threads = Vec::new();
    for (strategy, file) in Strategy::ALL.into_iter().zip(&files) {
        let epos_figure7::LedThread { figures, run } = epos_figure7::measure(strategy, ROUNDS, &compiler)?;
        let rounds_ns = run.activations.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect();
        McuPins::from(run).save(file)?;
        threads.push(LedThread { figures, printed: epos::printed_thread(strategy), rounds_ns });
    }
    let mut costs = cost::measure(cost::OF_THE_PAPER, &compiler)?;
    let without_arduino = match cost::measure_arduino(cost::OF_THE_PAPER, &compiler) {
        Ok(arduino) => {
            costs.push(arduino);
            None
        }
        Err(error) if is_missing(&error) => Some(error.to_string()),
        Err(error) => return Err(error),
    };
    let figure_3: Result<_, Error> =
        Strategy::ALL.into_iter().map(|of| time_services(of, &compiler)).collect();
    let delays: Result<_, Error> =
        Strategy::ALL.into_iter().map(|of| delays::measure(of, &compiler)).collect();
    let nearby: Result<_, Error> =
        TimerKind::ALL.into_iter().map(|kind| epos_related_timers::measure(kind, &compiler)).collect();
    Ok(Found::Epos(EposReproduction {
        table_1: table,
        led_thread: threads,
        figure_3: figure_3?,
        delays: delays?,
        nearby: nearby?,
        costs,
        listings: Some(epos_listings::run(&compiler)?),
        quantum_cycles: epos_listings::preemptive_tick_cycles(&compiler)?,
        without_arduino,
    }))
}

/// The program of figure 3, with the paper's 100 events of 100 ms.
fn time_services(strategy: Strategy, compiler: &Compiler) -> Result<ServicesSaid, Error> {
    let (period_us, events) = (100_000, 100);
    let board = Board { max_period_us: period_us * (events + 1), ..Board::ideal(strategy, 64, period_us) };
    let firmware = compiler.build(&Program::TimeServices { period_us, events }, &board)?;
    // It stops its processor a period after the last event.
    let seconds = u64::from(period_us) * u64::from(events + 20) / 1_000_000;
    let recording = simulate(&Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        ..Setup::new(&firmware.elf, u64::from(board.clock_hz) * seconds)
    })?;
    let said = String::from_utf8_lossy(&recording.log.serial).into_owned();
    Ok(ServicesSaid { strategy, period_us, events, said })
}

/// Cells to measure for table 1's columns.
fn cells() -> Vec<Cell> {
    let measured = epos::VARIANTS.into_iter().filter_map(|variant| match variant {
        Variant::Printed(_) => None,
        Variant::AsPaper(strategy) => Some((strategy, true)),
        Variant::Right(strategy) => Some((strategy, false)),
    });
    let cells = measured.flat_map(|(strategy, as_paper)| {
        let mut cells = sweep::cells(&[strategy], &epos::PRESCALERS, &epos::PERIODS_US, epos::EVENTS);
        cells.iter_mut().for_each(|cell| cell.board.compare_as_paper = as_paper);
        cells
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_the_table_is_measured() {
        assert_eq!(cells().len(), 5 * 18);
    }
}
