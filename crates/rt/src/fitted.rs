//! Reading time by another clock than CLOCK_MONOTONIC, stated in its nanoseconds through a fit.
//!
//! The fit is a least-squares line through pairs of readings (counter, CLOCK_MONOTONIC) that are taken all
//! through the run: a stated time follows the last of them, so that neither a calibration's error nor the
//! slewing of the clock by NTP adds up. The line's error at each new pair is reported in
//! [`ClockFit`] reports.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use jitterlab_model::ClockFit;

use crate::linux::Linux;
use crate::sys;
use crate::system::{System, SystemReport};

/// Pairs that the line is fitted through.
const WINDOW: usize = 32;
/// Shortest distance of two pairs while running, and at the beginning.
const SPACING_NS: i64 = 10_000_000;
const FIRST_SPACING: Duration = Duration::from_micros(200);
/// Binary digits after the point of the rate.
const FRACTION_BITS: u32 = 32;

/// A counter that can be read instead of CLOCK_MONOTONIC.
pub type ReadCounter = fn() -> i64;

/// The processor's counter.
pub fn processor_counter() -> i64 {
    sys::counter::read()
}

/// CLOCK_MONOTONIC_RAW.
pub fn monotonic_raw() -> i64 {
    sys::time::now_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// One reading of both clocks, taken as close together as it goes.
#[derive(Debug, Clone, Copy)]
struct ClockPair {
    count: i64,
    ns: i64,
}

/// `ns = from.ns + (count - from.count) * rate`.
#[derive(Debug, Clone, Copy)]
struct FittedLine {
    from: ClockPair,
    /// Nanoseconds per count, as a binary fraction of [`FRACTION_BITS`].
    rate: i64,
}

impl FittedLine {
    #[inline]
    fn ns_at(&self, count: i64) -> i64 {
        let since = i128::from(count.wrapping_sub(self.from.count));
        self.from.ns + ((since * i128::from(self.rate)) >> FRACTION_BITS) as i64
    }
}

/// Least-squares line: slope in ns per count, and value in ns at `from`; `None` if all counts are equal. Both
/// are relative to `from`.
fn least_squares(from: ClockPair, pairs: impl Iterator<Item = ClockPair> + Clone) -> Option<(f64, f64)> {
    let points = pairs.map(|p| ((p.count - from.count) as f64, (p.ns - from.ns) as f64));
    let n = points.clone().count() as f64;
    let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (sxx, sxy) = points.fold((0.0, 0.0), |(a, b), (x, y)| {
        (a + (x - mean_x) * (x - mean_x), b + (x - mean_x) * (y - mean_y))
    });
    (sxx > 0.0).then(|| (sxy / sxx, mean_y - sxy / sxx * mean_x))
}

#[derive(Debug)]
struct FitState {
    recent: VecDeque<ClockPair>,
    first: ClockPair,
    pairs: u64,
    narrowest: i64,
    sum_of_squares: f64,
    max_error_ns: u64,
}

/// [`Linux`] read by another clock.
#[derive(Debug)]
pub struct FittedClock {
    read: ReadCounter,
    line: Cell<FittedLine>,
    next_pair_ns: Cell<i64>,
    fit: RefCell<FitState>,
}

impl FittedClock {
    /// Fits `read` against CLOCK_MONOTONIC, which takes some milliseconds.
    pub fn new(read: ReadCounter) -> Self {
        let mut recent = VecDeque::with_capacity(WINDOW);
        let mut narrowest = i64::MAX;
        for _ in 0..WINDOW {
            let (pair, width) = closest_pair(read);
            narrowest = narrowest.min(width);
            recent.push_back(pair);
            std::thread::sleep(FIRST_SPACING);
        }
        let first = recent.front().copied().unwrap_or(ClockPair { count: 0, ns: 0 });
        let line =
            line_through(&recent, first).unwrap_or(FittedLine { from: first, rate: 1 << FRACTION_BITS });
        let fit = FitState { recent, first, pairs: 0, narrowest, sum_of_squares: 0.0, max_error_ns: 0 };
        FittedClock { read, line: Cell::new(line), next_pair_ns: Cell::new(0), fit: RefCell::new(fit) }
    }
}

/// Reads CLOCK_MONOTONIC between two readings of the counter; returns the pair and the counts between those.
fn read_pair(read: ReadCounter) -> (ClockPair, i64) {
    let before = read();
    let ns = Linux.now_ns();
    let width = read().wrapping_sub(before);
    (ClockPair { count: before + width / 2, ns }, width)
}

/// The pair of five that was read in the fewest counts, and that number. The first ones bring code and data
/// into the caches, which other work has taken.
fn closest_pair(read: ReadCounter) -> (ClockPair, i64) {
    let one = || read_pair(read);
    (0..4).map(|_| one()).fold(one(), |best, next| if next.1 < best.1 { next } else { best })
}

/// Least-squares line through the pairs, stated from the last of them on; `None` if all counts are equal.
fn line_through(pairs: &VecDeque<ClockPair>, otherwise: ClockPair) -> Option<FittedLine> {
    let last = pairs.back().copied().unwrap_or(otherwise);
    let (slope, at_last) = least_squares(last, pairs.iter().copied())?;
    let rate = (slope * (1u64 << FRACTION_BITS) as f64).round() as i64;
    Some(FittedLine { from: ClockPair { count: last.count, ns: last.ns + at_last.round() as i64 }, rate })
}

impl System for FittedClock {
    type Kernel = Linux;

    #[inline]
    fn now_ns(&self) -> i64 {
        self.line.get().ns_at((self.read)())
    }

    #[inline]
    fn kernel(&self) -> &Linux {
        &Linux
    }

    #[inline]
    fn after_activation(&self) {
        if self.now_ns() < self.next_pair_ns.get() {
            return;
        }
        let (pair, width) = closest_pair(self.read);
        let mut fit = self.fit.borrow_mut();
        // A pair that an interrupt tore apart is useless; the next activation tries again.
        if width > 2 * fit.narrowest {
            return;
        }
        fit.narrowest = fit.narrowest.min(width);
        self.next_pair_ns.set(pair.ns + SPACING_NS);
        let error_ns = (self.line.get().ns_at(pair.count) - pair.ns).unsigned_abs();
        fit.pairs += 1;
        fit.sum_of_squares += (error_ns as f64).powi(2);
        fit.max_error_ns = fit.max_error_ns.max(error_ns);
        if fit.recent.len() == WINDOW {
            fit.recent.pop_front();
        }
        fit.recent.push_back(pair);
        if let Some(line) = line_through(&fit.recent, fit.first) {
            self.line.set(line);
        }
    }

    fn report(&self) -> SystemReport {
        let fit = self.fit.borrow();
        let last = fit.recent.back().copied().unwrap_or(fit.first);
        let elapsed_ns = last.ns - fit.first.ns;
        let counted = last.count - fit.first.count;
        let per_s = if elapsed_ns > 0 { counted as f64 / elapsed_ns as f64 * 1e9 } else { 0.0 };
        let mean_square = if fit.pairs > 0 { fit.sum_of_squares / fit.pairs as f64 } else { 0.0 };
        let clock_fit = ClockFit {
            pairs: fit.pairs,
            units_per_s: per_s.round() as u64,
            rms_error_ns: mean_square.sqrt().round() as u64,
            max_error_ns: fit.max_error_ns,
        };
        SystemReport { clock_fit: Some(clock_fit), core: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_exactly() {
        let pairs: VecDeque<ClockPair> =
            (0..WINDOW as i64).map(|i| ClockPair { count: 7 + i * 3_000, ns: 1_000 + i * 1_000 }).collect();
        let line = line_through(&pairs, pairs[0]).unwrap();
        assert_eq!(line.ns_at(7 + 3_000), 2_000);
        assert!((line.ns_at(7 + 3_000_000_000) - 1_000_001_000).abs() <= 1);
    }

    #[test]
    fn errors_at_single_pairs_average_out() {
        let noise = [3, -3, 2, -2, 0, 1, -1, 0];
        let pairs: VecDeque<ClockPair> = (0..WINDOW as i64)
            .map(|i| ClockPair { count: i * 30_000, ns: i * 10_000 + noise[i as usize % noise.len()] })
            .collect();
        let (slope, at_last) = least_squares(*pairs.back().unwrap(), pairs.iter().copied()).unwrap();
        assert!((slope * 3.0 - 1.0).abs() < 1e-4 && at_last.abs() < 2.0, "{slope} {at_last}");
    }

    #[test]
    fn another_clock_agrees_with_the_clock_and_says_how_well() {
        for read in [monotonic_raw as ReadCounter, processor_counter] {
            let fitted = FittedClock::new(read);
            for _ in 0..20 {
                std::thread::sleep(Duration::from_nanos(SPACING_NS as u64));
                // Several, since one may be torn apart.
                (0..5).for_each(|_| fitted.after_activation());
            }
            let fit = fitted.report().clock_fit.unwrap();
            assert!(fit.pairs > 0 && fit.units_per_s > 1_000_000);
            assert!(fit.rms_error_ns <= fit.max_error_ns);
            // Between two readings of the clock, up to the error of the fit.
            let before = Linux.now_ns();
            let stated = fitted.now_ns();
            let after = Linux.now_ns();
            let slack = 1_000_000;
            assert!((before - slack..=after + slack).contains(&stated), "{before} {stated} {after}");
        }
    }
}
