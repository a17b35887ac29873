//! "Temporal Event Management in EPOS" (SAC 2009): its table 1, figures 3, 4, 5 and 7, the introduction's
//! delay and the timers of the related work on a simulated microcontroller, with a third strategy; the paper's programs, compiled
//! as they are printed with the names of EPOS; and its contradictions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::loads::TimingSpread;
use crate::paper::Paper;
use crate::statement::Evidence;
use crate::time_management;
use crate::words::Reproduction;
use crate::{Reproducer, scratch_file};
use jitterlab_mcu::sweep::{self, Cell};
use jitterlab_mcu::{
    AlarmFigures, Board, Compiler, CostFigures, DelayFigures, Firmware, McuPins, NearbyFigures, Program,
    ServicesOutput, Strategy, ThreadFigures, TimerKind, cost, delays, epos_figure7, epos_related_timers,
    is_missing, simulate,
};
use jitterlab_model::Error;

/// Prescalers of the paper's clocks 7200, 28800 and 115200 Hz at 7.3728 MHz, in the order of its table's columns.
pub const PRESCALERS: [u16; 3] = [1024, 256, 64];

/// Rows of table 1: requested periods in microseconds.
pub const PERIODS_US: [u32; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Intervals that the paper averaged: 11 events.
pub const EVENTS: u32 = 11;

/// The processor's clock that those prescalers divide.
pub const CLOCK_HZ: u32 = 7_372_800;

const LED_CLOCK_HZ: f64 = 8e6;

/// The paper's mean period for a cell of table 1; `None` for a strategy or cell it does not have.
pub fn printed_period_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<u32> {
    let printed: BTreeMap<String, Vec<Vec<u32>>> = Paper::Epos.data_part("table_1");
    let row = PERIODS_US.iter().position(|p| *p == period_us)?;
    let column = PRESCALERS.iter().position(|p| *p == prescaler)?;
    printed.get(strategy.name())?.get(row)?.get(column).copied()
}

fn printed_error_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<f64> {
    Some(f64::from(printed_period_us(strategy, prescaler, period_us)?) - f64::from(period_us))
}

pub fn timer_hz(prescaler: u16) -> f64 {
    f64::from(CLOCK_HZ) / f64::from(prescaler)
}

/// Origin of the errors in a column of table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorSource {
    Printed,
    /// Measured with the period itself in the compare register, as the paper's equation 1 reads.
    AsPaper,
    Right,
}

/// The columns in which the table is shown.
pub const COLUMNS: [(Strategy, ErrorSource); 7] = [
    (Strategy::Periodic, ErrorSource::Printed),
    (Strategy::Periodic, ErrorSource::AsPaper),
    (Strategy::Periodic, ErrorSource::Right),
    (Strategy::SingleShot, ErrorSource::Printed),
    (Strategy::SingleShot, ErrorSource::AsPaper),
    (Strategy::SingleShot, ErrorSource::Right),
    (Strategy::Anchored, ErrorSource::Right),
];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorRow {
    pub period_us: u32,
    pub timer_hz: f64,
    /// Length of a count of the timer.
    pub count_us: f64,
    /// Mean errors, in the order of [`COLUMNS`]; `None` without a value.
    pub errors_us: [Option<f64>; 7],
}

impl ErrorRow {
    pub fn new(period_us: u32, timer_hz: f64) -> Self {
        ErrorRow { period_us, timer_hz, count_us: 1e6 / timer_hz, errors_us: [None; 7] }
    }
}

/// Numbers that the paper prints for figure 7 under a strategy; null if it has not that one.
pub fn printed_figure_7(strategy: Strategy) -> Value {
    Paper::Epos.entry("figure_7", strategy.name()).unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedThread {
    pub figures: ThreadFigures,
    /// Printed numbers; null for a strategy that the paper does not have.
    pub printed: Value,
    pub rounds_ns: Vec<i64>,
}

/// Lines that the paper's programs print; `None` for one that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listings {
    pub figure_3: Option<Vec<String>>,
    pub figure_4: Option<Vec<String>>,
    /// With the handler's name made unambiguous: the variable hides the function.
    pub figure_4_named: Option<Vec<String>>,
    /// With that and the chronometer started.
    pub figure_4_mended: Option<Vec<String>>,
}

