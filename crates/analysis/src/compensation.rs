//! Cost and benefit of compensating the jitter of a wake-up, computed before it is tried.
//!
//! Two ways. The NIST paper (Proctor and Shackleford, "Real-time Operating System Timing Jitter and its Impact on
//! Motor Control", section 3) wakes the task every A and polls in the last of these periods: [`nist`]. The other
//! sleeps once, to a margin m before the due time, then polls: with X the latency of that sleep and F its
//! distribution ([`LatencyLaw`]), the task polls for the integral of F over \[0, m\] on average and starts late with
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

    /// Returns equation 1 with half of the last period polled, as on average when A does not divide T.
    pub fn mean_poll_load(a: f64, s: f64, t: f64) -> f64 {
        ((t / a - 1.0) * s + a / 2.0) / t
    }

    /// Returns the A of least load under [`mean_poll_load`], sqrt(2 S T), and that load.
    pub fn mean_poll_optimum(s: f64, t: f64) -> (f64, f64) {
        let a = (2.0 * s * t).sqrt();
        (a, mean_poll_load(a, s, t))
    }
}

/// The distribution F of the latency X of an early sleep.
pub trait LatencyLaw {
    /// Returns F(x): the share of latencies up to x.
    fn share_up_to(&self, x: f64) -> f64;

    /// Returns the smallest x with F(x) >= p, for p below 1.
    fn quantile(&self, p: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.share_up_to(high) < p && high < f64::MAX / 2.0 {
            (low, high) = (high, high * 2.0);
        }
        // Halving ends when no number lies between the two.
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return high;
            }
            if self.share_up_to(middle) < p { low = middle } else { high = middle }
        }
    }

    /// Returns E\[max(0, m - X)\], the mean time polled with a margin m: the integral of F over \[0, m\] if
    /// no latency is negative.
    fn expected_poll(&self, m: f64) -> f64 {
        integral(&|x| self.share_up_to(x), 0.0, m)
    }

    /// Returns E\[max(0, X - m)\], the mean time a task is late with a margin m (being on time counts 0): the
    /// integral of 1 - F beyond m.
    fn expected_late(&self, m: f64) -> f64 {
        let scale = (self.quantile(0.75) - self.quantile(0.25)).max(1e-9);
        let (mut from, mut width, mut sum) = (m, scale, 0.0);
        // Blocks of doubling width; a latency has a finite mean.
        for _ in 0..200 {
            let block = integral(&|x| 1.0 - self.share_up_to(x), from, from + width);
            sum += block;
            if block <= 1e-12 * sum || block <= f64::MIN_POSITIVE {
                break;
            }
            (from, width) = (from + width, width * 2.0);
        }
        sum
    }

    /// Returns the probability of starting late with a margin m.
    fn late_probability(&self, m: f64) -> f64 {
        1.0 - self.share_up_to(m)
    }

    /// Returns the smallest margin that leaves no more than the share `late` of starts late.
    fn margin_for(&self, late: f64) -> f64 {
        self.quantile(1.0 - late)
    }

    /// Returns the margin of least cost if being late costs `ratio` times as much as polling equally long:
    /// the newsvendor quantile F(m) = r / (r + 1), since the mean cost is E\[poll\] + r E\[late\].
    fn newsvendor_margin(&self, ratio: f64) -> f64 {
        self.quantile(ratio / (ratio + 1.0))
    }

    /// Returns the expected cost and benefit of one margin m with a period t.
    fn outlook(&self, m: f64, t: f64) -> MarginOutlook {
        MarginOutlook {
            margin: m,
            load: self.expected_poll(m) / t,
            late_probability: self.late_probability(m),
            expected_late: self.expected_late(m),
        }
    }
}

/// Expected cost and benefit of a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginOutlook {
    /// The margin m.
    pub margin: f64,
    /// Share of the processor spent polling.
    pub load: f64,
    /// Share of starts that are late.
    pub late_probability: f64,
    /// Mean lateness, 0 for starts on time.
    pub expected_late: f64,
}

/// Measured latencies; all figures are exact sums over them.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalLaw {
    sorted: Vec<f64>,
    /// Sum of the first i latencies.
    sums: Vec<f64>,
}

