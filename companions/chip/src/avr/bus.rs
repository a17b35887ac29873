//! Reading and writing the data space.

use super::map::Unit;
use super::{Avr, flag, timer};
use crate::log::FindingKind;

/// Most cycles between the two writes that change the clock's divider (section 9.12.2).
const DIVIDER_SEQUENCE: u64 = 4;

/// Registers in which functions return their values: into these avr-libc's `eeprom_read_word` and those of more bytes write through a
/// pointer.
const RETURNED: std::ops::Range<u16> = 18..26;

impl Avr {
    /// Reads a byte.
    pub(super) fn load(&mut self, address: u16) -> u8 {
        let at = usize::from(address);
        if address >= self.chip.ram_start {
            if let Some(byte) = self.io.data.get(at) {
                return *byte;
            }
            self.outside(address, false);
            return 0;
        }
        match self.registers.get(at) {
            Some(register) => *register,
            None => self.read(address),
        }
    }

    /// Writes a byte.
    pub(super) fn store(&mut self, address: u16, value: u8) {
        let at = usize::from(address);
        if address >= self.chip.ram_start {
            match self.io.data.get_mut(at) {
                Some(byte) => *byte = value,
                None => self.outside(address, true),
            }
            return;
        }
        match self.registers.get_mut(at) {
            Some(register) => {
                *register = value;
                if !(RETURNED.contains(&address) && self.eeprom.gave(value)) {
                    self.outside(address, true);
                }
            }
            None => self.write(address, value),
        }
    }

    fn outside(&mut self, data: u16, written: bool) {
        self.find(FindingKind::OutsideMemory { data: u32::from(data), written });
    }

    /// Reads a register of a peripheral.
    #[inline(never)]
    pub(super) fn read(&mut self, address: u16) -> u8 {
        let now = self.io.clock.now;
        match self.units[usize::from(address)] {
            Unit::Pin(port) => self.io.ports.read(port, now),
            Unit::Direction(port) => self.io.ports.direction(port),
            Unit::Out(port) => self.io.ports.out(port),
            Unit::Timer(index, reg) => {
                let timer = &mut self.timers[usize::from(index)];
                let value = timer.read(reg, &mut self.io);
                if reg == timer::Reg::Count && self.sreg & 1 << flag::I == 0 && timer.overflow_waits(&self.io)
                {
                    let (cycle, address) = (self.io.clock.wall(), self.pc * 2);
                    self.unseen = Some((self.timer_numbers[usize::from(index)], cycle, address));
                }
                value
            }
            Unit::Usart(index, reg) => {
                let value = self.usarts[usize::from(index)].read(reg, &mut self.io);
                self.plan();
                value
            }
            Unit::Eeprom(reg) => self.eeprom.read(reg),
            Unit::Spi(reg) => self.spi.read(reg, &mut self.io),
            Unit::Flags => {
                self.unseen = None;
                self.settle_timers();
                self.io.byte(address)
            }
            Unit::Asynchronous => {
                self.settle_timers();
                let busy = self.timers.iter().filter(|timer| timer.is_fine()).flat_map(timer::Timer::busy);
                let bits = busy.fold(0, |bits, reg| bits | self.busy_bit(reg));
                self.io.byte(address) | bits
            }
            Unit::Status => self.sreg,
            Unit::StackLow | Unit::StackHigh => {
                self.watch.stack_read(now);
                let [low, high] = self.sp.to_le_bytes();
                if self.units[usize::from(address)] == Unit::StackLow { low } else { high }
            }
            Unit::Missing(part) => {
                self.not_simulated(part);
                self.io.byte(address)
            }
            Unit::Plain
            | Unit::Adc
            | Unit::Twi
            | Unit::Watchdog
            | Unit::Enables
            | Unit::Senses
            | Unit::Prescaler
            | Unit::Divider
            | Unit::PowerReduction
            | Unit::Pll => self.io.byte(address),
        }
    }

