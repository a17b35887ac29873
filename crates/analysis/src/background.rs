//! Slow changes of a run's level beyond its jumps and its drift, whatever their form: straight lines between
//! the levels of 64 parts.

use crate::drift::LevelTrend;
use crate::least_squares::{interpolated, median};
use crate::scan::TaskScan;

/// Parts of a run at most.
const PARTS: usize = 64;

/// Stretches of latencies, each with its first place on the grid.
pub(crate) type Stretches = Vec<(u64, Vec<f64>)>;

pub(crate) fn subtract_level(mut stretches: Stretches, level: impl Fn(f64) -> f64) -> Stretches {
    let each = stretches.iter_mut().flat_map(|(first, values)| (*first..).zip(values));
    each.for_each(|(index, value)| *value -= level(index as f64));
    stretches
}

/// Slow level of a run beyond its jumps and its drift.
#[derive(Debug, Clone)]
pub(crate) struct SlowLevel {
    /// Middles of the parts on the grid, and the level less its trend there.
    points: Vec<(f64, f64)>,
}

impl SlowLevel {
    /// Computes the slow level of a scan beyond its level trend.
    pub fn from_scan(scan: &TaskScan, level_trend: &LevelTrend) -> Self {
        let (length, parts) = scan.full_parts();
        let joint = parts.len().div_ceil(PARTS).max(1);
        let left = parts.iter().filter_map(|(number, part)| {
            let middle = (*number as f64 + 0.5) * length as f64;
            Some((middle, part.level_ns()? - level_trend.level_at(middle)))
        });
        let left: Vec<(f64, f64)> = left.collect();
        let point = |group: &[(f64, f64)]| {
            let middle = (group.first()?.0 + group.last()?.0) / 2.0;
            Some((middle, median(&mut group.iter().map(|p| p.1).collect::<Vec<f64>>())?))
        };
        let mut points: Vec<(f64, f64)> = left.chunks(joint).filter_map(point).collect();
        let usual = median(&mut points.iter().map(|p| p.1).collect::<Vec<f64>>()).unwrap_or(0.0);
        points.iter_mut().for_each(|point| point.1 -= usual);
        SlowLevel { points }
    }

    /// Returns the level less its trend at a position on the grid.
    pub fn level_at(&self, index: f64) -> f64 {
        interpolated(&self.points, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Activation;

    #[test]
    fn a_ramp_is_taken_out() {
        let mut scan = TaskScan::new(1_000, 64_000);
        let rows: Vec<Activation> = (0..64_000)
            .map(|index| Activation {
                index,
                due_ns: 0,
                start_ns: 5_000 + index as i64,
                ..Activation::default()
            })
            .collect();
        scan.push_all(&rows);
        let level = LevelTrend::new(&[], None, 1, Vec::new());
        let background = SlowLevel::from_scan(&scan, &level);
        let left = subtract_level(scan.windows.stretches(), |index| background.level_at(index));
        let inner = &left[0].1[1_000..63_000];
        let (low, high) = inner.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        assert!(high - low < 700.0 && (36_000.0..38_000.0).contains(&low), "{low} {high}");
    }
}
