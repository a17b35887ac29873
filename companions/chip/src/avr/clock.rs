//! Two kinds of time: cycles of the processor, which peripherals count, and periods of the oscillator, which go on while the
//! processor's clock is divided or stopped.

/// The processor's clock and its sources.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Cycles of the processor since reset; none pass while a deep sleep stops its clock.
    pub now: u64,
    /// Periods of the oscillator in a second.
    pub hz: u32,
    wall_base: u64,
    base: u64,
    divider: u64,
}

impl Clock {
    pub fn new(hz: u32) -> Self {
        Clock { now: 0, hz, wall_base: 0, base: 0, divider: 1 }
    }

    /// The oscillator's periods from reset to a cycle, which may be a recent one.
    pub fn wall_at(&self, cycle: u64) -> u64 {
        (self.wall_base + cycle * self.divider).wrapping_sub(self.base * self.divider)
    }

    /// The oscillator's periods from reset to now.
    pub fn wall(&self) -> u64 {
        self.wall_at(self.now)
    }

    /// First cycle that does not begin before a moment, in periods of the oscillator.
    pub fn cycle_at(&self, wall: u64) -> u64 {
        match wall.checked_sub(self.wall_base) {
            Some(_) if wall == u64::MAX => u64::MAX,
            Some(later) => self.base + later.div_ceil(self.divider),
            None => self.base,
        }
    }

    /// Divides the oscillator's clock by this for the processor from now on.
    pub fn set_divider(&mut self, divider: u64) {
        self.wall_base = self.wall();
        self.base = self.now;
        self.divider = divider;
    }

    /// Restarts the stopped clock of the processor at this moment, in periods of the oscillator.
    pub fn resume_at(&mut self, wall: u64) {
        self.wall_base = wall.max(self.wall());
        self.base = self.now;
    }

    /// Periods of the oscillator in `ns` nanoseconds, rounded up.
    pub fn periods_in_ns(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.hz)).div_ceil(1_000_000_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_cycles_do_not() {
        let mut clock = Clock::new(16_000_000);
        clock.now = 100;
        assert_eq!((clock.wall(), clock.cycle_at(150)), (100, 150));
        clock.set_divider(8);
        clock.now = 110;
        assert_eq!((clock.wall(), clock.cycle_at(181)), (180, 111));
        assert_eq!(clock.wall_at(105), 140, "a moment ago");
        clock.resume_at(1_000);
        assert_eq!((clock.now, clock.wall(), clock.cycle_at(1_008)), (110, 1_000, 111));
        assert_eq!(clock.cycle_at(900), 110);
        assert_eq!(clock.cycle_at(u64::MAX), u64::MAX);
    }
}
