//! Effects locked to a whole number of activations, however small: found by folding the run at each period.
//!
//! Latencies are ranked (normal scores) and summed at each position within a period of whole activations. A
//! position that differs from its neighbours on either side, by far more than others do at this period and
//! similar ones, is locked to the task. Its cause is periodic work of the program, or a timer on the
//! program's own clock.

use serde::Serialize;

use crate::least_squares::median;

/// Periods examined, in activations, and repetitions that each needs.
const PERIODS: (usize, usize) = (32, 2_000);
const REPETITIONS: usize = 50;
/// Most values folded: more of a longer run would only take longer.
const VALUES: usize = 1 << 17;
/// Largest absolute score; larger ones are clipped.
const CLIP: f64 = 3.0;
/// Nearest and farthest neighbours that a position is compared with, on either side.
const NEAR: usize = 2;
const FAR: usize = 5;
/// Periods on either side whose median spread is used.
const ALIKE: usize = 20;
/// Standard deviations above those of all positions, and above the noise of the position itself: a tick at
/// every fourth activation makes each of these noisier than the others.
const OUT: f64 = 7.0;
const OUT_OF_ITSELF: f64 = 6.0;
/// Most locked periods looked for, each in the rest of the previous ones.
const MOST: usize = 3;

/// An activation in every `period` that differs from its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LockedEffect {
    /// The period in due times of the task.
    pub period: u64,
    /// The position within it: the first such due time on the task's grid.
    pub phase: u64,
    /// Median of these latencies minus that of their neighbours, in ns; below 0 if they are earlier.
    pub difference_ns: f64,
    /// Number of occurrences.
    pub repetitions: u64,
    /// The difference, in standard deviations under chance alone.
    pub z: f64,
}

/// Finds periods of whole activations at which one position differs from its neighbours, the strongest first. `scores`
/// are stretches with their first place on the grid (mean 0, standard deviation 1, `NaN` for missing values);
/// differences are those of `latencies_ns`, the same stretches.
pub fn locked_effects(scores: &[(u64, Vec<f64>)], latencies_ns: &[(u64, Vec<f64>)]) -> Vec<LockedEffect> {
    let mut left: Vec<(u64, Vec<f32>)> = Vec::new();
    let mut count = 0;
    for (first, values) in scores {
        let wanted = values.len().min(VALUES - count);
        let clipped = |v: &f64| if v.is_nan() { 0.0 } else { v.clamp(-CLIP, CLIP) as f32 };
        left.push((*first, values[..wanted].iter().map(clipped).collect()));
        count += wanted;
    }
    let longest = PERIODS.1.min(count / REPETITIONS);
    let mut found: Vec<LockedEffect> = Vec::new();
    for _ in 0..MOST {
        let Some((period, phase, z)) = strongest_period(&left, longest) else { break };
        let all = || left.iter().map(|(first, values)| (*first, values.len() as u64));
        let repetitions =
            all().map(|(first, n)| stretch_positions(first, n, period, phase).count()).sum::<usize>() as u64;
        let multiple = |f: &LockedEffect| f.period.is_multiple_of(period) || period.is_multiple_of(f.period);
        if !found.iter().any(multiple) && z_of_excess(&left, period, phase) > OUT_OF_ITSELF {
            let difference_ns = median_difference(latencies_ns, period, phase);
            // If nearly all values are equal, the effect of a few others does not change the median.
            if difference_ns != 0.0 {
                found.push(LockedEffect { period, phase, difference_ns, repetitions, z });
            }
        }
        for (first, values) in &mut left {
            stretch_positions(*first, values.len() as u64, period, phase).for_each(|at| values[at] = 0.0);
        }
    }
    found
}

/// Returns the indices in a stretch of `count` values from `first` on that lie at `phase` of a period.
fn stretch_positions(first: u64, count: u64, period: u64, phase: u64) -> impl Iterator<Item = usize> {
    let start = (phase + period - first % period) % period;
    (start..count).step_by(period as usize).map(|at| at as usize)
}

/// Returns the most outstanding period, the position in it and its z; `None` if none is significant.
fn strongest_period(values: &[(u64, Vec<f32>)], longest: usize) -> Option<(u64, u64, f64)> {
    let folded: Vec<(usize, f64, f64)> = fold_at_each_period(values, longest)
        .iter()
        .map(|profile| {
            let differences = minus_neighbours(profile);
            let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
            let largest = differences.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            // Of sums of n / period values.
            let root = (profile.len() as f64).sqrt();
            let spread = 1.482_6 * median(&mut sizes).unwrap_or(0.0) * root;
            let (place, size) = largest.map_or((0, 0.0), |(place, size)| (place, size.abs()));
            (place, size * root, spread)
        })
        .collect();
    let z = |at: usize| {
        let near = at.saturating_sub(ALIKE)..(at + ALIKE + 1).min(folded.len());
        let usual = median(&mut folded[near].iter().map(|f| f.2).collect::<Vec<f64>>()).unwrap_or(0.0);
        if usual > 0.0 { folded[at].1 / usual } else { 0.0 }
    };
    let all = (0..folded.len()).map(|at| (at, z(at)));
    let (at, z) = all.filter(|(_, z)| *z > OUT).max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(((PERIODS.0 + at) as u64, folded[at].0 as u64, z))
}

