//! Recommended compensation, from the measured latencies of early sleeps.

use serde::Serialize;

use crate::compensation::{EmpiricalDistribution, nist};

/// Requirements of the user on a compensation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CompensationRequirement {
    /// Largest share of late starts.
    pub late: Option<f64>,
    /// Largest share of a processor spent polling.
    pub budget: Option<f64>,
}

/// Default without a stated wish: as rare as a run of a minute can show, at the cost in the NIST paper.
pub const DEFAULT_WISH: CompensationRequirement =
    CompensationRequirement { late: Some(1e-3), budget: Some(0.20) };

/// One margin, with its expected cost and benefit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MarginChoice {
    /// The margin m, in ns.
    pub margin_ns: i64,
    /// Expected share of a processor spent polling.
    pub expected_load: f64,
    /// Expected share of late starts.
    pub expected_late: f64,
    /// Number of latencies behind it.
    pub samples: u64,
    /// True if the budget does not allow the wanted share of late starts.
    pub limited_by_budget: bool,
    /// Smallest share of late starts that the measured latencies support, for any distribution, if the wanted
    /// one needs more of them.
    pub supported_late: Option<f64>,
    /// Least cost of the NIST paper's repeated early wake-ups, for a measured service time: A and the load by
    /// equations 2 and 3.
    pub nist: NistChoice,
}

/// The best period of repeated early wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NistChoice {
    /// S, the service time it was computed with, in ns.
    pub service_ns: f64,
    /// A of least load, equation 2, in ns.
    pub every_ns: f64,
    /// Load, equation 3 (the last period polled in full).
    pub load: f64,
    /// A of least load if half of the last period is polled on average, in ns.
    pub mean_poll_every_ns: f64,
    /// Load.
    pub mean_poll_load: f64,
}

impl NistChoice {
    /// Computes the best period for a service time and a task's period.
    pub fn new(service_ns: f64, period_ns: i64) -> Self {
        let t = period_ns as f64;
        let (every_ns, load) = nist::optimum(service_ns, t);
        let (mean_poll_every_ns, mean_poll_load) = nist::mean_poll_optimum(service_ns, t);
        NistChoice { service_ns, every_ns, load, mean_poll_every_ns, mean_poll_load }
    }
}

/// Returns the largest margin whose polling stays within a share of the period.
fn margin_within_budget(latencies: &EmpiricalDistribution, budget: f64, period_ns: i64) -> f64 {
    let t = period_ns as f64;
    let (mut low, mut high) = (0.0, t);
    // The polling time grows with the margin; a nanosecond is fine enough.
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        if latencies.expected_poll(middle) / t <= budget { low = middle } else { high = middle }
    }
    low
}

/// Returns the margin for a wish, with expected cost and benefit; `None` without latencies or a wish. It leaves no more
/// late starts than wished, reduced to the budget; with a budget alone, it takes all of it.
pub fn recommend(
    latencies: &EmpiricalDistribution,
    period_ns: i64,
    wish: CompensationRequirement,
    service_ns: f64,
) -> Option<MarginChoice> {
    if latencies.is_empty() {
        return None;
    }
    let n = latencies.len() as f64;
    let for_late = wish.late.map(|late| latencies.assured_margin(late).unwrap_or(latencies.quantile(1.0)));
    let within = wish.budget.map(|budget| margin_within_budget(latencies, budget, period_ns));
    let margin = match (for_late, within) {
        (Some(late), Some(within)) => late.min(within),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return None,
    };
    // Rounded up to whole nanoseconds, or the sleep with exactly this latency would be late.
    let margin = margin.max(0.0).min(period_ns as f64 / 2.0).ceil();
    Some(MarginChoice {
        margin_ns: margin as i64,
        expected_load: latencies.expected_poll(margin) / period_ns as f64,
        expected_late: latencies.late_probability(margin),
        samples: latencies.len() as u64,
        limited_by_budget: for_late.is_some_and(|late| late > margin),
        supported_late: wish.late.filter(|late| late * (n + 1.0) < 1.0).map(|_| 1.0 / (n + 1.0)),
        nist: NistChoice::new(service_ns, period_ns),
    })
}

/// Least share of the polling that another wake-up method has to save to be preferred: less may be chance.
const WORTH: f64 = 0.1;

