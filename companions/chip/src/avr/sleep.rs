//! Sleep: clocks that go on, and the time to wake.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 10 "Power Management and Sleep Modes", table 10-1, and chapter 9 for start-up
//! times.

use super::{Avr, chips, flag, timer::Timer};
use crate::log::{FindingKind, Rest, Stop};

/// A sleep mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Only the processor stops.
    Idle,
    /// The processor and all peripherals but the converter stop.
    AdcNoiseReduction,
    /// The oscillator stops.
    PowerDown,
    /// The oscillator stops; a timer that counts a watch crystal continues.
    PowerSave,
    /// As power-down, but the oscillator continues.
    Standby,
    /// As power-save, but the oscillator continues.
    ExtendedStandby,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Mode::Idle => "idle",
            Mode::AdcNoiseReduction => "ADC noise reduction",
            Mode::PowerDown => "power-down",
            Mode::PowerSave => "power-save",
            Mode::Standby => "standby",
            Mode::ExtendedStandby => "extended standby",
        }
    }

    fn stops_cycles(self) -> bool {
        !matches!(self, Mode::Idle | Mode::AdcNoiseReduction)
    }

    fn stops(self, timer: &Timer) -> bool {
        match self {
            Mode::Idle => false,
            Mode::PowerDown | Mode::Standby => true,
            _ => !timer.is_asynchronous(),
        }
    }
}

/// Start-up cycles of a crystal oscillator with the longest setting of its fuses (table 9-4).
const SLOW_START: u64 = 16_384;
/// Start-up cycles of other clock sources, and of standby.
const FAST_START: u64 = 6;

impl Avr {
    /// Executes SLEEP, if it is enabled by SMCR, on the ATmega128 by MCUCR.
    pub(super) fn fall_asleep(&mut self) {
        let (enabled, mode) = match self.chip.family {
            chips::Family::Newer => {
                let smcr = self.io.byte(0x53);
                (smcr & 1 != 0, smcr >> 1 & 7)
            }
            chips::Family::Atmega128 => {
                let mcucr = self.io.byte(0x55);
                (mcucr & 0x20 != 0, mcucr >> 3 & 3 | mcucr & 4)
            }
        };
        if !enabled {
            return;
        }
        let mode = match mode {
            1 => Mode::AdcNoiseReduction,
            2 => Mode::PowerDown,
            3 => Mode::PowerSave,
            6 => Mode::Standby,
            7 => Mode::ExtendedStandby,
            _ => Mode::Idle,
        };
        self.sleep = Some(mode);
        if mode != Mode::Idle {
            self.timers.iter_mut().for_each(|timer| timer.fall_asleep(&mut self.io));
        }
        if mode == Mode::AdcNoiseReduction {
            // "If the ADC is enabled, a conversion starts automatically when this mode is entered." (section 10.4)
            const ADEN: u8 = 0x80;
            const ADSC: u8 = 0x40;
            let status = if self.chip.family == chips::Family::Newer { 0x7a } else { 0x26 };
            let value = self.io.byte(status);
            if value & ADEN != 0 {
                self.adc.write(value & !0x10 | ADSC, &mut self.io);
                self.plan();
            }
        }
    }

    /// Lets time pass in sleep until something happens.
    pub(super) fn doze(&mut self, mode: Mode) {
        if self.sreg & 1 << flag::I == 0 && self.watchdog.next() == u64::MAX {
            // A serial transfer in progress is completed, if its clock goes on.
            let sends = self.usarts.iter().filter(|u| u.is_sending()).map(|u| u.next(&self.io)).min();
            let Some(next) =
                sends.filter(|next| !mode.stops_cycles() && self.io.clock.wall_at(*next) < self.limit)
            else {
                self.stop = Some(Stop::Asleep(Rest::Done));
                return;
            };
            self.io.log.slept += next.saturating_sub(self.io.clock.now);
            self.io.clock.now = next.max(self.io.clock.now);
            return self.settle();
        }
        if self.sreg & 1 << flag::I != 0 && self.io.sources.pending() != 0 {
            self.wake(mode);
            return;
        }
        if mode != Mode::Idle {
            self.switch_timers(|timer| mode.stops(timer));
        }
        self.io.frozen = mode.stops_cycles();
        if self.io.frozen && self.external.next() != u64::MAX {
            return self.settle();
        }
        let before = self.io.clock.wall();
        let (cycle, wall) = self.next();
        let cycle = if self.io.frozen { u64::MAX } else { cycle };
        if (cycle, wall) == (u64::MAX, u64::MAX) {
            let (mode, address) = (mode.name(), self.pc.saturating_sub(1) * 2);
            let rest =
                if self.sreg & 1 << flag::I == 0 { Rest::Done } else { Rest::Unwakeable { mode, address } };
            self.stop = Some(Stop::Asleep(rest));
        } else if self.io.frozen {
            self.io.clock.stopped_until(wall.min(self.limit));
        } else {
            let cycle = cycle.min(self.io.clock.cycle_at(wall.min(self.limit)));
            self.io.clock.now = cycle.max(self.io.clock.now);
        }
        self.io.log.slept += self.io.clock.wall() - before;
        self.settle();
    }

    fn wake(&mut self, mode: Mode) {
        self.sleep = None;
        self.io.frozen = false;
        if mode != Mode::Idle {
            self.switch_timers(|_| false);
        }
        if mode.stops_cycles() {
            let start = self.start_up(mode);
            let before = self.io.clock.wall();
            self.io.clock.stopped_until(before + start);
            self.io.log.slept += start;
        }
        self.timers.iter_mut().for_each(|timer| timer.wake(&self.io));
        self.enter_from(true);
    }

    /// Returns the cycles until the oscillator is stable.
    fn start_up(&mut self, mode: Mode) -> u64 {
        if matches!(mode, Mode::Standby | Mode::ExtendedStandby) {
            return FAST_START;
        }
        let Some([low, ..]) = self.fuses else {
            self.find(FindingKind::StartUpAssumed(SLOW_START));
            return SLOW_START;
        };
        let (select, start) = (low & 0xf, low >> 4 & 3);
        match (select, select & 1, start) {
            (0..=3, ..) => FAST_START,
            (4, ..) => 1_024,
            (5, ..) => 32_768,
            (_, 0, 0 | 1) => 258,
            (_, 0, _) | (_, 1, 0) => 1_024,
            _ => SLOW_START,
        }
    }

    /// Stops the clock of some timers; that of the others goes on, except for those stopped by PRR.
    pub(super) fn switch_timers(&mut self, stops: impl Fn(&Timer) -> bool) {
        for index in 0..self.timers.len() {
            let number = self.timer_numbers[index];
            let reduced = self
                .chip
                .power_reduction
                .iter()
                .any(|(timer, address, bit)| *timer == number && self.io.byte(*address) & 1 << bit != 0);
            let off = stops(&self.timers[index]) || reduced;
            self.timers[index].switch(off, &mut self.io);
        }
    }
}
