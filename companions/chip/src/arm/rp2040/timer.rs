//! The timer: 64 bits of microseconds, and four alarms on the lower 32 (data sheet, 4.6). It counts the watchdog's ticks (4.7.2).
//!
//! An alarm matches when the counter becomes equal to it, or is equal at the write (the data sheet states
//! only the first).

use super::InstructionPoint;
use super::clocks::Clocks;
use super::peripherals::WriteKind;
use crate::log::{FindingKind, Log};

#[derive(Debug, Clone, Default)]
pub struct Timer {
    /// Its count at the cycle `since`.
    base: u64,
    since: u64,
    /// Cycles of a tick, as a fraction; `None` while it is stopped.
    tick: Option<(u64, u64)>,
    paused: bool,
    alarms: [u32; 4],
    /// Counts at which the armed alarms match.
    due: [u64; 4],
    armed: u32,
    interrupts: u32,
    enabled: u32,
    forced: u32,
    /// Alarms set to a past time: cycle, instruction, and ticks since that time.
    passed: [Option<(InstructionPoint, u32)>; 4],
    latched_high: u32,
    to_write_low: u32,
}

impl Timer {
    fn count_at(&self, now: u64) -> u64 {
        let Some((over, under)) = self.tick else { return self.base };
        let ticks = u128::from(now.saturating_sub(self.since)) * u128::from(under) / u128::from(over.max(1));
        self.base.wrapping_add(ticks as u64)
    }

    /// Cycle at which the counter reaches a future count; `u64::MAX` while it is stopped.
    fn cycle_of_count(&self, count: u64) -> u64 {
        let Some((over, under)) = self.tick else { return u64::MAX };
        let cycles =
            (u128::from(count.wrapping_sub(self.base)) * u128::from(over)).div_ceil(u128::from(under.max(1)));
        u64::try_from(cycles).unwrap_or(u64::MAX).saturating_add(self.since)
    }

    /// Updates the length of a tick from the clocks; a tick in progress begins again.
    pub fn update_tick(&mut self, now: u64, clocks: &Clocks) {
        let tick = clocks.cycles_per_tick().filter(|_| !self.paused);
        if tick != self.tick {
            (self.base, self.since, self.tick) = (self.count_at(now), now, tick);
        }
    }

    /// Arms an alarm for the next count with its value in the lower half, including the current one.
    fn arm(&mut self, alarm: usize, now: u64) {
        let count = self.count_at(now);
        self.due[alarm] = count.wrapping_add(u64::from(self.alarms[alarm].wrapping_sub(count as u32)));
        self.armed |= 1 << alarm;
    }

    fn armed_alarms(&self) -> impl Iterator<Item = usize> + use<> {
        let armed = self.armed;
        (0..4).filter(move |alarm| armed & 1 << alarm != 0)
    }

    /// Advances to a cycle: alarms that match by then interrupt.
    pub fn advance_to(&mut self, now: u64) {
        for alarm in self.armed_alarms() {
            if self.cycle_of_count(self.due[alarm]) <= now {
                self.armed &= !(1 << alarm);
                self.interrupts |= 1 << alarm;
            }
        }
    }

    pub fn next_alarm_cycle(&self) -> u64 {
        self.armed_alarms().map(|alarm| self.cycle_of_count(self.due[alarm])).min().unwrap_or(u64::MAX)
    }

    /// Returns the four interrupt lines, one bit each.
    pub fn interrupt_lines(&self) -> u32 {
        self.interrupts & self.enabled | self.forced
    }

    /// Reports an alarm that was set to a past time and not disarmed for a while.
    fn report_past_alarm(&mut self, alarm: usize, now: u64, log: &mut Log) {
        /// Ticks within which a firmware that checks for a missed alarm disarms it.
        const SOON: u64 = 100;
        if let Some((at, late)) = self.passed[alarm].take()
            && self.count_at(now).saturating_sub(self.count_at(at.cycle)) > SOON
        {
            log.report_finding(FindingKind::AlarmPast { alarm: alarm as u8, late }, at.cycle, at.address);
        }
    }

    /// Reports the alarms in the past that are still armed at the end.
    pub fn report_past_alarms(&mut self, now: u64, log: &mut Log) {
        (0..4).for_each(|alarm| self.report_past_alarm(alarm, now, log));
    }

    pub fn read(&mut self, register: u32, now: u64) -> u32 {
        let count = self.count_at(now);
        match register {
            0x08 => self.latched_high,
            0x0c => {
                self.latched_high = (count >> 32) as u32;
                count as u32
            }
            0x10..0x20 => self.alarms[(register >> 2 & 3) as usize],
            0x20 => self.armed,
            0x24 => (count >> 32) as u32,
            0x28 => count as u32,
            0x2c => 7,
            0x30 => u32::from(self.paused),
            0x34 => self.interrupts,
            0x38 => self.enabled,
            0x3c => self.forced,
            0x40 => self.interrupt_lines(),
            _ => 0,
        }
    }

    pub fn write(
        &mut self,
        register: u32,
        kind: WriteKind,
        value: u32,
        at: InstructionPoint,
        clocks: &Clocks,
        log: &mut Log,
    ) {
        let now = at.cycle;
        match register {
            0x00 => {
                let count = u64::from(value) << 32 | u64::from(self.to_write_low);
                (self.base, self.since) = (count, now);
                for alarm in self.armed_alarms() {
                    self.arm(alarm, now);
                }
            }
            0x04 => self.to_write_low = value,
            0x10..0x20 => {
                let alarm = (register >> 2 & 3) as usize;
                self.report_past_alarm(alarm, now, log);
                self.alarms[alarm] = kind.new_value(self.alarms[alarm], value);
                self.arm(alarm, now);
                let late = (self.count_at(now) as u32).wrapping_sub(self.alarms[alarm]);
                self.passed[alarm] = (late > 0 && late < 1 << 31).then_some((at, late));
            }
            // Ones disarm: a firmware that checks whether the time has passed does this.
            0x20 => {
                self.armed &= !value;
                (0..4).filter(|alarm| value & 1 << alarm != 0).for_each(|alarm| self.passed[alarm] = None);
            }
            0x30 => {
                self.paused = kind.new_value(u32::from(self.paused), value) & 1 != 0;
                self.update_tick(now, clocks);
            }
            // Ones clear, also by the aliases.
            0x34 if kind != WriteKind::Flip => self.interrupts &= !value,
            0x38 => self.enabled = kind.new_value(self.enabled, value) & 15,
            0x3c => self.forced = kind.new_value(self.forced, value) & 15,
            _ => {}
        }
    }
}
