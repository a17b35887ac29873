//! Spikes that come at a fixed period, however long: a tick, another task, a system-management interrupt every 64 s.
//!
//! Distances between spikes are candidates for the period. Each is followed through the run from one spike to the next it
//! predicts, which sharpens it; then the spikes that lie on the grid so found are counted and compared with the number
//! that independent spikes would put there, by an exact binomial, for as many candidates as were tried.

use serde::{Deserialize, Serialize};
use statrs::function::beta::checked_beta_reg;

use crate::scan::Peak;

/// Chance of a period among independent spikes.
pub const LEVEL: f64 = 1e-3;
/// Spikes that must lie on a grid for it to be one.
const FEWEST: usize = 5;
/// How far from its grid point a spike may be: in due times, or as a share of the period if that is more.
const NEAREST: f64 = 1.5;
const SHARES: [f64; 3] = [0.0, 0.001, 0.01];
/// How many of the largest latencies are tried as the spikes.
const SIZES: [usize; 13] = [6, 9, 13, 20, 30, 45, 70, 100, 150, 230, 350, 500, 750];
/// How often the surest period is looked for among what is left.
const MOST: usize = 4;

/// Spikes on a grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicSpikes {
    /// The period in due times of the task.
    pub period: f64,
    /// Half the width of the range that the period may be in: the nearness over the grid points it spans.
    pub uncertainty: f64,
    /// Where on the task's grid its first spike in the run is expected.
    pub phase: f64,
    /// Spikes on it.
    pub spikes: u64,
    /// Grid points from its first to its last spike.
    pub ticks: u64,
    /// Largest latency among its spikes.
    pub max_ns: i64,
    /// The latencies looked at are those from here on.
    pub threshold_ns: i64,
    /// How many of those looked at are not on the grid.
    pub others: u64,
    /// Probability of such a grid among independent spikes.
    pub p: f64,
}

impl PeriodicSpikes {
    /// Share of the grid points that show a spike.
    pub fn coverage(&self) -> f64 {
        self.spikes as f64 / self.ticks as f64
    }
}

/// The periods among the `peaks` (the largest first), the surest first. Each is listed once: late activations before and
/// after a spike come at its period, too.
pub fn periodic_spikes(peaks: &[Peak]) -> Vec<PeriodicSpikes> {
    let mut left = peaks.to_vec();
    let mut found: Vec<PeriodicSpikes> = Vec::new();
    for _ in 0..MOST {
        let sizes = SIZES.iter().filter(|size| **size <= left.len());
        let best = sizes.filter_map(|size| search(&left[..*size])).min_by(|a, b| a.0.p.total_cmp(&b.0.p));
        let Some((spikes, near)) = best.filter(|(spikes, _)| spikes.p <= LEVEL) else { break };
        let around = near.max(SHARES[2] * spikes.period);
        left.retain(|peak| !on_grid(peak.index as f64, spikes.phase, spikes.period, around));
        if !found.iter().any(|f| (f.period - spikes.period).abs() <= f.uncertainty + spikes.uncertainty) {
            found.push(spikes);
        }
    }
    found
}

fn on_grid(at: f64, phase: f64, period: f64, near: f64) -> bool {
    let cycles = ((at - phase) / period).round();
    (at - phase - cycles * period).abs() <= near
}

/// The surest period of these spikes, with the nearness it was found at.
fn search(peaks: &[Peak]) -> Option<(PeriodicSpikes, f64)> {
    let mut in_time: Vec<(u64, i64)> = peaks.iter().map(|p| (p.index, p.latency_ns)).collect();
    in_time.sort_unstable();
    // What follows a spike at once is part of it.
    in_time.dedup_by(|later, earlier| later.0 - earlier.0 <= 2);
    let at: Vec<f64> = in_time.iter().map(|s| s.0 as f64).collect();
    if at.len() < FEWEST {
        return None;
    }
    let mut candidates: Vec<(usize, f64)> = (1..=3)
        .flat_map(|step| at.windows(step + 1).enumerate().map(move |(i, w)| (i, w[w.len() - 1] - w[0])))
        .collect();
    // The same distance again is the same candidate.
    candidates.sort_by(|a, b| a.1.total_cmp(&b.1));
    candidates.dedup_by(|b, a| b.1 - a.1 < 0.5 && b.1 > 0.0);
    let tried = (candidates.len() * SHARES.len() * SIZES.len()) as f64;
    let mut best: Option<(PeriodicSpikes, f64)> = None;
    for (from, period) in candidates {
        for share in SHARES {
            let near = NEAREST.max(share * period);
            if share > 0.0 && near == NEAREST || 2.0 * near + 1.0 > 0.5 * period {
                continue;
            }
            let Some((period, phase)) = follow(&at, from, period, near) else { continue };
            let on: Vec<usize> = (0..at.len()).filter(|i| on_grid(at[*i], phase, period, near)).collect();
            if on.len() < FEWEST {
                continue;
            }
            let ticks = ((at[on[on.len() - 1]] - at[on[0]]) / period).round();
            let chance = ((2.0 * near + 1.0) / period).min(1.0);
            // Two spikes made the candidate; each further cycle followed could have been found at another period.
            let p = at_least(on.len() as f64 - 2.0, at.len() as f64 - 2.0, chance) * tried * (ticks + 1.0);
            if best.as_ref().is_none_or(|(b, _)| p < b.p) {
                let spikes = PeriodicSpikes {
                    period,
                    uncertainty: near / ticks.max(1.0),
                    phase: phase + ((at[on[0]] - phase) / period).round() * period,
                    spikes: on.len() as u64,
                    ticks: ticks as u64 + 1,
                    max_ns: on.iter().map(|i| in_time[*i].1).max().unwrap_or(0),
                    threshold_ns: peaks.iter().map(|p| p.latency_ns).min().unwrap_or(0),
                    others: (at.len() - on.len()) as u64,
                    p,
                };
                best = Some((spikes, near));
            }
        }
    }
    best
}