    /// Writes a register of a peripheral.
    #[inline(never)]
    pub(super) fn write(&mut self, address: u16, value: u8) {
        match self.units[usize::from(address)] {
            Unit::Plain => self.io.set_byte(address, value),
            Unit::Out(port) => {
                self.io.set_out(port, value);
                self.pins_written();
            }
            Unit::Direction(port) => {
                self.io.set_direction(port, value);
                self.pins_written();
            }
            Unit::Pin(port) => {
                // Writing a one toggles, except on the ATmega128 (section 14.2.2).
                if self.chip.family == super::chips::Family::Newer {
                    self.io.set_out(port, self.io.ports.out(port) ^ value);
                    self.pins_written();
                }
            }
            Unit::Status => self.set_status(value),
            Unit::StackLow => self.stack_set(false, self.sp & 0xff00 | u16::from(value)),
            Unit::StackHigh => self.stack_set(true, self.sp & 0xff | u16::from(value) << 8),
            _ => {
                self.write_part(address, value);
                self.pins_written();
                self.plan();
            }
        }
    }

    fn write_part(&mut self, address: u16, value: u8) {
        let now = self.io.clock.now;
        self.io.address = self.pc * 2;
        match self.units[usize::from(address)] {
            Unit::Timer(index, reg) => {
                self.timers[usize::from(index)].write(reg, value, &mut self.io);
            }
            Unit::Usart(index, reg) => self.usarts[usize::from(index)].write(reg, value, &mut self.io),
            Unit::Eeprom(reg) => self.io.clock.now += self.eeprom.write(reg, value, &mut self.io),
            Unit::Spi(reg) => self.spi.write(reg, value, &mut self.io),
            Unit::Adc => self.adc.write(value, &mut self.io),
            Unit::Twi => self.twi.write(value, &mut self.io),
            Unit::Watchdog => self.watchdog.write(value, &mut self.io),
            Unit::Flags => {
                self.settle_timers();
                let left = self.io.byte(address) & !value;
                self.io.set_byte(address, left);
                self.io.refresh();
            }
            Unit::Enables | Unit::Senses => {
                self.settle_timers();
                let changed = self.io.byte(address) ^ value;
                self.io.set_byte(address, value);
                self.external.forget(|int| int.sense.0 == address && changed >> int.sense.1 & 3 != 0);
                self.io.refresh();
                self.external.look(&mut self.io);
            }
            Unit::Prescaler => self.write_prescaler(address, value),
            Unit::Asynchronous => {
                let bit = if self.chip.family == super::chips::Family::Newer { 0x20 } else { 0x08 };
                self.io.set_byte(address, value & bit);
                for timer in self.timers.iter_mut().filter(|t| t.is_fine()) {
                    timer.set_asynchronous(value & bit != 0, &mut self.io);
                }
            }
            Unit::Divider => {
                if value == 0x80 {
                    self.divider_unlocked = now + DIVIDER_SEQUENCE;
                } else if now <= self.divider_unlocked {
                    self.io.set_byte(address, value & 0xf);
                    self.io.clock.divide(1 << (value & 0xf).min(8));
                }
            }
            Unit::PowerReduction => {
                self.io.set_byte(address, value);
                self.switch_timers(|_| false);
            }
            Unit::Pll => {
                // It locks at once: PLOCK follows PLLE.
                self.io.set_byte(address, value & !1 | value >> 1 & 1);
            }
            Unit::Missing(part) => {
                self.not_simulated(part);
                self.io.set_byte(address, value);
            }
            _ => {}
        }
    }

    fn settle_timers(&mut self) {
        for timer in &mut self.timers {
            timer.settle(&mut self.io);
        }
    }

