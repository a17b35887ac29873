//! Slow change: levels that jump from one moment to the next, and a level that drifts.
//!
//! Both are looked for in the means of equal parts of a run. A wandering level looks like either for a while:
//! jumps must be larger than the steps of the level elsewhere, and a drift is compared with the slow part of
//! its residuals (`docs/evidence/calibration.md`).

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::dependent_variance::{self, CorrelationTime, student_quantile};
use crate::least_squares::median;

/// Chance of calling a constant level drifting, at most.
pub const LEVEL: f64 = 2e-3;
/// Fewest values in which a change is looked for.
const FEWEST: usize = 32;
/// Values compared before and after a jump, shortest and longest, and multiples of these that a series needs.
const AROUND: [usize; 2] = [8, 16];
const LENGTHS: usize = 5;
/// Size of a jump relative to the usual steps of the level.
const JUMP: f64 = 7.0;
/// Values on either side of an edge, and share of the jump that they must show.
const ABRUPT: usize = 2;
const MOSTLY: f64 = 0.8;
/// Standard deviations from the median of the neighbours beyond which a value is wild, and neighbours on either side.
const WILD: f64 = 3.0;
const NEIGHBOURS: usize = 7;
/// Most levels of a run with a drift: with more it changes regimes, and a drift within them is no clock's.
const LEVELS: usize = 4;
/// Degrees of freedom that a drift needs, and the share of the mean's degrees that it has.
const DEGREES: f64 = 6.0;
const OF_MEAN: f64 = 0.8;

/// A drift of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Slope from one value to the next (least squares, with a mean for each level).
    pub slope: f64,
    /// Half the width of the slope's 95 % interval. `None` if the level wanders too slowly to estimate it.
    pub uncertainty: Option<f64>,
    /// Two-sided probability of such a slope if the level does not drift.
    pub p: Option<f64>,
    /// True if it drifts, at [`LEVEL`].
    pub found: bool,
}

/// A stretch of a series between two jumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Segment {
    /// First value.
    pub from: usize,
    /// The value after its last.
    pub to: usize,
    /// Median, at its middle if it drifts.
    pub level: f64,
}

/// Divides a series at its jumps into stretches of constant level; one stretch if there is no jump.
pub fn levels(values: &[f64]) -> Vec<Segment> {
    let calm = without_outliers(values);
    let mut edges = vec![0, values.len()];
    find_jumps(&calm, 0, &mut edges);
    edges.sort_unstable();
    let segment = |w: &[usize]| {
        let level = median(&mut values[w[0]..w[1]].to_vec())?;
        Some(Segment { from: w[0], to: w[1], level })
    };
    edges.windows(2).filter_map(segment).collect()
}

/// Adds to `edges` the largest jump of a stretch that begins at `offset`, then those on either side of it.
fn find_jumps(values: &[f64], offset: usize, edges: &mut Vec<usize>) {
    if values.len() < FEWEST {
        return;
    }
    let found =
        AROUND.iter().filter(|w| values.len() >= LENGTHS * **w).filter_map(|w| largest_jump(values, *w));
    let Some((at, _)) = found.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    edges.push(offset + at);
    find_jumps(&values[..at], offset, edges);
    find_jumps(&values[at..], offset + at, edges);
}

