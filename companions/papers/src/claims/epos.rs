//! A. Fröhlich and others, "Temporal Event Management in EPOS" (SAC 2009): the numbers of its table 1 and
//! figure 7 with those of a simulated microcontroller, and its contradictions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jitterlab_mcu::{
    AlarmFigures, CostFigures, DelayFigures, NearbyFigures, ServicesSaid, Strategy, ThreadFigures,
};
use serde::{Deserialize, Serialize};

use super::time_management;
use crate::paper::Paper;
use crate::statement::{Evidence, Values};

/// Prescalers of the paper's clocks 7200, 28800 and 115200 Hz at 7.3728 MHz, in the order of its table's columns.
pub const PRESCALERS: [u16; 3] = [1024, 256, 64];

/// Rows of table 1: requested periods in microseconds.
pub const PERIODS_US: [u32; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Intervals that the paper averaged: 11 events.
pub const EVENTS: u32 = 11;

/// The processor's clock that those prescalers divide.
pub const CLOCK_HZ: u32 = 7_372_800;

/// Clock of figure 7's processor.
const LED_CLOCK_HZ: f64 = 8e6;
/// Distance of the events in figure 7.
const LED_EVENT_US: f64 = 20_000.0;
/// Distance of the ticks in figure 7.
const LED_TICK_US: f64 = 1_000.0;

/// The paper's numbers, by the names of the strategies.
#[derive(Default, Deserialize)]
struct Printed {
    /// Table 1, mean total period in microseconds: rows as [`PERIODS_US`], columns as [`PRESCALERS`].
    table_1: BTreeMap<String, Vec<Vec<u32>>>,
    figure_7: BTreeMap<String, PrintedThread>,
}

static PRINTED: LazyLock<Printed> = LazyLock::new(|| Paper::Epos.read());

/// The paper's mean period for a cell of table 1; `None` for a strategy or cell it does not have.
pub fn table_1_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<u32> {
    let row = PERIODS_US.iter().position(|p| *p == period_us)?;
    let column = PRESCALERS.iter().position(|p| *p == prescaler)?;
    PRINTED.table_1.get(strategy.name())?.get(row)?.get(column).copied()
}

/// The paper's mean error for a cell of table 1.
fn printed_error_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<f64> {
    Some(f64::from(table_1_us(strategy, prescaler, period_us)?) - f64::from(period_us))
}

/// Counts of the timer in a second.
pub fn timer_hz(prescaler: u16) -> f64 {
    f64::from(CLOCK_HZ) / f64::from(prescaler)
}

/// One of the columns in which table 1 is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    Printed(Strategy),
    /// Measured with the period itself in the compare register, as the paper's equation 1 reads.
    AsPaper(Strategy),
    /// Measured with the register rightly programmed.
    Right(Strategy),
}

/// The columns of the table.
pub const VARIANTS: [Variant; 7] = [
    Variant::Printed(Strategy::Periodic),
    Variant::AsPaper(Strategy::Periodic),
    Variant::Right(Strategy::Periodic),
    Variant::Printed(Strategy::SingleShot),
    Variant::AsPaper(Strategy::SingleShot),
    Variant::Right(Strategy::SingleShot),
    Variant::Right(Strategy::Anchored),
];

/// A row of table 1 as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The requested period, in µs.
    pub period_us: u32,
    /// Counts of the timer a second.
    pub timer_hz: f64,
    /// Mean errors, in the order of [`VARIANTS`]; `None` without a value.
    pub errors_us: [Option<f64>; 7],
}

/// Numbers that the paper prints for the led thread's period in figure 7.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrintedThread {
    /// Mean period in microseconds.
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
    PRINTED.figure_7.get(strategy.name()).copied()
}