/// Returns the mean excess over the neighbours at a position of a period, in its own standard errors.
fn z_of_excess(values: &[(u64, Vec<f32>)], period: u64, phase: u64) -> f64 {
    let mut over = Vec::new();
    for (first, values) in values {
        for at in stretch_positions(*first, values.len() as u64, period, phase) {
            let near = (NEAR..=FAR).flat_map(|by| [at.checked_sub(by), at.checked_add(by)]);
            let near: Vec<f64> =
                near.flatten().filter_map(|at| values.get(at)).map(|v| f64::from(*v)).collect();
            over.push(f64::from(values[at]) - near.iter().sum::<f64>() / near.len().max(1) as f64);
        }
    }
    let count = over.len() as f64;
    let mean = over.iter().sum::<f64>() / count;
    let variance = over.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    if variance > 0.0 { mean.abs() / (variance / count).sqrt() } else { f64::INFINITY }
}

/// Returns the sums at each position of a period, for every period from 32 to the longest.
fn fold_at_each_period(values: &[(u64, Vec<f32>)], longest: usize) -> Vec<Vec<f32>> {
    let mut profiles = vec![Vec::new(); (longest + 1).saturating_sub(PERIODS.0)];
    for period in (PERIODS.0..=longest).rev() {
        // A period occurs twice in its double, which is much shorter than the run.
        profiles[period - PERIODS.0] = match profiles.get(2 * period - PERIODS.0) {
            Some(double) => double[..period].iter().zip(&double[period..]).map(|(a, b)| a + b).collect(),
            None => fold(values, period),
        };
    }
    profiles
}

/// Returns the sums at each position of a period.
fn fold(values: &[(u64, Vec<f32>)], period: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; period];
    for (first, values) in values {
        let offset = (*first % period as u64) as usize;
        let (head, rest) = values.split_at((period - offset).min(values.len()));
        sums[offset..].iter_mut().zip(head).for_each(|(s, v)| *s += v);
        for row in rest.chunks(period) {
            sums.iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
    }
    sums
}

/// Returns each position less the mean of the second to the fifth neighbours on either side, cyclically.
fn minus_neighbours(profile: &[f32]) -> Vec<f64> {
    // The profile is cyclic.
    let (begin, end) = (&profile[..FAR], &profile[profile.len() - FAR..]);
    let round: Vec<f64> = [end, profile, begin].concat().into_iter().map(f64::from).collect();
    let over = |near: &[f64]| {
        let around: f64 = (NEAR..=FAR).map(|by| near[FAR + by] + near[FAR - by]).sum();
        near[FAR] - around / (2.0 * (FAR - NEAR + 1) as f64)
    };
    round.windows(2 * FAR + 1).map(over).collect()
}

/// Returns the median of the values at a position of a period minus that of its neighbours.
fn median_difference(latencies_ns: &[(u64, Vec<f64>)], period: u64, phase: u64) -> f64 {
    let (mut on, mut near) = (Vec::new(), Vec::new());
    for (first, values) in latencies_ns {
        for at in stretch_positions(*first, values.len() as u64, period, phase) {
            on.push(values[at]);
            let around = (NEAR..=FAR).flat_map(|by| [at.checked_sub(by), at.checked_add(by)]);
            near.extend(around.flatten().filter_map(|at| values.get(at).copied()));
        }
    }
    let middle = |mut all: Vec<f64>| {
        all.retain(|v| !v.is_nan());
        median(&mut all).unwrap_or(0.0)
    };
    middle(on) - middle(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::spectral_lines::normal_scores;

    fn of(values: Vec<f64>, first: u64) -> Vec<LockedEffect> {
        locked_effects(&[(first, normal_scores(&values))], &[(first, values)])
    }

    #[test]
    fn a_tenth_more_at_every_thousandth_is_found_in_noise_of_a_tenth() {
        let mut random = Random::new(1);
        let latency = |k: u64| if (k + 5) % 1_000 == 77 { 11_000.0 } else { 10_000.0 };
        let values = (0..100_000).map(|k| latency(k) * (1.0 + 0.1 * random.normal())).collect();
        let found = of(values, 5);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].period, found[0].phase, found[0].repetitions), (1_000, 77, 100), "{found:?}");
        assert!((found[0].difference_ns - 1_000.0).abs() < 400.0, "{found:?}");
    }

    #[test]
    fn what_has_no_period_shows_none() {
        for seed in 0..6 {
            let mut random = Random::new(100 + seed);
            let (mut level, mut left) = (0.0, 0);
            let values = (0..40_000).map(|_| {
                level = 0.9 * level + random.normal();
                left = if left > 0 { left - 1 } else { usize::from(random.below(4_000) == 0) * 50 };
                level + if left > 0 { 20.0 } else { 0.0 }
            });
            let found = of(values.collect(), 0);
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn a_noisy_tick_is_no_period_of_more() {
        for seed in 0..12 {
            let mut random = Random::new(200 + seed);
            let width = |k: usize| if k.is_multiple_of(4) { 6.0 } else { 1.0 };
            let found = of((0..20_000).map(|k| width(k) * random.normal()).collect(), 0);
            assert!(found.is_empty(), "{seed}: {found:?}");
        }
    }

    #[test]
    fn stretches_of_a_run_fold_on_its_grid() {
        let mut random = Random::new(3);
        let stretch = |first: u64| {
            let values = (0..4_096).map(|k| random.normal() + if (first + k) % 250 == 3 { 1.5 } else { 0.0 });
            (first, values.collect::<Vec<f64>>())
        };
        let all: Vec<(u64, Vec<f64>)> = (0..16).map(|k| k * 1_048_576).map(stretch).collect();
        let found = locked_effects(&all, &all);
        assert_eq!((found[0].period, found[0].phase), (250, 3), "{found:?}");
    }

    #[test]
    fn nothing_has_no_period() {
        assert!(locked_effects(&[], &[]).is_empty());
        assert!(of(vec![1.0; 5_000], 0).is_empty());
        // One late value among equal ones is at one place of every period.
        let mut equal = vec![7_000.0; 100_000];
        equal[33_333] = 90_000.0;
        assert!(of(equal, 0).is_empty());
    }
}