/// Returns the position of the largest abrupt step and its size in spreads of the others; `None` if none is. A step is
/// between the means of `around` values before and after a position.
fn largest_jump(values: &[f64], around: usize) -> Option<(usize, f64)> {
    let mut sums = vec![0.0];
    for v in values {
        sums.push(sums[sums.len() - 1] + v);
    }
    let sum = |from: usize, to: usize| sums[to] - sums[from];
    let step = |at: usize, width: usize| (sum(at, at + width) - sum(at - width, at)) / width as f64;
    let mut steps: Vec<f64> = (around..=values.len() - around).map(|at| step(at, around)).collect();
    // A drift is a step everywhere.
    let usual = median(&mut steps.clone())?;
    steps.iter_mut().for_each(|d| *d -= usual);
    let spread = 1.482_6 * median(&mut steps.iter().map(|d| d.abs()).collect::<Vec<f64>>())?;
    // Position at which two levels fit best.
    let edge = |coarse: usize| {
        let (from, to) = (coarse.saturating_sub(2 * around), (coarse + 2 * around).min(values.len()));
        let gain =
            |at: usize| sum(from, at).powi(2) / (at - from) as f64 + sum(at, to).powi(2) / (to - at) as f64;
        let near = (coarse - around / 2).max(from + 1)..=(coarse + around / 2).min(to - 1);
        near.max_by(|a, b| gain(*a).total_cmp(&gain(*b)))
    };
    // A random walk needs many values for a change that a jump makes between two.
    let abrupt = |coarse: usize, large: f64| {
        let (from, to) = (coarse - around / 2, coarse + around / 2);
        (from..=to).any(|at| step(at, ABRUPT) / large > MOSTLY)
    };
    let large = steps.iter().enumerate().filter(|(_, d)| d.abs() > JUMP * spread);
    let jumps = large.filter(|(place, d)| abrupt(place + around, **d));
    let jumps = jumps.filter_map(|(place, d)| Some((edge(place + around)?, d.abs())));
    let (at, largest) = jumps.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((at, if spread > 0.0 { largest / spread } else { f64::INFINITY }))
}

/// Fits a linear drift to a series with these levels and tests it; `None` for fewer than 32 or constant values.
pub fn trend(values: &[f64], levels: &[Segment]) -> Option<Trend> {
    if values.len() < FEWEST {
        return None;
    }
    // Each level has its own mean, so that jumps do not count as drift.
    let centred = |of: &dyn Fn(usize) -> f64| {
        let mut all = Vec::with_capacity(values.len());
        for segment in levels {
            let mean = (segment.from..segment.to).map(of).sum::<f64>() / (segment.to - segment.from) as f64;
            all.extend((segment.from..segment.to).map(|k| of(k) - mean));
        }
        all
    };
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let calm: Vec<f64> =
        levels.iter().flat_map(|level| without_outliers(&values[level.from..level.to])).collect();
    let (times, seen) = (centred(&|k| k as f64), centred(&|k| calm[k]));
    let (squares, all) = (product(&times, &times), product(&seen, &seen));
    if squares <= 0.0 || all <= 0.0 {
        return None;
    }
    let slope = product(&times, &seen) / squares;
    let left: Vec<f64> = seen.iter().zip(&times).map(|(v, t)| v - slope * t).collect();
    let room = OF_MEAN * CorrelationTime::from_series(&left).cosine_count(left.len());
    let mut drift = Trend { slope, uncertainty: None, p: None, found: false };
    if room < DEGREES || levels.len() > LEVELS {
        return Some(drift);
    }
    // The part of a cosine that the line and the levels remove is missing in the residuals, too.
    let degrees = (room as usize).min(dependent_variance::MOST);
    let coefficient = |i: usize| {
        let cosine =
            |k: usize| (std::f64::consts::PI * i as f64 * (k as f64 + 0.5) / values.len() as f64).cos();
        let mut rest = centred(&cosine);
        let share = product(&rest, &times) / squares;
        rest.iter_mut().zip(&times).for_each(|(c, t)| *c -= share * t);
        let size = product(&rest, &rest);
        (size > 0.05 * values.len() as f64).then(|| product(&rest, &left).powi(2) / size)
    };
    let slow: Vec<f64> = (1..=degrees + 1 + levels.len()).filter_map(coefficient).take(degrees).collect();
    if (slow.len() as f64) < DEGREES {
        return Some(drift);
    }
    let independent = product(&left, &left) / (left.len() - levels.len() - 1) as f64;
    let variance = (slow.iter().sum::<f64>() / slow.len() as f64).max(independent);
    let error = (variance / squares).sqrt();
    if error > 0.0 {
        let law = StudentsT::new(0.0, 1.0, slow.len() as f64);
        drift.p = law.ok().map(|law| 2.0 * law.sf((slope / error).abs()));
    } else {
        drift.p = Some(0.0);
    }
    drift.uncertainty = Some(student_quantile(0.05, slow.len()) * error);
    drift.found = drift.p.is_some_and(|p| p < LEVEL);
    Some(drift)
}

