//! Intervals of single figures, and of the difference of two.

use crate::exact_binomial::{binomial_lower, binomial_upper};

/// Independent values needed beyond a quantile of the tail for an interval.
const EVENTS: f64 = 20.0;
/// The tail begins at this share.
pub(super) const TAIL: f64 = 0.2;

/// Returns the interval of this half-width: symmetric in the logarithm if the value is clearly above 0. A latency's
/// error grows with it.
pub(super) fn interval_around(value: f64, reach: f64) -> [f64; 2] {
    if value > 2.0 * reach {
        let factor = (reach / value).exp();
        [value / factor, value * factor]
    } else {
        [value - reach, value + reach]
    }
}

/// Returns the interval of a share, `t` standard errors wide on each side on the scale of its root. `None` if too
/// little lies beyond the share, or if the interval reaches 0 or 1.
pub(super) fn share_interval(share: f64, error: f64, t: f64) -> Option<[f64; 2]> {
    // Above one half, the remainder is the rarer part.
    let rare = share.min(1.0 - share);
    let reach = t * error / (2.0 * rare.sqrt());
    let few = rare < TAIL && rare * rare < EVENTS * error * error;
    if few || reach >= rare.sqrt() {
        return None;
    }
    let [low, high] = [(rare.sqrt() - reach).powi(2), (rare.sqrt() + reach).powi(2)];
    if high >= 1.0 {
        return None;
    }
    Some(if share <= 0.5 { [low, high] } else { [1.0 - high, 1.0 - low] })
}

/// Returns the interval of `here - first` from the intervals of both (MOVER; Zou & Donner 2008). If all are above 0 it
/// is derived from the interval of their ratio, so that it stays above `-first`.
pub(super) fn difference_interval(first: f64, of_first: [f64; 2], here: f64, of_here: [f64; 2]) -> [f64; 2] {
    let even = |first: f64, of_first: [f64; 2], here: f64, of_here: [f64; 2]| {
        let difference = here - first;
        [
            difference - (here - of_here[0]).hypot(of_first[1] - first),
            difference + (of_here[1] - here).hypot(first - of_first[0]),
        ]
    };
    if of_first[0].min(of_here[0]).min(first).min(here) > 0.0 {
        let factor = even(first.ln(), of_first.map(f64::ln), here.ln(), of_here.map(f64::ln));
        return factor.map(|ln| first * ln.exp_m1());
    }
    even(first, of_first, here, of_here)
}

/// Events that occur together, and the number of tries they come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClusteredEvents {
    pub observed: f64,
    pub tries: f64,
    /// Number of events that carry the evidence of one independent event.
    pub together: f64,
}

/// Fewest independent events for an interval of a share.
const FEWEST_EVENTS: f64 = 5.0;

impl ClusteredEvents {
    /// Returns the interval of their share (Clopper & Pearson, Biometrika 1934); `None` for too few.
    pub fn share(self, level: f64) -> Option<[f64; 2]> {
        let [observed, tries] = [self.observed, self.tries].map(|count| count / self.together);
        let limits = [binomial_lower, binomial_upper].map(|limit| limit(observed, tries, 1.0 - level / 2.0));
        (observed >= FEWEST_EVENTS).then_some(limits)
    }

    /// Returns the interval of the share here over that of the first run; `None` for too few, or none in the first. It
    /// is that of a binomial, given the number in both.
    pub fn ratio(first: Self, here: Self, level: f64) -> Option<[f64; 2]> {
        let together = first.together.max(here.together);
        let [a, b] = [first.observed, here.observed].map(|observed| observed / together);
        let of = |limit: fn(f64, f64, f64) -> f64| {
            let share = limit(b, a + b, 1.0 - level / 2.0);
            share / (1.0 - share) * first.tries / here.tries
        };
        (a > 0.0 && a.max(b) >= FEWEST_EVENTS).then(|| [of(binomial_lower), of(binomial_upper)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_positive_falls_by_no_more_than_all_of_it() {
        let found = difference_interval(24.0, [20.0, 180.0], 18.5, [18.0, 19.0]);
        assert!(found[0] > -24.0 && found[0] < -18.0 && found[1] < 0.0, "{found:?}");
        // Around 0 it may.
        assert!(difference_interval(1.0, [-1.0, 3.0], -2.0, [-4.0, 0.0])[0] < -1.0);
        let near = difference_interval(10.0, [9.0, 11.0], 12.0, [11.0, 13.0]);
        let factor = (1.2f64.ln() - (12.0 / 11.0f64).ln().hypot(1.1f64.ln())).exp();
        assert!((near[0] - 10.0 * (factor - 1.0)).abs() < 1e-9, "{near:?}");
    }

    #[test]
    fn shares_and_their_ratios_stay_possible() {
        let events = |seen: f64, together: f64| ClusteredEvents { observed: seen, tries: 1_000.0, together };
        let [low, high] = events(900.0, 10.0).share(0.05).unwrap_or_default();
        assert!(0.8 < low && low < 0.9 && 0.9 < high && high < 1.0, "{low} {high}");
        assert_eq!(events(40.0, 10.0).share(0.05), None);
        // None here after 100: lower by 96 % at least, and no more than by all.
        let fell = ClusteredEvents::ratio(events(100.0, 1.0), events(0.0, 1.0), 0.05).unwrap_or_default();
        assert!(fell[0] == 0.0 && fell[1] < 0.04, "{fell:?}");
        // Exact limits of 20 of 30 (Clopper & Pearson): 0.4719 to 0.8271.
        let [low, high] =
            ClusteredEvents::ratio(events(10.0, 1.0), events(20.0, 1.0), 0.05).unwrap_or_default();
        assert!(
            (low - 0.4719 / 0.5281).abs() < 2e-3 && (high - 0.8271 / 0.1729).abs() < 2e-2,
            "{low} {high}"
        );
        assert_eq!(ClusteredEvents::ratio(events(0.0, 1.0), events(20.0, 1.0), 0.05), None);
    }
}
