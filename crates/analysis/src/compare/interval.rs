//! Intervals of single figures, and of the difference of two.

/// As many independent values have to lie beyond a quantile of the tail for an interval.
const EVENTS: f64 = 20.0;
/// The tail begins at this share.
pub(super) const TAIL: f64 = 0.2;

/// The interval that reaches so far around a value: even in its logarithm where it is clearly above 0, as a latency's
/// error grows with it.
pub(super) fn around(value: f64, reach: f64) -> [f64; 2] {
    if value > 2.0 * reach {
        let factor = (reach / value).exp();
        [value / factor, value * factor]
    } else {
        [value - reach, value + reach]
    }
}

/// The interval of a share with this standard error, reaching `t` of them, even on the scale of its root. `None` where too
/// little lies beyond it, or it reaches to nothing.
pub(super) fn of_share(share: f64, error: f64, t: f64) -> Option<[f64; 2]> {
    // Of more than half the rest is the rarer.
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

/// The interval of `here - first`, from both figures and their own intervals, recovering each one's variance on the side
/// that matters (MOVER; Zou & Donner, Statistics in Medicine 2008).
pub(super) fn of_difference(first: f64, of_first: [f64; 2], here: f64, of_here: [f64; 2]) -> [f64; 2] {
    let even = |first: f64, of_first: [f64; 2], here: f64, of_here: [f64; 2]| {
        let difference = here - first;
        [
            difference - (here - of_here[0]).hypot(of_first[1] - first),
            difference + (of_here[1] - here).hypot(first - of_first[0]),
        ]
    };
    let found = even(first, of_first, here, of_here);
    let positive = of_first[0].min(of_here[0]).min(first).min(here) > 0.0;
    // What is above 0 falls by no more than all of it: there, the interval of the factor.
    if positive && found[0] <= -first {
        let factor = even(first.ln(), of_first.map(f64::ln), here.ln(), of_here.map(f64::ln));
        return factor.map(|ln| first * ln.exp_m1());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_positive_falls_by_no_more_than_all_of_it() {
        let found = of_difference(24.0, [20.0, 180.0], 18.5, [18.0, 19.0]);
        assert!(found[0] > -24.0 && found[0] < -18.0 && found[1] < 0.0, "{found:?}");
        // Around 0 it may.
        assert!(of_difference(1.0, [-1.0, 3.0], -2.0, [-4.0, 0.0])[0] < -1.0);
        let near = of_difference(10.0, [9.0, 11.0], 12.0, [11.0, 13.0]);
        assert!((near[0] - (2.0 - 2f64.sqrt())).abs() < 1e-9, "{near:?}");
    }
}