/// Cycles of an interruption that gives rounds of `mean_us` this standard deviation if it comes every `every_us`: a share p
/// of the rounds is longer by c, so the standard deviation is c sqrt(p (1 - p)).
fn interruption_cycles(standard_deviation_us: f64, mean_us: f64, every_us: f64) -> f64 {
    let p = mean_us / every_us;
    (standard_deviation_us / (p * (1.0 - p)).sqrt() * LED_CLOCK_HZ / 1e6).round()
}

/// The led thread under one strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedThread {
    pub figures: ThreadFigures,
    /// Printed numbers; `None` for a strategy that the paper does not have.
    pub printed: Option<PrintedThread>,
    /// Length of each round, in order.
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
    /// Evidence on whether the programs do what the paper says they do.
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

/// Mean and standard deviation of a thread's rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    pub mean_ns: f64,
    pub sd_ns: f64,
}

impl LedThread {
    /// True if a round is longer than a tick alone makes it: an event takes the handler besides.
    pub fn has_the_event(&self, round_ns: i64) -> bool {
        let ticking = self.figures.round_cycles + self.figures.tick_cycles.unwrap_or(0);
        round_ns as f64 * LED_CLOCK_HZ / 1e9 > ticking as f64 + 0.5
    }

    /// The rounds but for those that the alarm's own event lengthens, which in the paper hardly any did.
    pub fn without_the_event(&self) -> Rounds {
        let rounds = self.rounds_ns.iter().filter(|ns| !self.has_the_event(**ns));
        let rounds: Vec<f64> = rounds.map(|ns| *ns as f64).collect();
        let n = rounds.len().max(1) as f64;
        let mean_ns = rounds.iter().sum::<f64>() / n;
        let squares: f64 = rounds.iter().map(|ns| (ns - mean_ns).powi(2)).sum();
        Rounds { mean_ns, sd_ns: (squares / n).sqrt() }
    }
}

/// Table 1, figures 5 and 7 measured on a simulated microcontroller.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EposReproduction {
    /// A delay of one tick and a half.
    pub delays: Vec<DelayFigures>,
    /// The timers of the related work.
    pub nearby: Vec<NearbyFigures>,
    /// Figure 3's program.
    pub figure_3: Vec<ServicesSaid>,
    /// The cells of table 1, under all strategies, programmed as in the paper and rightly.
    pub table_1: Vec<AlarmFigures>,
    /// The led thread of figure 7 under each strategy.
    pub led_thread: Vec<LedThread>,
    /// Costs of one event every 20 ms.
    pub costs: Vec<CostFigures>,
    /// The paper's programs as they are printed; `None` where they were not tried.
    pub listings: Option<Listings>,
    /// Cycles of a tick that can preempt a thread; `None` where it was not measured.
    pub quantum_cycles: Option<u64>,
    /// Why Arduino's time service is not among them.
    pub without_arduino: Option<String>,
}

impl EposReproduction {
    /// Table 1's rows: the paper's errors, those measured programmed as in the paper, those measured programmed rightly.
    pub fn rows(&self) -> Vec<Row> {
        let row = |prescaler: u16, period_us: u32| {
            let errors_us = VARIANTS.map(|variant| match variant {
                Variant::Printed(strategy) => printed_error_us(strategy, prescaler, period_us),
                Variant::AsPaper(strategy) => {
                    mean_error_us(&self.table_1, strategy, true, prescaler, period_us)
                }
                Variant::Right(strategy) => {
                    mean_error_us(&self.table_1, strategy, false, prescaler, period_us)
                }
            });
            Row { period_us, timer_hz: timer_hz(prescaler), errors_us }
        };
        PRESCALERS
            .into_iter()
            .flat_map(|prescaler| PERIODS_US.map(|period_us| row(prescaler, period_us)))
            .collect()
    }
}

