//! The timer: 64 bits of microseconds, and four alarms on the lower 32 (data sheet, 4.6). It counts the watchdog's ticks (4.7.2).
//!
//! An alarm matches when the counter becomes equal to it, or is equal at the write (the data sheet states
//! only the first).

use super::Now;
use super::clocks::Clocks;
use super::peripherals::Write;
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
    passed: [Option<(Now, u32)>; 4],
    latched_high: u32,
    to_write_low: u32,
}

impl Timer {
    /// Returns the count at a cycle.
    fn count(&self, now: u64) -> u64 {
        let Some((over, under)) = self.tick else { return self.base };
        let ticks = u128::from(now.saturating_sub(self.since)) * u128::from(under) / u128::from(over.max(1));
        self.base.wrapping_add(ticks as u64)
    }

    /// Returns the cycle at which it reaches a future count.
    fn cycle_of(&self, count: u64) -> u64 {
        let Some((over, under)) = self.tick else { return u64::MAX };
        let cycles =
            (u128::from(count.wrapping_sub(self.base)) * u128::from(over)).div_ceil(u128::from(under.max(1)));
        u64::try_from(cycles).unwrap_or(u64::MAX).saturating_add(self.since)
    }

    /// Takes over the length of a tick from the clocks; a tick in progress begins again.
    pub fn rebase(&mut self, now: u64, clocks: &Clocks) {
        let tick = clocks.tick().filter(|_| !self.paused);
        if tick != self.tick {
            (self.base, self.since, self.tick) = (self.count(now), now, tick);
        }
    }

    /// Arms an alarm for the next count with its value in the lower half, including the current one.
    fn arm(&mut self, alarm: usize, now: u64) {
        let count = self.count(now);
        self.due[alarm] = count.wrapping_add(u64::from(self.alarms[alarm].wrapping_sub(count as u32)));
        self.armed |= 1 << alarm;
    }

    fn armed(&self) -> impl Iterator<Item = usize> + use<> {
        let armed = self.armed;
        (0..4).filter(move |alarm| armed & 1 << alarm != 0)
    }

    /// Handles the alarms that match by a cycle.
    pub fn settle(&mut self, now: u64) {
        for alarm in self.armed() {
            if self.cycle_of(self.due[alarm]) <= now {
                self.armed &= !(1 << alarm);
                self.interrupts |= 1 << alarm;
            }
        }
    }

    /// Returns the cycle of the next alarm.
    pub fn next(&self) -> u64 {
        self.armed().map(|alarm| self.cycle_of(self.due[alarm])).min().unwrap_or(u64::MAX)
    }

    /// Returns its four interrupt lines.
    pub fn lines(&self) -> u32 {
        self.interrupts & self.enabled | self.forced
    }

    /// Reports an alarm that was set to a past time and not disarmed for a while.
    fn tell_passed(&mut self, alarm: usize, now: u64, log: &mut Log) {
        /// Ticks within which a firmware that checks for a missed alarm disarms it.
        const SOON: u64 = 100;
        if let Some((at, late)) = self.passed[alarm].take()
            && self.count(now).saturating_sub(self.count(at.cycle)) > SOON
        {
            log.find(FindingKind::AlarmPast { alarm: alarm as u8, late }, at.cycle, at.address);
        }
    }

    /// Ends the simulation.
    pub fn finish(&mut self, now: u64, log: &mut Log) {
        (0..4).for_each(|alarm| self.tell_passed(alarm, now, log));
    }

    pub fn read(&mut self, register: u32, now: u64) -> u32 {
        let count = self.count(now);
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
            0x40 => self.lines(),
            _ => 0,
        }
    }

    pub fn write(&mut self, register: u32, how: Write, value: u32, at: Now, clocks: &Clocks, log: &mut Log) {
        let now = at.cycle;
        match register {
            0x00 => {
                let count = u64::from(value) << 32 | u64::from(self.to_write_low);
                (self.base, self.since) = (count, now);
                for alarm in self.armed() {
                    self.arm(alarm, now);
                }
            }
            0x04 => self.to_write_low = value,
            0x10..0x20 => {
                let alarm = (register >> 2 & 3) as usize;
                self.tell_passed(alarm, now, log);
                self.alarms[alarm] = how.onto(self.alarms[alarm], value);
                self.arm(alarm, now);
                let late = (self.count(now) as u32).wrapping_sub(self.alarms[alarm]);
                self.passed[alarm] = (late > 0 && late < 1 << 31).then_some((at, late));
            }
            // Ones disarm: a firmware that checks whether the time has passed does this.
            0x20 => {
                self.armed &= !value;
                (0..4).filter(|alarm| value & 1 << alarm != 0).for_each(|alarm| self.passed[alarm] = None);
            }
            0x30 => {
                self.paused = how.onto(u32::from(self.paused), value) & 1 != 0;
                self.rebase(now, clocks);
            }
            // Ones clear, also by the aliases.
            0x34 if how != Write::Flip => self.interrupts &= !value,
            0x38 => self.enabled = how.onto(self.enabled, value) & 15,
            0x3c => self.forced = how.onto(self.forced, value) & 15,
            _ => {}
        }
    }
}