impl Listings {
    fn evidence(&self) -> [Evidence; 2] {
        let said = |lines: &Option<Vec<String>>| {
            lines.as_ref().map_or("nothing: not compiled".into(), |lines| lines.join(" "))
        };
        let elapsed_us = |line: &String| line.strip_prefix("Elapsed time: ")?.parse::<u64>().ok();
        let waits = self.figure_3.iter().flatten().find_map(elapsed_us).is_some_and(|us| us >= 10_100_000);
        let intervals =
            |lines: &Vec<String>| lines.iter().any(|line| line.parse().is_ok_and(|us: u32| us > 0));
        let figure_4 = json!({
            "holds": self.figure_4.as_ref().is_some_and(intervals),
            "said": said(&self.figure_4),
            "named": said(&self.figure_4_named),
            "mended": said(&self.figure_4_mended),
        });
        [
            Evidence::new("figure-3", "holds", json!({ "holds": waits, "said": said(&self.figure_3) })),
            Evidence::new("figure-4", "holds", figure_4),
        ]
    }
}

impl LedThread {
    /// True if a round is longer than a tick alone makes it, since the alarm's event interrupted it too.
    pub fn contains_event(&self, round_ns: i64) -> bool {
        let ticking = self.figures.round_cycles + self.figures.tick_cycles.unwrap_or(0);
        round_ns as f64 * LED_CLOCK_HZ / 1e9 > ticking as f64 + 0.5
    }

    /// Rounds in ns without those that the alarm's own event lengthens, which in the paper hardly any did.
    pub fn rounds_without_event(&self) -> Vec<f64> {
        let rounds = self.rounds_ns.iter().filter(|ns| !self.contains_event(**ns));
        rounds.map(|ns| *ns as f64).collect()
    }

    pub fn sd_without_event_ns(&self) -> Option<f64> {
        TimingSpread::from_values(&self.rounds_without_event()).map(|of| of.sd_ns)
    }
}

/// Table 1, figures 5 and 7 measured on a simulated microcontroller.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EposReproduction {
    /// A delay of one tick and a half.
    pub delays: Vec<DelayFigures>,
    pub nearby: Vec<NearbyFigures>,
    pub figure_3: Vec<ServicesOutput>,
    /// The cells of table 1, under all strategies, programmed as in the paper and rightly.
    pub table_1: Vec<AlarmFigures>,
    pub led_thread: Vec<LedThread>,
    pub costs: Vec<CostFigures>,
    /// The paper's programs as they are printed; `None` where they were not tried.
    pub listings: Option<Listings>,
    /// Cycles of a tick that can preempt a thread; `None` where it was not measured.
    pub quantum_cycles: Option<u64>,
    /// Cycles from an event to the first action of a function, a thread and a semaphore's thread; empty where not measured.
    pub handler_cycles: Vec<u64>,
    /// Reason why Arduino's time service is not among them.
    pub without_arduino: Option<String>,
}

impl EposReproduction {
    /// Table 1's rows: errors printed, measured programmed as in the paper, measured programmed rightly.
    pub fn rows(&self) -> Vec<ErrorRow> {
        let cells = PRESCALERS.into_iter().flat_map(|prescaler| PERIODS_US.map(|period| (prescaler, period)));
        let row = |(prescaler, period_us)| {
            let errors_us = COLUMNS.map(|(strategy, source)| {
                if source == ErrorSource::Printed {
                    return printed_error_us(strategy, prescaler, period_us);
                }
                let wanted = (strategy, source == ErrorSource::AsPaper, prescaler, period_us);
                let is_wanted =
                    |f: &&AlarmFigures| (f.strategy, f.compare_as_paper, f.prescaler, f.period_us) == wanted;
                self.table_1.iter().find(is_wanted).map(AlarmFigures::mean_error_us)
            });
            ErrorRow { errors_us, ..ErrorRow::new(period_us, timer_hz(prescaler)) }
        };
        cells.map(row).collect()
    }
}

/// Share and number of table 1's cells that two columns have alike, to one count of the timer; and of all cells.
fn column_agreement(rows: &[ErrorRow], [printed, alike]: [usize; 2]) -> Value {
    let pairs = rows.iter().filter_map(|row| {
        let (printed, alike) = row.errors_us[printed].zip(row.errors_us[alike])?;
        Some((printed - alike).abs() <= row.count_us)
    });
    let pairs: Vec<bool> = pairs.collect();
    let near = pairs.iter().filter(|near| **near).count();
    json!({ "share": near as f64 / pairs.len() as f64, "near": near, "cells": pairs.len() })
}

