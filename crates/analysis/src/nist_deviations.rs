//! Deviations of starts from the line through them, as the NIST paper draws them (section 2, figures 1, 2 and 6).

use jitterlab_model::{Activation, Distribution};
use serde::Serialize;

use crate::least_squares::{Residual, least_squares};

/// Deviation of each start from the least-squares line through all starts of a series.
///
/// For time stamps of a clock of unknown rate. It hides the mean latency, which becomes part of the line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deviations {
    /// Distance of successive due times on the line: the period in units of the recording clock.
    pub period_ns: f64,
    /// Each start's deviation, in order.
    pub each_ns: Vec<f64>,
    /// Their extremes and spread; the paper's jitter is [`Residual::peak_to_peak`].
    pub residual: Residual,
}

impl Deviations {
    /// Computes the deviations of successive activations; `None` for fewer than three. A missed due time is a step of
    /// two.
    pub fn from_series(series: &[Activation]) -> Option<Self> {
        let first = series.first()?;
        let points: Vec<(f64, f64)> = series
            .iter()
            .map(|a| (a.index.wrapping_sub(first.index) as f64, (a.start_ns - first.start_ns) as f64))
            .collect();
        let fit = least_squares(&points)?;
        Some(Deviations {
            period_ns: fit.line.slope,
            each_ns: points.iter().map(|(k, t)| t - fit.line.at(*k)).collect(),
            residual: fit.residual,
        })
    }

    /// Returns the deviations as a distribution, in whole nanoseconds.
    pub fn distribution(&self) -> Distribution {
        let mut all = Distribution::new();
        self.each_ns.iter().for_each(|ns| all.record(ns.round() as i64));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(index: u64, start_ns: i64) -> Activation {
        Activation { index, start_ns, ..Activation::default() }
    }

    #[test]
    fn another_rate_and_a_missed_due_time_are_no_deviation() {
        // The clock runs fast by 100 millionths; due time 50 was missed.
        let series: Vec<Activation> =
            (0..100).filter(|k| *k != 50).map(|k| start(7 + k, k as i64 * 500_050)).collect();
        let deviations = Deviations::from_series(&series).unwrap();
        assert!((deviations.period_ns - 500_050.0).abs() < 1e-6);
        assert!(deviations.residual.peak_to_peak() < 1e-3);
        assert_eq!((deviations.distribution().count(), deviations.distribution().max_ns()), (99, Some(0)));
    }

    #[test]
    fn a_late_start_stands_out() {
        let late = |k: u64| if k == 500 { 3_600 } else { 0 };
        let series: Vec<Activation> = (0..1_000).map(|k| start(k, k as i64 * 500_000 + late(k))).collect();
        let deviations = Deviations::from_series(&series).unwrap();
        assert!((deviations.residual.peak_to_peak() - 3_600.0).abs() < 5.0);
        assert_eq!(Deviations::from_series(&series[..2]), None);
    }
}
