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
    let difference = here - first;
    [
        difference - (here - of_here[0]).hypot(of_first[1] - first),
        difference + (of_here[1] - here).hypot(first - of_first[0]),
    ]
}
