//! EPOS: table 1, figures 5 and 7, with a third strategy, and what the paper does not give.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::papers::epos::{self, EposReproduction, LedThread, Variant};
use jitterlab_bench::mcu::leds;
use jitterlab_bench::mcu::sweep::Cell;
use jitterlab_bench::mcu::{AlarmFigures, Compiler, McuError, Simulator, Strategy, cost, sweep};
use jitterlab_report::papers::Found;

use crate::commands::mcu::{progress, save, sign, sort};
use crate::exit::Failure;

/// Rounds of the led thread: what the paper's figure shows, and as many as the standard deviation is of.
const ROUNDS: usize = 1_000;

/// Measures everything.
pub fn reproduce(directory: &Path) -> Result<Found, Failure> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let files = Strategy::ALL.map(|strategy| directory.join(format!("leds-{strategy}.parquet")));
    if let Some(file) = files.iter().find(|file| file.exists()) {
        let file = file.display();
        return Err(
            anyhow!("{file} is in the way: remove it, or choose another directory with --output").into()
        );
    }
    let compiler = Compiler::new().map_err(sort)?;
    let simulator = Simulator::new().map_err(sort)?;
    let results = sweep::measure_all(&cells(), &compiler, &simulator, &progress(false)).map_err(sort)?;
    let table: Vec<AlarmFigures> = results.into_iter().map(|result| result.figures).collect();
    let mut threads = Vec::new();
    for (strategy, file) in Strategy::ALL.into_iter().zip(&files) {
        let mut thread = leds::measure(strategy, ROUNDS, &compiler, &simulator).map_err(sort)?;
        sign(&mut thread.run);
        save(file, &thread.run)?;
        let rounds_ns = rounds(&thread);
        threads.push(LedThread {
            figures: thread.figures,
            printed: epos::printed_thread(strategy),
            rounds_ns,
        });
    }
    let mut costs = cost::measure(&compiler, &simulator).map_err(sort)?;
    let missing = match cost::measure_arduino(&compiler, &simulator) {
        Ok(arduino) => {
            costs.push(arduino);
            None
        }
        Err(error @ McuError::Missing { .. }) => Some(error.to_string()),
        Err(error) => return Err(sort(error)),
    };
    Ok(Found::Epos(EposReproduction::of(table, threads, costs, missing)))
}

/// What is to be measured for table 1's columns.
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

/// Length of each round, in order.
fn rounds(thread: &leds::LedThread) -> Vec<i64> {
    thread.run.activations.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect()
}