impl EposReproduction {
    fn single_shot_programming_cycles(&self) -> Option<f64> {
        let shots = self.costs.iter().filter(|cost| cost.name.contains("single"));
        shots.filter_map(|cost| cost.programming_cycles).min().map(|cycles| cycles as f64)
    }

    /// Cycles of a tick with nothing due, which cannot preempt.
    fn tick_cycles(&self) -> Option<f64> {
        self.led_thread.iter().find_map(|thread| thread.figures.tick_cycles).map(|cycles| cycles as f64)
    }

    /// Evidence on the paper's statements: its own numbers, and those of the simulated chip.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut all = self.table_1_evidence();
        all.extend(time_management::delay_evidence(&time_management::delays_from_avr(&self.delays)));
        all.extend(Paper::Epos.printed_evidence("deviation"));
        all.push(self.figure_7_evidence());
        all.extend(self.listings.iter().flat_map(Listings::evidence));
        let (programming, tick) = (self.single_shot_programming_cycles(), self.tick_cycles());
        let quantum = self.quantum_cycles.map(|cycles| json!({ "cycles": cycles, "plain": tick }));
        all.extend(quantum.map(|quantum| Evidence::new("quantum", "cycles", quantum)));
        let more = programming.zip(tick).map(|(programming, tick)| programming - tick);
        let reprogramming = json!({ "more": more, "programming": programming, "tick": tick });
        all.push(Evidence::new("reprogramming", "more", reprogramming));
        let awake = [Strategy::Periodic, Strategy::SingleShot].map(|strategy| {
            let cost = self.costs.iter().find(|cost| cost.name.starts_with(strategy.name()))?;
            Some(1.0 - cost.asleep_share)
        });
        let times = awake[0].zip(awake[1]).map(|(ticking, quiet)| ticking / quiet);
        all.push(Evidence::new("power", "times", json!({ "times": times, "awake": awake })));
        all.extend(Paper::Epos.printed_evidence("ticks"));
        all
    }

    fn table_1_evidence(&self) -> Vec<Evidence> {
        let rows = self.rows();
        let usual = rows.iter().filter(|row| (10_000..=1_000_000).contains(&row.period_us));
        let differences: Option<Vec<f64>> =
            usual.map(|row| Some((row.errors_us[1]? - row.errors_us[0]?).abs() * 1e3)).collect();
        // Single shots at the fastest clock: programmed as in the paper, and rightly.
        let shots = |period_us: u32| {
            let is_it =
                |row: &&ErrorRow| row.period_us == period_us && row.timer_hz == timer_hz(PRESCALERS[2]);
            rows.iter().find(is_it).and_then(|row| row.errors_us[4].zip(row.errors_us[5]))
        };
        let far = shots(10_000_000);
        // Errors in proportion to their periods, the second of which is a hundred times as long.
        let times = far.zip(shots(100_000)).map(|(far, near)| far.0 / near.0 / 100.0);
        let [mut periodic, mut shot] = [[0, 1], [3, 4]].map(|columns| column_agreement(&rows, columns));
        periodic["within"] = json!(differences.map(|all| all.into_iter().fold(0.0, f64::max)));
        shot["programming"] = json!(self.single_shot_programming_cycles());
        let [far, right] = [far.map(|far| far.0 * 1e3), far.map(|far| far.1 * 1e3)];
        let mut all = vec![
            Evidence::new("table-1-periodic", "share", periodic),
            Evidence::new("table-1-single-shot", "share", shot),
        ];
        // Errors at the slowest clock and the two shortest periods, as shares of these: the paper's, then those programmed alike.
        let short = rows
            .iter()
            .filter(|row| row.timer_hz == timer_hz(PRESCALERS[0]) && row.period_us <= PERIODS_US[1]);
        let share = |row: &ErrorRow, column: usize| Some(row.errors_us[column]? / f64::from(row.period_us));
        let shares: Vec<_> = short.flat_map(|row| [0, 3, 1, 4].map(|column| share(row, column))).collect();
        all.push(Evidence::new("short-periods", "shares", json!({ "shares": shares })));
        let own = ["equation-1", "in-every-case", "usually-better"];
        all.extend(own.into_iter().filter_map(|statement| Paper::Epos.printed_evidence(statement)));
        let beyond = json!({ "times": times, "far": far, "right": right });
        all.push(Evidence::new("beyond-16-bits", "times", beyond));
        all
    }

    fn figure_7_evidence(&self) -> Evidence {
        let find = |of| self.led_thread.iter().find(|thread| thread.figures.strategy == of);
        let sds = [Strategy::Periodic, Strategy::SingleShot]
            .map(|strategy| find(strategy).and_then(LedThread::sd_without_event_ns));
        let more = sds[0].zip(sds[1]).map(|(ticking, quiet)| ticking - quiet);
        Evidence::new("figure-7", "more", json!({ "more": more, "sds": sds }))
    }
}