/// Returns the standard error of the difference between two shares of late starts.
fn difference_error(a: &MarginChoice, b: &MarginChoice) -> f64 {
    let variance = |r: &MarginChoice| r.expected_late * (1.0 - r.expected_late) / r.samples.max(1) as f64;
    (variance(a) + variance(b)).sqrt()
}

/// Returns the index of the best of several methods' margins; `None` without any. They are in the order of preference.
/// One that keeps the wanted share of late starts is preferred to one whose budget does not allow it. Next comes the
/// one of least polling or, if the budget decides, of fewest late starts.
pub fn best_candidate(candidates: &[MarginChoice]) -> Option<usize> {
    let better = |a: &MarginChoice, b: &MarginChoice| match (a.limited_by_budget, b.limited_by_budget) {
        (false, true) => true,
        (true, false) => false,
        (false, false) => a.expected_load < b.expected_load * (1.0 - WORTH),
        (true, true) => b.expected_late - a.expected_late > 2.0 * difference_error(a, b),
    };
    (0..candidates.len()).reduce(
        |best, at| {
            if better(&candidates[at], &candidates[best]) { at } else { best }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even() -> EmpiricalDistribution {
        EmpiricalDistribution::new((1..=999).map(|x| f64::from(x) * 100.0))
    }

    fn wish(late: Option<f64>, budget: Option<f64>) -> MarginChoice {
        recommend(&even(), 500_000, CompensationRequirement { late, budget }, 5_000.0).unwrap()
    }

    #[test]
    fn a_share_of_late_starts_gives_the_order_statistic() {
        let r = wish(Some(0.01), None);
        assert_eq!((r.margin_ns, r.limited_by_budget, r.supported_late), (99_000, false, None));
        assert!((r.expected_late - 9.0 / 999.0).abs() < 1e-12);
        assert_eq!((r.nist.every_ns, r.nist.load), (50_000.0, 0.19));
    }

    #[test]
    fn a_budget_gives_the_largest_margin_it_pays_for() {
        let r = wish(None, Some(0.04));
        assert!(r.expected_load <= 0.04 + 1e-5 && r.expected_load > 0.0399, "{r:?}");
        // Polling for m^2 / 2 / 100 us on average: 20 us are used up at about 63 us.
        assert!((62_000..65_000).contains(&r.margin_ns));
        let both = wish(Some(0.01), Some(0.04));
        assert_eq!((both.margin_ns, both.limited_by_budget), (r.margin_ns, true));
    }

    #[test]
    fn a_share_too_small_for_the_samples_is_not_promised() {
        let r = wish(Some(1e-6), None);
        assert_eq!((r.margin_ns, r.supported_late), (99_900, Some(1e-3)));
    }

    #[test]
    fn a_method_is_preferred_for_what_it_saves() {
        let cheap = wish(Some(0.5), None);
        let dear = MarginChoice { expected_load: cheap.expected_load * 2.0, ..cheap };
        let alike = MarginChoice { expected_load: cheap.expected_load * 0.95, ..cheap };
        let limited = MarginChoice { limited_by_budget: true, expected_load: 0.0, ..cheap };
        assert_eq!(best_candidate(&[dear, cheap, limited]), Some(1));
        assert_eq!(best_candidate(&[cheap, alike]), Some(0));
        assert_eq!(best_candidate(&[limited, dear]), Some(1));
        let rarer = MarginChoice { expected_late: limited.expected_late / 2.0, ..limited };
        assert_eq!(best_candidate(&[limited, rarer]), Some(1));
        let by_chance = MarginChoice { expected_late: limited.expected_late * 0.95, ..limited };
        assert_eq!(best_candidate(&[limited, by_chance]), Some(0));
        assert_eq!(best_candidate(&[]), None);
    }

    #[test]
    fn a_margin_stays_below_the_period() {
        let slow = EmpiricalDistribution::new([900_000.0; 10]);
        let wish = CompensationRequirement { late: Some(0.1), budget: None };
        assert_eq!(recommend(&slow, 500_000, wish, 5_000.0).unwrap().margin_ns, 250_000);
        assert!(recommend(&EmpiricalDistribution::new([]), 500_000, wish, 5_000.0).is_none());
    }
}
