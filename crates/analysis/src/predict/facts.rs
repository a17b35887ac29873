//! Facts that hold for any distribution, by counting only (theory D6, step 1).

use serde::Serialize;

use super::{CONFIDENCE, Tail};
use crate::exact_binomial::{poisson_upper, tries_without_event, values_above_quantile_limit};
use crate::require::upper_share_limit;

/// Distribution-free facts of a run. They only assume that the time after the run is like the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// Activations that ran.
    pub count: u64,
    /// Length of the run, in ns.
    pub run_ns: f64,
    /// Horizon of the prediction, in ns.
    pub horizon_ns: f64,
    /// Largest latency of the run, in ns.
    pub observed_max_ns: i64,
    /// Probability that nothing within the horizon exceeds it: n / (n + N), by symmetry.
    pub p_max_holds: f64,
    /// Expected number of activations within the horizon that exceed it: N / (n + 1).
    pub expected_exceedances: f64,
    /// Upper limit, with 95 % confidence, on the rate of an event unseen in the run: -ln(0.05) / t.
    pub unseen_rate_per_s: f64,
    /// Upper limits of quantiles.
    pub quantiles: Vec<QuantileLimit>,
}

/// Fewest parts from which clustering can be estimated.
const FEWEST_PARTS: usize = 32;

/// An upper limit of a quantile with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantileLimit {
    /// The share of activations that exceed the quantile: 0.001 for the 99.9 % quantile.
    pub share_above: f64,
    /// The limit. `None` if the run is too short for one: see [`QuantileLimit::needs`].
    pub limit_ns: Option<i64>,
    /// True if it holds only for independent exceedances: the run has too few bursts of them to estimate
    /// their clustering, or no order. A requirement on it would not be decided then.
    pub if_singly: bool,
    /// Activations a run needs for its maximum to be such a limit.
    pub needs: u64,
}

impl Facts {
    /// Computes the facts of a run for a horizon after it.
    pub fn new(tail: &Tail, horizon_ns: f64) -> Self {
        let n = tail.count() as f64;
        let further = horizon_ns / tail.period_ns;
        let quantiles = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|share_above| {
            let by_parts = limit_by_parts(tail, share_above);
            let by_order = || {
                let cut = values_above_quantile_limit(tail.count(), share_above, CONFIDENCE)?;
                latency_with_larger_ones(tail, cut)
            };
            QuantileLimit {
                share_above,
                limit_ns: by_parts.or_else(by_order),
                if_singly: by_parts.is_none(),
                needs: tries_without_event(share_above, CONFIDENCE),
            }
        });
        Facts {
            count: tail.count(),
            run_ns: tail.run_ns(),
            horizon_ns,
            observed_max_ns: tail.latency.max_ns().unwrap_or(0),
            p_max_holds: n / (n + further),
            expected_exceedances: further / (n + 1.0),
            unseen_rate_per_s: poisson_upper(0.0, CONFIDENCE) / (tail.run_ns() / 1e9),
            quantiles: quantiles.into(),
        }
    }
}

/// Returns an upper limit of a quantile from the parts' counts above it; `None` if too few or with long memory. It is
/// decided as in [`crate::require`].
fn limit_by_parts(tail: &Tail, share_above: f64) -> Option<i64> {
    if tail.parts.len() < FEWEST_PARTS || tail.has_long_memory {
        return None;
    }
    let counts = |edge: &i64| -> Vec<u64> {
        tail.parts.iter().map(|part| part.count_above(edge.saturating_add(1), 0.0) as u64).collect()
    };
    let edges: Vec<i64> = tail.latency.bins().map(|bin| bin.high_ns).collect();
    let at_most = |edge: &i64| upper_share_limit(&counts(edge), tail.count());
    let edge = edges.get(edges.partition_point(|edge| at_most(edge).0 >= share_above))?;
    if !at_most(edge).1 {
        return None;
    }
    let seen = tail.peaks.iter().map(|peak| peak.latency_ns).find(|ns| ns <= edge);
    Some(seen.unwrap_or(*edge))
}

/// Returns the latency that `larger` others exceed: exact among the largest, else the upper edge of its bin. Beyond the
/// bins, it is its largest possible value.
fn latency_with_larger_ones(tail: &Tail, larger: u64) -> Option<i64> {
    let exact = tail.peaks.get(usize::try_from(larger).ok()?).map(|peak| peak.latency_ns);
    exact.or_else(|| tail.latency.known_at_rank(tail.count().checked_sub(larger)?).at_most())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Peak;
    use crate::tests::agrees;
    use jitterlab_model::Distribution;

    #[test]
    fn two_minutes_say_of_a_day_what_was_computed() {
        let peaks = (0..1_200).map(|i| Peak { latency_ns: 10_000 - i, index: i as u64 * 100 }).collect();
        let mut latency = Distribution::new();
        (0..120_000).for_each(|i| latency.record((10_000 - i).max(50)));
        let tail = Tail {
            latency,
            period_ns: 1e6,
            first: 0,
            last: 119_999,
            peaks,
            block_maxima_ns: vec![],
            parts: vec![],
            has_long_memory: false,
            migrations: 0,
        };
        let facts = Facts::new(&tail, 86_400e9);
        agrees(facts.p_max_holds, 0.00139, 5);
        agrees(facts.expected_exceedances, 720.0, 1);
        agrees(facts.unseen_rate_per_s, 0.0249644, 7);
        let limit = |share: f64| facts.quantiles.iter().find(|q| q.share_above == share).unwrap();
        assert_eq!(limit(1e-3).limit_ns, Some(10_000 - 101));
        assert_eq!(limit(1e-4).limit_ns, Some(10_000 - 6));
        assert_eq!((limit(1e-5).limit_ns, limit(1e-5).needs), (None, 299_572));
        assert_eq!(limit(1e-2).limit_ns, Some(10_000 - 1_143));
        // Without the single values the histogram's bin has to do.
        let facts = Facts::new(&Tail { peaks: vec![], ..tail }, 86_400e9);
        let limit = facts.quantiles.iter().find(|q| q.share_above == 1e-3).unwrap().limit_ns.unwrap();
        assert!((9_899..=9_899 + 9_899 / 127).contains(&limit) && facts.observed_max_ns == 10_000);
    }
}
