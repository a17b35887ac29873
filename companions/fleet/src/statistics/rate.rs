//! Frequency of shifts with a late start, and the ranking of machines by it.

use jitterlab_analysis::exact_binomial::{binomial_lower, binomial_upper, chi_squared_quantile};
use serde::Serialize;

/// Confidence of each end of an interval.
const CONFIDENCE: f64 = 0.975;
/// Level of the lower bound of a rate, by which machines are ranked.
const LOWER: f64 = 0.05;

/// Share of shifts with a late start: starts come in bursts, so that a shift is the unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShiftShare {
    /// Shifts with one.
    pub late: u64,
    /// All shifts of which that is known.
    pub shifts: u64,
    /// Lower end of the 95 % interval (Clopper & Pearson 1934).
    pub low: f64,
    /// Upper end; of no late shift with 95 % to this one side.
    pub high: f64,
}

impl ShiftShare {
    /// Share of late shifts with its interval; `None` without shifts.
    pub fn new(late: u64, shifts: u64) -> Option<Self> {
        let (k, n) = (late as f64, shifts as f64);
        let upper = if late == 0 { 1.0 - LOWER } else { CONFIDENCE };
        (shifts > 0).then(|| ShiftShare {
            late,
            shifts,
            low: binomial_lower(k, n, CONFIDENCE),
            high: binomial_upper(k, n, upper),
        })
    }
}

/// Gamma prior of all machines' rates, from which each machine's own rate is drawn (empirical Bayes).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GammaRates {
    shape: f64,
    rate: f64,
}

impl GammaRates {
    /// Fits the prior to the events and shifts of each machine; `None` without events.
    pub fn new(machines: &[(f64, f64)]) -> Option<Self> {
        let (events, shifts) = machines.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        if events <= 0.0 || shifts <= 0.0 {
            return None;
        }
        let mean = events / shifts;
        let seen = machines.iter().filter(|of| of.1 > 0.0);
        let spread: f64 = seen.clone().map(|(k, n)| n * (k / n - mean).powi(2)).sum();
        let size = shifts - seen.map(|(_, n)| n * n).sum::<f64>() / shifts;
        // Variance of the machines' rates beyond that of counting alone (Clayton & Kaldor 1987).
        let between =
            ((spread - (machines.len() as f64 - 1.0) * mean) / size.max(1.0)).max(1e-3 * mean * mean);
        Some(GammaRates { shape: mean * mean / between, rate: mean / between })
    }

    /// Lower limit (95 %) of the posterior event rate of a machine with these events and shifts.
    pub fn lower(&self, events: f64, shifts: f64) -> f64 {
        chi_squared_quantile(2.0 * (self.shape + events), LOWER) / 2.0 / (self.rate + shifts)
    }
}