const FIGURE_3: &str = include_str!("../data/epos-figure-3.cc");
const FIGURE_4: &str = include_str!("../data/epos-figure-4.cc");
const HANDLERS: &str = include_str!("../data/epos-handlers.cc");
const QUANTUM: &str = include_str!("../data/epos-quantum.cc");

/// Rounds of the led thread; the paper's text has no number of them.
const ROUNDS: usize = 1_000;
/// Period of the alarms in figures 3 and 4, in microseconds.
const PERIOD_US: u32 = 100_000;
/// Events of figure 3, whose delay is one period longer.
const SERVICES: u32 = 100;

/// Measures everything and writes the results; `done` gets the measured and all cells of table 1.
pub fn reproduce(at: &Reproducer<'_>, done: &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, Error> {
    let names = Strategy::ALL.map(|strategy| format!("leds-{strategy}"));
    at.remove_old_runs(&names)?;
    let compiler = Compiler::new()?;
    let results = sweep::measure_all(&table_1_cells(), &compiler, done)?;
    let mut found = EposReproduction {
        table_1: results.into_iter().map(|result| result.figures).collect(),
        costs: cost::measure(cost::PAPER_CONDITIONS, &compiler)?,
        listings: Some(run_listings(&compiler)?),
        quantum_cycles: measure_preemptive_tick(&compiler)?,
        handler_cycles: measure_handler_cycles(&compiler)?,
        ..EposReproduction::default()
    };
    match cost::measure_arduino(cost::PAPER_CONDITIONS, &compiler) {
        Err(error) if is_missing(&error) => found.without_arduino = Some(error.to_string()),
        arduino => found.costs.push(arduino?),
    }
    for kind in TimerKind::ALL {
        found.nearby.push(epos_related_timers::measure(kind, &compiler)?);
    }
    for (strategy, name) in Strategy::ALL.into_iter().zip(&names) {
        found.figure_3.push(run_figure_3(strategy, &compiler)?);
        found.delays.push(delays::measure(strategy, &compiler)?);
        let epos_figure7::LedThread { figures, run } = epos_figure7::measure(strategy, ROUNDS, &compiler)?;
        let rounds_ns = run.activations.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect();
        McuPins::from(run).save(&at.run_file(name))?;
        found.led_thread.push(LedThread { figures, printed: printed_figure_7(strategy), rounds_ns });
    }
    at.write_results(&found, found.evidence())
}

fn run_figure_3(strategy: Strategy, compiler: &Compiler) -> Result<ServicesOutput, Error> {
    let (board, program) = services_program(strategy);
    // It stops its processor a period after the last event.
    let said = simulated_output(&compiler.build(&program, &board)?, &board, SERVICES + 20)?;
    Ok(ServicesOutput { strategy, period_us: PERIOD_US, events: SERVICES, said })
}

/// The board of figures 3 and 4, and the program on it.
fn services_program(strategy: Strategy) -> (Board, Program) {
    let max_period_us = PERIOD_US * (SERVICES + 1);
    let board = Board { max_period_us, ..Board::with_ideal_timing(strategy, 64, PERIOD_US) };
    (board, Program::with_events("time_services", PERIOD_US, SERVICES))
}

/// Simulates a firmware for this number of periods of 100 ms; returns the text that it printed.
fn simulated_output(firmware: &Firmware, board: &Board, periods: u32) -> Result<String, Error> {
    let cycles = u64::from(board.clock_hz) * u64::from(PERIOD_US) * u64::from(periods) / 1_000_000;
    let recording = simulate(&firmware.setup(&[], cycles)?)?;
    Ok(String::from_utf8_lossy(&recording.log.serial).into_owned())
}

/// Compiles and runs figures 3 and 4 as printed; figure 4 also with the handler's name and start mended.
fn run_listings(compiler: &Compiler) -> Result<Listings, Error> {
    let hidden = FIGURE_4.replace("handler(&handler)", "handler(&::handler)");
    let mended =
        hidden.replace("    // Register the events", "    chron.start();\n    // Register the events");
    Ok(Listings {
        figure_3: simulate_source(compiler, FIGURE_3, SERVICES + 2)?,
        figure_4: simulate_source(compiler, FIGURE_4, 13)?,
        figure_4_named: simulate_source(compiler, &hidden, 13)?,
        figure_4_mended: simulate_source(compiler, &mended, 13)?,
    })
}

