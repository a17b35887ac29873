//! Slow change: a level that drifts, and levels that change from one moment to the next.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::correlation::autocorrelation;
use crate::line::{median, theil_sen};

/// Chance of calling a constant level drifting, and of calling it changed.
pub const LEVEL: f64 = 1e-3;
/// Fewer values say nothing of change.
const FEWEST: usize = 12;
/// Values a level has to last.
const SHORTEST: usize = 3;

/// A trend of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// Median slope from one value to the next (Theil & Sen).
    pub slope: f64,
    /// Standardised count of rising against falling pairs (Mann 1945, Kendall 1955), its variance widened for the
    /// correlation of neighbours.
    pub z: f64,
    /// Two-sided probability of such a z at a constant level.
    pub p: f64,
}

/// The trend of a series, such as the medians of equal parts of a run. `None` for fewer than 12 values, or if all are
/// equal.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let mut rising = 0i64;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            rising += i64::from(b > a) - i64::from(b < a);
        }
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| {
            let t = group.len() as f64;
            t * (t - 1.0) * (2.0 * t + 5.0)
        })
        .sum();
    let n = n as f64;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    if variance <= 0.0 {
        return None;
    }
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(k, v)| (k as f64, *v)).collect();
    let line = theil_sen(&points)?;
    let left: Vec<f64> = points.iter().map(|(k, v)| v - line.at(*k)).collect();
    let neighbours = autocorrelation(&left, 1).get(1).copied().unwrap_or(0.0);
    // Only what is more than chance widens it.
    let alike = if neighbours > 1.645 / n.sqrt() { neighbours.min(0.95) } else { 0.0 };
    let z = (rising - rising.signum()) as f64 / (variance * (1.0 + alike) / (1.0 - alike)).sqrt();
    Some(Trend { slope: line.slope, z, p: 2.0 * Normal::standard().sf(z.abs()) })
}

/// A stretch of a series with one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Its first value.
    pub from: usize,
    /// The value after its last.
    pub to: usize,
    /// Its mean.
    pub level: f64,
}

/// Divides a series into the levels it went through; one if it never changed. The division has the smallest sum of squares
/// plus a price for each change (Jackson et al., IEEE Signal Processing Letters 2005) that noise pays with a probability
/// below [`LEVEL`]. Wild single values are cut off first.
pub fn levels(values: &[f64]) -> Vec<Segment> {
    let n = values.len();
    let whole = |level| vec![Segment { from: 0, to: n, level }];
    let Some(noise) = noise(values).filter(|_| n >= FEWEST) else {
        return if n == 0 { Vec::new() } else { whole(values.iter().sum::<f64>() / n as f64) };
    };
    let calm: Vec<f64> = calmed(values, noise);
    let mut sums = vec![(0.0, 0.0)];
    for v in &calm {
        let (s, q) = sums[sums.len() - 1];
        sums.push((s + v, q + v * v));
    }
    let cost = |from: usize, to: usize| {
        let (s, q) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (q - s * s / (to - from) as f64).max(0.0)
    };
    let price = 5.0 * (n as f64).ln() * noise * noise;
    // best[to]: the least cost of the first `to` values, and where its last segment begins.
    let mut best: Vec<(f64, usize)> = vec![(-price, 0); n + 1];
    for to in SHORTEST..=n {
        best[to] = (0..=to - SHORTEST)
            .filter(|from| *from == 0 || *from >= SHORTEST)
            .map(|from| (best[from].0 + cost(from, to) + price, from))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::INFINITY, 0));
    }
    let mut segments = Vec::new();
    let mut to = n;
    while to > 0 {
        let from = best[to].1;
        segments.push(Segment { from, to, level: (sums[to].0 - sums[from].0) / (to - from) as f64 });
        to = from;
    }
    segments.reverse();
    segments
}

/// Standard deviation of the noise from the median size of the steps, which a few changes of level do not move.
fn noise(values: &[f64]) -> Option<f64> {
    let mut steps: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let usual = median(&mut steps)? / (0.674_489_75 * std::f64::consts::SQRT_2);
    // Where most values are equal, the mean step has to do.
    let mean = steps.iter().sum::<f64>() / steps.len() as f64 / (2.0 / std::f64::consts::PI.sqrt());
    let noise = if usual > 0.0 { usual } else { mean };
    (noise > 0.0).then_some(noise)
}

/// Single values far off both neighbours are brought back to 3 standard deviations from them.
fn calmed(values: &[f64], noise: f64) -> Vec<f64> {
    let mut calm = values.to_vec();
    for i in 0..values.len() {
        let mut around: Vec<f64> = values[i.saturating_sub(2)..(i + 3).min(values.len())].to_vec();
        if let Some(middle) = median(&mut around) {
            calm[i] = values[i].clamp(middle - 3.0 * noise, middle + 3.0 * noise);
        }
    }
    calm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn white(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| 100.0 + random.normal()).collect()
    }

    #[test]
    fn a_constant_level_drifts_or_changes_no_oftener_than_stated() {
        let drifting = (0..500).filter(|s| trend(&white(*s, 128)).unwrap().p < LEVEL).count();
        let changed = (0..500).filter(|s| levels(&white(*s, 128)).len() > 1).count();
        assert!(drifting <= 4 && changed <= 4, "{drifting} and {changed} of 500");
    }

    #[test]
    fn a_drift_of_half_the_noise_is_seen() {
        let mut x = white(1, 128);
        x.iter_mut().enumerate().for_each(|(k, v)| *v += 0.02 * k as f64);
        let found = trend(&x).unwrap();
        assert!(found.p < LEVEL && (found.slope / 0.02 - 1.0).abs() < 0.3, "{found:?}");
    }

    #[test]
    fn wandering_is_not_called_a_trend_too_easily() {
        let wandering = |seed| {
            let mut random = Random::new(seed);
            let mut level = 0.0;
            let x: Vec<f64> = (0..200)
                .map(|_| {
                    level = 0.6 * level + random.normal();
                    level
                })
                .collect();
            trend(&x).unwrap().p < LEVEL
        };
        assert!((0..500).filter(|s| wandering(*s)).count() <= 8);
    }

    #[test]
    fn levels_are_found_where_they_change() {
        let mut x = white(2, 120);
        x[40..70].iter_mut().for_each(|v| *v += 4.0);
        let found = levels(&x);
        let edges: Vec<usize> = found.iter().map(|s| s.from).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(edges[1].abs_diff(40) <= 1 && edges[2].abs_diff(70) <= 1, "{found:?}");
        assert!((found[1].level - 104.0).abs() < 0.6, "{found:?}");
    }

    #[test]
    fn one_wild_value_is_no_level() {
        let mut x = white(3, 100);
        x[50] += 1e6;
        assert_eq!(levels(&x).len(), 1);
    }

    #[test]
    fn little_or_nothing_is_one_level() {
        assert!(levels(&[]).is_empty() && trend(&[1.0; 50]).is_none() && trend(&[1.0, 2.0]).is_none());
        assert_eq!(levels(&[5.0; 40]).len(), 1);
        assert_eq!(levels(&[1.0, 9.0]).len(), 1);
    }
}
