//! Spikes at a fixed period, however long: another task, a timer, a system-management interrupt every 64 s.
//!
//! The largest latencies, one of each group of neighbours, are points in time. Their spectrum shows a period
//! and its harmonics (H test; de Jager, Swanepoel & Raubenheimer, Astronomy & Astrophysics 1989), compared
//! with its own surroundings, so that bursts and regimes do not count. Then multiples and fractions of it are
//! tried: the result is the longest period that explains the spikes as well as the best one.

use std::collections::{BTreeMap, BTreeSet};

use rustfft::num_complex::Complex;
use serde::Serialize;

use crate::exact_binomial::binomial_at_least;
use crate::least_squares::{least_squares, median};
use crate::scan::Peak;
use crate::spectral_lines::Line;

/// Chance of finding a period among spikes without one.
pub const LEVEL: f64 = 5e-3;
/// Numbers of the largest latencies tried as the spikes.
const SIZES: [usize; 4] = [15, 40, 120, 360];
/// Least distance between spikes of a size, in due times, and its least share of their mean distance.
const APART: (u64, f64) = (5, 0.05);
/// Fewest cycles in a run, and fewest spikes on a grid.
const CYCLES: f64 = 8.0;
/// Frequencies examined for each independent one.
const FINE: usize = 5;
const HARMONICS: usize = 6;
/// Number of frequencies, or share of the frequency, that a power is compared with.
const AROUND: (f64, f64) = (12.0, 0.35);
/// Largest distance of a spike from its grid, as a share of the period; by chance it is that near with twice
/// that probability.
const NEAR: f64 = 0.1;
const BY_CHANCE: f64 = 2.0 * NEAR;
/// Multiples and fractions of a period that are tried as the true one.
const RATIOS: [f64; 11] =
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 3.0 / 2.0, 2.0 / 3.0];
/// Share of the best period's spikes beyond chance that a longer period must explain.
const EXPLAINED: f64 = 0.85;
/// Chance that a grid has as many spikes, and least share of it that they fill.
const ON_GRID: f64 = 1e-4;
const FILLED: f64 = 0.4;
/// Largest distance of spikes from their grid, in multiples of their median distance (three standard deviations).
const SPREAD: f64 = 4.5;
/// Most fits of a grid, each to the spikes near the last.
const FITS: usize = 6;
/// Most periods looked for, each in the rest of the previous ones.
const MOST: usize = 4;

/// Spikes on a grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PeriodicSpikes {
    /// The period in due times of the task.
    pub period: f64,
    /// Uncertainty (twice its standard error).
    pub uncertainty: f64,
    /// Expected position of its first spike in the run, on the task's grid.
    pub phase: f64,
    /// Spikes on it.
    pub spikes: u64,
    /// Grid points from the first to the last spike.
    pub ticks: u64,
    /// The largest of its spikes.
    pub largest: Peak,
    /// Spikes are latencies above this, in ns, after subtracting the slow level.
    pub threshold_ns: i64,
    /// Number of latencies as large that are not on the grid.
    pub others: u64,
    /// Probability of such a period among spikes without one.
    pub p: f64,
}

impl PeriodicSpikes {
    /// Returns the share of the grid points that show a spike.
    pub fn coverage(&self) -> f64 {
        self.spikes as f64 / self.ticks as f64
    }

    /// True if a spectral line belongs to this period.
    pub fn explains(&self, line: &Line) -> bool {
        is_simple_ratio(self.period / line.fundamental, self.uncertainty / self.period)
    }
}

/// Returns the periods among the `peaks` (the largest first) of a run of `length` due times, the surest first.
pub fn periodic_spikes(peaks: &[Peak], length: u64) -> Vec<PeriodicSpikes> {
    let mut left = peaks.to_vec();
    let mut found: Vec<PeriodicSpikes> = Vec::new();
    for _ in 0..MOST {
        let Some((grid, p)) = most_certain_grid(&left, length) else { break };
        let beyond = spike_threshold_ns(&grid, &left);
        let same = |f: &PeriodicSpikes| is_simple_ratio(f.period / grid.period, f.uncertainty / f.period);
        if !found.iter().any(same) {
            found.extend(describe_grid(&grid, p, peaks, beyond));
        }
        // Remove the late activations near each spike, which have the same period. The rest stays: removing
        // everything at a period would leave periodic holes.
        left.retain(|peak| peak.latency_ns <= beyond || !grid.is_near_grid_point(peak.index as f64));
    }
    found
}

