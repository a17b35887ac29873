//! Pulse width modulation: eight slices, each a counter with two outputs (data sheet, 4.5).
//!
//! The free-running counter is simulated, with both slopes. Counting a pin's input (DIVMODE) is not.

use super::peripherals::WriteKind;

const ENABLED: u32 = 1;
const PHASE_CORRECT: u32 = 2;
const INVERTED: [u32; 2] = [4, 8];
const DIVIDER_MODE: u32 = 3 << 4;

/// A counter with two outputs.
#[derive(Debug, Clone, Copy)]
struct Slice {
    control: u32,
    /// Cycles of a count, in sixteenths.
    divider: u32,
    /// Values written by the firmware, and those that the counter has taken over.
    compare: u32,
    compare_in_use: u32,
    top: u32,
    top_in_use: u32,
    /// Counts within the lap at a cycle, and the elapsed sixteenths of a cycle of the next count.
    counts: u64,
    since: u64,
    passed: u64,
}

impl Slice {
    const fn new() -> Self {
        Slice {
            control: 0,
            divider: 16,
            compare: 0,
            compare_in_use: 0,
            top: 0xffff,
            top_in_use: 0xffff,
            counts: 0,
            since: 0,
            passed: 0,
        }
    }

    fn is_on(&self) -> bool {
        self.control & ENABLED != 0
    }

    fn sixteenth_cycles_per_count(&self) -> u64 {
        // A divider of 0 divides by 256.
        u64::from(if self.divider < 16 { self.divider + 256 * 16 } else { self.divider })
    }

    /// Counts of a lap: up, or up and down (4.5.2.6).
    fn counts_per_lap(&self) -> u64 {
        (u64::from(self.top_in_use) + 1) * if self.control & PHASE_CORRECT != 0 { 2 } else { 1 }
    }

    /// The counter's value at its position in the lap.
    fn value(&self) -> u32 {
        let top = u64::from(self.top_in_use);
        (if self.counts <= top { self.counts } else { 2 * top + 1 - self.counts.min(2 * top + 1) }) as u32
    }

    /// Counts until an output changes or the lap ends.
    fn counts_to_event(self) -> u64 {
        let lap = self.counts_per_lap();
        let compares = [self.compare_in_use & 0xffff, self.compare_in_use >> 16].map(u64::from);
        let changes = compares.into_iter().flat_map(|compare| [compare, lap.saturating_sub(compare)]);
        let next = changes.filter(|at| *at > self.counts && *at < lap).min().unwrap_or(lap);
        next.saturating_sub(self.counts).max(1)
    }

    /// Cycle in which it has made this many more counts.
    fn cycle_after(&self, counts: u64) -> u64 {
        self.since + (counts * self.sixteenth_cycles_per_count()).saturating_sub(self.passed).div_ceil(16)
    }

    /// Advances the counter to a cycle; returns true if a lap ended.
    fn count_until(&mut self, cycle: u64) -> bool {
        let passed = self.passed + (cycle - self.since) * 16;
        let counts = passed / self.sixteenth_cycles_per_count();
        (self.since, self.passed) = (cycle, passed % self.sixteenth_cycles_per_count());
        self.counts += counts;
        let wraps = self.counts >= self.counts_per_lap();
        if wraps {
            self.counts -= self.counts_per_lap();
            (self.compare_in_use, self.top_in_use) = (self.compare, self.top);
        }
        wraps
    }

    fn is_output_high(&self, channel: usize) -> bool {
        let compare = self.compare_in_use >> (16 * channel) & 0xffff;
        (self.value() < compare) != (self.control & INVERTED[channel] != 0)
    }
}

/// All slices.
#[derive(Debug, Clone)]
pub struct Pwm {
    slices: [Slice; 8],
    raised: u32,
    enabled: u32,
    forced: u32,
}

impl Pwm {
    pub const fn new() -> Self {
        Pwm { slices: [Slice::new(); 8], raised: 0, enabled: 0, forced: 0 }
    }

    pub const fn is_interrupt_requested(&self) -> bool {
        self.raised & self.enabled | self.forced != 0
    }

    /// Levels of its outputs: two bits per slice.
    pub fn outputs(&self) -> u32 {
        let bits = |(number, slice): (u32, &Slice)| {
            u32::from(slice.is_output_high(0)) << (2 * number)
                | u32::from(slice.is_output_high(1)) << (2 * number + 1)
        };
        (0..).zip(&self.slices).map(bits).sum()
    }

    /// Cycle at which an output changes or a lap ends next.
    pub fn next_event_cycle(&self) -> u64 {
        let on = self.slices.iter().filter(|slice| slice.is_on());
        on.map(|slice| slice.cycle_after(slice.counts_to_event())).min().unwrap_or(u64::MAX)
    }

    /// Advances all counters to a cycle that is not beyond the next event.
    pub fn advance_to(&mut self, cycle: u64) {
        for (number, slice) in self.slices.iter_mut().enumerate().filter(|(_, slice)| slice.is_on()) {
            if slice.count_until(cycle) {
                self.raised |= 1 << number;
            }
        }
    }

