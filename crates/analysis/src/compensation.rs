//! Cost and benefit of compensating the jitter of a wake-up, computed before it is tried.
//!
//! Two ways. The NIST paper (Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact on
//! Motor Control", section 3) wakes the task every A and polls in the last of these periods: [`nist`]. The other
//! sleeps once, to a margin m before the due time, then polls: with X the latency of that sleep and F its
//! distribution ([`EmpiricalDistribution`]), the task polls for the integral of F over \[0, m\] on average and starts late with
//! probability 1 - F(m).
//!
//! Times are in any one unit, the same for all arguments; loads and probabilities are shares from 0 to 1.

/// Repeated early wake-ups with a service time S for each, a task period T and a wake-up period A.
pub mod nist {
    /// Returns equation 1: the extra load of waking every `a`, with the last period polled in full (the worst case).
    pub fn load(a: f64, s: f64, t: f64) -> f64 {
        ((t / a - 1.0) * s + a) / t
    }

    /// Returns equations 2 and 3: the A of least load, sqrt(S T), and that load.
    pub fn optimum(s: f64, t: f64) -> (f64, f64) {
        let a = (s * t).sqrt();
        (a, (2.0 * a - s) / t)
    }

    /// Returns the extra load of equation 1 with half of the last period polled: the mean if A does not divide T.
    pub fn mean_poll_load(a: f64, s: f64, t: f64) -> f64 {
        ((t / a - 1.0) * s + a / 2.0) / t
    }

    /// Returns the A of least load under [`mean_poll_load`], sqrt(2 S T), and that load.
    pub fn mean_poll_optimum(s: f64, t: f64) -> (f64, f64) {
        let a = (2.0 * s * t).sqrt();
        (a, mean_poll_load(a, s, t))
    }
}

/// Measured latencies; all figures are exact sums over them.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalDistribution {
    sorted: Vec<f64>,
    /// Sum of the first i latencies.
    sums: Vec<f64>,
}

impl EmpiricalDistribution {
    /// Creates the law from latencies in any order and unit.
    pub fn new(latencies: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = latencies.into_iter().filter(|x| x.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let running = sorted.iter().scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        let sums = std::iter::once(0.0).chain(running).collect();
        EmpiricalDistribution { sorted, sums }
    }

    /// Returns the number of latencies.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True if there is none; all figures are 0 then.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the number of latencies up to x.
    fn count_up_to(&self, x: f64) -> usize {
        self.sorted.partition_point(|y| *y <= x)
    }

    fn n(&self) -> f64 {
        self.len().max(1) as f64
    }

    /// Returns the margin that the next latency exceeds with probability `late` at most, whatever the distribution. It
    /// is the k-th largest with k = floor(late (n + 1)); `None` if fewer than 1 / late - 1 latencies were measured.
    pub fn assured_margin(&self, late: f64) -> Option<f64> {
        let k = (late * (self.len() as f64 + 1.0)) as usize;
        (k >= 1).then(|| self.len().checked_sub(k)).flatten().map(|at| self.sorted[at])
    }

    /// Returns F(x): the share of latencies up to x.
    pub fn share_up_to(&self, x: f64) -> f64 {
        self.count_up_to(x) as f64 / self.n()
    }

    /// Returns the probability of starting late with a margin m.
    pub fn late_probability(&self, m: f64) -> f64 {
        1.0 - self.share_up_to(m)
    }

    /// Returns the smallest latency x with F(x) >= p.
    pub fn quantile(&self, p: f64) -> f64 {
        let rank = ((p * self.len() as f64).ceil() as usize).clamp(1, self.len().max(1));
        self.sorted.get(rank - 1).copied().unwrap_or(0.0)
    }

    /// Returns the mean time polled with a margin m: E\[max(0, m - X)\]. It is the integral of F over \[0, m\] if no
    /// latency is negative.
    pub fn expected_poll(&self, m: f64) -> f64 {
        let below = self.count_up_to(m);
        (m * below as f64 - self.sums[below]) / self.n()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Asserts that a value agrees with a reference number in all its digits; the last digit may be cut off
    /// rather than rounded.
    #[track_caller]
    fn agrees(value: f64, written: &str) {
        let reference: f64 = written.parse().unwrap();
        let mantissa = written.split('e').next().unwrap();
        let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len()) as i32;
        let exponent: i32 = written.split_once('e').map_or(0, |(_, e)| e.parse().unwrap());
        let last_digit = 10f64.powi(exponent - decimals);
        assert!((value - reference).abs() <= 1.0001 * last_digit, "{value} is not {written}");
    }

    #[test]
    fn equations_1_to_3_of_the_nist_paper() {
        let curve = [
            (5.0, "1.0"),
            (10.0, "0.51"),
            (20.0, "0.28"),
            (25.0, "0.24"),
            (50.0, "0.19"),
            (100.0, "0.24"),
            (125.0, "0.28"),
            (250.0, "0.51"),
            (500.0, "1.0"),
        ];
        for (a, load) in curve {
            agrees(nist::load(a, 5.0, 500.0), load);
        }
        assert_eq!(nist::optimum(5.0, 500.0), (50.0, 0.19));
        assert_eq!(500.0 / nist::optimum(5.0, 500.0).0, 10.0);
        for ((s, t), a, load) in [
            // sqrt(1000) gives .06224555320; the reference's tenth decimal (.0622455534) is a slip.
            ((1.0, 1_000.0), "31.6227766", ".062245553"),
            ((10.0, 1_000.0), "100", ".19"),
            ((5.0, 25.0), "11.1803", ".6944271910"),
        ] {
            let optimum = nist::optimum(s, t);
            agrees(optimum.0, a);
            agrees(optimum.1, load);
            agrees(nist::load(optimum.0, s, t), load);
        }
    }

    #[test]
    fn with_the_mean_poll_the_optimum_moves() {
        let (a, load) = nist::mean_poll_optimum(5.0, 500.0);
        agrees(a, "70.7107");
        agrees(load, "0.1314214");
        agrees(nist::mean_poll_load(50.0, 5.0, 500.0), "0.14");
    }

    #[test]
    fn measured_latencies_give_exact_sums() {
        let measured = EmpiricalDistribution::new([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(measured.expected_poll(2.5), (1.5 + 0.5) / 4.0);
        assert_eq!(measured.late_probability(3.0), 0.25);
        assert_eq!((measured.quantile(0.75), measured.quantile(0.5)), (3.0, 2.0));
        assert_eq!((measured.assured_margin(0.2), measured.assured_margin(0.1)), (Some(4.0), None));
        let none = EmpiricalDistribution::new([]);
        assert_eq!((none.expected_poll(5.0), none.quantile(0.5)), (0.0, 0.0));
        assert!(none.is_empty() && none.assured_margin(0.5).is_none());
    }

    proptest! {
        /// The sums over measured latencies are the integrals of their distribution.
        #[test]
        fn sums_and_integrals_agree(latencies in prop::collection::vec(0.0f64..100.0, 1..40), m in 0.0f64..120.0) {
            let measured = EmpiricalDistribution::new(latencies.iter().copied());
            let by_hand: f64 = latencies.iter().map(|x| (m - x).max(0.0)).sum::<f64>() / latencies.len() as f64;
            prop_assert!((measured.expected_poll(m) - by_hand).abs() < 1e-9);
        }
    }
}
