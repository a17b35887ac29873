//! Isolated latencies, far above all others, and whether their spacing is even.
//!
//! Latencies are isolated if the next smaller one is much smaller, relative to the tail below (Hill 1975), so
//! that the largest values of a heavy tail do not count. Of random times, each lies within a share e of the
//! points of a grid through the first and the last with probability 2 e.

use serde::Serialize;

use crate::least_squares::least_squares;
use crate::scan::Peak;

/// Most isolated latencies, and least number of due times between two.
const MOST: usize = 32;
const APART: u64 = 10;
/// Least ratio to the next smaller one, and least sum of logarithms of that ratio in multiples of the Hill index.
const RATIO: f64 = 1.5;
const OF_TAIL: f64 = 10.0;
/// Values of the tail, and its least index: that of the range of bounded values.
const TAIL: usize = 64;
const LEAST_INDEX: f64 = 0.02;
/// Sets tried for a spacing, and the chance of finding one among random times.
const SETS: usize = 3;
const LEVEL: f64 = 5e-3;
/// Share of the spacing up to which a time is near the grid.
const NEAR: f64 = 0.2;

/// Isolated latencies of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IsolatedLatencies {
    /// The latencies, in order of time.
    pub peaks: Vec<Peak>,
    /// The largest of all others, in ns.
    pub others_up_to_ns: i64,
    /// Their spacing, if it is even.
    pub spacing: Option<Spacing>,
}

/// An even spacing of a few times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spacing {
    /// Length, in due times.
    pub period: f64,
    /// Times on the grid.
    pub on_grid: usize,
    /// Points of the grid from the first to the last of these.
    pub points: usize,
    /// Probability of such a spacing among random times.
    pub p: f64,
}

/// Returns the few `largest` latencies (largest first) that are far above all others; `None` if none are.
#[must_use]
pub fn isolated_latencies(largest: &[Peak], median_ns: f64) -> Option<IsolatedLatencies> {
    // Neighbouring peaks count as one event.
    let mut events: Vec<Peak> = Vec::new();
    for peak in largest {
        if events.len() > MOST + TAIL + 1 {
            break;
        }
        if peak.latency_ns as f64 > median_ns && events.iter().all(|e| e.index.abs_diff(peak.index) > APART) {
            events.push(*peak);
        }
    }
    let over = |k: usize| events.get(k).map(|e| e.latency_ns as f64 - median_ns);
    let ratio_after = |k: usize| Some(over(k - 1)? / over(k)?);
    let hill = |k: usize| {
        let tail: Vec<f64> = (k + 1..).map_while(over).take(TAIL).collect();
        let last = *tail.last()?;
        let mean = tail.iter().map(|v| (v / last).ln()).sum::<f64>() / tail.len() as f64;
        (tail.len() >= TAIL / 4).then_some(mean.max(LEAST_INDEX))
    };
    let stands = |k: usize| {
        let (ratio, index) = (ratio_after(k)?, hill(k)?);
        (ratio >= RATIO && k as f64 * ratio.ln() >= OF_TAIL * index).then_some((k, ratio))
    };
    let mut sets: Vec<(usize, f64)> = (1..=MOST).filter_map(stands).collect();
    sets.sort_by(|a, b| b.1.total_cmp(&a.1));
    sets.truncate(SETS);
    let found: Vec<IsolatedLatencies> = sets
        .iter()
        .map(|(k, _)| {
            let mut peaks = events[..*k].to_vec();
            peaks.sort_by_key(|peak| peak.index);
            let times: Vec<f64> = peaks.iter().map(|peak| peak.index as f64).collect();
            let spacing = even_spacing(&times, LEVEL / sets.len() as f64);
            IsolatedLatencies { peaks, others_up_to_ns: events[*k].latency_ns, spacing }
        })
        .collect();
    // An even spacing is stronger evidence than a gap.
    let even = found.iter().find(|set| set.spacing.is_some()).cloned();
    even.or_else(|| found.into_iter().next())
}

/// Returns the even spacing of times in order, or of all but one; `None` if it is not significant.
fn even_spacing(times: &[f64], level: f64) -> Option<Spacing> {
    let whole = closest_grid(times).filter(|s| s.p <= level);
    if times.len() < 6 {
        return whole;
    }
    // One of them may have another cause.
    let halved = level / 2.0;
    let but = (0..times.len()).filter_map(|out| {
        let rest: Vec<f64> = times.iter().enumerate().filter(|(k, _)| *k != out).map(|(_, t)| *t).collect();
        let found = closest_grid(&rest)?;
        Some(Spacing { p: found.p * times.len() as f64, ..found })
    });
    let but = but.filter(|s| s.p <= halved).min_by(|a, b| a.p.total_cmp(&b.p));
    whole.filter(|s| s.p <= halved).or(but)
}