    pub fn read(&self, register: u32) -> u32 {
        let Some(slice) = self.slices.get((register / 0x14) as usize) else {
            return match register {
                0xa0 => (0..8).filter(|n| self.slices[*n].is_on()).map(|n| 1 << n).sum(),
                0xa4 => self.raised,
                0xa8 => self.enabled,
                0xac => self.forced,
                0xb0 => self.raised & self.enabled | self.forced,
                _ => 0,
            };
        };
        match register % 0x14 {
            0x00 => slice.control,
            0x04 => slice.divider,
            0x08 => slice.value(),
            0x0c => slice.compare,
            _ => slice.top,
        }
    }

    /// Writes a register at the cycle to which the counters were advanced; returns false if the setting is not simulated.
    pub fn write(&mut self, register: u32, kind: WriteKind, value: u32, cycle: u64) -> bool {
        if let Some(slice) = self.slices.get_mut((register / 0x14) as usize) {
            let was_on = slice.is_on();
            let onto = |old: &mut u32, mask: u32| *old = kind.new_value(*old, value) & mask;
            match register % 0x14 {
                // PH_RET and PH_ADV store nothing.
                0x00 => onto(&mut slice.control, 0x3f),
                0x04 => onto(&mut slice.divider, 0xfff),
                0x08 => slice.counts = u64::from(kind.new_value(slice.value(), value) & 0xffff),
                0x0c => onto(&mut slice.compare, u32::MAX),
                _ => onto(&mut slice.top, 0xffff),
            }
            slice.apply_settings_if_stopped(was_on, cycle);
            let moves_phase = register.is_multiple_of(0x14) && value & 0xc0 != 0 && kind != WriteKind::Clear;
            return slice.control & DIVIDER_MODE == 0 && !moves_phase;
        }
        match register {
            0xa0 => {
                let on = kind.new_value(self.read(0xa0), value);
                for (number, slice) in self.slices.iter_mut().enumerate() {
                    let was_on = slice.is_on();
                    slice.control = slice.control & !ENABLED | on >> number & ENABLED;
                    slice.apply_settings_if_stopped(was_on, cycle);
                }
            }
            // Ones clear.
            0xa4 if kind != WriteKind::Flip => self.raised &= !value,
            0xa8 => self.enabled = kind.new_value(self.enabled, value) & 0xff,
            0xac => self.forced = kind.new_value(self.forced, value) & 0xff,
            _ => {}
        }
        true
    }
}

impl Slice {
    /// Applies written settings at once if the counter was stopped; it counts from this cycle on.
    fn apply_settings_if_stopped(&mut self, was_on: bool, cycle: u64) {
        if !was_on {
            (self.compare_in_use, self.top_in_use) = (self.compare, self.top);
            (self.since, self.passed) = (cycle, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of output A of slice 0, each with its cycle.
    fn output_a_changes(pwm: &mut Pwm, until: u64) -> Vec<(u64, bool)> {
        let (mut level, mut changes) = (false, Vec::new());
        loop {
            if (pwm.outputs() & 1 != 0) != level {
                level = !level;
                changes.push((pwm.slices[0].since, level));
            }
            let next = pwm.next_event_cycle();
            if next > until {
                return changes;
            }
            pwm.advance_to(next);
        }
    }

    fn pwm_after_writes(registers: &[(u32, u32)]) -> Pwm {
        let mut pwm = Pwm::new();
        for (register, value) in registers {
            pwm.write(*register, WriteKind::Plain, *value, 0);
        }
        pwm
    }

    /// The period is (TOP + 1) (1 + phase correct) divider cycles (4.5.2.6); the output is high for CC counts.
    #[test]
    fn a_lap_takes_what_the_data_sheet_says() {
        let mut plain = pwm_after_writes(&[(0x04, 2 << 4), (0x0c, 3), (0x10, 9), (0x00, 1)]);
        assert_eq!(
            output_a_changes(&mut plain, 45),
            [(0, true), (6, false), (20, true), (26, false), (40, true)]
        );
        let mut fraction = pwm_after_writes(&[(0x04, 2 << 4 | 8), (0x0c, 2), (0x10, 3), (0x00, 1)]);
        assert_eq!(
            output_a_changes(&mut fraction, 21),
            [(0, true), (5, false), (10, true), (15, false), (20, true)]
        );
        let mut both = pwm_after_writes(&[(0x04, 1 << 4), (0x0c, 3), (0x10, 9), (0x00, 3)]);
        assert_eq!(
            output_a_changes(&mut both, 40),
            [(0, true), (3, false), (17, true), (23, false), (37, true)]
        );
        assert_eq!(both.read(0xa4), 1);
    }

    /// A compare value of 0 or of a whole lap gives a constant level (4.5.2.2).
    #[test]
    fn the_ends_of_the_range_are_constant() {
        for (compare, high) in [(0, false), (10, true)] {
            let mut pwm = pwm_after_writes(&[(0x0c, compare), (0x10, 9), (0x00, 1)]);
            assert_eq!(output_a_changes(&mut pwm, 100), if high { vec![(0, true)] } else { vec![] });
        }
    }

    /// While it runs, a value takes effect with the next lap (4.5.2.3).
    #[test]
    fn a_value_waits_for_the_end_of_the_lap() {
        let mut pwm = pwm_after_writes(&[(0x0c, 3), (0x10, 9), (0x00, 1)]);
        pwm.advance_to(3);
        pwm.write(0x0c, WriteKind::Plain, 6, 3);
        assert_eq!(
            output_a_changes(&mut pwm, 30),
            [(10, true), (16, false), (20, true), (26, false), (30, true)]
        );
    }
}
