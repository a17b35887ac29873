//! Levels at a pin from outside.

use crate::Pin;

/// Levels at one pin over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stimulus {
    pin: Pin,
    levels: Levels,
    /// Number of levels taken so far.
    taken: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Levels {
    /// Times in nanoseconds, with levels.
    Listed(Vec<(u64, bool)>),
    /// High for `high_ns` at the beginning of each period.
    Pulses { period_ns: u64, high_ns: u64 },
}

impl Stimulus {
    /// Creates levels at times in nanoseconds since reset, in order.
    pub fn from_levels(pin: Pin, levels: Vec<(u64, bool)>) -> Self {
        Stimulus { pin, levels: Levels::Listed(levels), taken: 0 }
    }

    /// Creates pulses of `high_ns` every `period_ns`, the first one period after reset.
    pub fn from_pulse_train(pin: Pin, period_ns: u64, high_ns: u64) -> Self {
        let period_ns = period_ns.max(2);
        Stimulus {
            pin,
            levels: Levels::Pulses { period_ns, high_ns: high_ns.clamp(1, period_ns - 1) },
            taken: 0,
        }
    }

    pub fn with_pin(self, pin: Pin) -> Self {
        Stimulus { pin, ..self }
    }

    pub fn pin(&self) -> Pin {
        self.pin
    }

    /// Time in ns since reset and the level of change `number`, counted from 0.
    fn level_by_index(&self, number: u64) -> Option<(u64, bool)> {
        match &self.levels {
            Levels::Listed(levels) => levels.get(number as usize).copied(),
            Levels::Pulses { period_ns, high_ns } => {
                let rising = number.is_multiple_of(2);
                let begin = (number / 2 + 1).checked_mul(*period_ns)?;
                Some((if rising { begin } else { begin + high_ns }, rising))
            }
        }
    }

    /// Time of the next level in periods of the oscillator, rounded up; `u64::MAX` if there is none.
    /// Each is computed from its own time, so that errors do not accumulate.
    pub(crate) fn next_change_time(&self, hz: u32) -> u64 {
        self.level_by_index(self.taken)
            .map_or(u64::MAX, |(ns, _)| (u128::from(ns) * u128::from(hz)).div_ceil(1_000_000_000) as u64)
    }

    /// Takes the next level if it is due by `wall`; returns its time, pin and level.
    pub(crate) fn take_due_level(&mut self, wall: u64, hz: u32) -> Option<(u64, Pin, bool)> {
        let at = self.next_change_time(hz);
        if at > wall {
            return None;
        }
        let (_, high) = self.level_by_index(self.taken)?;
        self.taken += 1;
        Some((at, self.pin, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_do_not_drift() {
        let pin = Pin { port: 3, bit: 2 };
        let mut stimulus = Stimulus::from_pulse_train(pin, 1_001, 500); // no whole number of cycles at 16 MHz
        for k in 1..=1_000u64 {
            assert_eq!(stimulus.next_change_time(16_000_000), (k * 1_001 * 16).div_ceil(1_000));
            assert_eq!(
                stimulus.take_due_level(u64::MAX, 16_000_000),
                Some(((k * 1_001 * 16).div_ceil(1_000), pin, true))
            );
            assert!(matches!(stimulus.take_due_level(u64::MAX, 16_000_000), Some((_, _, false))));
        }
        let mut listed = Stimulus::from_levels(pin, vec![(0, true), (1_000, false)]);
        assert_eq!(listed.take_due_level(0, 1_000_000), Some((0, pin, true)));
        assert_eq!(listed.take_due_level(0, 1_000_000), None);
        assert_eq!(listed.take_due_level(1, 1_000_000), Some((1, pin, false)));
        assert_eq!((listed.take_due_level(u64::MAX, 1), listed.next_change_time(1)), (None, u64::MAX));
    }
}
