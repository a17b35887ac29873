//! "Temporal Event Management in EPOS" (SAC 2009): its table 1, figures 3, 4, 5 and 7, the introduction's
//! delay and the timers of the related work on a simulated microcontroller, with a third strategy; the paper's programs, compiled
//! as they are printed with the names of EPOS; and its contradictions.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::Workplace;
use crate::loads::Spread;
use crate::paper::Paper;
use crate::statement::{Evidence, Values};
use crate::time_management;
use crate::words::Reproduction;
use jitterlab_host::scratch::Scratch;
use jitterlab_mcu::sweep::{self, Cell};
use jitterlab_mcu::{
    AlarmFigures, Board, Compiler, CostFigures, DelayFigures, Firmware, McuPins, NearbyFigures, Program,
    ServicesSaid, Setup, Strategy, ThreadFigures, TimerKind, cost, delays, epos_figure7, epos_related_timers,
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
const LED_EVENT_US: f64 = 20_000.0;
const LED_TICK_US: f64 = 1_000.0;

/// The paper's mean period for a cell of table 1; `None` for a strategy or cell it does not have.
pub fn table_1_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<u32> {
    let printed: BTreeMap<String, Vec<Vec<u32>>> = Paper::Epos.part("table_1");
    let row = PERIODS_US.iter().position(|p| *p == period_us)?;
    let column = PRESCALERS.iter().position(|p| *p == prescaler)?;
    printed.get(strategy.name())?.get(row)?.get(column).copied()
}

fn printed_error_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<f64> {
    Some(f64::from(table_1_us(strategy, prescaler, period_us)?) - f64::from(period_us))
}

/// Counts of the timer in a second.
pub fn timer_hz(prescaler: u16) -> f64 {
    f64::from(CLOCK_HZ) / f64::from(prescaler)
}

/// Origin of the errors in a column of table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Printed,
    /// Measured with the period itself in the compare register, as the paper's equation 1 reads.
    AsPaper,
    /// Measured with the register rightly programmed.
    Right,
}

/// The columns in which the table is shown.
pub const COLUMNS: [(Strategy, Source); 7] = [
    (Strategy::Periodic, Source::Printed),
    (Strategy::Periodic, Source::AsPaper),
    (Strategy::Periodic, Source::Right),
    (Strategy::SingleShot, Source::Printed),
    (Strategy::SingleShot, Source::AsPaper),
    (Strategy::SingleShot, Source::Right),
    (Strategy::Anchored, Source::Right),
];

/// A row of table 1 as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub period_us: u32,
    pub timer_hz: f64,
    /// Mean errors, in the order of [`COLUMNS`]; `None` without a value.
    pub errors_us: [Option<f64>; 7],
}

/// Numbers that the paper prints for the led thread's period in figure 7.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrintedThread {
    pub mean_us: f64,
    pub standard_deviation_us: f64,
    /// The same as the printed percentage of the mean.
    pub printed_percent: f64,
}

impl PrintedThread {
    /// The standard deviation that the printed percentage means, in microseconds.
    pub fn standard_deviation_by_percent_us(&self) -> f64 {
        self.mean_us * self.printed_percent / 100.0
    }

    /// The percentage that the printed standard deviation is.
    pub fn percent(&self) -> f64 {
        self.standard_deviation_us / self.mean_us * 100.0
    }
}

/// Figure 7 under a strategy, if the paper has it.
pub fn printed_thread(strategy: Strategy) -> Option<PrintedThread> {
    Paper::Epos.part::<BTreeMap<String, PrintedThread>>("figure_7").remove(strategy.name())
}

