//! Effect of a software step generator's base period on the steps, before any latency.
//!
//! A direct digital synthesiser (LinuxCNC's stepgen) adds the rate to an accumulator at each base tick and steps
//! when a bit changes: step n leaves at tick ceil(n f_b/f). All this is exact in integers, with rates in
//! millionths of a step per second.

use serde::Serialize;

const MICRO: f64 = 1e6;

/// The ticks at which the steps 0, 1, 2, ... leave, ceil(n f_b / f), for a base period and a rate of steps
/// (microsteps) per second.
#[derive(Debug, Clone)]
pub struct StepTicks {
    /// Ticks of a step: whole ones, and a remainder in units of 1/`parts` tick.
    whole: u128,
    remainder: u128,
    parts: u128,
    /// The next step's time: ticks that have passed by then, and parts of the one that runs.
    passed: u128,
    running: u128,
}

impl StepTicks {
    pub fn new(base_period_ns: i64, steps_per_s: f64) -> Self {
        let (p, q) = ticks_per_step(base_period_ns, steps_per_s);
        StepTicks { whole: p / q, remainder: p % q, parts: q, passed: 0, running: 0 }
    }
}

impl Iterator for StepTicks {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let tick = self.passed + u128::from(self.running > 0);
        self.passed += self.whole;
        self.running += self.remainder;
        if self.running >= self.parts {
            self.running -= self.parts;
            self.passed += 1;
        }
        u64::try_from(tick).ok()
    }
}

/// f_b/f as a fraction in lowest terms. A rate of zero or less gives one step in the longest representable time.
fn ticks_per_step(base_period_ns: i64, steps_per_s: f64) -> (u128, u128) {
    let rate = ((steps_per_s * MICRO).round() as u128).max(1);
    let base = base_period_ns.max(1) as u128;
    let (numerator, denominator) = (1_000_000_000 * 1_000_000u128, base * rate);
    let divisor = gcd(numerator, denominator);
    (numerator / divisor, denominator / divisor)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The intervals between steps, and their error against a uniform train.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantisation {
    /// Largest error of a step: it leaves this much late. Errors go from 0 to this.
    pub max_error_s: f64,
    /// Fewer than one tick for each step: the generator cannot make this rate.
    pub too_fast: bool,
}

/// The quantisation of a rate of steps (microsteps) per second on a base period.
///
/// The errors are uniform on 0, 1/q, ..., (q-1)/q of the base period, where f_b/f = p/q in lowest terms.
pub fn quantise(base_period_ns: i64, steps_per_s: f64) -> Quantisation {
    let (p, q) = ticks_per_step(base_period_ns, steps_per_s);
    let base_s = base_period_ns as f64 * 1e-9;
    Quantisation { max_error_s: base_s * (q as f64 - 1.0) / q as f64, too_fast: p < q }
}

/// The slow pattern in the intervals: the frequency of the odd interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beat {
    /// |f_b/f - nearest whole number| f, in Hz; zero when every interval is the same.
    pub frequency_hz: f64,
    /// Its distance from a resonance, |f_beat - f_r| / f_r.
    pub off_resonance: f64,
}

impl Beat {
    /// True if it is within 20 % of the resonance, where the ripple of the load angle grows several times.
    pub fn excites_resonance(&self) -> bool {
        self.frequency_hz > 0.0 && self.off_resonance < 0.2
    }
}

/// The beat of a rate against a base period, seen from a resonance at `ring_hz`.
pub fn beat(base_period_ns: i64, steps_per_s: f64, ring_hz: f64) -> Beat {
    let (p, q) = ticks_per_step(base_period_ns, steps_per_s);
    let remainder = p % q;
    let distance = remainder.min(q - remainder) as f64 / q as f64;
    let frequency_hz = distance * steps_per_s;
    Beat { frequency_hz, off_resonance: (frequency_hz - ring_hz).abs() / ring_hz }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_of_the_independent_computation() {
        for (base_us, rate, max_us) in
            [(25, 6000.0, 16.6667), (50, 2680.0, 49.2537), (50, 6000.0, 33.3333), (25, 20000.0, 0.0)]
        {
            let q = quantise(base_us * 1000, rate);
            assert!((q.max_error_s * 1e6 - max_us).abs() < 1e-4, "{q:?}");
        }
    }

    #[test]
    fn half_steps_at_1418_full_steps_beat_near_a_resonance_of_145_hz() {
        let slow = beat(50_000, 2.0 * 1418.45, 145.287921);
        assert!((slow.frequency_hz - 141.7).abs() < 0.05 && slow.excites_resonance(), "{slow:?}");
        assert!(!beat(50_000, 2.0 * 1300.0, 145.287921).excites_resonance());
    }

    #[test]
    fn a_rate_above_the_base_rate_is_marked() {
        assert!(quantise(50_000, 20_001.0).too_fast && !quantise(50_000, 20_000.0).too_fast);
    }

    proptest! {
        #[test]
        fn steps_leave_within_a_tick_after_their_time(base in 1_000i64..100_000, rate in 1.0f64..10_000.0, n in 0usize..100_000) {
            let rate = (rate * 1e6).round() / 1e6;
            let tick = StepTicks::new(base, rate).nth(n).unwrap();
            let error = tick as f64 * base as f64 * 1e-9 - n as f64 / rate;
            let q = quantise(base, rate);
            prop_assert!(error > -1e-9 && error < q.max_error_s + 1e-9, "{error}");
        }
    }
}
