//! A. Fröhlich and others, "Temporal Event Management in EPOS" (SAC 2009): the numbers of its table 1 and
//! figure 7 with those of a simulated microcontroller, and its contradictions.

use jitterlab_mcu::{
    AlarmFigures, CostFigures, DelayFigures, NearbyFigures, ServicesSaid, Strategy, ThreadFigures,
};
use serde::Serialize;

/// Prescalers of the paper's clocks 7200, 28800 and 115200 Hz at 7.3728 MHz, in the order of its table's columns.
pub const PRESCALERS: [u16; 3] = [1024, 256, 64];

/// Rows of table 1: requested periods in microseconds.
pub const PERIODS_US: [u32; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Intervals that the paper averaged: 11 events.
pub const EVENTS: u32 = 11;

/// Table 1, mean total period in microseconds: periodic timer, rows as [`PERIODS_US`], columns as [`PRESCALERS`].
pub const PERIODIC_US: [[u32; 3]; 6] = [
    [277, 173, 147],
    [1_944, 1_214, 1_032],
    [10_138, 10_034, 10_008],
    [100_138, 100_034, 100_008],
    [1_000_138, 1_000_034, 1_000_016],
    [10_001_388, 10_000_346, 10_000_173],
];

/// Table 1, mean total period in microseconds: single-shot timer.
pub const SINGLE_SHOT_US: [[u32; 3]; 6] = [
    [268, 164, 136],
    [1_240, 1_031, 1_031],
    [10_128, 10_059, 10_033],
    [100_128, 100_059, 100_036],
    [1_000_128, 1_000_094, 1_152_970],
    [10_138_457, 10_282_728, 10_921_704],
];

/// The processor's clock that those prescalers divide.
pub const CLOCK_HZ: u32 = 7_372_800;

/// Clock of figure 7's processor.
const LED_CLOCK_HZ: f64 = 8e6;
/// Distance of the events in figure 7.
const LED_EVENT_US: f64 = 20_000.0;
/// Distance of the ticks in figure 7.
const LED_TICK_US: f64 = 1_000.0;

/// The paper's mean period for a cell of table 1; `None` for a strategy or cell it does not have.
pub fn table_1_us(strategy: Strategy, prescaler: u16, period_us: u32) -> Option<u32> {
    let row = PERIODS_US.iter().position(|p| *p == period_us)?;
    let column = PRESCALERS.iter().position(|p| *p == prescaler)?;
    match strategy {
        Strategy::Periodic => Some(PERIODIC_US[row][column]),
        Strategy::SingleShot => Some(SINGLE_SHOT_US[row][column]),
        Strategy::Anchored => None,
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
    match strategy {
        Strategy::Periodic => Some(LED_PERIODIC),
        Strategy::SingleShot => Some(LED_SINGLE_SHOT),
        Strategy::Anchored => None,
    }
}

const LED_PERIODIC: PrintedThread =
    PrintedThread { mean_us: 31.34, standard_deviation_us: 4.36, printed_percent: 13.91 };
const LED_SINGLE_SHOT: PrintedThread =
    PrintedThread { mean_us: 30.56, standard_deviation_us: 0.0191, printed_percent: 0.62 };

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

/// Table 1, figures 5 and 7 measured on a simulated microcontroller.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Why Arduino's time service is not among them.
    pub without_arduino: Option<String>,
    /// Contradictions of the paper.
    pub inconsistent: Vec<Inconsistency>,
}

impl EposReproduction {
    /// From the measurements; delays, figure 3 and the timers of the related work are to be added.
    pub fn new(
        table_1: Vec<AlarmFigures>,
        led_thread: Vec<LedThread>,
        costs: Vec<CostFigures>,
        without_arduino: Option<String>,
    ) -> Self {
        let inconsistent = inconsistencies(&table_1);
        EposReproduction {
            delays: Vec::new(),
            nearby: Vec::new(),
            figure_3: Vec::new(),
            table_1,
            led_thread,
            costs,
            without_arduino,
            inconsistent,
        }
    }

    /// Table 1's rows: the paper's errors, those measured programmed as in the paper, those measured programmed rightly.
    pub fn rows(&self) -> Vec<Row> {
        let row = |prescaler: u16, period_us: u32| {
            let printed = |strategy| {
                Some(f64::from(table_1_us(strategy, prescaler, period_us)?) - f64::from(period_us))
            };
            let errors_us = VARIANTS.map(|variant| match variant {
                Variant::Printed(strategy) => printed(strategy),
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

/// A contradiction within the paper, or between it and its table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Inconsistency {
    /// Figure 7, single shot: the printed standard deviation is not the printed percentage of the mean, and neither fits an
    /// event every 20 ms. The periodic timer's two numbers agree.
    StandardDeviation {
        printed: PrintedThread,
        /// The percentage that the standard deviation is.
        percent: f64,
        /// The standard deviation that the percentage is.
        by_percent_us: f64,
        /// Cycles of an event that would give the printed standard deviation.
        event_cycles: f64,
        /// Cycles of an event that would give the printed percentage.
        event_cycles_by_percent: f64,
        /// Cycles of a tick that give the periodic timer's standard deviation.
        tick_cycles: f64,
    },
    /// Table 1 has a period that is shorter than one count, which equation 1 rules out.
    PeriodBelowOneCount {
        period_us: u32,
        /// Clock of the timer, in Hz.
        timer_hz: f64,
        count_us: f64,
    },
    /// Table 1, periodic timer, from 10 ms on: each error is one count for each hardware period.
    OneCountTooMany {
        /// Largest difference of the measured errors of 10 ms to 1 s, programmed alike, from the printed
        /// ones; `None` if they were not measured.
        within_us: Option<f64>,
    },
    /// Table 1, single shot: number of counts lost in 10 s at 7200 Hz, and in 10 ms at the faster clocks.
    LostCounts {
        /// In 10 s at 7200 Hz: about one in each of 1000 ticks of 10 ms.
        slow: f64,
        /// The least lost in 10 ms at the faster clocks.
        least: f64,
        /// The most lost in 10 ms at the faster clocks.
        most: f64,
    },
    /// "In every case, the error rates decrease as the requested period increases".
    NotInEveryCase {
        /// The timer's clock of the periodic timer that contradicts.
        timer_hz: f64,
        /// Its error for 1 s.
        before_percent: f64,
        /// Its error for 10 s.
        after_percent: f64,
    },
    /// "The single-shot timing strategy usually presents better results".
    NotUsuallyBetter {
        /// Number of cells of table 1 in which it does.
        better: usize,
        /// Number of all cells.
        cells: usize,
    },
    /// "T = I / F" ticks of an interval I at the frequency F: it is I F.
    TicksOfAnInterval,
}

/// Contradictions of the paper; `measured` is table 1 as it was measured.
fn inconsistencies(measured: &[AlarmFigures]) -> Vec<Inconsistency> {
    let shot = LED_SINGLE_SHOT;
    let by_percent_us = shot.standard_deviation_by_percent_us();
    let event_cycles = |sd_us| interruption_cycles(sd_us, shot.mean_us, LED_EVENT_US);
    let percent = |row: usize| {
        let period_us = f64::from(PERIODS_US[row]);
        (f64::from(PERIODIC_US[row][2]) - period_us) / period_us * 100.0
    };
    // Counts lost in each tick of 10 ms.
    let lost = |row: usize, column: usize| {
        let error_us = f64::from(SINGLE_SHOT_US[row][column] - PERIODS_US[row]);
        error_us * timer_hz(PRESCALERS[column]) / 1e6
    };
    let each =
        [(5, 1), (5, 2), (4, 2)].map(|(row, column)| lost(row, column) / (f64::from(PERIODS_US[row]) / 1e4));
    let cells = || PERIODIC_US.iter().flatten().zip(SINGLE_SHOT_US.iter().flatten());
    let alike =
        PERIODS_US[2..5].iter().flat_map(|period_us| PRESCALERS.map(|prescaler| (prescaler, *period_us)));
    let differences: Option<Vec<f64>> = alike
        .map(|(prescaler, period_us)| {
            let printed =
                f64::from(table_1_us(Strategy::Periodic, prescaler, period_us)?) - f64::from(period_us);
            Some((mean_error_us(measured, Strategy::Periodic, true, prescaler, period_us)? - printed).abs())
        })
        .collect();
    vec![
        Inconsistency::StandardDeviation {
            printed: shot,
            percent: shot.percent(),
            by_percent_us,
            event_cycles: event_cycles(shot.standard_deviation_us),
            event_cycles_by_percent: event_cycles(by_percent_us),
            tick_cycles: interruption_cycles(
                LED_PERIODIC.standard_deviation_us,
                LED_PERIODIC.mean_us,
                LED_TICK_US,
            ),
        },
        Inconsistency::PeriodBelowOneCount {
            period_us: PERIODS_US[0],
            timer_hz: timer_hz(PRESCALERS[0]),
            count_us: 1e6 / timer_hz(PRESCALERS[0]),
        },
        Inconsistency::OneCountTooMany {
            within_us: differences.map(|all| all.into_iter().fold(0.0, f64::max)),
        },
        Inconsistency::LostCounts {
            slow: lost(5, 0),
            least: each.iter().copied().fold(f64::INFINITY, f64::min),
            most: each.iter().copied().fold(0.0, f64::max),
        },
        Inconsistency::NotInEveryCase {
            timer_hz: timer_hz(PRESCALERS[2]),
            before_percent: percent(4),
            after_percent: percent(5),
        },
        Inconsistency::NotUsuallyBetter {
            better: cells().filter(|(periodic, shot)| shot < periodic).count(),
            cells: cells().count(),
        },
        Inconsistency::TicksOfAnInterval,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_percentages_agree_in_one_line_and_not_in_the_other() {
        assert!((LED_PERIODIC.percent() - LED_PERIODIC.printed_percent).abs() < 0.005);
        assert!((LED_SINGLE_SHOT.percent() - 0.0625).abs() < 0.000_1);
        assert!((LED_SINGLE_SHOT.standard_deviation_by_percent_us() - 0.1895).abs() < 0.000_1);
    }

    #[test]
    fn the_inconsistencies_have_these_numbers() {
        for found in inconsistencies(&[]) {
            match found {
                Inconsistency::StandardDeviation {
                    event_cycles,
                    event_cycles_by_percent,
                    tick_cycles,
                    ..
                } => {
                    assert_eq!((event_cycles, event_cycles_by_percent, tick_cycles), (4.0, 39.0, 200.0));
                }
                Inconsistency::PeriodBelowOneCount { period_us, timer_hz, count_us } => {
                    assert!(timer_hz * f64::from(period_us) / 1e6 < 1.0 && (count_us - 138.9).abs() < 0.05);
                }
                Inconsistency::OneCountTooMany { within_us } => assert_eq!(within_us, None),
                Inconsistency::LostCounts { slow, least, most } => {
                    assert_eq!([slow, least, most].map(f64::round), [997.0, 8.0, 176.0]);
                }
                Inconsistency::NotInEveryCase { before_percent, after_percent, .. } => {
                    assert!(before_percent < after_percent, "{before_percent} {after_percent}");
                }
                Inconsistency::NotUsuallyBetter { better, cells } => assert_eq!((better, cells), (9, 18)),
                Inconsistency::TicksOfAnInterval => {}
            }
        }
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
        for (row, counts) in PERIODS_US.iter().zip(PERIODIC_US).skip(2).zip(hardware_periods) {
            let (period_us, means) = row;
            for ((prescaler, mean), periods) in PRESCALERS.iter().zip(means).zip(counts) {
                let count_us = f64::from(*prescaler) / 7.3728;
                let error = f64::from(mean - period_us);
                assert!((error - f64::from(periods) * count_us).abs() < 1.5, "{period_us} us, {prescaler}");
            }
        }
    }
}
