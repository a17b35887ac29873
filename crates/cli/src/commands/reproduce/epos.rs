//! EPOS: table 1, figures 5 and 7, with a third strategy, and what the paper does not give.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use jitterlab_bench::mcu::leds::{self, LedThread};
use jitterlab_bench::mcu::paper::{self, Variant};
use jitterlab_bench::mcu::{
    AlarmFigures, Compiler, CostFigures, McuError, Simulator, Strategy, ThreadFigures, cost, sweep,
};
use jitterlab_report::figure;
use jitterlab_report::mcu::{self as text, PrintedThread, Rounds, Row};
use jitterlab_report::summary::wrap;
use serde::Serialize;

use crate::commands::mcu::{progress, save, sign, sort};
use crate::exit::{Outcome, Status};
use crate::output;

/// Rounds of the led thread: what the paper's figure shows, and as many as the standard deviation is of.
const ROUNDS: usize = 1_000;

/// Everything measured, for programs.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    table_1: &'a [AlarmFigures],
    led_thread: Vec<&'a ThreadFigures>,
    costs: &'a [CostFigures],
}

/// Measures everything, draws the figures, and prints the tables.
pub fn reproduce(directory: &Path) -> Outcome {
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
    let results =
        sweep::measure_all(&paper::cells(), &compiler, &simulator, &progress(false)).map_err(sort)?;
    let table: Vec<AlarmFigures> = results.into_iter().map(|result| result.figures).collect();
    let mut threads = Vec::new();
    for (strategy, file) in Strategy::ALL.into_iter().zip(&files) {
        let mut thread = leds::measure(strategy, ROUNDS, &compiler, &simulator).map_err(sort)?;
        sign(&mut thread.run);
        save(file, &thread.run)?;
        threads.push(thread);
    }
    let mut costs = cost::measure(&compiler, &simulator).map_err(sort)?;
    let missing = match cost::measure_arduino(&compiler, &simulator) {
        Ok(arduino) => {
            costs.push(arduino);
            None
        }
        Err(error @ McuError::Missing { .. }) => Some(error),
        Err(error) => return Err(sort(error)),
    };
    let rows = rows(&table);
    write_files(directory, &table, &rows, &threads, &costs)?;
    let missing = missing.map_or(String::new(), |error| wrap(&format!("To compare with Arduino: {error}.")));
    output::print(&(tables(&table, &rows, &threads, &costs) + &missing + &notes(directory)))?;
    Ok(Status::Fine)
}

/// Table 1's rows: the paper's errors, those measured programmed as in the paper, those measured programmed rightly.
fn rows(table: &[AlarmFigures]) -> Vec<Row> {
    let mut rows = Vec::new();
    for prescaler in paper::PRESCALERS {
        for period_us in paper::PERIODS_US {
            let measured = |strategy, as_paper| {
                table
                    .iter()
                    .find(|f| {
                        (f.strategy, f.compare_as_paper, f.prescaler, f.period_us)
                            == (strategy, as_paper, prescaler, period_us)
                    })
                    .map(AlarmFigures::mean_error_us)
            };
            let errors_us = paper::VARIANTS.map(|variant| match variant {
                Variant::Printed(strategy) => paper::table_1_us(strategy, prescaler, period_us)
                    .map(|mean| f64::from(mean) - f64::from(period_us)),
                Variant::AsPaper(strategy) => measured(strategy, true),
                Variant::Right(strategy) => measured(strategy, false),
            });
            rows.push(Row { period_us, timer_hz: paper::timer_hz(prescaler), errors_us });
        }
    }
    rows
}

fn write_files(
    directory: &Path,
    table: &[AlarmFigures],
    rows: &[Row],
    threads: &[LedThread],
    costs: &[CostFigures],
) -> anyhow::Result<()> {
    let rounds: Vec<Rounds> = threads.iter().map(rounds).collect();
    let document = Document {
        schema: 1,
        table_1: table,
        led_thread: threads.iter().map(|thread| &thread.figures).collect(),
        costs,
    };
    for (name, svg) in [("figure-5", text::figure_5_svg(rows)?), ("figure-7", text::figure_7_svg(&rounds)?)] {
        let path = |extension: &str| directory.join(format!("{name}.{extension}"));
        output::write_file(&path("svg"), svg.as_bytes())?;
        output::write_file(&path("png"), &figure::png(&svg)?)?;
    }
    let json = serde_json::to_string_pretty(&document)? + "\n";
    output::write_file(&directory.join("figures.json"), json.as_bytes())
}

/// Each round's beginning since the first in ms, and its length in us.
fn rounds(thread: &LedThread) -> Rounds {
    let activations = &thread.run.activations;
    let first_ns = activations.first().map_or(0, |a| a.start_ns);
    let rounds = activations.windows(2).map(|pair| {
        ((pair[0].start_ns - first_ns) as f64 / 1e6, (pair[1].start_ns - pair[0].start_ns) as f64 / 1e3)
    });
    Rounds { strategy: thread.figures.strategy, rounds: rounds.collect() }
}

fn tables(table: &[AlarmFigures], rows: &[Row], threads: &[LedThread], costs: &[CostFigures]) -> String {
    let printed: Vec<PrintedThread> = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            let thread = paper::led_thread(strategy)?;
            Some(PrintedThread {
                strategy,
                mean_us: thread.mean_us,
                standard_deviation_us: thread.standard_deviation_us,
                by_percent_us: thread.standard_deviation_by_percent_us(),
            })
        })
        .collect();
    let figures: Vec<ThreadFigures> = threads.iter().map(|t| t.figures.clone()).collect();
    let right: Vec<AlarmFigures> = table.iter().filter(|f| !f.compare_as_paper).cloned().collect();
    format!(
        "Table 1: 11 events of an alarm, on an ATmega128 at 7.3728 MHz\n\
         paper: as printed; alike: measured with the period itself in the compare\n\
         register, as in the paper; right: with one count less, for the 0 counts too\n{}\n\
         Figure 5: the same in percent\n{}\n\
         What table 1 does not give\n{}\n\
         Figure 7: the led thread's period, {ROUNDS} rounds at 8 MHz, tick 1 ms, alarm 20 ms\n{}\n\
         What one event every 20 ms costs, on an ATmega328P at 8 MHz\n{}",
        text::table_1(rows),
        text::figure_5(rows),
        text::sweep(&right),
        text::figure_7(&figures, &printed),
        text::costs(costs),
    )
}

fn notes(directory: &Path) -> String {
    let notes: String =
        jitterlab_report::mcu::EPOS_NOTES.iter().map(|note| wrap(&format!("- {note}"))).collect();
    format!(
        "\nWhere the paper is inconsistent\n{notes}\nfigures, run files and figures.json: {}\n",
        directory.display()
    )
}