/// Compiles and simulates a program; the lines it prints in these periods, `None` if not compiled.
fn simulate_source(compiler: &Compiler, source: &str, periods: u32) -> Result<Option<Vec<String>>, Error> {
    let (board, program) = services_program(Strategy::Anchored);
    let firmware = match compile(compiler, source, &program, &board) {
        Ok(firmware) => firmware,
        Err(error) if is_missing(&error) => return Err(error),
        Err(_) => return Ok(None),
    };
    let said = simulated_output(&firmware, &board, periods)?;
    Ok(Some(said.lines().map(|line| line.trim().to_owned()).collect()))
}

fn compile(compiler: &Compiler, source: &str, program: &Program, board: &Board) -> Result<Firmware, Error> {
    let (_scratch, file) = scratch_file("program.cc", source)?;
    compiler.build_file(&file.display().to_string(), program, board)
}

/// Cycles by which a tick that can preempt lengthens the led thread's rounds; `None` if no round was longer.
fn measure_preemptive_tick(compiler: &Compiler) -> Result<Option<u64>, Error> {
    let board = Board::with_ideal_timing(Strategy::Periodic, 64, 1_000).with_chip("atmega128", 8_000_000);
    let firmware = compile(compiler, QUANTUM, &Program::EMPTY, &board)?;
    let recording = simulate(&firmware.setup(&["B0"], u64::from(board.clock_hz) / 50)?)?;
    let begins: Vec<u64> = recording.log.edge_cycles(0, true).collect();
    let mut rounds: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    rounds.sort_unstable();
    let usual = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    // Most ticks end before the quantum does.
    let longer: Vec<u64> = rounds.into_iter().filter(|cycles| *cycles > usual).collect();
    Ok(longer.get(longer.len() / 2).map(|cycles| cycles - usual))
}

/// Cycles from an event to the first action of figure 2's handlers: function, thread, semaphore's thread.
/// They are widths of pulses, in the second turn: threads begin in the first.
fn measure_handler_cycles(compiler: &Compiler) -> Result<Vec<u64>, Error> {
    let board = Board::with_ideal_timing(Strategy::SingleShot, 64, 20_000).with_chip("atmega128", 8_000_000);
    let firmware = compile(compiler, HANDLERS, &Program::EMPTY, &board)?;
    let recording = simulate(&firmware.setup(&["B0"], u64::from(board.clock_hz) / 5)?)?;
    let widths = recording.log.edge_cycles(0, true).zip(recording.log.edge_cycles(0, false));
    Ok(widths.map(|(rise, fall)| fall - rise).skip(3).take(3).collect())
}

