//! Effect of each setting on a figure against a base, with its confidence interval.

use crate::dependent_variance::student_quantile;

/// Figures of the blocks of one stage: of its base, and of each setting tried on it.
#[derive(Debug, Clone)]
pub(super) struct Arms {
    /// The figure in each block of the base.
    pub base: Vec<f64>,
    /// The figure in each block of each setting; empty if it was not tried.
    pub tried: Vec<Vec<f64>>,
}

/// Difference of each setting from the base, by a pooled t test.
#[derive(Debug, Clone)]
pub(super) struct PooledTTest {
    /// Difference of each setting's mean from that of the base, and its standard error; `None` for one that
    /// was not tried.
    pub effects: Vec<Option<(f64, f64)>>,
    /// Degrees of freedom.
    pub degrees: usize,
    /// Standard deviation between blocks of the same settings.
    pub scatter: f64,
    /// Smallest and largest difference of each setting whose blocks all lie on one side of all those of the base.
    apart: Vec<Option<[f64; 2]>>,
    /// Chance that blocks without a difference are separated like this.
    apart_by_chance: f64,
}

/// Degrees of freedom below which nothing is judged.
const FEWEST_DEGREES: usize = 4;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

impl PooledTTest {
    /// Fits all blocks of a stage. `resolution` is the width within which values cannot be distinguished.
    /// `None` if too little was measured. A setting whose own blocks scatter more than all do together is
    /// judged by its own scatter.
    pub(super) fn new(arms: &Arms, resolution: f64) -> Option<PooledTTest> {
        // Sheppard: a value known only to a width has at least the variance of a uniform value in it.
        let least = resolution * resolution / 12.0;
        let all = || arms.tried.iter().chain([&arms.base]).filter(|values| values.len() > 1);
        let degrees: usize = all().map(|values| values.len() - 1).sum();
        let sums: Vec<f64> = all().map(|values| sum_of_squares(values)).collect();
        let sum: f64 = sums.iter().sum();
        let degrees_left = satterthwaite_degrees(&sums, degrees);
        if degrees_left < FEWEST_DEGREES || arms.base.len() < 2 {
            return None;
        }
        let pooled = sum / degrees as f64 + least;
        let effect = |values: &Vec<f64>| {
            let (with, without) = (values.len() as f64, arms.base.len() as f64);
            let own = (sum_of_squares(values) + sum_of_squares(&arms.base)) / (with + without - 2.0) + least;
            let error = (pooled.max(own) * (1.0 / with + 1.0 / without)).sqrt();
            (mean(values) - mean(&arms.base), error)
        };
        let effects = arms.tried.iter().map(|values| (values.len() > 1).then(|| effect(values))).collect();
        let apart = arms.tried.iter().map(|values| separated_range(values, &arms.base)).collect();
        let apart_by_chance = 2.0 / order_count(arms.base.len());
        Some(PooledTTest { effects, degrees: degrees_left, scatter: pooled.sqrt(), apart, apart_by_chance })
    }

    /// Returns the interval of a setting's effect that is wrong with this chance; `None` if it was not tried. By the
    /// pooled t test; if that includes no effect, and all blocks lie on one side of all those of the base by more than
    /// chance, it is the range of their differences. A cause that has ended leaves a varying number of misses, possibly
    /// none, whose logarithms no variance describes.
    pub(super) fn interval(&self, at: usize, level: f64) -> Option<[f64; 2]> {
        let (effect, error) = self.effects[at]?;
        let reach = student_quantile(level, self.degrees) * error;
        let by_t = [effect - reach, effect + reach];
        let is_open = by_t[0] <= 0.0 && by_t[1] >= 0.0;
        let by_order = self.apart[at].filter(|_| is_open && self.apart_by_chance <= level);
        Some(by_order.unwrap_or(by_t))
    }
}

/// Returns the range of all differences value - base; `None` unless all have one sign and both are equally many.
fn separated_range(values: &[f64], base: &[f64]) -> Option<[f64; 2]> {
    let ends = |of: &[f64]| {
        of.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
            [low.min(*value), high.max(*value)]
        })
    };
    let ([low, high], [least, most]) = (ends(values), ends(base));
    (values.len() == base.len() && (high < least || low > most)).then_some([low - most, high - least])
}

/// Returns in how many orders `each` values of either of two kinds can come.
fn order_count(each: usize) -> f64 {
    (1..=each).map(|n| (each + n) as f64 / n as f64).product()
}

/// Returns the remaining degrees of freedom if some settings scatter more than others (Satterthwaite).
fn satterthwaite_degrees(squares: &[f64], degrees: usize) -> usize {
    let (sum, of_squares) = squares.iter().fold((0.0, 0.0), |(sum, of), s| (sum + s, of + s * s));
    if of_squares <= 0.0 {
        return degrees;
    }
    // With few blocks of each setting these sums differ by chance as well.
    let each = degrees as f64 / squares.len() as f64;
    let share = sum * sum / of_squares / squares.len() as f64 * (1.0 + 2.0 / each.max(1.0));
    (degrees as f64 * share.min(1.0)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_in_turns_is_judged_by_the_pooled_t() {
        let arms = Arms { base: vec![1.0, 2.0, 3.0], tried: vec![vec![5.0, 6.0, 7.0], Vec::new()] };
        let fit = PooledTTest::new(&arms, 0.0).unwrap();
        let (effect, error) = fit.effects[0].unwrap();
        assert!((effect - 4.0).abs() < 1e-12 && (error - (2.0f64 / 3.0).sqrt()).abs() < 1e-12, "{fit:?}");
        assert_eq!((fit.effects[1], fit.degrees), (None, 4));
        // t of 4 degrees at 5 %.
        let [low, high] = fit.interval(0, 0.05).unwrap();
        assert!((low - (4.0 - 2.776 * error)).abs() < 1e-3 && (high - (4.0 + 2.776 * error)).abs() < 1e-3);
    }

    #[test]
    fn blocks_all_on_one_side_decide_where_their_number_does_not_come_by_chance() {
        assert_eq!([3, 5, 7].map(|each| order_count(each).round()), [20.0, 252.0, 3432.0]);
        let with = |count: usize| {
            let base = (0..count).map(|n| 5.0 + 0.01 * n as f64).collect();
            let tried = vec![(0..count).map(|n| if n % 2 == 0 { 4.5 } else { -4.0 }).collect()];
            PooledTTest::new(&Arms { base, tried }, 0.0).unwrap().interval(0, 0.05 / 27.0).unwrap()
        };
        let [low, high] = with(7);
        assert!((low - (-4.0 - 5.06)).abs() < 1e-9 && (high - (4.5 - 5.0)).abs() < 1e-9, "{low} {high}");
        assert!(with(5)[1] > 0.0, "so few may come apart by chance");
    }

    #[test]
    fn a_setting_that_scatters_more_is_judged_by_its_own_blocks() {
        let calm = vec![1.0, 1.01, 0.99, 1.0];
        let arms = Arms { base: calm.clone(), tried: vec![calm.clone(), calm, vec![0.0, 4.0, 0.0, 4.0]] };
        let fit = PooledTTest::new(&arms, 0.0).unwrap();
        let error = |at: usize| fit.effects[at].unwrap().1;
        assert!(error(2) > 1.4 * error(0), "{fit:?}");
        assert!(fit.degrees < 12, "{fit:?}");
    }
}
