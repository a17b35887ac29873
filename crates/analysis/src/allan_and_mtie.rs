//! Time error and its measures in the standards of synchronisation: MTIE, TDEV and the Allan family.
//!
//! All functions take the time error x_k (TIE, ITU-T G.810: here start - due, the latency) at equal steps of
//! one period tau_0, in order. `n` counts periods: the observation time is tau = n tau_0. Formulas: ITU-T
//! G.810 appendix II, IEEE 1139, NIST SP 1065 (Riley 2008) section 5.

use serde::Serialize;

/// Largest and smallest of x within each window of successive values.
struct WindowExtremes {
    /// Periods that a window spans: one less than its values.
    periods: usize,
    highest: Vec<f64>,
    lowest: Vec<f64>,
}

impl WindowExtremes {
    /// Windows of a single value.
    fn new(x: &[f64]) -> Self {
        WindowExtremes { periods: 0, highest: x.to_vec(), lowest: x.to_vec() }
    }

    /// Lengthens the windows to this many periods: two that overlap or touch become one that is up to twice as long.
    fn lengthen_to(&mut self, periods: usize) {
        while self.periods < periods {
            let by = (self.periods + 1).min(periods - self.periods);
            let left = self.highest.len().saturating_sub(by);
            for at in 0..left {
                self.highest[at] = self.highest[at].max(self.highest[at + by]);
                self.lowest[at] = self.lowest[at].min(self.lowest[at + by]);
            }
            self.highest.truncate(left);
            self.lowest.truncate(left);
            self.periods += by;
        }
    }

    /// The largest peak-to-peak of a window; `None` without a complete one.
    fn largest_range(&self) -> Option<f64> {
        self.highest.iter().zip(&self.lowest).map(|(high, low)| high - low).reduce(f64::max)
    }
}

/// Returns the maximum time interval error: the largest peak-to-peak of x within any n + 1 successive values. `None`
/// without at least one complete window.
pub fn mtie(x: &[f64], n: usize) -> Option<f64> {
    let mut extremes = WindowExtremes::new(x);
    extremes.lengthen_to(n);
    extremes.largest_range()
}

/// Returns the mean of the squared second differences x_{i+2n} - 2 x_{i+n} + x_i; `None` for too few values.
fn mean_square_second_difference(x: &[f64], n: usize) -> Option<f64> {
    let last = x.len().checked_sub(2 * n)?;
    let (mut sum, mut terms) = (0.0, 0usize);
    for i in 0..last {
        let d = x[i + 2 * n] - 2.0 * x[i + n] + x[i];
        sum += d * d;
        terms += 1;
    }
    (terms > 0 && n > 0).then(|| sum / terms as f64)
}

/// Returns the overlapping Allan deviation (dimensionless; SP 1065 eq. 11); `None` for too few values.
pub fn oadev(x: &[f64], n: usize, tau0: f64) -> Option<f64> {
    Some((mean_square_second_difference(x, n)? / 2.0).sqrt() / (n as f64 * tau0))
}

/// Returns the time deviation in the unit of x (ITU-T G.810 eq. II.10); `None` for fewer than 3 n values. It separates
/// white phase noise from a slow wander.
pub fn tdev(x: &[f64], n: usize) -> Option<f64> {
    let windows = (x.len() + 1).checked_sub(3 * n).filter(|w| *w > 0 && n > 0)?;
    let difference = |i: usize| x[i + 2 * n] - 2.0 * x[i + n] + x[i];
    let mut inner: f64 = (0..n).map(difference).sum();
    let mut sum = inner * inner;
    for j in 1..windows {
        inner += difference(j + n - 1) - difference(j - 1);
        sum += inner * inner;
    }
    Some((sum / (6.0 * (n as f64).powi(2) * windows as f64)).sqrt())
}

/// Returns the modified Allan deviation TDEV sqrt(3) / tau (SP 1065 eq. 15); `None` for fewer than 3 n values.
pub fn mdev(x: &[f64], n: usize, tau0: f64) -> Option<f64> {
    Some(tdev(x, n)? * 3f64.sqrt() / (n as f64 * tau0))
}

/// The time error over one observation time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeErrorPoint {
    /// Observation time in periods.
    pub periods: u64,
    /// Observation time, in ns.
    pub tau_ns: f64,
    /// Maximum time interval error, in ns.
    pub mtie_ns: f64,
    /// Time deviation, in ns.
    pub tdev_ns: f64,
    /// Overlapping Allan deviation of the rate.
    pub adev: f64,
    /// Modified Allan deviation of the rate.
    pub mdev: f64,
}

/// Returns MTIE, TDEV and Allan deviations over 1, 2, 4, ... periods, as long as three windows fit.
pub fn time_error(x_ns: &[f64], period_ns: f64) -> Vec<TimeErrorPoint> {
    let octaves = (0..usize::BITS).map(|e| 1usize << e).take_while(|n| 3 * n <= x_ns.len());
    let mut extremes = WindowExtremes::new(x_ns);
    octaves
        .filter_map(|n| {
            extremes.lengthen_to(n);
            Some(TimeErrorPoint {
                periods: n as u64,
                tau_ns: n as f64 * period_ns,
                mtie_ns: extremes.largest_range()?,
                tdev_ns: tdev(x_ns, n)?,
                adev: oadev(x_ns, n, period_ns)?,
                mdev: mdev(x_ns, n, period_ns)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{agrees, sp1065_phase};
    use proptest::prelude::*;

    #[test]
    fn the_sp_1065_set_is_reproduced() {
        let x = sp1065_phase();
        let expected = [
            (1, [0.2922318781, 0.2922318781, 0.1687201535, 0.99574529426]),
            (10, [0.09159953420, 0.06172376382, 0.3563623166, 7.59655972505]),
            (100, [0.03241343026, 0.02170920914, 1.253381774, 55.38177334069]),
        ];
        for (n, [o, m, t, i]) in expected {
            agrees(oadev(&x, n, 1.0).unwrap(), o, 10);
            agrees(mdev(&x, n, 1.0).unwrap(), m, 10);
            agrees(tdev(&x, n).unwrap(), t, 9);
            agrees(mtie(&x, n).unwrap(), i, 11);
        }
    }

    #[test]
    fn too_short_a_series_has_none() {
        assert_eq!((mtie(&[1.0], 1), tdev(&[1.0, 2.0], 1), oadev(&[1.0, 2.0], 1, 1.0)), (None, None, None));
        assert_eq!((oadev(&[1.0; 9], 0, 1.0), tdev(&[1.0; 9], 0)), (None, None));
        assert!(time_error(&[1.0, 2.0], 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn mtie_is_what_its_definition_says(x in prop::collection::vec(-100i32..100, 2..60), n in 1usize..20) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let spread = |w: &[f64]| {
                w.iter().copied().fold(f64::MIN, f64::max) - w.iter().copied().fold(f64::MAX, f64::min)
            };
            let by_definition = x.windows(n + 1).map(spread).reduce(f64::max);
            prop_assert_eq!(mtie(&x, n), by_definition);
        }
    }
}
