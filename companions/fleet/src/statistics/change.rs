//! Effect of a change on a group of machines, and on single ones.

use jitterlab_analysis::dependent_variance::student_quantile;
use serde::Serialize;

/// Figures are upper edges of bins, which are this much wide: no interval is narrower.
const BIN: f64 = 1.0 / 128.0;
/// Level of intervals.
const LEVEL: f64 = 0.05;

/// Effect of a change on a group of machines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GroupChange {
    /// Machines that had the change.
    pub machines: usize,
    /// Relative change of the quantile, the mean over machines of its logarithm.
    pub change: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl GroupChange {
    /// True if the interval excludes no change.
    pub fn is_shown(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// The largest change to either side that the interval leaves open.
    pub fn largest(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// Mean change over machines, each a quantile before and after; `None` for fewer than three machines.
pub fn group_change(pairs: &[(f64, f64)]) -> Option<GroupChange> {
    let changes = pairs.iter().filter(|(before, after)| *before > 0.0 && *after > 0.0);
    let changes: Vec<f64> = changes.map(|(before, after)| (after / before).ln()).collect();
    let machines = changes.len();
    if machines < 3 {
        return None;
    }
    let n = machines as f64;
    let mean = changes.iter().sum::<f64>() / n;
    let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student_quantile(LEVEL, machines - 1) * (variance / n).sqrt() + (1.0 + BIN).ln();
    let relative = |log: f64| log.exp_m1();
    Some(GroupChange {
        machines,
        change: relative(mean),
        low: relative(mean - half),
        high: relative(mean + half),
    })
}

/// Permutation p value of a shift against those at restarts without a change, the `placebos` (Phipson & Smyth 2010).
pub fn placebo_p_value(shift: f64, placebos: &[f64]) -> f64 {
    let as_large = placebos.iter().filter(|placebo| **placebo >= shift).count();
    (1 + as_large) as f64 / (1 + placebos.len()) as f64
}

/// Marks the p values that are discoveries at this false discovery rate (Benjamini & Hochberg 1995).
pub fn false_discoveries(p: &[f64], rate: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let tests = p.len() as f64;
    let found =
        order.iter().enumerate().rposition(|(place, test)| p[*test] <= rate * (place + 1) as f64 / tests);
    let mut discoveries = vec![false; p.len()];
    for test in order.iter().take(found.map_or(0, |last| last + 1)) {
        discoveries[*test] = true;
    }
    discoveries
}
