//! Lines through times, to take out another clock's offset and rate.
//!
//! Detrending is right *across* clocks (time stamps of a scope, a TSC, another host), where the rate is unknown.
//! On the run's own clock the period is known exactly; a fitted line would hide the mean latency, which is the part a
//! control loop feels as delay. NIST's "jitter" is [`Residual::peak_to_peak`] of the least-squares line.

use serde::Serialize;

/// A line t = intercept + slope k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Value at k = 0.
    pub intercept: f64,
    /// Rise from one k to the next.
    pub slope: f64,
}

impl Line {
    /// Returns the line's value at `k`.
    pub fn at(&self, k: f64) -> f64 {
        self.intercept + self.slope * k
    }

    /// Returns the spread of points about the line.
    pub fn residual(&self, points: &[(f64, f64)]) -> Residual {
        let mut residual = Residual { min: f64::INFINITY, max: f64::NEG_INFINITY, sd: 0.0 };
        let mut squares = 0.0;
        for &(k, t) in points {
            let r = t - self.at(k);
            residual.min = residual.min.min(r);
            residual.max = residual.max.max(r);
            squares += r * r;
        }
        residual.sd = (squares / (points.len() as f64 - 2.0).max(1.0)).sqrt();
        residual
    }
}

/// Spread of points about a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Residual {
    /// Smallest difference to the line.
    pub min: f64,
    /// Largest difference to the line.
    pub max: f64,
    /// Root of the sum of squares over n - 2: the standard deviation about a least-squares line.
    pub sd: f64,
}

impl Residual {
    /// Returns the largest minus the smallest difference.
    pub fn peak_to_peak(&self) -> f64 {
        self.max - self.min
    }
}

/// A least-squares line with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeastSquares {
    /// The line.
    pub line: Line,
    /// Spread of the points about it.
    pub residual: Residual,
    /// Standard error of the slope, if residuals were independent.
    pub slope_se: f64,
}

/// Fits the line with the least sum of squared residuals; `None` for fewer than three points or one k.
///
/// One-sided bursts of lateness pull it up: see [`theil_sen`] and [`lower_envelope`].
pub fn least_squares(points: &[(f64, f64)]) -> Option<LeastSquares> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let (mean_k, mean_t) = points.iter().fold((0.0, 0.0), |(k, t), p| (k + p.0 / n, t + p.1 / n));
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for &(k, t) in points {
        sxx += (k - mean_k) * (k - mean_k);
        sxy += (k - mean_k) * (t - mean_t);
    }
    if sxx <= 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let line = Line { intercept: mean_t - slope * mean_k, slope };
    let residual = line.residual(points);
    Some(LeastSquares { line, residual, slope_se: residual.sd / sxx.sqrt() })
}

/// Most points for which [`theil_sen`] examines every pair.
const ALL_PAIRS: usize = 2_000;

/// Fits a line that up to 29 % of wild points do not move far; `None` without two different k. Its slope is the median
/// of slopes between points. It goes through the median of k and the median of t (Theil 1950, Sen 1968, Conover 1980).
/// Points are in ascending order of k.
///
/// Beyond 2 000 points it examines only the pairs half the series apart, which carry most of the slope.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len();
    let slope_between = |i: usize, j: usize| {
        let (dk, dt) = (points[j].0 - points[i].0, points[j].1 - points[i].1);
        (dk > 0.0).then(|| dt / dk)
    };
    let mut slopes: Vec<f64> = if n <= ALL_PAIRS {
        (0..n).flat_map(|i| (i + 1..n).filter_map(move |j| slope_between(i, j))).collect()
    } else {
        (0..n - n / 2).filter_map(|i| slope_between(i, i + n / 2)).collect()
    };
    let slope = median(&mut slopes)?;
    let (mut ks, mut ts): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    Some(Line { intercept: median(&mut ts)? - slope * median(&mut ks)?, slope })
}

/// Interpolates linearly between ascending points at `x`: beyond the ends, the end's value; 0 without points.
pub(crate) fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|p| p.0 <= x);
    match (after.checked_sub(1).and_then(|i| points.get(i)), points.get(after)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

/// Reorders `values` and returns their median (the mean of the middle two if even in number); `None` if empty.
pub fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if even { (lower + upper) / 2.0 } else { upper })
}

/// Sorts `(value, weight)` pairs and returns the value that half the weight does not exceed; `None` without weight.
pub fn weighted_median(values: &mut [(f64, u64)]) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: u64 = values.iter().map(|v| v.1).sum();
    let mut seen = 0;
    values
        .iter()
        .find(|v| {
            seen += v.1;
            2 * seen >= all && all > 0
        })
        .map(|v| v.0)
}