/// Cycles of an interruption that gives rounds of `mean_us` this standard deviation if it comes every `every_us`: a share p
/// of the rounds is longer by c, so the standard deviation is c sqrt(p (1 - p)).
fn interruption_cycles(standard_deviation_us: f64, mean_us: f64, every_us: f64) -> f64 {
    let p = mean_us / every_us;
    (standard_deviation_us / (p * (1.0 - p)).sqrt() * LED_CLOCK_HZ / 1e6).round()
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedThread {
    pub figures: ThreadFigures,
    /// Printed numbers; `None` for a strategy that the paper does not have.
    pub printed: Option<PrintedThread>,
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
        let said = |lines: &Option<Vec<String>>| Values::Printed(lines.clone());
        let elapsed_us = |line: &String| line.strip_prefix("Elapsed time: ")?.parse::<u64>().ok();
        let figure_3 = self.figure_3.iter().flatten().find_map(elapsed_us).is_some_and(|us| us >= 10_100_000);
        let intervals =
            |lines: &Vec<String>| lines.iter().any(|line| line.parse().is_ok_and(|us: u32| us > 0));
        let figure_4 = self.figure_4.as_ref().is_some_and(intervals);
        [
            Evidence::answered("figure-3", Some(figure_3)).and("said", said(&self.figure_3)),
            Evidence::answered("figure-4", Some(figure_4))
                .and("said", said(&self.figure_4))
                .and("named", said(&self.figure_4_named))
                .and("mended", said(&self.figure_4_mended)),
        ]
    }
}

impl LedThread {
    /// True if a round is longer than a tick alone makes it: an event takes the handler besides.
    pub fn has_the_event(&self, round_ns: i64) -> bool {
        let ticking = self.figures.round_cycles + self.figures.tick_cycles.unwrap_or(0);
        round_ns as f64 * LED_CLOCK_HZ / 1e9 > ticking as f64 + 0.5
    }

    /// The rounds but for those that the alarm's own event lengthens, which in the paper hardly any did.
    pub fn without_the_event(&self) -> Vec<f64> {
        let rounds = self.rounds_ns.iter().filter(|ns| !self.has_the_event(**ns));
        rounds.map(|ns| *ns as f64).collect()
    }

    pub fn sd_without_the_event_ns(&self) -> Option<f64> {
        Spread::from_values(&self.without_the_event()).map(|of| of.sd_ns)
    }
}

/// Table 1, figures 5 and 7 measured on a simulated microcontroller.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EposReproduction {
    /// A delay of one tick and a half.
    pub delays: Vec<DelayFigures>,
    pub nearby: Vec<NearbyFigures>,
    pub figure_3: Vec<ServicesSaid>,
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
    /// Why Arduino's time service is not among them.
    pub without_arduino: Option<String>,
}

impl EposReproduction {
    /// Table 1's rows: the paper's errors, those measured programmed as in the paper, those measured programmed rightly.
    pub fn rows(&self) -> Vec<Row> {
        let cells = PRESCALERS.into_iter().flat_map(|prescaler| PERIODS_US.map(|period| (prescaler, period)));
        let row = |(prescaler, period_us)| {
            let errors_us = COLUMNS.map(|(strategy, source)| {
                if source == Source::Printed {
                    return printed_error_us(strategy, prescaler, period_us);
                }
                let wanted = (strategy, source == Source::AsPaper, prescaler, period_us);
                let is_wanted =
                    |f: &&AlarmFigures| (f.strategy, f.compare_as_paper, f.prescaler, f.period_us) == wanted;
                self.table_1.iter().find(is_wanted).map(AlarmFigures::mean_error_us)
            });
            Row { period_us, timer_hz: timer_hz(prescaler), errors_us }
        };
        cells.map(row).collect()
    }
}

/// Cells of a column of table 1 that are known as printed and as measured, programmed alike: those that differ by a count of the
/// timer or less, and all.
fn agreeing(rows: &[Row], printed: usize, alike: usize) -> (f64, f64) {
    let pairs = rows.iter().filter_map(|row| {
        let (printed, alike) = row.errors_us[printed].zip(row.errors_us[alike])?;
        Some((printed - alike).abs() <= 1e6 / row.timer_hz)
    });
    let pairs: Vec<bool> = pairs.collect();
    (pairs.iter().filter(|near| **near).count() as f64, pairs.len() as f64)
}

impl EposReproduction {
    fn programming_cycles(&self) -> Option<f64> {
        let shots = self.costs.iter().filter(|cost| cost.name.contains("single"));
        shots.filter_map(|cost| cost.programming_cycles).min().map(|cycles| cycles as f64)
    }