/// Returns the values, with outliers moved closer to the median of their neighbours. A wild part is no level, and must
/// not bend a line.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    // At the ends, with neighbours on one side only, a drift would look wild.
    let rises = values.iter().zip(values.iter().skip(NEIGHBOURS)).map(|(a, b)| (b - a) / NEIGHBOURS as f64);
    let slope = median(&mut rises.collect::<Vec<f64>>()).unwrap_or(0.0);
    let flat: Vec<f64> = values.iter().enumerate().map(|(k, v)| v - slope * k as f64).collect();
    let around = |k: usize| {
        let near = k.saturating_sub(NEIGHBOURS)..(k + NEIGHBOURS + 1).min(flat.len());
        median(&mut flat[near].to_vec()).unwrap_or(flat[k])
    };
    let middles: Vec<f64> = (0..flat.len()).map(around).collect();
    let mut off: Vec<f64> = flat.iter().zip(&middles).map(|(v, m)| (v - m).abs()).collect();
    let reach = WILD * 1.482_6 * median(&mut off).unwrap_or(0.0);
    let calm = flat.iter().zip(&middles).map(|(v, m)| v.clamp(m - reach, m + reach));
    calm.enumerate().map(|(k, v)| v + slope * k as f64).collect()
}

/// Jumps and linear drift of a run's level over time, to subtract from its latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelTrend {
    /// Due times in a part, and the numbers of the parts.
    part: f64,
    numbers: Vec<u64>,
    slope: f64,
    levels: Vec<Segment>,
    /// Level at the beginning.
    begin: f64,
}

impl LevelTrend {
    /// Computes the level trend of the means of equal parts with these numbers, from the jumps and drifts found.
    pub fn new(levels: &[Segment], trend: Option<Trend>, part_due_times: u64, numbers: Vec<u64>) -> Self {
        let slope = trend.filter(|t| t.found).map_or(0.0, |t| t.slope);
        let mut level_trend =
            LevelTrend { part: part_due_times as f64, numbers, slope, levels: levels.to_vec(), begin: 0.0 };
        level_trend.begin =
            level_trend.level_at(level_trend.numbers.first().map_or(0.0, |n| *n as f64 * level_trend.part));
        level_trend
    }

    /// True if a jump or a drift was found.
    pub fn has_changed(&self) -> bool {
        self.slope != 0.0 || self.levels.len() > 1
    }

    /// True if the level jumps in the part that holds this position on the grid, or in a neighbouring part.
    pub fn has_jump_near(&self, index: f64) -> bool {
        let number = (index / self.part).floor();
        let jumps = self.levels.iter().skip(1).filter_map(|level| self.numbers.get(level.from));
        jumps.into_iter().any(|jump| (*jump as f64 - number).abs() <= 1.0)
    }

    /// Returns the level at a position on the grid, relative to the beginning.
    pub fn level_at(&self, index: f64) -> f64 {
        if !self.has_changed() {
            return 0.0;
        }
        let number = index / self.part;
        // Incomplete parts have no mean: the previous one continues.
        let before = self.numbers.partition_point(|n| *n as f64 <= number).saturating_sub(1);
        let part = before as f64 + number - self.numbers.get(before).map_or(0.0, |n| *n as f64);
        let after =
            self.levels.partition_point(|l| l.to as f64 <= part).min(self.levels.len().saturating_sub(1));
        let (Some(first), Some(here)) = (self.levels.first(), self.levels.get(after)) else { return 0.0 };
        // Levels are medians at the middle of their stretch.
        let middle = |l: &Segment| (l.from + l.to) as f64 / 2.0;
        here.level - first.level + self.slope * (part - middle(here)) - self.begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn white(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| 100.0 + random.normal()).collect()
    }