/// True if a ratio of periods is one of small numbers: the two are the same period.
pub(crate) fn is_simple_ratio(ratio: f64, error: f64) -> bool {
    let ratio = ratio.max(1.0 / ratio);
    let near = |b: f64| (ratio * b - (ratio * b).round()).abs() <= 0.01 + 2.0 * error * ratio * b;
    [1.0, 2.0, 3.0].into_iter().any(|b| near(b) && (ratio * b).round() >= 1.0)
        && (0.05..20.0).contains(&ratio)
}

/// Grid points at even distances.
#[derive(Debug, Clone, Copy)]
struct Grid {
    period: f64,
    phase: f64,
}

impl Grid {
    fn nearest_cycle(&self, at: f64) -> f64 {
        ((at - self.phase) / self.period).round()
    }

    /// Returns the distance from the nearest grid point.
    fn distance_to_grid(&self, at: f64) -> f64 {
        (at - self.phase - self.nearest_cycle(at) * self.period).abs()
    }

    fn is_near_grid_point(&self, at: f64) -> bool {
        self.distance_to_grid(at) <= NEAR * self.period
    }

    /// Fits the grid of about this period to these positions; `None` if the fit moves to another period.
    fn fit_near_period(period: f64, spike_indices: &[f64]) -> Option<Grid> {
        let sum: Complex<f64> =
            spike_indices.iter().map(|t| Complex::from_polar(1.0, std::f64::consts::TAU * t / period)).sum();
        let mut grid = Grid { period, phase: sum.arg() / std::f64::consts::TAU * period };
        for _ in 0..4 {
            let on = spike_indices
                .iter()
                .filter(|t| grid.is_near_grid_point(**t))
                .map(|t| (grid.nearest_cycle(*t), *t));
            let line = least_squares(&on.collect::<Vec<_>>())?.line;
            // A fit that has moved too far is another period.
            if (line.slope / period - 1.0).abs() > 0.05 {
                return None;
            }
            grid = Grid { period: line.slope, phase: line.intercept };
        }
        Some(grid)
    }

    /// Counts the positions that lie near a grid point.
    fn count_near(&self, spike_indices: &[f64]) -> usize {
        spike_indices.iter().filter(|t| self.is_near_grid_point(**t)).count()
    }

    /// True if more positions lie on the grid than by chance, and they fill at least 40 % of it.
    fn is_significant(&self, spike_indices: &[f64]) -> bool {
        let on: Vec<f64> = spike_indices.iter().copied().filter(|t| self.is_near_grid_point(*t)).collect();
        let cycles = on.iter().map(|t| self.nearest_cycle(*t));
        let (first, last) = cycles.clone().fold((f64::MAX, f64::MIN), |(a, b), c| (a.min(c), b.max(c)));
        let mut shown: Vec<i64> = cycles.map(|c| c as i64).collect();
        shown.sort_unstable();
        shown.dedup();
        shown.len() as f64 >= CYCLES
            && binomial_at_least(on.len() as f64, spike_indices.len() as f64, BY_CHANCE) <= ON_GRID
            && shown.len() as f64 >= FILLED * (last - first + 1.0)
    }
}