    /// Cycles of a tick with nothing due, which cannot preempt.
    fn tick_cycles(&self) -> Option<f64> {
        self.led_thread.iter().find_map(|thread| thread.figures.tick_cycles).map(|cycles| cycles as f64)
    }

    /// Evidence on the paper's statements: its own numbers, and those of the simulated chip.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut all = of_table_1(self);
        all.extend(time_management::evidence(&time_management::from_avr(&self.delays)));
        all.extend(of_figure_7(&self.led_thread));
        all.extend(self.listings.iter().flat_map(Listings::evidence));
        let (programming, tick) = (self.programming_cycles(), self.tick_cycles());
        let quantum = self.quantum_cycles.map(|cycles| cycles as f64);
        all.extend(
            quantum.map(|cycles| Evidence::decided_by("quantum", "cycles", cycles).and("plain", tick)),
        );
        let more = programming.zip(tick).map(|(programming, tick)| programming - tick);
        let reprogramming = Evidence::decided_by("reprogramming", "more", more);
        all.push(reprogramming.and("programming", programming).and("tick", tick));
        let awake = [Strategy::Periodic, Strategy::SingleShot].map(|strategy| {
            let cost = self.costs.iter().find(|cost| cost.name.starts_with(strategy.name()))?;
            Some(1.0 - cost.asleep_share)
        });
        let times = awake[0].zip(awake[1]).map(|(ticking, quiet)| ticking / quiet);
        all.push(Evidence::decided_by("power", "times", times).and("awake", awake.to_vec()));
        // An interval of 1 s at the slowest clock, by the printed equation and by the right one.
        let hz = timer_hz(PRESCALERS[0]);
        all.push(Evidence::decided_by("ticks", "off", hz - 1.0 / hz).and("ticks", hz));
        all
    }
}

fn of_table_1(found: &EposReproduction) -> Vec<Evidence> {
    let rows = found.rows();
    // Counts lost in each tick of 10 ms.
    let lost = |(period_us, prescaler): (u32, u16)| {
        let error_us = printed_error_us(Strategy::SingleShot, prescaler, period_us)?;
        Some(error_us * timer_hz(prescaler) / 1e6 / (f64::from(period_us) / 1e4))
    };
    let [slow, fast, faster] = PRESCALERS;
    let each = [(10_000_000, fast), (10_000_000, faster), (1_000_000, faster)].map(lost);
    let [least, most] = [f64::min, f64::max].map(|pick| each.into_iter().flatten().reduce(pick));
    let usual = rows.iter().filter(|row| (10_000..=1_000_000).contains(&row.period_us));
    let differences: Option<Vec<f64>> =
        usual.map(|row| Some((row.errors_us[1]? - row.errors_us[0]?).abs() * 1e3)).collect();
    let pairs: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| row.errors_us[0].zip(row.errors_us[3])).collect();
    let better =
        |pairs: &[(f64, f64)]| pairs.iter().filter(|(periodic, shot)| shot < periodic).count() as f64;
    // Cells whose period the timer's 16 bits hold.
    let within = rows.iter().filter(|row| f64::from(row.period_us) / 1e6 * row.timer_hz <= 65_536.0);
    let within: Vec<_> = within.filter_map(|row| row.errors_us[0].zip(row.errors_us[3])).collect();
    // Single shots at the fastest clock: programmed as in the paper, and rightly.
    let shots = |period_us: u32| {
        let row = rows.iter().find(|row| row.period_us == period_us && row.timer_hz == timer_hz(faster));
        row.and_then(|row| row.errors_us[4].zip(row.errors_us[5]))
    };
    let far = shots(10_000_000);
    // Errors in proportion to their periods, the second of which is a hundred times as long.
    let times = far.zip(shots(100_000)).map(|(far, near)| far.0 / near.0 / 100.0);
    // Errors at the slowest clock and the two shortest periods, as shares of these: the paper's, then those programmed alike.
    let short = rows.iter().filter(|row| row.timer_hz == timer_hz(slow) && row.period_us <= PERIODS_US[1]);
    let share = |row: &Row, column: usize| Some(row.errors_us[column]? / f64::from(row.period_us));
    let shares: Vec<_> = short.flat_map(|row| [0, 3, 1, 4].map(|column| share(row, column))).collect();
    let counts = timer_hz(slow) * f64::from(PERIODS_US[0]) / 1e6;
    let percent = |period_us: u32| {
        Some(printed_error_us(Strategy::Periodic, faster, period_us)? / f64::from(period_us) * 100.0)
    };
    let (before, after) = (percent(1_000_000), percent(10_000_000));
    let growth = after.zip(before).map(|(after, before)| after / before);
    let [periodic, shot] = [(0, 1), (3, 4)].map(|(printed, alike)| agreeing(&rows, printed, alike));
    vec![
        Evidence::decided_by("table-1-periodic", "share", periodic.0 / periodic.1)
            .and("near", periodic.0)
            .and("cells", periodic.1)
            .and("within", differences.map(|all| all.into_iter().fold(0.0, f64::max))),
        Evidence::decided_by("table-1-single-shot", "share", shot.0 / shot.1)
            .and("near", shot.0)
            .and("cells", shot.1)
            .and("slow", lost((10_000_000, slow)).map(|counts| counts * 1e3))
            .and("least", least)
            .and("most", most)
            .and("programming", found.programming_cycles()),
        Evidence::decided_by("short-periods", "shares", shares),
        Evidence::decided_by("equation-1", "counts", counts).and("count", 1e9 / timer_hz(slow)),
        Evidence::decided_by("in-every-case", "growth", growth).and("before", before).and("after", after),
        Evidence::decided_by("usually-better", "share", better(&within) / within.len() as f64)
            .and("within_better", better(&within))
            .and("within_cells", within.len() as f64)
            .and("better", better(&pairs))
            .and("cells", pairs.len() as f64),
        Evidence::decided_by("beyond-16-bits", "times", times)
            .and("far", far.map(|far| far.0 * 1e3))
            .and("right", far.map(|far| far.1 * 1e3)),
    ]
}

