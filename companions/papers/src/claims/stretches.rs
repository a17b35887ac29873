//! Decision by stretches on conclusions that a document draws from one run each: each run is cut into equal
//! stretches, so that a number comes with an interval. Stretches count as independent of each other.

use jitterlab_analysis::median_interval::MedianInterval;

/// Stretches that a run is cut into: enough for a narrow interval of their median.
pub const STRETCHES: usize = 20;

/// Times that each measurement on this machine is repeated, in turns with the others: one alone does not show how it varies.
pub const TURNS: usize = 3;

/// Factor of a number in the stretches of `to` over that in the stretches of `of`, stretch by stretch.
pub(super) fn factor(of: &[f64], to: &[f64]) -> Option<MedianInterval> {
    MedianInterval::from_values(of.iter().zip(to).filter(|(of, _)| **of > 0.0).map(|(of, to)| to / of))
}

/// Difference of a number in the stretches of `to` from that in the stretches of `of`, stretch by stretch.
pub(super) fn change(of: &[f64], to: &[f64]) -> Option<MedianInterval> {
    MedianInterval::from_values(of.iter().zip(to).map(|(of, to)| to - of))
}

/// True if all of these are above `limit`; `None` if an interval leaves that open and none decides against
/// it.
pub(super) fn each_is_above(limit: f64, all: &[Option<MedianInterval>]) -> Option<bool> {
    decided(all, |(low, _)| low > limit, |(_, high)| high <= limit)
}

/// True if all of these are at most `limit` in size; `None` if an interval leaves that open and none decides
/// against it.
pub(super) fn each_is_within(limit: f64, all: &[Option<MedianInterval>]) -> Option<bool> {
    decided(all, |(low, high)| low >= -limit && high <= limit, |(low, high)| high < -limit || low > limit)
}

fn decided(
    all: &[Option<MedianInterval>],
    holds: impl Fn((f64, f64)) -> bool,
    fails: impl Fn((f64, f64)) -> bool,
) -> Option<bool> {
    let intervals: Vec<Option<(f64, f64)>> = all.iter().map(|one| one.as_ref()?.interval).collect();
    if intervals.iter().flatten().any(|interval| fails(*interval)) {
        return Some(false);
    }
    (!intervals.is_empty() && intervals.iter().all(|interval| interval.is_some_and(&holds))).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_whose_interval_holds_1_is_left_open() {
        let normal = [1.0; 12];
        let mixed: Vec<f64> = (0..12).map(|k| 0.7 + 0.1 * f64::from(k)).collect();
        let grows = |loads: &[&[f64]]| {
            each_is_above(1.0, &loads.iter().map(|to| factor(&normal, to)).collect::<Vec<_>>())
        };
        assert_eq!(grows(&[&mixed]), None);
        assert_eq!(grows(&[&[2.0; 12], &mixed]), None);
        assert_eq!(grows(&[&[2.0; 12], &[3.0; 12]]), Some(true));
        assert_eq!(grows(&[&mixed, &[0.9; 12]]), Some(false));
        assert_eq!((grows(&[&[2.0; 3]]), grows(&[])), (None, None));
    }

    #[test]
    fn a_change_is_small_where_all_of_its_interval_is() {
        let normal = [10.0; 12];
        let mixed: Vec<f64> = (0..12).map(|k| 8.0 + f64::from(k)).collect();
        let small = |loads: &[&[f64]]| {
            each_is_within(5.0, &loads.iter().map(|to| change(&normal, to)).collect::<Vec<_>>())
        };
        assert_eq!(small(&[&[12.0; 12], &[8.0; 12]]), Some(true));
        assert_eq!(small(&[&[12.0; 12], &[16.0; 12]]), Some(false));
        assert_eq!(small(&[&[4.0; 12]]), Some(false));
        assert_eq!(small(&[&mixed]), None);
        assert_eq!(small(&[]), None);
    }
}