/// Returns the surest grid of periodic peaks and its probability by chance; `None` if none is significant.
fn most_certain_grid(peaks: &[Peak], length: u64) -> Option<(Grid, f64)> {
    let of_size = |size: &usize| {
        let spike_indices = separated_indices(peaks, *size, length);
        let (period, p) = strongest_period(&spike_indices, length)?;
        Some((true_grid(period, &spike_indices)?, p))
    };
    let found = SIZES.iter().filter_map(of_size).filter(|(_, p)| *p <= LEVEL);
    found.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the positions of the `size` largest peaks, no two of them near each other, in ascending order.
fn separated_indices(peaks: &[Peak], size: usize, length: u64) -> Vec<f64> {
    let gap = APART.0.max((APART.1 * length as f64 / size as f64) as u64);
    let mut taken = BTreeSet::new();
    for peak in peaks {
        let near = peak.index.saturating_sub(gap)..=peak.index.saturating_add(gap);
        if taken.range(near).next().is_none() {
            taken.insert(peak.index);
            if taken.len() == size {
                break;
            }
        }
    }
    taken.into_iter().map(|at| at as f64).collect()
}

/// Returns the period with the strongest harmonics in the spectrum of these positions, and its chance probability.
/// `None` for too few positions.
fn strongest_period(spike_indices: &[f64], length: u64) -> Option<(f64, f64)> {
    let (count, length) = (spike_indices.len() as f64, length as f64);
    if count < CYCLES {
        return None;
    }
    let (from, to) = (CYCLES as usize * FINE, 2 * spike_indices.len() * FINE);
    let power = point_spectrum(spike_indices, length, to * HARMONICS);
    let power = relative_to_neighbours(&power, from);
    // H of n harmonics is their sum less the chance contribution of more of them.
    let h = |at: usize| {
        let mut sum = -4.0;
        let sums = (1..=HARMONICS).map(|harmonic| {
            sum += power.get(at * harmonic).copied().unwrap_or(0.0) - 4.0;
            sum + 8.0
        });
        sums.fold(f64::MIN, f64::max)
    };
    let (at, h) = (from..=to).map(|at| (at, h(at))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let independent = 2.0 * count - CYCLES;
    let p = (-0.398 * h).exp() * 9.0 * independent * SIZES.len() as f64;
    Some((length * FINE as f64 / at as f64, p))
}

/// Returns the power of points in time at multiples 0 to `most` of 1 / (5 `length`); 2 on average by chance.
fn point_spectrum(spike_indices: &[f64], length: f64, most: usize) -> Vec<f64> {
    let turn = |t: &f64| Complex::from_polar(1.0, -std::f64::consts::TAU * t / (length * FINE as f64));
    let turns: Vec<Complex<f64>> = spike_indices.iter().map(turn).collect();
    let mut states = vec![Complex::new(1.0, 0.0); spike_indices.len()];
    let power = |_| {
        let sum: Complex<f64> = states.iter().sum();
        states.iter_mut().zip(&turns).for_each(|(state, turn)| *state *= turn);
        2.0 * sum.norm_sqr() / spike_indices.len() as f64
    };
    (0..=most).map(power).collect()
}

/// Divides powers from index `from` on by the power around them, where that exceeds that of independent points.
fn relative_to_neighbours(power: &[f64], from: usize) -> Vec<f64> {
    let mut over = power.to_vec();
    let mut at = from;
    while at < power.len() {
        let width = (AROUND.0 * FINE as f64).max(AROUND.1 * at as f64).ceil() as usize;
        let mut to = (at + width).min(power.len());
        if power.len() - to < width / 2 {
            to = power.len();
        }
        let usual = median(&mut power[at..to].to_vec()).unwrap_or(0.0) / (2.0 * std::f64::consts::LN_2);
        over[at..to].iter_mut().for_each(|p| *p /= usual.max(1.0));
        at = to;
    }
    over
}

/// Returns the longest significant grid, at a simple ratio to this period, that explains as much as the best one.
fn true_grid(period: f64, spike_indices: &[f64]) -> Option<Grid> {
    let grids: Vec<Grid> =
        RATIOS.iter().filter_map(|ratio| Grid::fit_near_period(ratio * period, spike_indices)).collect();
    let beyond_chance =
        |grid: &Grid| grid.count_near(spike_indices) as f64 - BY_CHANCE * spike_indices.len() as f64;
    let best = grids.iter().map(beyond_chance).fold(0.0, f64::max);
    let explains =
        |grid: &&Grid| beyond_chance(grid) >= EXPLAINED * best && grid.is_significant(spike_indices);
    grids.iter().filter(explains).max_by(|a, b| a.period.total_cmp(&b.period)).copied()
}

/// Returns the largest peak near each grid point that has one; `peaks` come in order of size.
fn largest_near_grid_points<'a>(grid: &Grid, peaks: &'a [Peak]) -> BTreeMap<i64, &'a Peak> {
    largest_within(grid, NEAR * grid.period, peaks)
}

fn largest_within<'a>(grid: &Grid, distance: f64, peaks: &'a [Peak]) -> BTreeMap<i64, &'a Peak> {
    let mut largest = BTreeMap::new();
    for peak in peaks.iter().filter(|peak| grid.distance_to_grid(peak.index as f64) <= distance) {
        largest.entry(grid.nearest_cycle(peak.index as f64) as i64).or_insert(peak);
    }
    largest
}