fn of_figure_7(threads: &[LedThread]) -> Vec<Evidence> {
    let printed = [Strategy::Periodic, Strategy::SingleShot].map(printed_thread);
    let [Some(periodic), Some(shot)] = printed else { return Vec::new() };
    let event = |sd_us| interruption_cycles(sd_us, shot.mean_us, LED_EVENT_US);
    let by_percent_us = shot.standard_deviation_by_percent_us();
    let tick = interruption_cycles(periodic.standard_deviation_us, periodic.mean_us, LED_TICK_US);
    let find = |of| threads.iter().find(|thread| thread.figures.strategy == of);
    let [ticking, quiet] = [Strategy::Periodic, Strategy::SingleShot]
        .map(|strategy| find(strategy).and_then(LedThread::sd_without_the_event_ns));
    let more = ticking.zip(quiet).map(|(ticking, quiet)| ticking - quiet);
    vec![
        Evidence::decided_by("deviation", "percent", shot.percent())
            .and("by_percent", by_percent_us * 1e3)
            .and("event", event(shot.standard_deviation_us))
            .and("event_by_percent", event(by_percent_us))
            .and("tick", tick),
        Evidence::decided_by("figure-7", "more", more).and("sds", vec![ticking, quiet]),
    ]
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

/// Measures everything; `done` gets the number of measured cells of table 1, and of all cells.
pub fn reproduce(at: &Workplace<'_>, done: &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, Error> {
    let names = Strategy::ALL.map(|strategy| format!("leds-{strategy}"));
    at.replace(&names)?;
    let compiler = Compiler::new()?;
    let results = sweep::measure_all(&cells(), &compiler, done)?;
    let mut found = EposReproduction {
        table_1: results.into_iter().map(|result| result.figures).collect(),
        costs: cost::measure(cost::OF_THE_PAPER, &compiler)?,
        listings: Some(listings(&compiler)?),
        quantum_cycles: preemptive_tick_cycles(&compiler)?,
        handler_cycles: handler_cycles(&compiler)?,
        ..EposReproduction::default()
    };
    match cost::measure_arduino(cost::OF_THE_PAPER, &compiler) {
        Err(error) if is_missing(&error) => found.without_arduino = Some(error.to_string()),
        arduino => found.costs.push(arduino?),
    }
    for kind in TimerKind::ALL {
        found.nearby.push(epos_related_timers::measure(kind, &compiler)?);
    }
    for (strategy, name) in Strategy::ALL.into_iter().zip(&names) {
        found.figure_3.push(time_services(strategy, &compiler)?);
        found.delays.push(delays::measure(strategy, &compiler)?);
        let epos_figure7::LedThread { figures, run } = epos_figure7::measure(strategy, ROUNDS, &compiler)?;
        let rounds_ns = run.activations.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).collect();
        McuPins::from(run).save(&at.run_file(name))?;
        found.led_thread.push(LedThread { figures, printed: printed_thread(strategy), rounds_ns });
    }
    at.finish(&found, found.evidence())
}

