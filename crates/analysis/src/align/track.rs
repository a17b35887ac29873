//! Tracks two series of times together: assigns times of one to times of the other, while the rates of their
//! clocks wander.

use super::{FEWEST, median_distance};

/// Times of one clock since the first of them.
#[derive(Debug)]
pub(super) struct ClockTimes {
    pub(super) at: Vec<f64>,
    /// Their usual distance.
    pub(super) usual: f64,
}

impl ClockTimes {
    /// Creates a series; `None` for too few times, or for times that do not increase.
    pub(super) fn from_times(times_ns: &[i64]) -> Option<Self> {
        let first = times_ns.first().filter(|_| times_ns.len() >= FEWEST)?;
        let at: Vec<f64> = times_ns.iter().map(|ns| ns.wrapping_sub(*first) as f64).collect();
        let usual = median_distance(&at)?;
        Some(ClockTimes { at, usual })
    }

    /// Returns the difference of each distance from the usual one.
    pub(super) fn distance_errors(&self) -> Vec<f32> {
        self.at.windows(2).map(|pair| (pair[1] - pair[0] - self.usual) as f32).collect()
    }
}

/// A pulse and an activation that may belong together, with those behind them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    pub(super) stamp: usize,
    pub(super) pulse: usize,
    /// Rate of the capture's clock relative to the run's, as far as it is known beforehand.
    pub(super) rate: f64,
}

/// Assignment of a pulse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PulseAssignment {
    /// The pulse of this activation, later than expected by this many ns.
    Of(usize, f64),
    /// No activation is near.
    Extra,
    /// The pulse lies before the run's beginning, or after its end.
    Outside,
}

/// Share of a surprise by which the expectation follows.
const GAIN: f64 = 1.0 / 16.0;
/// Share of a surprise by which the rate of the clocks follows.
const RATE_GAIN: f64 = GAIN * GAIN / 4.0;
/// Largest relative difference between the rate of the clocks and the known one.
const WANDER: f64 = 2e-3;

/// The expectation while the series are followed.
#[derive(Debug, Clone, Copy)]
struct Tracker {
    stamp: usize,
    stamp_at: f64,
    /// Expected time of that stamp's pulse.
    pulse_at: f64,
    rate: f64,
    known_rate: f64,
    /// The usual size of a surprise: larger ones count as three times this.
    size: f64,
}

impl Tracker {
    fn new(stamps: &ClockTimes, pulses: &ClockTimes, anchor: Anchor, resolution: f64) -> Self {
        let (stamp_at, pulse_at) = (stamps.at[anchor.stamp], pulses.at[anchor.pulse]);
        let mut left: Vec<f64> = stamps.at[anchor.stamp..]
            .iter()
            .zip(&pulses.at[anchor.pulse..])
            .take(32)
            .map(|(stamp, pulse)| (pulse - pulse_at) - anchor.rate * (stamp - stamp_at))
            .collect();
        let middle = crate::least_squares::median(&mut left).unwrap_or(0.0);
        let mut sizes: Vec<f64> = left.iter().map(|v| (v - middle).abs()).collect();
        let size = crate::least_squares::median(&mut sizes).unwrap_or(0.0).max(resolution).max(1.0);
        // An outlying anchor must not pull the others away.
        let middle = if middle.abs() < pulses.usual / 2.0 { middle } else { 0.0 };
        Tracker {
            stamp: anchor.stamp,
            stamp_at,
            pulse_at: pulse_at + middle,
            rate: anchor.rate,
            known_rate: anchor.rate,
            size,
        }
    }

    /// Assigns the next pulse to the nearest activation, and follows its surprise.
    fn assign_next(&mut self, stamps: &ClockTimes, pulse_at: f64) -> PulseAssignment {
        let wanted = self.stamp_at + (pulse_at - self.pulse_at) / self.rate;
        let at = &stamps.at;
        let mut near = self.stamp;
        while near + 1 < at.len() && at[near + 1] <= wanted {
            near += 1;
        }
        while near > 0 && at[near] > wanted {
            near -= 1;
        }
        if near + 1 < at.len() && at[near + 1] - wanted < wanted - at[near] {
            near += 1;
        }
        let surprise = pulse_at - self.pulse_at - self.rate * (at[near] - self.stamp_at);
        if surprise.abs() > stamps.usual / 2.0 {
            let beyond = wanted < at[0] || wanted > at[at.len() - 1];
            return if beyond { PulseAssignment::Outside } else { PulseAssignment::Extra };
        }
        let followed = surprise.clamp(-3.0 * self.size, 3.0 * self.size);
        let passed = at[near] - self.stamp_at;
        self.pulse_at += self.rate * passed + GAIN * followed;
        let span = passed.abs().max(stamps.usual) * if passed < 0.0 { -1.0 } else { 1.0 };
        self.rate += RATE_GAIN * followed / span;
        self.rate = self.rate.clamp(self.known_rate * (1.0 - WANDER), self.known_rate * (1.0 + WANDER));
        self.size *= if surprise.abs() > self.size { 1.02 } else { 1.0 / 1.02 };
        self.size = self.size.clamp(1.0, stamps.usual);
        (self.stamp, self.stamp_at) = (near, at[near]);
        PulseAssignment::Of(near, surprise)
    }
}

/// Assigns all pulses from an anchor on to either end, and passes each assignment to `visit`. Those from the anchor on
/// come first, in order, then those before it, backwards.
pub(super) fn track(
    stamps: &ClockTimes,
    pulses: &ClockTimes,
    anchor: Anchor,
    resolution: f64,
    mut visit: impl FnMut(usize, PulseAssignment),
) {
    let begun = Tracker::new(stamps, pulses, anchor, resolution);
    let mut tracker = begun;
    for pulse in anchor.pulse..pulses.at.len() {
        visit(pulse, tracker.assign_next(stamps, pulses.at[pulse]));
    }
    let mut tracker = begun;
    for pulse in (0..anchor.pulse).rev() {
        visit(pulse, tracker.assign_next(stamps, pulses.at[pulse]));
    }
}