fn table_1_cells() -> Vec<Cell> {
    let measured = COLUMNS.into_iter().filter(|(_, source)| *source != ErrorSource::Printed);
    let cells = measured.flat_map(|(strategy, source)| {
        let mut cells = sweep::cells(&[strategy], &PRESCALERS, &PERIODS_US, EVENTS);
        cells.iter_mut().for_each(|cell| cell.board.compare_as_paper = source == ErrorSource::AsPaper);
        cells
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a statement that the paper's own decide, and the same computed.
    fn assert_own<const N: usize>(statement: &'static str, numbers: [(&str, f64); N]) {
        let printed = Paper::Epos.printed_evidence(statement).unwrap().values;
        for (name, computed) in numbers {
            let number = printed[name].as_f64().unwrap();
            assert!((number - computed).abs() < 0.002 * computed.abs(), "{statement}, {name}: {computed}");
        }
    }

    /// Of figure 7: an interruption makes a share p of the rounds longer by c, so the standard deviation is c sqrt(p (1 - p)).
    #[test]
    fn the_printed_percentages_agree_in_one_line_and_not_in_the_other() {
        let numbers = |strategy| {
            let printed = printed_figure_7(strategy);
            ["mean_us", "standard_deviation_us", "printed_percent"]
                .map(|name| printed[name].as_f64().unwrap())
        };
        let cycles = |sd_us: f64, mean_us: f64, every_us: f64| {
            let p = mean_us / every_us;
            (sd_us / (p * (1.0 - p)).sqrt() * LED_CLOCK_HZ / 1e6).round()
        };
        let [mean_us, sd_us, percent] = numbers(Strategy::Periodic);
        assert!((sd_us / mean_us * 100.0 - percent).abs() < 0.005);
        assert_own("deviation", [("tick", cycles(sd_us, mean_us, 1_000.0))]);
        let [mean_us, sd_us, percent] = numbers(Strategy::SingleShot);
        let by_percent_us = mean_us * percent / 100.0;
        assert_own(
            "deviation",
            [
                ("percent", sd_us / mean_us * 100.0),
                ("by_percent", by_percent_us * 1e3),
                ("event", cycles(sd_us, mean_us, 20_000.0)),
                ("event_by_percent", cycles(by_percent_us, mean_us, 20_000.0)),
            ],
        );
        assert_eq!(
            printed_figure_7(Strategy::SingleShot)["readings"],
            format!("{sd_us} or {by_percent_us:.4}")
        );
    }

    #[test]
    fn the_paper_contradicts_itself_in_these_numbers() {
        let hz = timer_hz(PRESCALERS[0]);
        assert_own("equation-1", [("counts", hz * 1e-4), ("count", 1e9 / hz)]);
        // An interval of 1 s at the slowest clock, by the printed equation and by the right one.
        assert_own("ticks", [("off", hz - 1.0 / hz), ("ticks", hz)]);
        let percent = |period_us: u32| {
            printed_error_us(Strategy::Periodic, 64, period_us).unwrap() / f64::from(period_us) * 100.0
        };
        let (before, after) = (percent(1_000_000), percent(10_000_000));
        assert_own("in-every-case", [("before", before), ("after", after), ("growth", after / before)]);
        // Counts that the single shot loses in each tick of 10 ms.
        let lost = |period_us: u32, prescaler: u16| {
            let error_us = printed_error_us(Strategy::SingleShot, prescaler, period_us).unwrap();
            error_us * timer_hz(prescaler) / 1e6 / (f64::from(period_us) / 1e4)
        };
        let each =
            [(10_000_000, 256), (10_000_000, 64), (1_000_000, 64)].map(|(us, by)| lost(us, by).round());
        assert_eq!((each, (lost(10_000_000, 1024) * 1e3).round()), ([8.0, 106.0, 176.0], 997.0));
        // Cells in which the single shot is better, of those whose period the timer's 16 bits hold and of all.
        let better = |holds: f64| {
            let rows = EposReproduction::default().rows();
            let held = rows.iter().filter(|row| f64::from(row.period_us) / 1e6 * row.timer_hz <= holds);
            let each: Vec<bool> = held.map(|row| row.errors_us[3] < row.errors_us[0]).collect();
            (each.iter().filter(|is| **is).count() as f64, each.len() as f64)
        };
        let (within, all) = (better(65_536.0), better(f64::INFINITY));
        let names = ["share", "within_better", "within_cells", "better", "cells"];
        let numbers = [within.0 / within.1, within.0, within.1, all.0, all.1];
        assert_own("usually-better", [0, 1, 2, 3, 4].map(|number| (names[number], numbers[number])));
    }

    #[test]
    fn cells_are_found_where_the_table_has_them() {
        assert_eq!(printed_period_us(Strategy::SingleShot, 64, 10_000_000), Some(10_921_704));
        assert_eq!(printed_period_us(Strategy::Periodic, 1024, 1_000), Some(1_944));
        assert_eq!(printed_period_us(Strategy::Anchored, 64, 100), None);
        assert_eq!(printed_period_us(Strategy::Periodic, 8, 100), None);
    }

    /// From 10 ms on, every error of the periodic column is one count for each hardware period: the compare register
    /// was given the period, and the timer counts one more. 10 s take 10, 10 and 20 hardware periods, 1 s takes
    /// 1, 1 and 2.
    #[test]
    fn the_periodic_columns_errors_are_one_count_for_each_hardware_period() {
        let hardware_periods = [[1, 1, 1], [1, 1, 1], [1, 1, 2], [10, 10, 20]];
        for (period_us, counts) in PERIODS_US.into_iter().skip(2).zip(hardware_periods) {
            for (prescaler, periods) in PRESCALERS.into_iter().zip(counts) {
                let count_us = f64::from(prescaler) / 7.3728;
                let error = printed_error_us(Strategy::Periodic, prescaler, period_us).unwrap();
                assert!((error - f64::from(periods) * count_us).abs() < 1.5, "{period_us} us, {prescaler}");
            }
        }
    }

    #[test]
    fn every_column_of_the_table_is_measured() {
        assert_eq!(table_1_cells().len(), 5 * 18);
    }
}