impl EmpiricalLaw {
    /// Creates the law from latencies in any order and unit.
    pub fn new(latencies: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = latencies.into_iter().filter(|x| x.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let running = sorted.iter().scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        let sums = std::iter::once(0.0).chain(running).collect();
        EmpiricalLaw { sorted, sums }
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
    fn up_to(&self, x: f64) -> usize {
        self.sorted.partition_point(|y| *y <= x)
    }

    fn n(&self) -> f64 {
        self.len().max(1) as f64
    }

    /// Returns the margin of least cost if each late start costs as much as polling for `cost`, however late
    /// it is: the smallest E\[poll\] + cost P(late) among the measured latencies.
    pub fn fixed_cost_margin(&self, cost: f64) -> f64 {
        let total = |m: f64| self.expected_poll(m) + cost * self.late_probability(m);
        let best = self.sorted.iter().copied().min_by(|a, b| total(*a).total_cmp(&total(*b)));
        best.filter(|m| total(*m) < total(0.0)).unwrap_or(0.0)
    }

    /// Returns the margin that the next latency exceeds with a probability of at most `late`, whatever the
    /// distribution: the k-th largest with k = floor(late (n + 1)). `None` if fewer than 1 / late - 1
    /// latencies were measured.
    pub fn assured_margin(&self, late: f64) -> Option<f64> {
        let k = (late * (self.len() as f64 + 1.0)) as usize;
        (k >= 1).then(|| self.len().checked_sub(k)).flatten().map(|at| self.sorted[at])
    }
}

impl LatencyLaw for EmpiricalLaw {
    fn share_up_to(&self, x: f64) -> f64 {
        self.up_to(x) as f64 / self.n()
    }

    fn quantile(&self, p: f64) -> f64 {
        let rank = ((p * self.len() as f64).ceil() as usize).clamp(1, self.len().max(1));
        self.sorted.get(rank - 1).copied().unwrap_or(0.0)
    }

    fn expected_poll(&self, m: f64) -> f64 {
        let below = self.up_to(m);
        (m * below as f64 - self.sums[below]) / self.n()
    }

    fn expected_late(&self, m: f64) -> f64 {
        let below = self.up_to(m);
        let above = (self.len() - below) as f64;
        (self.sums[self.len()] - self.sums[below] - m * above) / self.n()
    }
}

/// Returns the mean number of late starts among the next N, with the k-th largest of n latencies as the
/// margin. It holds for any distribution, as long as all orders of the latencies are equally likely.
pub fn expected_late_starts(n: u64, k: u64, next: u64) -> f64 {
    next as f64 * k as f64 / (n as f64 + 1.0)
}

/// Returns the probability that none of the next N starts is late, with the largest of n latencies as the margin.
pub fn probability_of_no_late_start(n: u64, next: u64) -> f64 {
    n as f64 / (n as f64 + next as f64)
}

/// Returns the integral of a bounded function by adaptive Simpson quadrature (Lyness 1969).
fn integral(f: &dyn Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    /// Halvings of one starting piece.
    const DEPTH: u32 = 40;
    const PIECES: u32 = 16;

    struct Piece {
        from: f64,
        to: f64,
        at_from: f64,
        at_middle: f64,
        at_to: f64,
    }

    impl Piece {
        fn simpson(&self) -> f64 {
            (self.to - self.from) / 6.0 * (self.at_from + 4.0 * self.at_middle + self.at_to)
        }
    }

    fn refine(f: &dyn Fn(f64) -> f64, piece: &Piece, whole: f64, tolerance: f64, depth: u32) -> f64 {
        let middle = f64::midpoint(piece.from, piece.to);
        let left = Piece {
            to: middle,
            at_to: piece.at_middle,
            at_middle: f(f64::midpoint(piece.from, middle)),
            ..*piece
        };
        let right = Piece {
            from: middle,
            at_from: piece.at_middle,
            at_middle: f(f64::midpoint(middle, piece.to)),
            ..*piece
        };
        let halves = (left.simpson(), right.simpson());
        let error = halves.0 + halves.1 - whole;
        if depth == 0 || error.abs() <= 15.0 * tolerance {
            return halves.0 + halves.1 + error / 15.0;
        }
        refine(f, &left, halves.0, tolerance / 2.0, depth - 1)
            + refine(f, &right, halves.1, tolerance / 2.0, depth - 1)
    }

    if to <= from {
        return 0.0;
    }
    let width = (to - from) / f64::from(PIECES);
    let pieces = (0..PIECES).map(|i| {
        let (from, to) = (from + width * f64::from(i), from + width * f64::from(i + 1));
        Piece { from, to, at_from: f(from), at_middle: f(f64::midpoint(from, to)), at_to: f(to) }
    });
    pieces
        .map(|piece| {
            let whole = piece.simpson();
            refine(f, &piece, whole, 1e-13 * (to - from), DEPTH)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, LogNormal};

    /// 3 + Exp(1) microseconds.
    struct ShiftedExponential;

    impl LatencyLaw for ShiftedExponential {
        fn share_up_to(&self, x: f64) -> f64 {
            if x < 3.0 { 0.0 } else { -(3.0 - x).exp_m1() }
        }

        fn late_probability(&self, m: f64) -> f64 {
            if m < 3.0 { 1.0 } else { (3.0 - m).exp() }
        }
    }

    /// Median 4, sigma 0.5.
    struct Skewed(LogNormal);

    impl LatencyLaw for Skewed {
        fn share_up_to(&self, x: f64) -> f64 {
            self.0.cdf(x)
        }
    }

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
    fn one_early_sleep_with_an_exponential_latency() {
        for (m, poll, load_percent, late) in [
            (5.0, "1.13533528", "0.227067", ".135335283"),
            (10.0, "6.00091188", "1.200182", "9.118820e-4"),
            (15.0, "11.00000614", "2.200001", "6.144212e-6"),
            (20.0, "16.00000004", "3.200000", "4.139938e-8"),
        ] {
            let outlook = ShiftedExponential.outlook(m, 500.0);
            agrees(ShiftedExponential.expected_poll(m), poll);
            agrees(outlook.load * 100.0, load_percent);
            agrees(outlook.late_probability, late);
            // Beyond 3, X is memoryless: the mean lateness is P(late) times 1 us.
            assert!((outlook.expected_late / outlook.late_probability - 1.0).abs() < 1e-6);
        }
        let in_24_h = |m: f64| 86_400.0 / 500e-6 * ShiftedExponential.late_probability(m);
        agrees(in_24_h(15.0), "1062");
        agrees(in_24_h(20.0), "7.15");
        for (ratio, margin) in [(10.0, "5.39789527"), (100.0, "7.61512052"), (1_000.0, "9.90875478")] {
            agrees(ShiftedExponential.newsvendor_margin(ratio), margin);
        }
    }

    #[test]
    fn one_early_sleep_with_a_lognormal_latency() {
        let law = Skewed(LogNormal::new(4f64.ln(), 0.5).unwrap());
        agrees(law.expected_poll(10.0), "5.54706463");
        agrees(law.late_probability(10.0), ".0334324");
        agrees(law.expected_late(10.0), ".07965844");
        agrees(law.margin_for(1e-2), "12.800296");
        agrees(law.margin_for(1e-3), "18.754064");
        agrees(law.margin_for(1e-6), "43.077745");
    }

    #[test]
    fn what_can_be_said_of_any_distribution() {
        let (n, next) = (120_000, 86_400_000);
        agrees(expected_late_starts(n, 1, next), "719.994");
        agrees(probability_of_no_late_start(n, next), "0.00138696");
        assert_eq!(expected_late_starts(n, 3, next), 3.0 * expected_late_starts(n, 1, next));
    }

    #[test]
    fn measured_latencies_give_exact_sums() {
        let measured = EmpiricalLaw::new([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(measured.expected_poll(2.5), (1.5 + 0.5) / 4.0);
        assert_eq!(measured.expected_late(2.5), (0.5 + 1.5) / 4.0);
        assert_eq!(measured.late_probability(3.0), 0.25);
        assert_eq!((measured.margin_for(0.25), measured.quantile(0.5)), (3.0, 2.0));
        assert_eq!((measured.assured_margin(0.2), measured.assured_margin(0.1)), (Some(4.0), None));
        assert_eq!((measured.fixed_cost_margin(100.0), measured.fixed_cost_margin(0.1)), (4.0, 1.0));
        let none = EmpiricalLaw::new([]);
        assert_eq!((none.expected_poll(5.0), none.expected_late(5.0), none.quantile(0.5)), (0.0, 0.0, 0.0));
        assert!(none.is_empty() && none.assured_margin(0.5).is_none());
    }

    proptest! {
        /// The sums over measured latencies are the integrals of their distribution.
        #[test]
        fn sums_and_integrals_agree(latencies in prop::collection::vec(0.0f64..100.0, 1..40), m in 0.0f64..120.0) {
            let measured = EmpiricalLaw::new(latencies.iter().copied());
            let by_hand: f64 = latencies.iter().map(|x| (m - x).max(0.0)).sum::<f64>() / latencies.len() as f64;
            prop_assert!((measured.expected_poll(m) - by_hand).abs() < 1e-9);
            // E[poll] - E[late] = m - E[X].
            let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
            let difference = measured.expected_poll(m) - measured.expected_late(m);
            prop_assert!((difference - (m - mean)).abs() < 1e-9);
        }

        /// No other margin is cheaper than the newsvendor's.
        #[test]
        fn the_newsvendor_margin_costs_least(
            latencies in prop::collection::vec(0.0f64..100.0, 1..40), ratio in 0.1f64..1_000.0, other in 0.0f64..120.0
        ) {
            let measured = EmpiricalLaw::new(latencies.iter().copied());
            let cost = |m: f64| measured.expected_poll(m) + ratio * measured.expected_late(m);
            prop_assert!(cost(measured.newsvendor_margin(ratio)) <= cost(other) + 1e-9);
        }
    }
}
