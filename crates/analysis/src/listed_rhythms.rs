//! Rhythms among late starts that a tool lists one by one: cyclictest's overflow cycles and `--spike` times.
//!
//! The list has no latencies, so positions alone decide: a grid through two of them is a rhythm if far more
//! of the others lie on it than by chance.

use crate::exact_binomial::binomial_at_least;

/// Chance of a rhythm among random positions, for each grid tried.
const LEVEL: f64 = 1e-7;
/// Fewest positions on a grid, and least share of its points with a late start.
const FEWEST: usize = 5;
const FILLED: f64 = 0.6;
/// Most positions examined.
const MOST: usize = 200;
/// Most rhythms looked for.
const RHYTHMS: usize = 3;

/// Late starts at even distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    /// Their distance, in the unit of the places.
    pub period: f64,
    /// Number of late starts on it.
    pub starts: usize,
}

/// Returns the rhythms among ascending positions of late starts, the one with most starts first.
#[must_use]
pub fn rhythms(places: &[u64]) -> Vec<Rhythm> {
    let mut left: Vec<f64> = places.iter().take(MOST).map(|place| *place as f64).collect();
    left.dedup();
    let mut found = Vec::new();
    while found.len() < RHYTHMS
        && let Some((rhythm, on_grid)) = best_rhythm(&left)
    {
        left.retain(|place| !on_grid.contains(place));
        found.push(rhythm);
    }
    found
}

/// Returns the rhythm with the most positions on it, and these; `None` if no grid has far more than by chance.
fn best_rhythm(places: &[f64]) -> Option<(Rhythm, Vec<f64>)> {
    let span = places.last()? - places.first()?;
    let pairs = places
        .iter()
        .enumerate()
        .flat_map(|(k, from)| places[k + 1..].iter().map(move |to| (*from, to - from)));
    let grids = pairs.filter(|(_, period)| *period > 1.0 && period * (FEWEST - 1) as f64 <= span * 1.01);
    let tried = grids.filter_map(|(from, period)| {
        // A place is known to one due time, and a period through two of them as well.
        let near = (0.005 * period).max(1.0);
        let on_grid = positions_on_grid(places, from, period, near);
        let ticks = ((on_grid.last()? - on_grid.first()?) / period).round() + 1.0;
        let by_chance = places.len() as f64 * (2.0 * near + 1.0) / span;
        let starts = on_grid.len() as f64;
        // The first two determine the grid.
        let is_rhythm = on_grid.len() >= FEWEST
            && starts >= FILLED * ticks
            && binomial_at_least(starts - 2.0, ticks.max(starts) - 2.0, by_chance.min(1.0)) < LEVEL;
        let period = (on_grid.last()? - on_grid.first()?) / (ticks - 1.0).max(1.0);
        is_rhythm.then_some((Rhythm { period, starts: on_grid.len() }, on_grid))
    });
    tried.max_by_key(|(rhythm, _)| rhythm.starts)
}

/// Returns the positions that follow `from` at multiples of a period, each within `near` of its expected position. That
/// is expected from the position before.
fn positions_on_grid(places: &[f64], from: f64, period: f64, near: f64) -> Vec<f64> {
    let mut on_grid = vec![from];
    for place in places.iter().filter(|place| **place > from) {
        let steps = (place - on_grid.last().unwrap_or(&from)) / period;
        if steps.round() >= 1.0 && (steps - steps.round()).abs() * period <= near {
            on_grid.push(*place);
        }
    }
    on_grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rhythms_are_found_among_others() {
        let mut places: Vec<u64> = (0..24).flat_map(|k| [4_405 + 10_238 * k, 8_373 + 9_998 * k]).collect();
        places.extend([93_843, 93_844, 96_546, 106_778, 117_016, 188_680]);
        places.sort_unstable();
        let found = rhythms(&places);
        let periods: Vec<i64> = found.iter().map(|rhythm| rhythm.period.round() as i64).collect();
        assert!(periods.contains(&10_238) && periods.contains(&9_998) && periods.len() == 2, "{found:?}");
    }

    #[test]
    fn places_at_random_have_none() {
        // A multiplicative generator of Lehmer's.
        let mut state = 1u64;
        let mut next = || {
            state = state * 48_271 % 0x7fff_ffff;
            state % 1_000_000
        };
        for count in [5, 20, 60, 300] {
            let mut places: Vec<u64> = (0..count).map(|_| next()).collect();
            places.sort_unstable();
            assert_eq!(rhythms(&places), [], "{count}");
        }
        assert_eq!(rhythms(&[]), []);
    }
}