    /// Writes GTCCR, on the ATmega128 SFIOR: resets the prescalers, and stops them as long as TSM is set.
    fn write_prescaler(&mut self, address: u16, value: u8) {
        const TSM: u8 = 0x80;
        let before = self.io.byte(address);
        let held = |bits: u8, own: bool| bits & TSM != 0 && bits & if own { 2 } else { 1 } != 0;
        self.switch_timers(|_| false);
        for timer in &mut self.timers {
            let own = timer.is_fine();
            let reset = value & if own { 2 } else { 1 } != 0 || held(before, own);
            if reset {
                timer.reset_prescaler(&mut self.io);
            }
            if held(value, own) {
                timer.switch(true, &mut self.io);
            }
        }
        self.io.set_byte(address, if value & TSM != 0 { value & 0x83 } else { 0 });
    }

    /// Returns the bit of ASSR that marks a register of a timer on a watch crystal as busy.
    fn busy_bit(&self, reg: timer::Reg) -> u8 {
        match (reg, self.chip.family == super::chips::Family::Newer) {
            (timer::Reg::Count, true) => 0x10,
            (timer::Reg::Compare(0), true) => 0x08,
            (timer::Reg::Compare(_), true) => 0x04,
            (timer::Reg::ControlA, true) => 0x02,
            (timer::Reg::ControlB, true) => 0x01,
            (timer::Reg::Count, false) => 0x04,
            (timer::Reg::Compare(_), false) => 0x02,
            _ => 0x01,
        }
    }

    /// Executes SBI and CBI: for flags and pins, only the one bit is written (section 14.4.2 and the note of
    /// the register summary).
    pub(super) fn write_bit(&mut self, address: u16, bit: u8, on: bool) {
        let mask = 1 << bit;
        let value = match self.units[usize::from(address)] {
            Unit::Pin(_) | Unit::Flags => {
                if on {
                    mask
                } else {
                    0
                }
            }
            _ => {
                let value = self.read(address);
                if on { value | mask } else { value & !mask }
            }
        };
        self.write(address, value);
    }

    /// Handles a write that changed pins: a part may depend on them, and the requested number of edges may be reached.
    fn pins_written(&mut self) {
        if !self.io.ports.changes.is_empty() {
            self.pins_changed();
            self.plan();
        }
        self.count_edges();
    }

    fn stack_set(&mut self, high: bool, sp: u16) {
        let now = self.io.clock.now;
        let before = self.watch.stack_written(high, std::mem::replace(&mut self.sp, sp), now);
        let Some(before) = before else { return };
        let y = u16::from_le_bytes([self.registers[28], self.registers[29]]);
        let frame = self.watch.is_frame(before, sp, y, now);
        self.watch.sets_stack(before, sp, frame);
        if self.watch.changes_stack(before, sp, frame) {
            self.find(FindingKind::StacksChanged);
        }
        let over = self.watch.stack_set(sp, frame);
        self.stack_is_over(over);
    }

    /// Sets SREG as a whole.
    pub(super) fn set_status(&mut self, value: u8) {
        let changed = self.sreg ^ value;
        self.sreg = value;
        if changed & 1 << flag::I != 0 {
            // The write ends an instruction of one cycle.
            self.interrupts_switched(self.io.clock.now.saturating_sub(1));
        }
    }

    /// Handles a change of the I bit by an instruction that began at a cycle: after setting it, one more
    /// instruction runs before any interrupt. (Every function of avr-gcc that moves the stack pointer relies
    /// on this for all such instructions, not only SEI.)
    pub(super) fn interrupts_switched(&mut self, begin: u64) {
        let on = self.sreg & 1 << flag::I != 0;
        self.hold |= on;
        let wall = self.io.clock.wall_at(begin + u64::from(on));
        self.watch.switched(on, wall, self.pc);
        if on {
            self.overflow_unseen();
        }
    }

    /// Handles interrupts being enabled again, for a counter whose pending overflow flag was not read.
    pub(super) fn overflow_unseen(&mut self) {
        if let Some((timer, cycle, address)) = self.unseen.take() {
            self.io.log.find(FindingKind::OverflowUnseen(timer), cycle, address);
        }
    }
}