/// Returns the level in ns that the spikes of a grid exceed. It is the one at which the excess of grid points with a
/// larger peak over half-way points is greatest.
fn spike_threshold_ns(grid: &Grid, peaks: &[Peak]) -> i64 {
    let half_way = Grid { phase: grid.phase + grid.period / 2.0, ..*grid };
    let [on, off] = [grid, &half_way].map(|grid| {
        let mut largest: Vec<i64> =
            largest_near_grid_points(grid, peaks).values().map(|peak| peak.latency_ns).collect();
        largest.sort_unstable();
        largest
    });
    let above = |all: &[i64], level: i64| all.len() - all.partition_point(|ns| *ns <= level);
    let more = |level: &i64| above(&on, *level) as i64 - above(&off, *level) as i64;
    let levels = off.iter().copied().chain([i64::MIN]);
    levels.max_by(|a, b| more(a).cmp(&more(b)).then(a.cmp(b))).unwrap_or(i64::MIN)
}

/// Refits a grid to its spikes and counts them; `None` if a fit fails. A grid point shows a spike if the largest peak
/// near it is larger than those half way between grid points, and as near as these spikes lie.
fn describe_grid(grid: &Grid, p: f64, peaks: &[Peak], beyond: i64) -> Option<PeriodicSpikes> {
    let larger = &peaks[..peaks.partition_point(|peak| peak.latency_ns > beyond)];
    let (mut grid, mut distance) = (*grid, NEAR * grid.period);
    for _ in 0..FITS {
        let on = largest_within(&grid, distance, larger);
        let points: Vec<(f64, f64)> = on.iter().map(|(c, peak)| (*c as f64, peak.index as f64)).collect();
        let line = least_squares(&points)?.line;
        grid = Grid { period: line.slope, phase: line.intercept };
        let usual = median(&mut points.iter().map(|(_, at)| grid.distance_to_grid(*at)).collect::<Vec<_>>())?;
        distance = (SPREAD * usual).max(1.0).min(NEAR * grid.period);
    }
    let on = largest_within(&grid, distance, larger);
    let spikes: Vec<(f64, &Peak)> = on.iter().map(|(cycle, peak)| (*cycle as f64, *peak)).collect();
    let (first, last) = (spikes.first()?.0, spikes.last()?.0);
    let points: Vec<(f64, f64)> = spikes.iter().map(|(cycle, peak)| (*cycle, peak.index as f64)).collect();
    let fit = least_squares(&points)?;
    let threshold_ns = spikes.iter().map(|(_, peak)| peak.latency_ns).min()?;
    Some(PeriodicSpikes {
        period: fit.line.slope,
        // A position on the grid is known to one due time.
        uncertainty: 2.0 * fit.slope_se + 1.0 / (last - first).max(1.0),
        phase: fit.line.at(first),
        spikes: spikes.len() as u64,
        ticks: (last - first) as u64 + 1,
        largest: *spikes.iter().map(|(_, peak)| *peak).max_by_key(|peak| peak.latency_ns)?,
        threshold_ns,
        others: peaks
            .iter()
            .filter(|peak| peak.latency_ns >= threshold_ns && !grid.is_near_grid_point(peak.index as f64))
            .count() as u64,
        p: p.min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Sorts spikes with the largest first, as a scan returns them.
    fn peaks(mut spikes: Vec<(u64, i64)>) -> Vec<Peak> {
        spikes.sort_by_key(|s| std::cmp::Reverse(s.1));
        spikes.into_iter().map(|(index, latency_ns)| Peak { latency_ns, index }).collect()
    }

    fn noise(random: &mut Random, count: usize, length: usize) -> Vec<(u64, i64)> {
        (0..count)
            .map(|_| (random.below(length) as u64, 10_000 + random.exponential(3_000.0) as i64))
            .collect()
    }

    #[test]
    fn an_interrupt_every_64_seconds_is_found_among_other_spikes() {
        let mut random = Random::new(1);
        let mut spikes = noise(&mut random, 500, 1_800_000);
        // 28 of them in half an hour at 1 kHz, each seen at the activation after it.
        spikes.extend(
            (0..28)
                .map(|k| ((12_345.6 + 64_000.3 * f64::from(k)).ceil() as u64, 60_000 + i64::from(k) * 100)),
        );
        let found = periodic_spikes(&peaks(spikes), 1_800_000);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].period - 64_000.3).abs() <= found[0].uncertainty + 0.1, "{found:?}");
        assert!((found[0].phase - 12_346.0).abs() < 2.0, "{found:?}");
        assert!((found[0].spikes, found[0].ticks) == (28, 28), "{found:?}");
    }

    #[test]
    fn a_tenth_of_a_short_period_is_less_than_a_due_time() {
        let mut random = Random::new(3);
        let mut spikes = noise(&mut random, 3_000, 20_000);
        // Each a little before the tenth activation after the one before.
        spikes.extend((0..2_000).map(|k| ((9.995 * f64::from(k)).round() as u64, 90_000 + i64::from(k))));
        let found = periodic_spikes(&peaks(spikes), 20_000);
        assert!((found[0].period - 9.995).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn every_spike_is_counted_and_the_period_is_no_fraction() {
        for (period, count) in [(733u64, 136), (1_000, 100), (2_500, 40), (500, 200)] {
            let mut random = Random::new(period);
            let mut spikes = noise(&mut random, 3_000, 100_000);
            spikes.extend((0..count).map(|k| (77 + period * k, 90_000 + (k * 37 % 1_000) as i64)));
            let found = periodic_spikes(&peaks(spikes), 100_000);
            assert_eq!(found.len(), 1, "{period}: {found:?}");
            assert!((found[0].period - period as f64).abs() < 0.1, "{period}: {found:?}");
            assert_eq!((found[0].spikes, found[0].ticks), (count, count), "{found:?}");
        }
    }

    #[test]
    fn a_period_is_found_where_some_ticks_show_nothing_and_spikes_jitter() {
        let mut random = Random::new(2);
        let mut spikes = noise(&mut random, 200, 100_000);
        for k in 0..90 {
            if random.uniform() > 0.25 {
                spikes.push(((500.0 + 1_100.0 * (f64::from(k) + 0.02 * random.normal())) as u64, 80_000));
            }
        }
        let found = periodic_spikes(&peaks(spikes), 100_000);
        assert!((found[0].period / 1_100.0 - 1.0).abs() < 2e-3, "{found:?}");
        assert!((found[0].coverage() - 0.75).abs() < 0.12, "{found:?}");
    }

    #[test]
    fn two_periods_are_told_apart() {
        let mut random = Random::new(3);
        let mut spikes = noise(&mut random, 30, 1_000_000);
        spikes.extend((0..40).map(|k| (777 + 25_000 * k as u64, 50_000)));
        spikes.extend((0..23).map(|k| (3_210 + 43_210 * k as u64, 70_000)));
        let found = periodic_spikes(&peaks(spikes), 1_000_000);
        let mut periods: Vec<i64> = found.iter().map(|f| f.period.round() as i64).collect();
        periods.sort_unstable();
        assert_eq!(periods, [25_000, 43_210], "{found:?}");
    }

    #[test]
    fn a_spike_of_several_activations_has_one_period() {
        for width in [4, 30, 300] {
            let mut random = Random::new(4);
            let spikes = (0..150).flat_map(|k| (0..width).map(move |late| 64_000 * k + late));
            let mut spikes: Vec<_> = spikes.map(|at| (at, 50_000 + random.below(9_000) as i64)).collect();
            spikes.extend(noise(&mut random, 30, 9_600_000));
            let mut largest = peaks(spikes);
            largest.truncate(4_096);
            let found = periodic_spikes(&largest, 9_600_000);
            assert!(found.len() == 1 && (found[0].period - 64_000.0).abs() < 10.0, "{width}: {found:?}");
        }
    }

    #[test]
    fn spikes_without_a_period_show_one_no_oftener_than_stated() {
        let bursts = |random: &mut Random| -> Vec<(u64, i64)> {
            let starts: Vec<usize> = (0..25).map(|_| random.below(119_000)).collect();
            let all = starts.into_iter().flat_map(|at| (0..40).map(move |k| (at + k) as u64));
            all.map(|at| (at, 30_000 + random.exponential(3_000.0) as i64)).collect()
        };
        let with_period = (0..200).filter(|seed| {
            let mut random = Random::new(10_000 + seed);
            let alone = peaks(noise(&mut random, 1_000, 120_000));
            let together = peaks(bursts(&mut random));
            !periodic_spikes(&alone, 120_000).is_empty() || !periodic_spikes(&together, 120_000).is_empty()
        });
        let count = with_period.count();
        assert!(count <= 4, "{count} of 400");
    }

    #[test]
    fn few_spikes_have_no_period() {
        assert!(periodic_spikes(&peaks(vec![(1, 5), (101, 5), (201, 5), (301, 5)]), 400).is_empty());
        assert!(periodic_spikes(&[], 0).is_empty());
    }
}