fn mean_error_us(
    table: &[AlarmFigures],
    strategy: Strategy,
    as_paper: bool,
    prescaler: u16,
    period_us: u32,
) -> Option<f64> {
    let wanted = (strategy, as_paper, prescaler, period_us);
    let found =
        table.iter().find(|f| (f.strategy, f.compare_as_paper, f.prescaler, f.period_us) == wanted)?;
    Some(found.mean_error_us())
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
    /// Cycles to program a single shot.
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
        all.extend(self.quantum_cycles.map(|cycles| {
            Evidence::decided_by("quantum", "cycles", cycles as f64).and("plain", self.tick_cycles())
        }));
        let [programming, tick] = [self.programming_cycles(), self.tick_cycles()];
        all.push(
            Evidence::decided_by(
                "reprogramming",
                "more",
                programming.zip(tick).map(|(programming, tick)| programming - tick),
            )
            .and("programming", programming)
            .and("tick", tick),
        );
        // An interval of 1 s at the slowest clock, by the printed equation and by the right one.
        let (ticks, hz) = (timer_hz(PRESCALERS[0]), timer_hz(PRESCALERS[0]));
        all.push(Evidence::decided_by("ticks", "off", ticks - 1.0 / hz).and("ticks", ticks));
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
    let each: Vec<f64> = [(10_000_000, fast), (10_000_000, faster), (1_000_000, faster)]
        .into_iter()
        .filter_map(lost)
        .collect();
    let usual = rows.iter().filter(|row| (10_000..=1_000_000).contains(&row.period_us));
    let differences: Option<Vec<f64>> =
        usual.map(|row| Some((row.errors_us[1]? - row.errors_us[0]?).abs() * 1e3)).collect();
    let pairs: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| row.errors_us[0].zip(row.errors_us[3])).collect();
    let better = pairs.iter().filter(|(periodic, shot)| shot < periodic).count() as f64;
    let counts = timer_hz(slow) * f64::from(PERIODS_US[0]) / 1e6;
    let percent = |period_us: u32| {
        Some(printed_error_us(Strategy::Periodic, faster, period_us)? / f64::from(period_us) * 100.0)
    };
    let (before, after) = (percent(1_000_000), percent(10_000_000));
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
            .and("least", each.iter().copied().reduce(f64::min))
            .and("most", each.iter().copied().reduce(f64::max))
            .and("programming", found.programming_cycles()),
        Evidence::decided_by("equation-1", "counts", counts).and("count", 1e9 / timer_hz(slow)),
        Evidence::decided_by(
            "in-every-case",
            "growth",
            after.zip(before).map(|(after, before)| after / before),
        )
        .and("before", before)
        .and("after", after),
        Evidence::decided_by("usually-better", "share", better / pairs.len() as f64)
            .and("better", better)
            .and("cells", pairs.len() as f64),
    ]
}

fn of_figure_7(threads: &[LedThread]) -> Vec<Evidence> {
    let printed = [Strategy::Periodic, Strategy::SingleShot].map(printed_thread);
    let [Some(periodic), Some(shot)] = printed else { return Vec::new() };
    let event = |sd_us| interruption_cycles(sd_us, shot.mean_us, LED_EVENT_US);
    let by_percent_us = shot.standard_deviation_by_percent_us();
    let tick = interruption_cycles(periodic.standard_deviation_us, periodic.mean_us, LED_TICK_US);
    let sd = |of: Strategy| {
        let thread = threads.iter().find(|thread| thread.figures.strategy == of)?;
        Some(thread.without_the_event().sd_ns)
    };
    let [ticking, quiet] = [Strategy::Periodic, Strategy::SingleShot].map(sd);
    vec![
        Evidence::decided_by("deviation", "percent", shot.percent())
            .and("by_percent", by_percent_us * 1e3)
            .and("event", event(shot.standard_deviation_us))
            .and("event_by_percent", event(by_percent_us))
            .and("tick", tick),
        Evidence::decided_by("figure-7", "more", ticking.zip(quiet).map(|(ticking, quiet)| ticking - quiet))
            .and("sds", vec![ticking, quiet]),
    ]
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
        assert_eq!((value("usually-better", "better"), value("usually-better", "cells")), (9.0, 18.0));
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
}
