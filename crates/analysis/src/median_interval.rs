//! A median with an interval that assumes nothing of the distribution.

use serde::Serialize;

/// A median with an interval that contains the true one with a probability of at least 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianInterval {
    /// The median.
    pub median: f64,
    /// Lower and upper end; `None` for fewer than 6 values, which cannot give such an interval.
    pub interval: Option<(f64, f64)>,
}

impl MedianInterval {
    /// Computes it from these values; `None` without any. The interval is that of the sign test, between two order
    /// statistics: it only assumes that values are independent (Conover, Practical Nonparametric Statistics, 3.2).
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| !v.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let (low, high) = (values.get(n.checked_sub(1)? / 2)?, values.get(n / 2)?);
        let interval = sign_test_rank(n).map(|rank| (values[rank], values[n - 1 - rank]));
        Some(MedianInterval { median: f64::midpoint(*low, *high), interval })
    }
}

/// Returns the r such that the r-th smallest and largest of n values (from 0) enclose the median with 95 %. It is the
/// largest; `None` for fewer than 6 values.
fn sign_test_rank(n: usize) -> Option<usize> {
    // The probability that r values or fewer lie below the median, binomial with p = 1/2.
    let mut term = 0.5f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut best = None;
    for r in 0..n / 2 {
        below += term;
        if below > 0.025 {
            break;
        }
        best = Some(r);
        term *= (n - r) as f64 / (r + 1) as f64;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_test_interval_of_ten_values_leaves_out_one_at_each_end() {
        // Tables of the binomial distribution: P(X <= 1) = 11/1024 = 1.07 %, P(X <= 2) = 5.5 % for n = 10.
        let ten = MedianInterval::from_values((1..=10).map(f64::from)).unwrap();
        assert_eq!((ten.median, ten.interval), (5.5, Some((2.0, 9.0))));
        assert_eq!(MedianInterval::from_values((1..=6).map(f64::from)).unwrap().interval, Some((1.0, 6.0)));
        assert_eq!(MedianInterval::from_values((1..=5).map(f64::from)).unwrap().interval, None);
        assert_eq!(sign_test_rank(100), Some(39));
        assert_eq!(MedianInterval::from_values([]), None);
    }
}
