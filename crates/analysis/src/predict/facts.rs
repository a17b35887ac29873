//! What holds whatever the distribution is: counting only (theory D6, step 1).

use serde::{Deserialize, Serialize};

use super::{CONFIDENCE, Tail};
use crate::exact::{poisson_upper, values_above_quantile_limit};

/// Distribution-free facts of a run. They need only that the time after the run is like the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// Activations that ran.
    pub count: u64,
    /// Length of the run.
    pub run_ns: f64,
    /// How far ahead is looked.
    pub horizon_ns: f64,
    /// Largest latency of the run.
    pub observed_max_ns: i64,
    /// Probability that nothing within the horizon exceeds it: n / (n + N), by symmetry.
    pub p_max_holds: f64,
    /// Expected number of activations within the horizon that exceed it: N / (n + 1).
    pub expected_exceedances: f64,
    /// Rate that an event unseen in the run may still have, with 95 % confidence: -ln(0.05) / t.
    pub unseen_rate_per_s: f64,
    /// Upper limits of quantiles by order statistics.
    pub quantiles: Vec<QuantileLimit>,
}

/// An upper limit of a quantile with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantileLimit {
    /// The share of activations that exceed the quantile: 0.001 for the 99.9 % quantile.
    pub share_above: f64,
    /// The limit. `None` if the run is too short for one: see [`QuantileLimit::needs`].
    pub limit_ns: Option<i64>,
    /// Activations a run needs for its maximum to be such a limit.
    pub needs: u64,
}

impl Facts {
    /// The facts of a run for a horizon after it.
    pub fn of(tail: &Tail, horizon_ns: f64) -> Self {
        let n = tail.count() as f64;
        let further = horizon_ns / tail.period_ns;
        let quantiles = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|share_above| QuantileLimit {
            share_above,
            limit_ns: values_above_quantile_limit(tail.count(), share_above, CONFIDENCE)
                .and_then(|cut| with_larger(tail, cut)),
            needs: crate::exact::tries_without_event(share_above, CONFIDENCE),
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

/// The latency with this many larger ones: exact among the largest, else the upper edge of its bin.
fn with_larger(tail: &Tail, larger: u64) -> Option<i64> {
    let exact = tail.peaks.get(usize::try_from(larger).ok()?).map(|peak| peak.latency_ns);
    exact.or_else(|| tail.latency.value_at_rank(tail.count().checked_sub(larger)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::agrees;
    use crate::scan::Peak;
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
            migrations: 0,
        };
        let facts = Facts::of(&tail, 86_400e9);
        agrees(facts.p_max_holds, 0.00139, 5);
        agrees(facts.expected_exceedances, 720.0, 1);
        agrees(facts.unseen_rate_per_s, 0.0249644, 7);
        let limit = |share: f64| facts.quantiles.iter().find(|q| q.share_above == share).unwrap();
        assert_eq!(limit(1e-3).limit_ns, Some(10_000 - 101));
        assert_eq!(limit(1e-4).limit_ns, Some(10_000 - 6));
        assert_eq!((limit(1e-5).limit_ns, limit(1e-5).needs), (None, 299_572));
        assert_eq!(limit(1e-2).limit_ns, Some(10_000 - 1_143));
        // Without the single values the histogram's bin has to do.
        let facts = Facts::of(&Tail { peaks: vec![], ..tail }, 86_400e9);
        let limit = facts.quantiles.iter().find(|q| q.share_above == 1e-3).unwrap().limit_ns.unwrap();
        assert!((9_899..=9_899 + 9_899 / 127).contains(&limit) && facts.observed_max_ns == 10_000);
    }
}
