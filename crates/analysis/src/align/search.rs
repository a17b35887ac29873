//! Candidate shifts: first those at which some consecutive distances of pulses resemble those of activations,
//! then those at which distances all over the capture do.

use super::Ambiguous;
use super::shift_scorer::{Path, ShiftScorer};
use super::track::{Anchor, ClockTimes, PulseAssignment};
use crate::least_squares::median;

/// Lengths of the windows and how many of each are tried, until one shift is better than all others.
const WINDOWS: [(usize, usize); 3] = [(32, 8), (256, 4), (1_024, 2)];
/// Shifts that each window proposes.
const PROPOSED: usize = 3;
/// Shifts that distances all over the capture propose.
const SCREENED: usize = 16;
/// Neighbouring shifts that are always examined, to either side.
const NEIGHBOURS: i64 = 4;
/// Distances that are compared all over the capture, and distances times shifts at most.
const SAMPLED: usize = 1_024;
const WORK: usize = 1 << 31;
/// A ratio of usual distances is a rate of clocks, and not a pulse every other activation, within this.
const RATE: f64 = 0.1;
/// Largest rate error of a quartz; a smaller difference of the usual distances is learned by the tracker anyway.
const QUARTZ: f64 = 3e-4;

/// Returns the path along which the pulses belong to activations, or the reason why there is none.
pub(super) fn best_path(
    stamps: &ClockTimes,
    pulses: &ClockTimes,
    resolution: f64,
) -> Result<Path, Ambiguous> {
    let mut scorer = ShiftScorer::new(stamps, pulses, resolution);
    let (own, pulse_errors) = (stamps.distance_errors(), pulses.distance_errors());
    let size = (0.7 * robust_sd(&pulse_errors)).max(resolution as f32).max(1.0);
    let mut verdict = Err(Ambiguous { shifts: Vec::new(), left: 1.0 });
    for (length, windows) in WINDOWS {
        let length = length.min(pulse_errors.len()).min(own.len());
        for window in 0..windows {
            let pulse = (pulse_errors.len() - length) * (2 * window + 1) / (2 * windows);
            for stamp in most_similar_positions(&own, &pulse_errors[pulse..pulse + length], size) {
                for rate in clock_ratios(stamps, pulses) {
                    scorer.try_shift(Anchor { stamp, pulse, rate });
                }
            }
        }
        // The best shift determines the rivals to compare it with; one of those may be better still.
        for _ in 0..2 {
            scorer.rescale_and_retry_rivals();
            for anchor in shifts_by_sampled_distances(
                scorer.best(),
                &own,
                &pulse_errors,
                1.4 * scorer.surprise_size() as f32,
            ) {
                scorer.try_shift(anchor);
            }
        }
        verdict = scorer.verdict();
        if verdict.is_ok() || length == pulse_errors.len() {
            break;
        }
    }
    verdict
}

/// Returns the ratios of the clocks' rates to try first: 1, and that of the usual distances.
fn clock_ratios(stamps: &ClockTimes, pulses: &ClockTimes) -> impl Iterator<Item = f64> {
    let ratio = pulses.usual / stamps.usual;
    let other = (ratio - 1.0).abs();
    [Some(1.0), (QUARTZ..RATE).contains(&other).then_some(ratio)].into_iter().flatten()
}

fn robust_sd(errors: &[f32]) -> f32 {
    let mut sizes: Vec<f64> = errors.iter().map(|e| f64::from(e.abs())).collect();
    1.4826 * median(&mut sizes).unwrap_or(0.0) as f32
}

/// Returns the cost of the difference of two distances, saturating from 0 to 1: one half at `size`.
fn distance_cost(a: f32, b: f32, size: f32) -> f32 {
    let square = ((a - b) / size).powi(2);
    square / (1.0 + square)
}

/// Returns the positions in `own` where distances are most like those of `window`, the best first.
fn most_similar_positions(own: &[f32], window: &[f32], size: f32) -> Vec<usize> {
    let mut best: Vec<(f32, usize)> = Vec::new();
    for place in 0..=own.len() - window.len() {
        let bound = best.get(PROPOSED - 1).map_or(f32::INFINITY, |worst| worst.0);
        let mut sum = 0.0;
        for (own, other) in own[place..].chunks(32).zip(window.chunks(32)) {
            sum += own.iter().zip(other).map(|(a, b)| distance_cost(*a, *b, size)).sum::<f32>();
            if sum >= bound {
                break;
            }
        }
        if sum < bound {
            let at = best.partition_point(|other| other.0 <= sum);
            best.insert(at, (sum, place));
            best.truncate(PROPOSED);
        }
    }
    best.into_iter().map(|(_, place)| place).collect()
}

/// Returns the shifts at which sampled distances resemble those of the best path most, and its neighbours.
fn shifts_by_sampled_distances(
    best: Option<&Path>,
    own: &[f32],
    pulse_errors: &[f32],
    size: f32,
) -> Vec<Anchor> {
    let Some(path) = best else { return Vec::new() };
    let follows = |pulse: usize| match (path.assignments[pulse], path.assignments[pulse + 1]) {
        (PulseAssignment::Of(stamp, _), PulseAssignment::Of(next, _)) if next == stamp + 1 => {
            Some((pulse, stamp))
        }
        _ => None,
    };
    let all: Vec<(usize, usize)> = (0..pulse_errors.len()).filter_map(follows).collect();
    let shifts = own.len() + pulse_errors.len();
    let wanted = SAMPLED.min(WORK / shifts).max(32).min(all.len());
    let sample: Vec<(usize, usize)> = (0..wanted).map(|i| all[i * all.len() / wanted]).collect();
    let reach = own.len() as i64;
    let unlike_at = |shift: i64| {
        let pairs = sample.iter().filter_map(|(pulse, stamp)| {
            let stamp = usize::try_from(*stamp as i64 + shift).ok()?;
            Some(distance_cost(*own.get(stamp)?, pulse_errors[*pulse], size))
        });
        pairs.fold((0.0f32, 0usize), |(sum, count), unlike| (sum + unlike, count + 1))
    };
    let each: Vec<(i64, (f32, usize))> =
        (1 - reach..reach).map(|shift| (shift, unlike_at(shift))).filter(|of| of.1.1 > 0).collect();
    let (sum, count) = each.iter().fold((0.0, 0.0), |(s, c), of| (s + f64::from(of.1.0), c + of.1.1 as f64));
    let usual = sum / f64::max(count, 1.0);
    // Pulses outside the run are evidence neither for a shift nor against it.
    let score = |(_, (sum, count)): &(i64, (f32, usize))| f64::from(*sum) - usual * *count as f64;
    let mut ranked = each;
    let most = SCREENED.min(ranked.len());
    if most < ranked.len() {
        ranked.select_nth_unstable_by(most, |a, b| score(a).total_cmp(&score(b)));
        ranked.truncate(most);
    }
    let shifts = ranked.into_iter().map(|of| of.0).chain(-NEIGHBOURS..=NEIGHBOURS);
    let anchor = |shift: i64| {
        let inside = |(_, stamp): &&(usize, usize)| {
            usize::try_from(*stamp as i64 + shift).is_ok_and(|stamp| stamp < own.len())
        };
        let within: Vec<&(usize, usize)> = sample.iter().filter(inside).collect();
        let (pulse, stamp) = **within.get(within.len() / 2)?;
        Some(Anchor { stamp: (stamp as i64 + shift) as usize, pulse, rate: path.anchor.rate })
    };
    shifts.filter(|shift| *shift != 0).filter_map(anchor).collect()
}
