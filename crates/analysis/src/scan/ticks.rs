//! Grid of a run's time stamps: some clocks count microseconds.

use jitterlab_model::histogram::Bin;

/// Possible values of a run's latencies: multiples of a step, from an offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// The step; 1 ns if no coarser one is visible.
    pub step_ns: i64,
    offset_ns: i64,
}

impl Ticks {
    /// Finds the grid of values in whole nanoseconds: the greatest common divisor of their differences.
    pub fn from_values(values_ns: impl IntoIterator<Item = i64>) -> Self {
        let mut values = values_ns.into_iter();
        let offset_ns = values.next().unwrap_or(0);
        let mut step = 0;
        for value in values {
            step = common_divisor(step, value.abs_diff(offset_ns));
            if step == 1 {
                break;
            }
        }
        Ticks { step_ns: i64::try_from(step.max(1)).unwrap_or(1), offset_ns }
    }

    /// Returns the only value that a bin narrower than a step can have; `None` for wider bins.
    pub fn only_value_in(&self, bin: &Bin) -> Option<f64> {
        if self.step_ns <= bin.high_ns.saturating_sub(bin.low_ns) {
            return None;
        }
        let beyond = bin.high_ns.wrapping_sub(self.offset_ns).rem_euclid(self.step_ns);
        Some((bin.high_ns - beyond).max(bin.low_ns) as f64)
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_what_all_differences_are_multiples_of() {
        let step = |values: &[i64]| Ticks::from_values(values.iter().copied()).step_ns;
        assert_eq!((step(&[5_000, 3_000, 12_000]), step(&[7_250, 250, 1_250])), (1_000, 1_000));
        assert_eq!((step(&[1, 2, 9]), step(&[7, 7, 7]), step(&[])), (1, 1, 1));
    }

    #[test]
    fn a_narrow_bin_holds_one_value() {
        let ticks = Ticks::from_values([250, 1_250, 9_250]);
        let bin = |low_ns, high_ns| Bin { low_ns, high_ns, count: 1 };
        assert_eq!(ticks.only_value_in(&bin(2_240, 2_255)), Some(2_250.0));
        assert_eq!(ticks.only_value_in(&bin(-760, -745)), Some(-750.0));
        assert_eq!(ticks.only_value_in(&bin(2_000, 3_000)), None);
    }
}