/// The program of figure 3, with the paper's 100 events of 100 ms.
fn time_services(strategy: Strategy, compiler: &Compiler) -> Result<ServicesSaid, Error> {
    let (board, program) = services(strategy);
    // It stops its processor a period after the last event.
    let said = output(&compiler.build(&program, &board)?, &board, SERVICES + 20)?;
    Ok(ServicesSaid { strategy, period_us: PERIOD_US, events: SERVICES, said })
}

/// The board of figures 3 and 4, and the program on it.
fn services(strategy: Strategy) -> (Board, Program) {
    let max_period_us = PERIOD_US * (SERVICES + 1);
    let board = Board { max_period_us, ..Board::ideal(strategy, 64, PERIOD_US) };
    (board, Program::TimeServices { period_us: PERIOD_US, events: SERVICES })
}

/// Text that a program prints within this number of periods.
fn output(firmware: &Firmware, board: &Board, periods: u32) -> Result<String, Error> {
    let cycles = u64::from(board.clock_hz) * u64::from(PERIOD_US) * u64::from(periods) / 1_000_000;
    let recording = simulate(&setup(firmware, board, cycles))?;
    Ok(String::from_utf8_lossy(&recording.log.serial).into_owned())
}

fn setup(firmware: &Firmware, board: &Board, cycles: u64) -> Setup {
    Setup {
        mcu: Some(board.mcu.clone()),
        clock_hz: Some(board.clock_hz),
        ..Setup::new(&firmware.elf, cycles)
    }
}

/// Compiles and runs figures 3 and 4 as they are printed; figure 4 also with the handler's name and the chronometer's start mended.
fn listings(compiler: &Compiler) -> Result<Listings, Error> {
    let hidden = FIGURE_4.replace("handler(&handler)", "handler(&::handler)");
    let mended =
        hidden.replace("    // Register the events", "    chron.start();\n    // Register the events");
    Ok(Listings {
        figure_3: printed(compiler, FIGURE_3, SERVICES + 2)?,
        figure_4: printed(compiler, FIGURE_4, 13)?,
        figure_4_named: printed(compiler, &hidden, 13)?,
        figure_4_mended: printed(compiler, &mended, 13)?,
    })
}

/// Lines that a program prints within this number of periods; `None` if it does not compile.
fn printed(compiler: &Compiler, source: &str, periods: u32) -> Result<Option<Vec<String>>, Error> {
    let (board, program) = services(Strategy::Anchored);
    let firmware = match build(compiler, source, &program, &board) {
        Ok(firmware) => firmware,
        Err(error) if is_missing(&error) => return Err(error),
        Err(_) => return Ok(None),
    };
    let said = output(&firmware, &board, periods)?;
    Ok(Some(said.lines().map(|line| line.trim().to_owned()).collect()))
}

fn build(compiler: &Compiler, source: &str, program: &Program, board: &Board) -> Result<Firmware, Error> {
    let scratch =
        Scratch::new().map_err(|cause| Error::refused("cannot make a temporary directory").because(cause))?;
    let file = scratch.path().join("program.cc");
    fs::write(&file, source).map_err(Error::file("write", &file))?;
    compiler.build_file(&file.display().to_string(), program, board)
}

