//! Sleep: clocks that go on, and the time to wake.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 10 "Power Management and Sleep Modes", table 10-1, and chapter 9 for start-up
//! times.

use super::{Avr, chips, flag, timer::Timer};
use crate::log::{FinalSleep, FindingKind, Stop};

/// A sleep mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepMode {
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

impl SleepMode {
    const fn name(self) -> &'static str {
        match self {
            SleepMode::Idle => "idle",
            SleepMode::AdcNoiseReduction => "ADC noise reduction",
            SleepMode::PowerDown => "power-down",
            SleepMode::PowerSave => "power-save",
            SleepMode::Standby => "standby",
            SleepMode::ExtendedStandby => "extended standby",
        }
    }

    fn stops_processor_clock(self) -> bool {
        !matches!(self, SleepMode::Idle | SleepMode::AdcNoiseReduction)
    }

    fn stops_timer(self, timer: &Timer) -> bool {
        match self {
            SleepMode::Idle => false,
            SleepMode::PowerDown | SleepMode::Standby => true,
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
    pub(super) fn execute_sleep(&mut self) {
        let (enabled, mode) = match self.chip.family {
            chips::Family::Newer => {
                let smcr = self.io.register(0x53);
                (smcr & 1 != 0, smcr >> 1 & 7)
            }
            chips::Family::Atmega128 => {
                let mcucr = self.io.register(0x55);
                (mcucr & 0x20 != 0, mcucr >> 3 & 3 | mcucr & 4)
            }
        };
        if !enabled {
            return;
        }
        let mode = match mode {
            1 => SleepMode::AdcNoiseReduction,
            2 => SleepMode::PowerDown,
            3 => SleepMode::PowerSave,
            6 => SleepMode::Standby,
            7 => SleepMode::ExtendedStandby,
            _ => SleepMode::Idle,
        };
        self.sleep = Some(mode);
        if mode != SleepMode::Idle {
            self.timers.iter_mut().for_each(|timer| timer.begin_sleep(&mut self.io));
        }
        if mode == SleepMode::AdcNoiseReduction {
            // "If the ADC is enabled, a conversion starts automatically when this mode is entered." (section 10.4)
            const ADEN: u8 = 0x80;
            const ADSC: u8 = 0x40;
            let status = if self.chip.family == chips::Family::Newer { 0x7a } else { 0x26 };
            let value = self.io.register(status);
            if value & ADEN != 0 {
                self.adc.write(value & !0x10 | ADSC, &mut self.io);
                self.schedule_next_event();
            }
        }
    }

    /// Wakes if an interrupt is pending, else advances the time to the next event; stops if there can be none.
    pub(super) fn sleep_until_event(&mut self, mode: SleepMode) {
        if self.sreg & 1 << flag::I == 0 && self.watchdog.timeout_moment() == u64::MAX {
            // A serial transfer in progress is completed, if its clock goes on.
            let sends =
                self.usarts.iter().filter(|u| u.is_sending()).map(|u| u.next_event_cycle(&self.io)).min();
            let Some(next) = sends.filter(|next| {
                !mode.stops_processor_clock() && self.io.clock.wall_at(*next) < self.max_cycles
            }) else {
                self.stop = Some(Stop::Asleep(FinalSleep::Done));
                return;
            };
            self.io.log.asleep_cycles += next.saturating_sub(self.io.clock.now);
            self.io.clock.now = next.max(self.io.clock.now);
            return self.advance_peripherals();
        }
        if self.sreg & 1 << flag::I != 0 && self.io.sources.pending() != 0 {
            self.wake_up(mode);
            return;
        }
        if mode != SleepMode::Idle {
            self.switch_timer_clocks(|timer| mode.stops_timer(timer));
        }
        self.io.frozen = mode.stops_processor_clock();
        if self.io.frozen && self.external.next_event_cycle() != u64::MAX {
            return self.advance_peripherals();
        }
        let before = self.io.clock.wall();
        let (cycle, wall) = self.next_event_times();
        let cycle = if self.io.frozen { u64::MAX } else { cycle };
        if (cycle, wall) == (u64::MAX, u64::MAX) {
            let (mode, address) = (mode.name(), self.pc.saturating_sub(1) * 2);
            let rest = if self.sreg & 1 << flag::I == 0 {
                FinalSleep::Done
            } else {
                FinalSleep::Unwakeable { mode, address }
            };
            self.stop = Some(Stop::Asleep(rest));
        } else if self.io.frozen {
            self.io.clock.resume_at(wall.min(self.max_cycles));
        } else {
            let cycle = cycle.min(self.io.clock.cycle_at(wall.min(self.max_cycles)));
            self.io.clock.now = cycle.max(self.io.clock.now);
        }
        self.io.log.asleep_cycles += self.io.clock.wall() - before;
        self.advance_peripherals();
    }

    /// Ends a sleep after the oscillator's start-up time, and enters the pending interrupt.
    fn wake_up(&mut self, mode: SleepMode) {
        self.sleep = None;
        self.io.frozen = false;
        if mode != SleepMode::Idle {
            self.switch_timer_clocks(|_| false);
        }
        if mode.stops_processor_clock() {
            let start = self.start_up_cycles(mode);
            let before = self.io.clock.wall();
            self.io.clock.resume_at(before + start);
            self.io.log.asleep_cycles += start;
        }
        self.timers.iter_mut().for_each(|timer| timer.end_sleep(&self.io));
        self.enter_interrupt(true);
    }

    /// Returns the cycles until the oscillator is stable after a sleep in this mode.
    fn start_up_cycles(&mut self, mode: SleepMode) -> u64 {
        if matches!(mode, SleepMode::Standby | SleepMode::ExtendedStandby) {
            return FAST_START;
        }
        let Some([low, ..]) = self.fuses else {
            self.report_finding(FindingKind::StartUpAssumed(SLOW_START));
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

    /// Stops the clocks of the timers for which `stops` is true or PRR says so, and lets the others go on.
    pub(super) fn switch_timer_clocks(&mut self, stops: impl Fn(&Timer) -> bool) {
        for index in 0..self.timers.len() {
            let number = self.timer_numbers[index];
            let reduced =
                self.chip.power_reduction.iter().any(|(timer, address, bit)| {
                    *timer == number && self.io.register(*address) & 1 << bit != 0
                });
            let off = stops(&self.timers[index]) || reduced;
            self.timers[index].set_clock_off(off, &mut self.io);
        }
    }
}
