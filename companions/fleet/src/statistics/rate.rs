//! Frequency of shifts with a late start, and the ranking of machines by it.

use jitterlab_analysis::exact_binomial::{binomial_lower, binomial_upper, chi_squared};
use serde::Serialize;

/// Of each end of an interval.
const CONFIDENCE: f64 = 0.975;
/// A machine is ranked by the rate that it has at least with 95 %.
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
    /// Of so many shifts; `None` of none.
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

/// Rates of all machines: a gamma law, of which each machine's own rate is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    shape: f64,
    rate: f64,
}

impl Rates {
    /// Of machines with so many events in so many shifts each; `None` where nothing happened.
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
        Some(Rates { shape: mean * mean / between, rate: mean / between })
    }

    /// The rate that a machine has at least with 95 %.
    pub fn lower(&self, events: f64, shifts: f64) -> f64 {
        chi_squared(2.0 * (self.shape + events), LOWER) / 2.0 / (self.rate + shifts)
    }
}