/// P(X >= k) of a binomial X.
fn at_least(k: f64, n: f64, p: f64) -> f64 {
    if k <= 0.0 || p >= 1.0 {
        return 1.0;
    }
    checked_beta_reg(k, n - k + 1.0, p).unwrap_or(1.0)
}

/// Follows a period from the spike it begins at in both directions; the spikes met sharpen it. Gives period and phase by
/// least squares over the spikes met.
fn follow(at: &[f64], from: usize, period: f64, near: f64) -> Option<(f64, f64)> {
    let origin = at[from];
    let mut met: Vec<(f64, f64)> = vec![(0.0, origin)];
    let mut sharp = period;
    let mut farthest = 1.0f64;
    let forward = (from + 1..at.len()).map(|i| (i, true));
    let backward = (0..from).rev().map(|i| (i, false));
    let mut last = (0.0, origin);
    for (i, ahead) in forward.chain(backward) {
        if !ahead && last.0 > 0.0 {
            last = (0.0, origin); // turn around at the beginning
        }
        let cycles = ((at[i] - last.1) / sharp).round();
        let off = at[i] - last.1 - cycles * sharp;
        if cycles == 0.0 || off.abs() > near * (1.0 + cycles.abs() / farthest) {
            continue;
        }
        last = (last.0 + cycles, at[i]);
        met.push(last);
        if last.0.abs() > farthest {
            farthest = last.0.abs();
            sharp = (at[i] - origin) / last.0;
        }
    }
    let n = met.len() as f64;
    let (mean_c, mean_t) =
        (met.iter().map(|m| m.0).sum::<f64>() / n, met.iter().map(|m| m.1).sum::<f64>() / n);
    let sxx: f64 = met.iter().map(|m| (m.0 - mean_c).powi(2)).sum();
    let sxy: f64 = met.iter().map(|m| (m.0 - mean_c) * (m.1 - mean_t)).sum();
    let fitted = sxy / sxx;
    (sxx > 0.0 && fitted > 0.0).then_some((fitted, mean_t - fitted * mean_c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The largest first, as a scan gives them.
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
        let found = periodic_spikes(&peaks(spikes));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].period - 64_000.3).abs() <= found[0].uncertainty + 0.1, "{found:?}");
        assert!((found[0].phase - 12_346.0).abs() < 2.0, "{found:?}");
        assert!(found[0].coverage() > 0.99 && found[0].spikes == 28, "{found:?}");
    }

    #[test]
    fn a_period_is_found_where_some_ticks_show_nothing_and_spikes_are_not_the_largest() {
        let mut random = Random::new(2);
        let mut spikes = noise(&mut random, 60, 600_000);
        spikes.extend(
            (0..240u32).filter(|k| k % 3 != 1).map(|k| (500 + 2_500 * u64::from(k), 12_000 + i64::from(k))),
        );
        let found = periodic_spikes(&peaks(spikes));
        assert!((found[0].period - 2_500.0).abs() < 0.1, "{found:?}");
        assert!((found[0].coverage() - 2.0 / 3.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn two_periods_are_told_apart() {
        let mut random = Random::new(3);
        let mut spikes = noise(&mut random, 30, 1_000_000);
        spikes.extend((0..40).map(|k| (777 + 25_000 * k as u64, 50_000)));
        spikes.extend((0..23).map(|k| (3_210 + 43_210 * k as u64, 70_000)));
        let found = periodic_spikes(&peaks(spikes));
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
            largest.truncate(1_000);
            let found = periodic_spikes(&largest);
            assert!(found.len() == 1 && (found[0].period - 64_000.0).abs() < 1.0, "{width}: {found:?}");
        }
    }

    #[test]
    fn independent_spikes_show_a_period_no_oftener_than_stated() {
        let with_period = (0..500).filter(|seed| {
            let mut random = Random::new(10_000 + seed);
            !periodic_spikes(&peaks(noise(&mut random, 150, 120_000))).is_empty()
        });
        let count = with_period.count();
        assert!(count <= 4, "{count} of 500");
    }

    #[test]
    fn few_spikes_have_no_period() {
        assert!(periodic_spikes(&peaks(vec![(1, 5), (101, 5), (201, 5), (301, 5)])).is_empty());
        assert!(periodic_spikes(&[]).is_empty());
    }
}
