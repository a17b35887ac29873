//! Complete stretches of a trace, activation by activation, spread evenly over it: input of spectra and
//! autocorrelations.

use std::collections::BTreeMap;

use jitterlab_model::Activation;

/// Due times in a window.
pub const WINDOW: u64 = 4_096;
/// The most windows kept.
const MOST: u64 = 64;

/// Latencies of up to 64 windows of 4096 due times; all of them for a run of up to 262 144. Missed due times are `NaN`.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// One window in every `every` is kept.
    every: u64,
    windows: BTreeMap<u64, Window>,
}

/// Latencies of one window, each with its position: memory depends on the activations, not on the due times.
#[derive(Debug, Clone, PartialEq, Default)]
struct Window {
    places: Vec<u16>,
    latencies_ns: Vec<f64>,
}

impl Window {
    /// Returns the latency at each due time of the window; `NaN` where nothing ran.
    fn values_by_due_time(&self) -> Vec<f64> {
        let mut all = vec![f64::NAN; WINDOW as usize];
        for (place, latency_ns) in self.places.iter().zip(&self.latencies_ns) {
            if let Some(value) = all.get_mut(usize::from(*place)) {
                *value = *latency_ns;
            }
        }
        all
    }
}

impl Windows {
    /// Creates an empty collection for a run of `expected` due times.
    pub fn new(expected: u64) -> Self {
        Windows { every: expected.div_ceil(WINDOW * MOST).max(1), windows: BTreeMap::new() }
    }

    /// Keeps those of the next activations that lie in selected windows.
    pub fn push_all(&mut self, activations: &[Activation]) {
        let (Some(first), Some(last)) = (activations.first(), activations.last()) else { return };
        let next_kept = (first.index / WINDOW).next_multiple_of(self.every);
        if last.index / WINDOW >= next_kept {
            let windows = activations.chunk_by(|a, b| a.index / WINDOW == b.index / WINDOW);
            windows.for_each(|of_one| self.keep_if_selected(of_one[0].index / WINDOW, of_one));
        }
    }

    fn keep_if_selected(&mut self, number: u64, activations: &[Activation]) {
        if !number.is_multiple_of(self.every) {
            return;
        }
        // A run longer than expected drops every other window of those kept.
        while !self.windows.contains_key(&number) && self.windows.len() as u64 >= 2 * MOST {
            self.every *= 2;
            let every = self.every;
            self.windows.retain(|number, _| number.is_multiple_of(every));
        }
        if number.is_multiple_of(self.every) {
            let window = self.windows.entry(number).or_default();
            window.places.extend(activations.iter().map(|a| (a.index % WINDOW) as u16));
            window.latencies_ns.extend(activations.iter().map(|a| a.latency_ns() as f64));
        }
    }

    /// Adds the windows of another part of the trace.
    pub fn merge(&mut self, other: &Windows) {
        let every = self.every.max(other.every);
        self.every = every;
        self.windows.retain(|number, _| number.is_multiple_of(every));
        for (number, window) in other.windows.iter().filter(|w| w.0.is_multiple_of(every)) {
            let mine = self.windows.entry(*number).or_default();
            mine.places.extend(&window.places);
            mine.latencies_ns.extend(&window.latencies_ns);
        }
    }

    /// Returns every kept latency.
    pub fn latencies_ns(&self) -> impl Iterator<Item = i64> {
        self.windows.values().flat_map(|window| &window.latencies_ns).map(|v| *v as i64)
    }

    /// True if they have the whole run.
    pub fn cover_whole_run(&self) -> bool {
        self.every == 1
    }

    /// Returns the latencies of each stretch in order of time: adjacent windows joined, without empty ends.
    pub fn stretch_values(&self) -> Vec<Vec<f64>> {
        self.stretches().into_iter().map(|(_, values)| values).collect()
    }

    /// Returns the latencies of each stretch in order of time, with the position of its first value on the grid.
    pub fn stretches(&self) -> Vec<(u64, Vec<f64>)> {
        let mut stretch_values: Vec<(u64, Vec<f64>)> = Vec::new();
        let mut next = None;
        for (number, window) in &self.windows {
            match stretch_values.last_mut() {
                Some((_, piece)) if next == Some(*number) => piece.extend(window.values_by_due_time()),
                _ => stretch_values.push((number * WINDOW, window.values_by_due_time())),
            }
            next = Some(number + 1);
        }
        let trimmed = stretch_values.into_iter().map(|(first, piece)| {
            let begin = piece.iter().position(|v| !v.is_nan()).unwrap_or(piece.len());
            let end = piece.iter().rposition(|v| !v.is_nan()).map_or(begin, |last| last + 1);
            (first + begin as u64, piece[begin..end].to_vec())
        });
        trimmed.filter(|(_, piece)| !piece.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(index: u64, latency_ns: i64) -> [Activation; 1] {
        [Activation { index, start_ns: latency_ns, ..Activation::default() }]
    }

    #[test]
    fn a_short_run_is_kept_whole_with_its_gaps() {
        let mut windows = Windows::new(10_000);
        (100..10_000).filter(|k| k % 1_000 != 500).for_each(|k| windows.push_all(&at(k, k as i64)));
        let stretch_values = windows.stretch_values();
        assert_eq!((stretch_values.len(), stretch_values[0].len()), (1, 9_900));
        assert!(stretch_values[0][400].is_nan() && stretch_values[0][401] == 501.0);
    }

    #[test]
    fn a_long_run_is_sampled_evenly_however_it_is_cut() {
        let (mut whole, mut early, mut late) =
            (Windows::new(10_000_000), Windows::new(10_000_000), Windows::new(10_000_000));
        for k in 0..10_000_000u64 {
            whole.push_all(&at(k, (k % 97) as i64));
            if k < 4_000_000 { &mut early } else { &mut late }.push_all(&at(k, (k % 97) as i64));
        }
        early.merge(&late);
        assert_eq!(early.stretch_values(), whole.stretch_values());
        assert!((30..=64).contains(&whole.stretch_values().len()));
    }

    #[test]
    fn a_run_longer_than_expected_stays_in_bounds() {
        let mut windows = Windows::new(0);
        (0..3_000_000).for_each(|k| windows.push_all(&at(k, 1)));
        assert!(windows.windows.len() <= 128 && windows.windows.len() >= 32);
    }
}