/// Fits the highest line that lies above no point; `None` for fewer than two. Residuals are the lateness against the
/// best observed case. Points are in ascending order of k.
///
/// The sum of the line's values is largest for the edge of the lower convex hull under the mean of k; the hull is
/// built in one pass (Andrew 1979).
pub fn lower_envelope(points: &[(f64, f64)]) -> Option<Line> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..] {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let mean_k = points.iter().map(|p| p.0).sum::<f64>() / points.len() as f64;
    let edge = hull.windows(2).find(|e| e[1].0 >= mean_k)?;
    let slope = (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0);
    slope.is_finite().then(|| Line { intercept: edge[0].1 - slope * edge[0].0, slope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allan_and_mtie::mtie;
    use crate::tests::{agrees, lcg, sp1065_phase};
    use proptest::prelude::*;

    fn numbered(times: Vec<f64>) -> Vec<(f64, f64)> {
        times.into_iter().enumerate().map(|(k, t)| (k as f64, t)).collect()
    }

    #[test]
    fn the_sp_1065_phase_has_the_published_line() {
        let points = numbered(sp1065_phase());
        let fit = least_squares(&points).unwrap();
        agrees(fit.line.slope, 0.49253494422302285, 13);
        agrees(fit.line.intercept, -1.9206089599771625, 12);
        agrees(fit.residual.sd, 1.7175958489469412, 12);
        agrees(fit.residual.peak_to_peak(), 7.225124340388049, 12);
        let left: Vec<f64> = points.iter().map(|(k, t)| t - fit.line.at(*k)).collect();
        for (n, expected) in [(1, 0.50321035004), (10, 2.67121028282), (100, 6.53283056208)] {
            agrees(mtie(&left, n).unwrap(), expected, 11);
        }
    }

    /// Returns t_k = 1000 + 500.01 k + 3 - ln(1 - u_k).
    fn one_sided() -> Vec<f64> {
        let late = lcg(1_000).into_iter().map(|u| 3.0 - (1.0 - u).ln());
        late.enumerate().map(|(k, l)| 1_000.0 + 500.01 * k as f64 + l).collect()
    }

    #[test]
    fn one_sided_lateness_is_seen_by_each_line_as_computed() {
        let points = numbered(one_sided());
        let fit = least_squares(&points).unwrap();
        agrees(fit.line.intercept, 1003.9619489528, 9);
        agrees(fit.line.slope, 500.00999764896, 10);
        agrees(fit.slope_se, 1.0332772597e-4, 14);
        agrees(fit.residual.sd, 0.94324830, 8);
        agrees(fit.residual.peak_to_peak(), 5.45956921, 7);
        agrees(fit.residual.min, -0.95985828, 7);
        agrees(fit.residual.max, 4.49971093, 7);
        let robust = theil_sen(&points).unwrap();
        agrees(robust.slope, 500.01001937, 8);
        agrees(robust.intercept, 1004.08540858, 8);
        let best = lower_envelope(&points).unwrap();
        agrees(best.intercept, 1003.00151896, 7);
        agrees(best.slope, 500.00999974, 8);
        agrees(best.residual(&points).max, 5.45842783, 7);
        assert!(best.residual(&points).min > -1e-9);
    }

    #[test]
    fn the_period_of_one_sided_lateness_is_as_computed() {
        let starts = one_sided();
        let periods: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let changes: Vec<f64> = periods.windows(2).map(|w| w[1] - w[0]).collect();
        let n = periods.len() as f64;
        let mean = periods.iter().sum::<f64>() / n;
        let variance = periods.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>() / (n - 1.0);
        agrees(mean, 500.01044147, 8);
        agrees(variance.sqrt(), 1.35864223, 8);
        agrees(periods.iter().copied().fold(f64::MAX, f64::min) - 500.0, -4.77410680, 7);
        agrees(periods.iter().copied().fold(f64::MIN, f64::max) - 500.0, 4.99137899, 7);
        agrees(changes.iter().map(|c| c.abs()).fold(0.0, f64::max), 9.52615206, 7);
        let mean_square = changes.iter().map(|c| c * c).sum::<f64>() / changes.len() as f64;
        agrees(mean_square.sqrt(), 2.38284061, 7);
    }

    #[test]
    fn wild_points_do_not_move_the_robust_line() {
        let mut points: Vec<(f64, f64)> =
            (0..5_000).map(|k| (f64::from(k), 7.0 + 2.0 * f64::from(k))).collect();
        points.iter_mut().step_by(5).for_each(|p| p.1 += 1e6);
        let line = theil_sen(&points).unwrap();
        agrees(line.slope, 2.0, 9);
        assert!((line.at(2_499.5) - 5_006.0).abs() < 2_000.0, "{line:?}");
    }

    #[test]
    fn too_few_points_have_no_line() {
        assert_eq!(
            (least_squares(&[(0.0, 1.0); 5]), theil_sen(&[]), lower_envelope(&[(0.0, 1.0)])),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn the_envelope_is_below_every_point_and_touches_two(t in prop::collection::vec(-1_000i32..1_000, 2..80)) {
            let points = numbered(t.into_iter().map(f64::from).collect());
            let residual = lower_envelope(&points).unwrap().residual(&points);
            prop_assert!(residual.min.abs() < 1e-9);
        }

        #[test]
        fn the_median_is_the_middle(mut values in prop::collection::vec(-50i32..50, 1..40)) {
            let mut floats: Vec<f64> = values.iter().copied().map(f64::from).collect();
            values.sort_unstable();
            let n = values.len();
            let middle = f64::from(values[(n - 1) / 2] + values[n / 2]) / 2.0;
            prop_assert_eq!(median(&mut floats), Some(middle));
        }
    }
}