/// Cycles by which a tick lengthens the led thread's rounds where it can preempt, and so saves all registers; `None` if no round was
/// longer.
fn preemptive_tick_cycles(compiler: &Compiler) -> Result<Option<u64>, Error> {
    let board = Board::ideal(Strategy::Periodic, 64, 1_000).on("atmega128", 8_000_000);
    let firmware = build(compiler, QUANTUM, &Program::Empty, &board)?;
    let setup = setup(&firmware, &board, u64::from(board.clock_hz) / 50);
    let recording = simulate(&Setup { pins: vec!["B0".parse()?], ..setup })?;
    let begins: Vec<u64> = recording.log.edges_of(0, true).collect();
    let mut rounds: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    rounds.sort_unstable();
    let usual = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    // Most ticks end before the quantum does.
    let longer: Vec<u64> = rounds.into_iter().filter(|cycles| *cycles > usual).collect();
    Ok(longer.get(longer.len() / 2).map(|cycles| cycles - usual))
}

/// Widths of the pulses that the handlers of figure 2 make in turn, of the second turn: threads begin in the first.
fn handler_cycles(compiler: &Compiler) -> Result<Vec<u64>, Error> {
    let board = Board::ideal(Strategy::SingleShot, 64, LED_EVENT_US as u32).on("atmega128", 8_000_000);
    let firmware = build(compiler, HANDLERS, &Program::Empty, &board)?;
    let setup = setup(&firmware, &board, u64::from(board.clock_hz) / 5);
    let recording = simulate(&Setup { pins: vec!["B0".parse()?], ..setup })?;
    let widths = recording.log.edges_of(0, true).zip(recording.log.edges_of(0, false));
    Ok(widths.map(|(rise, fall)| fall - rise).skip(3).take(3).collect())
}

/// Cells to measure for table 1's columns.
fn cells() -> Vec<Cell> {
    let measured = COLUMNS.into_iter().filter(|(_, source)| *source != Source::Printed);
    let cells = measured.flat_map(|(strategy, source)| {
        let mut cells = sweep::cells(&[strategy], &PRESCALERS, &PERIODS_US, EVENTS);
        cells.iter_mut().for_each(|cell| cell.board.compare_as_paper = source == Source::AsPaper);
        cells
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_percentages_agree_in_one_line_and_not_in_the_other() {
        let [periodic, shot] =
            [Strategy::Periodic, Strategy::SingleShot].map(|strategy| printed_thread(strategy).unwrap());
        assert!((periodic.percent() - periodic.printed_percent).abs() < 0.005);
        assert!((shot.percent() - 0.0625).abs() < 0.000_1);
        assert!((shot.standard_deviation_by_percent_us() - 0.1895).abs() < 0.000_1);
    }

    #[test]
    fn the_paper_contradicts_itself_in_these_numbers() {
        let evidence = EposReproduction::default().evidence();
        let value = |statement: &str, name: &str| {
            let of = evidence.iter().find(|of| of.statement == statement).unwrap();
            match &of.values[name] {
                Values::Exact(values) => values[0].unwrap(),
                other => panic!("{other:?}"),
            }
        };
        let cycles = ["event", "event_by_percent", "tick"].map(|name| value("deviation", name));
        assert_eq!(cycles, [4.0, 39.0, 200.0]);
        assert!(
            value("equation-1", "counts") < 1.0 && (value("equation-1", "count") - 138_889.0).abs() < 1.0
        );
        let lost = ["slow", "least", "most"].map(|name| value("table-1-single-shot", name).round());
        assert_eq!(lost, [997.0, 8.0, 176.0]);
        assert!(value("in-every-case", "growth") > 1.0);
        let cells =
            ["better", "cells", "within_better", "within_cells"].map(|name| value("usually-better", name));
        assert_eq!(cells, [9.0, 18.0, 9.0, 14.0]);
    }

    #[test]
    fn cells_are_found_where_the_table_has_them() {
        assert_eq!(table_1_us(Strategy::SingleShot, 64, 10_000_000), Some(10_921_704));
        assert_eq!(table_1_us(Strategy::Periodic, 1024, 1_000), Some(1_944));
        assert_eq!(table_1_us(Strategy::Anchored, 64, 100), None);
        assert_eq!(table_1_us(Strategy::Periodic, 8, 100), None);
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
        assert_eq!(cells().len(), 5 * 18);
    }
}
