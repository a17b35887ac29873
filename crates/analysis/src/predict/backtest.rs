//! Test of predictions on a long run: from each of its windows the maximum of the following ones is
//! predicted, and compared with the actual one (theory D6, validation ii).

use std::collections::BTreeMap;

use jitterlab_model::Activation;
use serde::Serialize;

use super::predict;
use crate::exact_binomial::{binomial_lower, binomial_upper};
use crate::scan::TaskScan;

/// Predicts from every window of a run while it is read. Memory grows by the number of windows only.
#[derive(Debug)]
pub struct Backtest {
    period_ns: i64,
    window: u64,
    ahead: usize,
    /// The window being filled.
    current: Option<(u64, TaskScan)>,
    windows: Vec<Window>,
}

/// One window: the prediction from it, and its own maximum.
#[derive(Debug)]
struct Window {
    number: u64,
    max_ns: i64,
    bound_ns: Option<f64>,
    refused_by: Vec<String>,
}

impl Backtest {
    /// Creates a test for a task of this period, with windows of `window` due times and a horizon of `ahead` windows.
    pub fn new(period_ns: i64, window: u64, ahead: usize) -> Self {
        let (window, ahead) = (window.max(1), ahead.max(1));
        Backtest { period_ns, window, ahead, current: None, windows: Vec::new() }
    }

    /// Takes the next activations, and predicts from each window that they complete.
    pub fn push_all(&mut self, activations: &[Activation]) {
        let window = self.window;
        for rows in activations.chunk_by(|a, b| a.index / window == b.index / window) {
            let number = rows[0].index / window;
            if self.current.as_ref().is_some_and(|(n, _)| *n != number) {
                self.predict_from_window();
            }
            let new = || (number, TaskScan::new(self.period_ns, window));
            self.current.get_or_insert_with(new).1.push_all(rows);
        }
    }

    fn predict_from_window(&mut self) {
        let Some((number, scan)) = self.current.take() else { return };
        let Some(tail) = scan.tail() else { return };
        let horizon_ns = self.ahead as f64 * self.window as f64 * self.period_ns as f64;
        let prediction = predict(&tail, horizon_ns, &[]);
        let failed = prediction.gates.iter().filter(|gate| !gate.passed);
        self.windows.push(Window {
            number,
            max_ns: tail.latency.max_ns().unwrap_or(i64::MIN),
            bound_ns: prediction.bound.map(|bound| bound.bound_ns),
            refused_by: failed.map(|gate| gate.condition.id().to_owned()).collect(),
        });
    }

    /// Returns the results of the predictions whose whole horizon is in the run.
    pub fn finish(mut self) -> Reliability {
        // The last window is rarely complete: it neither predicts nor counts.
        self.current = None;
        let mut found = Reliability {
            window_ns: self.window as f64 * self.period_ns as f64,
            horizon_windows: self.ahead as u64,
            ..Reliability::default()
        };
        let mut ratios = Vec::new();
        for (i, window) in self.windows.iter().enumerate() {
            let Some(after) = self.windows.get(i + 1..i + 1 + self.ahead) else { break };
            let whole = after.last().is_some_and(|last| last.number == window.number + self.ahead as u64);
            let Some(max_ns) = after.iter().map(|w| w.max_ns).max().filter(|_| whole) else { continue };
            found.windows += 1;
            found.max_held += u64::from(max_ns <= window.max_ns);
            for gate in &window.refused_by {
                *found.refused_by.entry(gate.clone()).or_default() += 1;
            }
            if let Some(bound_ns) = window.bound_ns {
                found.bounded += 1;
                found.held += u64::from(max_ns as f64 <= bound_ns);
                ratios.push(bound_ns / max_ns as f64);
            }
        }
        let (held, bounded) = (found.held as f64, found.bounded as f64);
        if found.bounded > 0 {
            found.held_limits =
                Some([binomial_lower(held, bounded, 0.975), binomial_upper(held, bounded, 0.975)]);
        }
        found.median_ratio = crate::least_squares::median(&mut ratios);
        found
    }
}

/// Reliability of predictions from the windows of a run. Horizons of neighbouring windows overlap, so the
/// results are not independent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Reliability {
    /// Length of a window, in ns.
    pub window_ns: f64,
    /// Length of the horizon in windows.
    pub horizon_windows: u64,
    /// Windows whose whole horizon is in the run.
    pub windows: u64,
    /// Windows that gave a bound; for the others the extrapolation was refused.
    pub bounded: u64,
    /// Bounds that the following maximum stayed below.
    pub held: u64,
    /// Limits of the share of bounds that held, with 95 % confidence, as if the windows were independent
    /// (Clopper & Pearson).
    pub held_limits: Option<[f64; 2]>,
    /// Windows whose own maximum was not exceeded: the result of taking the largest observed value as the worst case.
    pub max_held: u64,
    /// Median ratio of the bound to the maximum that followed.
    pub median_ratio: Option<f64>,
    /// Number of windows that each gate refused; several gates may refuse one window.
    pub refused_by: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn trace(seed: u64, count: u64, mut latency: impl FnMut(&mut Random, u64) -> f64) -> Vec<Activation> {
        let mut random = Random::new(seed);
        (0..count)
            .map(|index| {
                let due_ns = index as i64 * 1_000;
                let start_ns = due_ns + latency(&mut random, index) as i64;
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect()
    }

    fn backtest(rows: &[Activation]) -> Reliability {
        let mut backtest = Backtest::new(1_000, 40_000, 10);
        rows.chunks(7_777).for_each(|rows| backtest.push_all(rows));
        backtest.finish()
    }

    #[test]
    fn steady_noise_is_bounded_and_its_bounds_hold() {
        let found = backtest(&trace(1, 1_210_000, |random, _| 3_000.0 + random.exponential(900.0)));
        assert_eq!(found.windows, 20);
        assert!(found.bounded >= 17 && found.held * 10 >= found.bounded * 9, "{found:?}");
        assert!(found.max_held <= 6, "{found:?}");
        assert!(found.median_ratio.is_some_and(|r| (1.0..3.0).contains(&r)), "{found:?}");
    }

    #[test]
    fn a_cause_of_its_own_is_refused() {
        let found = backtest(&trace(2, 610_000, |random, k| {
            2_000.0 + random.exponential(300.0) + if k % 4_999 == 17 { 90_000.0 } else { 0.0 }
        }));
        assert_eq!((found.windows, found.bounded), (5, 0), "{found:?}");
        assert!(found.refused_by.values().sum::<u64>() >= 5);
    }

    #[test]
    fn too_short_a_run_has_no_window() {
        let found = backtest(&trace(3, 50_000, |random, _| random.exponential(9.0)));
        assert_eq!((found.windows, found.held_limits, found.median_ratio), (0, None, None));
    }
}
