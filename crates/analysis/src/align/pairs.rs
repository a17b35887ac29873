//! Time differences between activations and their pulses.

use super::shift_scorer::Path;
use super::track::PulseAssignment;
use super::{FEWEST, Matched, Spread, TaskTimes};
use crate::least_squares::{Line, interpolated, least_squares, median, theil_sen};

/// Stretches of the capture from which the uncertainty of the rate is estimated.
const STRETCHES: usize = 20;
/// The 97.5 % quantile of Student's t with as many degrees of freedom as [`STRETCHES`] less two.
const T: f64 = 2.101;
/// Pulses at least over which slow changes are followed, and stretches of them at most.
const STRETCH: usize = 64;
const MOST_STRETCHES: usize = 256;

/// A pulse that is of an activation.
#[derive(Debug, Clone, Copy)]
struct Pair {
    stamp: usize,
    pulse: usize,
}

/// Returns counts, clock rate and residuals of the pulses along a path; `None` if too few belong to an activation.
pub(super) fn match_figures(own: &TaskTimes, pulses_ns: &[i64], path: &Path) -> Option<Matched> {
    let pairs = nearest_pairs(&path.assignments);
    let (first, last) = (*pairs.first()?, *pairs.last().filter(|_| pairs.len() >= FEWEST)?);
    let since = |times: &[i64], at: usize, from: usize| times[at].wrapping_sub(times[from]) as f64;
    let points: Vec<(f64, f64)> = pairs
        .iter()
        .map(|pair| {
            let own = since(&own.stamps_ns, pair.stamp, first.stamp);
            (own, since(pulses_ns, pair.pulse, first.pulse) - own)
        })
        .collect();
    let line = theil_sen(&points)?;
    let mut left: Vec<f64> = points.iter().map(|(at, ahead)| ahead - line.at(*at)).collect();
    subtract_median(&mut left)?;
    let stretch = STRETCH.max(pairs.len().div_ceil(MOST_STRETCHES));
    let followed = minus_slow_changes(&points, &left, stretch);
    Some(Matched {
        pairs: pairs.len() as u64,
        silent: (last.stamp - first.stamp + 1 - pairs.len()) as u64,
        unseen: (own.stamps_ns.len() - (last.stamp - first.stamp + 1)) as u64,
        extra: (last.pulse - first.pulse + 1 - pairs.len()) as u64,
        outside: (pulses_ns.len() - (last.pulse - first.pulse + 1)) as u64,
        first_index: own.indices[first.stamp],
        first_pulse_ns: pulses_ns[first.pulse],
        rate_ppm: 1e6 * line.slope,
        rate_uncertainty_ppm: 1e6 * slope_half_width(&points, line)?,
        steady: Spread::from_values(&left)?,
        followed: Spread::from_values(&followed)?,
        stretch: stretch as u64,
        period_error: period_errors(own, pulses_ns, &pairs, 1.0 + line.slope),
    })
}

/// Assigns to each activation the pulse nearest to its expected time.
fn nearest_pairs(assignments: &[PulseAssignment]) -> Vec<Pair> {
    let mut pairs: Vec<(Pair, f64)> = Vec::new();
    for (pulse, assignment) in assignments.iter().enumerate() {
        let PulseAssignment::Of(stamp, surprise) = *assignment else { continue };
        match pairs.last_mut() {
            Some((last, before)) if last.stamp >= stamp => {
                if last.stamp == stamp && surprise.abs() < before.abs() {
                    (last.pulse, *before) = (pulse, surprise);
                }
            }
            _ => pairs.push((Pair { stamp, pulse }, surprise)),
        }
    }
    pairs.into_iter().map(|(pair, _)| pair).collect()
}

/// Subtracts the median of values from each; `None` without any.
fn subtract_median(values: &mut [f64]) -> Option<()> {
    let middle = median(&mut values.to_vec())?;
    values.iter_mut().for_each(|value| *value -= middle);
    Some(())
}

/// Returns half the width of the slope's 95 % interval, by leaving out each stretch in turn (jackknife).
fn slope_half_width(points: &[(f64, f64)], line: Line) -> Option<f64> {
    let medians: Vec<(f64, f64)> = points
        .chunks(points.len().div_ceil(STRETCHES))
        .filter_map(|stretch| {
            let mut left: Vec<f64> = stretch.iter().map(|(at, ahead)| ahead - line.at(*at)).collect();
            let at = stretch.iter().map(|p| p.0).sum::<f64>() / stretch.len() as f64;
            Some((at, median(&mut left)?))
        })
        .collect();
    let without = |out: usize| {
        let others = medians.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, point)| *point);
        least_squares(&others.collect::<Vec<_>>()).map(|fit| fit.line.slope)
    };
    let slopes: Vec<f64> = (0..medians.len()).map(without).collect::<Option<_>>()?;
    let count = slopes.len() as f64;
    let mean = slopes.iter().sum::<f64>() / count;
    let squares: f64 = slopes.iter().map(|slope| (slope - mean) * (slope - mean)).sum();
    Some(T * ((count - 1.0) / count * squares).sqrt())
}

/// Returns the residuals `left` less their slow changes: a line through the medians of stretches.
fn minus_slow_changes(points: &[(f64, f64)], left: &[f64], stretch: usize) -> Vec<f64> {
    let knots: Vec<(f64, f64)> = points
        .chunks(stretch)
        .zip(left.chunks(stretch))
        .filter(|(_, left)| 2 * left.len() >= stretch)
        .filter_map(|(at, left)| {
            let middle = at.iter().map(|p| p.0).sum::<f64>() / at.len() as f64;
            Some((middle, median(&mut left.to_vec())?))
        })
        .collect();
    points.iter().zip(left).map(|((x, _), left)| left - interpolated(&knots, *x)).collect()
}

/// Returns the spread of the period error by time stamps and by pulses; `None` for too few consecutive pairs.
fn period_errors(own: &TaskTimes, pulses_ns: &[i64], pairs: &[Pair], rate: f64) -> Option<[Spread; 2]> {
    let follow = |pair: &&[Pair]| {
        own.indices[pair[1].stamp] == own.indices[pair[0].stamp] + 1 && pair[1].pulse == pair[0].pulse + 1
    };
    let both: Vec<(f64, f64)> = pairs
        .windows(2)
        .filter(follow)
        .map(|pair| {
            let stamps = own.stamps_ns[pair[1].stamp].wrapping_sub(own.stamps_ns[pair[0].stamp]);
            let pulses = pulses_ns[pair[1].pulse].wrapping_sub(pulses_ns[pair[0].pulse]);
            let period = own.period_ns as f64;
            (stamps as f64 - period, pulses as f64 / rate - period)
        })
        .collect();
    let (stamps, pulses): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
    if stamps.len() < FEWEST {
        None
    } else {
        Some([Spread::from_values(&stamps)?, Spread::from_values(&pulses)?])
    }
}