/// Returns the grid through the first and last of some times that is closest to the others; `None` if none is.
fn closest_grid(times: &[f64]) -> Option<Spacing> {
    let count = times.len();
    let (first, last) = (*times.first()?, *times.last()?);
    if count < 3 {
        return None;
    }
    let of = |cells: usize| {
        let period = (last - first) / cells as f64;
        let places: Vec<f64> = times.iter().map(|t| (t - first) / period).collect();
        let distinct = places.windows(2).all(|w| w[1].round() > w[0].round());
        // A time is whole due times.
        let off = places.iter().map(|g| (g - g.round()).abs()).fold(1.0 / period, f64::max);
        (distinct && off <= NEAR).then(|| {
            let p = (count as f64 * (2.0 * off).powi(count as i32 - 2)).min(1.0);
            let rounded: Vec<(f64, f64)> =
                places.iter().map(|g| g.round()).zip(times.iter().copied()).collect();
            let period = least_squares(&rounded).map_or(period, |fit| fit.line.slope);
            Spacing { period, on_grid: count, points: cells + 1, p }
        })
    };
    (count - 1..=2 * count - 2).filter_map(of).min_by(|a, b| a.p.total_cmp(&b.p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Returns the largest values of noise with these spikes at these due times.
    fn peaks(noise: impl Fn(&mut Random) -> f64, spikes: &[(u64, i64)], seed: u64) -> Vec<Peak> {
        let mut random = Random::new(seed);
        let mut all: Vec<Peak> =
            (0..100_000u64).map(|index| Peak { index, latency_ns: noise(&mut random) as i64 }).collect();
        spikes.iter().for_each(|(index, ns)| all[*index as usize].latency_ns = *ns);
        Peak::largest_first(&mut all, 4_096);
        all
    }

    /// Returns a gamma number of shape 4 and mean 8 us.
    fn gamma(random: &mut Random) -> f64 {
        (0..4).map(|_| -2_000.0 * random.uniform().max(1e-300).ln()).sum()
    }

    #[test]
    fn a_few_exact_spikes_are_named_with_their_spacing() {
        for (each, offset, count) in
            [(16_000u64, 3_000u64, 6u64), (30_000, 5_000, 4), (9_000, 1_000, 10), (45_000, 2_000, 3)]
        {
            let spikes: Vec<(u64, i64)> =
                (0..count).map(|k| (offset + k * each, 150_000 + 7_000 * k as i64)).collect();
            let found = isolated_latencies(&peaks(gamma, &spikes, each), 7_300.0).unwrap();
            assert_eq!(found.peaks.len() as u64, count, "{found:?}");
            let spacing = found.spacing.unwrap();
            assert!(
                (spacing.period - each as f64).abs() < 1.0 && spacing.points as u64 == count,
                "{spacing:?}"
            );
        }
        // A stray, and a tooth that is missing.
        let spikes = [3, 19, 35, 51, 52, 67, 83, 99].map(|k| (k * 1_000 + 11, 140_000));
        let spacing = isolated_latencies(&peaks(gamma, &spikes, 1), 7_300.0).unwrap().spacing.unwrap();
        assert!((spacing.period - 16_000.0).abs() < 1.0, "{spacing:?}");
    }

    #[test]
    fn times_by_chance_have_no_spacing() {
        let (mut random, mut even) = (Random::new(5), 0);
        for k in 0..2_000 {
            let mut times: Vec<f64> = (0..3 + k % 12).map(|_| random.uniform() * 1e5).collect();
            times.sort_by(f64::total_cmp);
            even += usize::from(even_spacing(&times, LEVEL).is_some());
        }
        assert!(even <= 16, "{even}");
    }

    #[test]
    fn the_largest_of_a_tail_do_not_stand_apart() {
        let tails: [fn(&mut Random) -> f64; 4] = [
            gamma,
            |r| 1_000.0 * r.uniform().max(1e-300).powf(-0.3),
            |r| 1_000.0 * r.uniform().max(1e-300).powf(-1.0),
            |r| 10_000.0 * (0.4 * (-2.0 * r.uniform().max(1e-300).ln()).sqrt()).exp(),
        ];
        let mut found = 0;
        for (k, tail) in tails.iter().cycle().take(40).enumerate() {
            let all = peaks(tail, &[], 100 + k as u64);
            found +=
                usize::from(isolated_latencies(&all, [7_300.0, 1_230.0, 2_000.0, 16_000.0][k % 4]).is_some());
        }
        assert!(found <= 1, "{found}");
    }
}
