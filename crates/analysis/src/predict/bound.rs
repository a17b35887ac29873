//! The upper bound of the largest latency ahead (theory D6, step 3).

use jitterlab_model::causes::Cause;
use serde::Serialize;

use super::gates::{Exceedances, MAIN_FIT};
use super::{CONFIDENCE, Tail};
use crate::extremes::gpd::Gpd;
use crate::random::Random;

/// Exceedances of the fits: the main one, two towards the end of the tail, and a longer one that shows how
/// much the choice matters.
///
/// With 30 events of a rarer kind in a run, the main fit is dominated by the events below them. In
/// simulations (exponential, four times the scale) its bound was exceeded in 18 % of the runs, that of the
/// largest of three fits in 3 %. With one kind only, the latter lies a third higher above the level.
const FITS: [usize; 4] = [60, 120, MAIN_FIT, super::TAIL_SIZE - 1];
const RESAMPLES: usize = 1_000;
/// Share of the resamples whose level lies below the bound. Resamples of 60 values scatter less than their tail: of 200
/// runs whose rarer kind has a heavy tail, 14 % exceeded a bound by 95 of 100 resamples, 6.5 % one by 99 (docs/evidence/calibration.md).
const OF_RESAMPLES: f64 = 0.99;

/// The tail fitted to the largest latencies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TailFit {
    /// Number of the largest latencies in the fit.
    pub exceedances: usize,
    /// The threshold above which they lie, in ns.
    pub threshold_ns: f64,
    /// Scale of the generalised Pareto distribution fitted by L-moments, in ns.
    pub scale_ns: f64,
    /// Shape xi.
    pub shape: f64,
    /// The bound from this fit, in ns.
    pub bound_ns: f64,
}

/// An upper bound of the largest latency within the horizon: with 95 % confidence, the maximum stays below it with 95 %
/// probability, if the observed mechanism and load persist.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// The bound, in ns.
    pub bound_ns: f64,
    /// Extremal index: the inverse of the mean number of latencies per cluster; 1 if they are independent.
    pub extremal_index: f64,
    /// The fits; the bound is the largest of those to at most 300 exceedances.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub fits: Vec<TailFit>,
    /// Ratio of the largest to the smallest bound of the fits: how much the choice matters.
    pub sensitivity: f64,
    /// The cause whose late starts alone give this bound, if they give a higher one than all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// Bounds the largest latency of the horizon by fits to several numbers of exceedances; `None` if no fit succeeds.
pub(super) fn bound(tail: &Tail, exceedances: &Exceedances, horizon_ns: f64) -> Option<Bound> {
    let further = horizon_ns / tail.period_ns;
    let observed = exceedances.values.first().copied()?;
    let fits: Vec<TailFit> = FITS
        .into_iter()
        .filter_map(|k| fit_with_bound(exceedances, k, tail.count() as f64, further))
        .map(|fit| TailFit { bound_ns: fit.bound_ns.max(observed), ..fit })
        .collect();
    let to_the_end = fits.iter().filter(|fit| fit.exceedances <= MAIN_FIT);
    let bound_ns = to_the_end.map(|fit| fit.bound_ns).max_by(f64::total_cmp)?;
    let bounds = || fits.iter().map(|f| f.bound_ns);
    let sensitivity = bounds().fold(0.0, f64::max) / bounds().fold(f64::INFINITY, f64::min);
    let extremal_index = if exceedances.declustered { exceedances.theta } else { 1.0 };
    Some(Bound { bound_ns, extremal_index, sensitivity, fits, cause: None })
}

/// Fits a generalised Pareto tail without an end: its shape is at least 0. An end that the largest values of a run seem
/// to approach is weak evidence: for a normal distribution, the bound was exceeded in 9.5 % of 200 runs by what
/// followed. An exponential tail lies above bounded ones (theory D4).
fn fit_unbounded(excesses: &[f64]) -> Option<Gpd> {
    let fit = Gpd::fit_l_moments(excesses)?;
    let mean = excesses.iter().sum::<f64>() / excesses.len() as f64;
    Some(if fit.shape < 0.0 { Gpd { scale: mean, shape: 0.0 } } else { fit })
}

/// Fits the `k` largest exceedances and bounds the maximum of `further` activations by resamples; `None` for too few.
/// The bound is the 99th percentile over these of the level that the maximum stays below with 95 % probability.
fn fit_with_bound(exceedances: &Exceedances, k: usize, count: f64, further: f64) -> Option<TailFit> {
    let (excesses, threshold_ns) = exceedances.excesses(k)?;
    let whole = Gpd::fit_l_moments(&excesses)?;
    // Clusters count once each, so their rate already includes the extremal index.
    let rate = k as f64 / count;
    let mut random = Random::new(k as u64);
    let (mut times, mut resample) = (vec![0u32; k], Vec::with_capacity(k));
    let mut levels: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            times.fill(0);
            (0..k).for_each(|_| times[random.below(k)] += 1);
            resample.clear();
            for (excess, times) in excesses.iter().zip(&times) {
                resample.extend(std::iter::repeat_n(*excess, *times as usize));
            }
            Some(fit_unbounded(&resample)?.level_of_maximum(rate, further, CONFIDENCE))
        })
        .collect();
    if levels.len() < RESAMPLES / 2 {
        return None;
    }
    let place = (levels.len() as f64 * OF_RESAMPLES) as usize;
    let (_, level, _) = levels.select_nth_unstable_by(place, f64::total_cmp);
    Some(TailFit {
        exceedances: k,
        threshold_ns,
        scale_ns: whole.scale,
        shape: whole.shape,
        bound_ns: threshold_ns + *level,
    })
}