    fn wandering(seed: u64, count: usize, correlation: f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut level = random.normal() / (1.0 - correlation * correlation).sqrt();
        (0..count)
            .map(|_| {
                level = correlation * level + random.normal();
                level
            })
            .collect()
    }

    fn drift(values: &[f64]) -> Trend {
        trend(values, &levels(values)).unwrap()
    }

    #[test]
    fn what_stays_or_wanders_neither_drifts_nor_jumps() {
        for correlation in [0.0, 0.6, 0.95] {
            let (mut drifts, mut jumps) = (0, 0);
            for seed in 0..300 {
                let values = wandering(seed, 256, correlation);
                drifts += usize::from(drift(&values).found);
                jumps += usize::from(levels(&values).len() > 1);
            }
            assert!(drifts <= 4 && jumps <= 4, "{correlation}: {drifts} and {jumps} of 300");
        }
    }

    #[test]
    fn a_drift_of_the_noise_is_seen_and_stated() {
        let mut x = white(1, 256);
        x.iter_mut().enumerate().for_each(|(k, v)| *v += 0.01 * k as f64);
        let found = drift(&x);
        let reach = found.uncertainty.unwrap();
        assert!(found.found && (found.slope - 0.01).abs() < 1.5 * reach && reach < 0.003, "{found:?}");
        // A jump is no drift, and does not hide one.
        x[100..].iter_mut().for_each(|v| *v -= 9.0);
        let found = drift(&x);
        assert!(found.found && (found.slope - 0.01).abs() < 0.004, "{found:?}");
        x.iter_mut().enumerate().for_each(|(k, v)| *v -= 0.01 * k as f64);
        assert!(!drift(&x).found && levels(&x).len() == 2);
    }

    #[test]
    fn levels_are_found_where_they_change() {
        let mut x = white(2, 240);
        x[80..140].iter_mut().for_each(|v| *v += 6.0);
        let found = levels(&x);
        let edges: Vec<usize> = found.iter().map(|s| s.from).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(edges[1].abs_diff(80) <= 1 && edges[2].abs_diff(140) <= 1, "{found:?}");
        assert!((found[1].level - 106.0).abs() < 0.6, "{found:?}");
    }

    #[test]
    fn a_course_is_what_the_run_did() {
        let mut x = white(3, 256);
        x.iter_mut().enumerate().for_each(|(k, v)| *v += 0.5 * k as f64 + if k >= 128 { 50.0 } else { 0.0 });
        let segments = levels(&x);
        let level_trend = LevelTrend::new(&segments, trend(&x, &segments), 10, (100..356).collect());
        assert!(level_trend.has_changed());
        let rise = level_trend.level_at(1_000.0 + 2_000.0) - level_trend.level_at(1_000.0 + 500.0);
        assert!((rise - 125.0).abs() < 3.0, "{rise}: {level_trend:?}");
    }

    #[test]
    fn what_a_jump_leaves_open_is_a_part_to_either_side() {
        let mut x = white(4, 200);
        x[120..].iter_mut().for_each(|v| *v += 20.0);
        let level_trend = LevelTrend::new(&levels(&x), None, 10, (0..200).collect());
        let near: Vec<usize> = (0..2_000).filter(|index| level_trend.has_jump_near(*index as f64)).collect();
        assert_eq!((near.first(), near.last(), near.len()), (Some(&1_190), Some(&1_219), 30));
    }

    #[test]
    fn one_wild_value_is_no_level() {
        let mut x = white(3, 200);
        x[50] += 1e6;
        assert_eq!(levels(&x).len(), 1);
        assert!(!drift(&x).found);
    }

    #[test]
    fn little_or_nothing_is_one_level() {
        assert!(levels(&[]).is_empty());
        assert!(
            trend(&[1.0; 50], &levels(&[1.0; 50])).is_none()
                && trend(&[1.0, 2.0], &levels(&[1.0, 2.0])).is_none()
        );
        assert_eq!(levels(&[5.0; 40]).len(), 1);
        assert_eq!(levels(&[1.0, 9.0]).len(), 1);
    }
}
