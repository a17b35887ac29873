//! What the EPOS paper printed (A. Fröhlich et al., "Temporal Event Management in EPOS", SAC 2009), to stand beside what
//! is measured here.

use super::Strategy;
use super::sweep::{self, Cell};

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

/// The processor's clock that those prescalers divide.
pub const CLOCK_HZ: u32 = 7_372_800;

/// One of the columns in which table 1 is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As printed.
    Printed(Strategy),
    /// Measured with the period itself in the compare register, as the paper's equation 1 reads.
    AsPaper(Strategy),
    /// Measured with the register rightly programmed.
    Right(Strategy),
}

/// The columns.
pub const VARIANTS: [Variant; 7] = [
    Variant::Printed(Strategy::Periodic),
    Variant::AsPaper(Strategy::Periodic),
    Variant::Right(Strategy::Periodic),
    Variant::Printed(Strategy::SingleShot),
    Variant::AsPaper(Strategy::SingleShot),
    Variant::Right(Strategy::SingleShot),
    Variant::Right(Strategy::Anchored),
];

/// Counts of the timer in a second.
pub fn timer_hz(prescaler: u16) -> f64 {
    f64::from(CLOCK_HZ) / f64::from(prescaler)
}

/// What is to be measured for those columns.
pub fn cells() -> Vec<Cell> {
    let measured = VARIANTS.into_iter().filter_map(|variant| match variant {
        Variant::Printed(_) => None,
        Variant::AsPaper(strategy) => Some((strategy, true)),
        Variant::Right(strategy) => Some((strategy, false)),
    });
    measured
        .flat_map(|(strategy, as_paper)| {
            let mut cells = sweep::cells(&[strategy], &PRESCALERS, &PERIODS_US, EVENTS);
            cells.iter_mut().for_each(|cell| cell.board.compare_as_paper = as_paper);
            cells
        })
        .collect()
}

/// Figure 7: what the paper measured of the led thread's period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LedThread {
    /// Mean period in microseconds.
    pub mean_us: f64,
    /// Standard deviation in microseconds, as printed.
    pub standard_deviation_us: f64,
    /// The same as the printed percentage of the mean.
    pub printed_percent: f64,
}

impl LedThread {
    /// The standard deviation that the printed percentage means, in microseconds.
    pub fn standard_deviation_by_percent_us(&self) -> f64 {
        self.mean_us * self.printed_percent / 100.0
    }

    /// The percentage that the printed standard deviation is.
    pub fn percent(&self) -> f64 {
        self.standard_deviation_us / self.mean_us * 100.0
    }
}

/// Length of an interruption, in microseconds, that gives rounds of `mean_us` this standard deviation if it comes every
/// `every_us`: a share p of the rounds is longer by c, so the standard deviation is c sqrt(p (1 - p)).
pub fn interruption_us(standard_deviation_us: f64, mean_us: f64, every_us: f64) -> f64 {
    let p = mean_us / every_us;
    standard_deviation_us / (p * (1.0 - p)).sqrt()
}

/// Figure 7 under a strategy, if the paper has it.
pub fn led_thread(strategy: Strategy) -> Option<LedThread> {
    match strategy {
        Strategy::Periodic => {
            Some(LedThread { mean_us: 31.34, standard_deviation_us: 4.36, printed_percent: 13.91 })
        }
        Strategy::SingleShot => {
            Some(LedThread { mean_us: 30.56, standard_deviation_us: 0.0191, printed_percent: 0.62 })
        }
        Strategy::Anchored => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_percentages_agree_in_one_line_and_not_in_the_other() {
        let tick = led_thread(Strategy::Periodic).unwrap();
        assert!((tick.percent() - tick.printed_percent).abs() < 0.005);
        let shot = led_thread(Strategy::SingleShot).unwrap();
        assert!((shot.percent() - 0.0625).abs() < 0.000_1);
        assert!((shot.standard_deviation_by_percent_us() - 0.1895).abs() < 0.000_1);
    }

    #[test]
    fn interruptions_follow_from_the_standard_deviations() {
        let cycles = |sd_us, mean_us, every_us| (interruption_us(sd_us, mean_us, every_us) * 8.0).round();
        assert_eq!(cycles(4.36, 31.34, 1_000.0), 200.0);
        assert_eq!(cycles(0.0191, 30.56, 20_000.0), 4.0);
        assert_eq!(cycles(0.1895, 30.56, 20_000.0), 39.0);
    }

    #[test]
    fn the_notes_on_table_1_are_true() {
        let better = PERIODIC_US.iter().flatten().zip(SINGLE_SHOT_US.iter().flatten()).filter(|(p, s)| s < p);
        assert_eq!(better.count(), 9);
        let error =
            |row: usize| f64::from(PERIODIC_US[row][2] - PERIODS_US[row]) / f64::from(PERIODS_US[row]);
        assert!(error(4) < error(5), "{} {}", error(4), error(5));
        assert!(timer_hz(1024) * 100e-6 < 1.0);
        assert_eq!(cells().len(), 5 * 18);
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
