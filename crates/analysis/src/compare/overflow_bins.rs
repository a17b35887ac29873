//! Values above the last bin of both runs' histograms; no quantile shows their number.

use serde::Serialize;

use super::Run;
use crate::exact_binomial::binomial_at_least;

/// Chance of calling two equal shares different, over many tasks together.
const BY_CHANCE: f64 = 1e-6;

/// Number of values of two runs above the histograms of both, which end at the same value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AboveBoth {
    /// End of the histograms, in ns.
    pub from_ns: i64,
    /// Values of the first run above it.
    pub first: u64,
    /// Values of this run above it.
    pub here: u64,
    /// True if the shares differ by more than chance explains, provided the latencies are independent.
    pub differs: bool,
}

impl AboveBoth {
    /// Compares two runs; `None` if no value is above a histogram, or if the histograms end at different values.
    pub(super) fn new(first: &Run<'_>, here: &Run<'_>) -> Option<Self> {
        let [a, b] = [first, here].map(|run| &run.scan.timing.latency);
        let from_ns = a.values_beyond_bins().or(b.values_beyond_bins())?.from_ns;
        let above = |values: &jitterlab_model::distribution::Distribution| match values.values_beyond_bins() {
            Some(beyond) => (beyond.from_ns == from_ns && beyond.count > 0).then_some(beyond.count),
            None => values.max_ns().filter(|max| *max <= from_ns).map(|_| 0),
        };
        let (k_first, k_here) = (above(a)?, above(b)?);
        let [n_first, n_here] = [a, b].map(|values| values.count() as f64);
        let all = (k_first + k_here) as f64;
        let one_side = |k: u64, n: f64| binomial_at_least(k as f64, all, n / (n_first + n_here));
        let chance = 2.0 * one_side(k_first, n_first).min(one_side(k_here, n_here));
        Some(AboveBoth { from_ns, first: k_first, here: k_here, differs: chance < BY_CHANCE })
    }
}
