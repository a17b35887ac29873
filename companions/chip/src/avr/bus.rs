//! Reading and writing the data space.

use super::map::RegisterRole;
use super::{Avr, flag, timer};
use crate::log::FindingKind;

/// Most cycles between the two writes that change the clock's divider (section 9.12.2).
const DIVIDER_SEQUENCE: u64 = 4;

/// Registers in which functions return their values: into these avr-libc's `eeprom_read_word` and those of more bytes write through a
/// pointer.
const RETURN_REGISTERS: std::ops::Range<u16> = 18..26;

impl Avr {
    /// Reads a byte of the data space.
    pub(super) fn load_byte(&mut self, address: u16) -> u8 {
        let at = usize::from(address);
        if address >= self.chip.ram_start {
            if let Some(byte) = self.io.data.get(at) {
                return *byte;
            }
            self.report_out_of_range_access(address, false);
            return 0;
        }
        match self.registers.get(at) {
            Some(register) => *register,
            None => self.read_register(address),
        }
    }

    /// Writes a byte of the data space.
    pub(super) fn store_byte(&mut self, address: u16, value: u8) {
        let at = usize::from(address);
        if address >= self.chip.ram_start {
            match self.io.data.get_mut(at) {
                Some(byte) => *byte = value,
                None => self.report_out_of_range_access(address, true),
            }
            return;
        }
        match self.registers.get_mut(at) {
            Some(register) => {
                *register = value;
                if !(RETURN_REGISTERS.contains(&address) && self.eeprom.take_last_read(value)) {
                    self.report_out_of_range_access(address, true);
                }
            }
            None => self.write_register(address, value),
        }
    }

    fn report_out_of_range_access(&mut self, data: u16, written: bool) {
        self.report_finding(FindingKind::OutsideMemory { data: u32::from(data), written });
    }

    /// Reads a register of a peripheral.
    #[inline(never)]
    pub(super) fn read_register(&mut self, address: u16) -> u8 {
        let now = self.io.clock.now;
        match self.register_roles[usize::from(address)] {
            RegisterRole::Pin(port) => self.io.ports.read(port, now),
            RegisterRole::Direction(port) => self.io.ports.direction(port),
            RegisterRole::Out(port) => self.io.ports.port_register(port),
            RegisterRole::Timer(index, reg) => {
                let timer = &mut self.timers[usize::from(index)];
                let value = timer.read(reg, &mut self.io);
                if reg == timer::Reg::Count
                    && self.sreg & 1 << flag::I == 0
                    && timer.is_overflow_pending(&self.io)
                {
                    let (cycle, address) = (self.io.clock.wall(), self.pc * 2);
                    self.unseen_overflow = Some((self.timer_numbers[usize::from(index)], cycle, address));
                }
                value
            }
            RegisterRole::Usart(index, reg) => {
                let value = self.usarts[usize::from(index)].read(reg, &mut self.io);
                self.schedule_next_event();
                value
            }
            RegisterRole::Eeprom(reg) => self.eeprom.read(reg),
            RegisterRole::Spi(reg) => self.spi.read(reg, &mut self.io),
            RegisterRole::Flags => {
                self.unseen_overflow = None;
                self.advance_timers();
                self.io.register(address)
            }
            RegisterRole::Asynchronous => {
                self.advance_timers();
                let busy = self
                    .timers
                    .iter()
                    .filter(|timer| timer.has_own_prescaler())
                    .flat_map(timer::Timer::busy_registers);
                let bits = busy.fold(0, |bits, reg| bits | self.busy_bit(reg));
                self.io.register(address) | bits
            }
            RegisterRole::Status => self.sreg,
            RegisterRole::StackLow | RegisterRole::StackHigh => {
                self.monitor.record_stack_pointer_read(now);
                let [low, high] = self.sp.to_le_bytes();
                if self.register_roles[usize::from(address)] == RegisterRole::StackLow { low } else { high }
            }
            RegisterRole::Missing(part) => {
                self.report_not_simulated(part);
                self.io.register(address)
            }
            RegisterRole::Plain
            | RegisterRole::Adc
            | RegisterRole::Twi
            | RegisterRole::Watchdog
            | RegisterRole::Enables
            | RegisterRole::Senses
            | RegisterRole::Prescaler
            | RegisterRole::Divider
            | RegisterRole::PowerReduction
            | RegisterRole::Pll => self.io.register(address),
        }
    }

    /// Writes a register of a peripheral.
    #[inline(never)]
    pub(super) fn write_register(&mut self, address: u16, value: u8) {
        match self.register_roles[usize::from(address)] {
            RegisterRole::Plain => self.io.set_register(address, value),
            RegisterRole::Out(port) => {
                self.io.set_port_register(port, value);
                self.handle_pin_writes();
            }
            RegisterRole::Direction(port) => {
                self.io.set_direction(port, value);
                self.handle_pin_writes();
            }
            RegisterRole::Pin(port) => {
                // Writing a one toggles, except on the ATmega128 (section 14.2.2).
                if self.chip.family == super::chips::Family::Newer {
                    self.io.set_port_register(port, self.io.ports.port_register(port) ^ value);
                    self.handle_pin_writes();
                }
            }
            RegisterRole::Status => self.write_sreg(value),
            RegisterRole::StackLow => {
                self.write_stack_pointer(false, self.sp & 0xff00 | u16::from(value));
            }
            RegisterRole::StackHigh => {
                self.write_stack_pointer(true, self.sp & 0xff | u16::from(value) << 8);
            }
            _ => {
                self.write_peripheral(address, value);
                self.handle_pin_writes();
                self.schedule_next_event();
            }
        }
    }

    /// Writes a register whose effects reach beyond the pins, the stack pointer and SREG.
    fn write_peripheral(&mut self, address: u16, value: u8) {
        let now = self.io.clock.now;
        self.io.address = self.pc * 2;
        match self.register_roles[usize::from(address)] {
            RegisterRole::Timer(index, reg) => {
                self.timers[usize::from(index)].write(reg, value, &mut self.io);
            }
            RegisterRole::Usart(index, reg) => {
                self.usarts[usize::from(index)].write(reg, value, &mut self.io);
            }
            RegisterRole::Eeprom(reg) => self.io.clock.now += self.eeprom.write(reg, value, &mut self.io),
            RegisterRole::Spi(reg) => self.spi.write(reg, value, &mut self.io),
            RegisterRole::Adc => self.adc.write(value, &mut self.io),
            RegisterRole::Twi => self.twi.write(value, &mut self.io),
            RegisterRole::Watchdog => self.watchdog.write(value, &mut self.io),
            RegisterRole::Flags => {
                self.advance_timers();
                let left = self.io.register(address) & !value;
                self.io.set_register(address, left);
                self.io.update_pending();
            }
            RegisterRole::Enables | RegisterRole::Senses => {
                self.advance_timers();
                let changed = self.io.register(address) ^ value;
                self.io.set_register(address, value);
                self.external
                    .drop_pending_edges(|int| int.sense.0 == address && changed >> int.sense.1 & 3 != 0);
                self.io.update_pending();
                self.external.raise_low_levels(&mut self.io);
            }
            RegisterRole::Prescaler => self.write_prescaler(address, value),
            RegisterRole::Asynchronous => {
                let bit = if self.chip.family == super::chips::Family::Newer { 0x20 } else { 0x08 };
                self.io.set_register(address, value & bit);
                for timer in self.timers.iter_mut().filter(|t| t.has_own_prescaler()) {
                    timer.set_asynchronous(value & bit != 0, &mut self.io);
                }
            }
            RegisterRole::Divider => {
                if value == 0x80 {
                    self.divider_unlocked = now + DIVIDER_SEQUENCE;
                } else if now <= self.divider_unlocked {
                    self.io.set_register(address, value & 0xf);
                    self.io.clock.set_divider(1 << (value & 0xf).min(8));
                }
            }
            RegisterRole::PowerReduction => {
                self.io.set_register(address, value);
                self.switch_timer_clocks(|_| false);
            }
            RegisterRole::Pll => {
                // It locks at once: PLOCK follows PLLE.
                self.io.set_register(address, value & !1 | value >> 1 & 1);
            }
            RegisterRole::Missing(part) => {
                self.report_not_simulated(part);
                self.io.set_register(address, value);
            }
            _ => {}
        }
    }

    fn advance_timers(&mut self) {
        for timer in &mut self.timers {
            timer.advance_to_now(&mut self.io);
        }
    }

    /// Writes GTCCR, on the ATmega128 SFIOR: resets the prescalers, and stops them as long as TSM is set.
    fn write_prescaler(&mut self, address: u16, value: u8) {
        const TSM: u8 = 0x80;
        let before = self.io.register(address);
        let held = |bits: u8, own: bool| bits & TSM != 0 && bits & if own { 2 } else { 1 } != 0;
        self.switch_timer_clocks(|_| false);
        for timer in &mut self.timers {
            let own = timer.has_own_prescaler();
            let reset = value & if own { 2 } else { 1 } != 0 || held(before, own);
            if reset {
                timer.reset_prescaler(&mut self.io);
            }
            if held(value, own) {
                timer.set_clock_off(true, &mut self.io);
            }
        }
        self.io.set_register(address, if value & TSM != 0 { value & 0x83 } else { 0 });
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
    pub(super) fn write_register_bit(&mut self, address: u16, bit: u8, on: bool) {
        let mask = 1 << bit;
        let value = match self.register_roles[usize::from(address)] {
            RegisterRole::Pin(_) | RegisterRole::Flags => {
                if on {
                    mask
                } else {
                    0
                }
            }
            _ => {
                let value = self.read_register(address);
                if on { value | mask } else { value & !mask }
            }
        };
        self.write_register(address, value);
    }

    /// Passes on the pin changes of a write, and stops if the requested number of edges is reached.
    fn handle_pin_writes(&mut self) {
        if !self.io.ports.changes.is_empty() {
            self.distribute_pin_changes();
            self.schedule_next_event();
        }
        self.stop_after_enough_edges();
    }

    /// Writes the high or low half of the stack pointer to make it `sp`, and checks for an overflow or a change of stacks.
    fn write_stack_pointer(&mut self, high: bool, sp: u16) {
        let now = self.io.clock.now;
        let before = self.monitor.record_stack_pointer_byte(high, std::mem::replace(&mut self.sp, sp), now);
        let Some(before) = before else { return };
        let y = u16::from_le_bytes([self.registers[28], self.registers[29]]);
        let frame = self.monitor.is_frame(before, sp, y, now);
        self.monitor.record_frame_or_thread_switch(before, sp, frame);
        if self.monitor.is_first_stack_change(before, sp, frame) {
            self.report_finding(FindingKind::StacksChanged);
        }
        let over = self.monitor.record_stack_pointer(sp, frame);
        self.report_stack_overflow(over);
    }

    pub(super) fn write_sreg(&mut self, value: u8) {
        let changed = self.sreg ^ value;
        self.sreg = value;
        if changed & 1 << flag::I != 0 {
            // The write ends an instruction of one cycle.
            self.handle_interrupt_flag_change(self.io.clock.now.saturating_sub(1));
        }
    }

    /// Handles a change of the I bit by an instruction that began at a cycle: after setting it, one more
    /// instruction runs before any interrupt. (Every function of avr-gcc that moves the stack pointer relies
    /// on this for all such instructions, not only SEI.)
    pub(super) fn handle_interrupt_flag_change(&mut self, begin: u64) {
        let on = self.sreg & 1 << flag::I != 0;
        self.holds_interrupts |= on;
        let wall = self.io.clock.wall_at(begin + u64::from(on));
        self.monitor.record_interrupt_switch(on, wall, self.pc);
        if on {
            self.report_unseen_overflow();
        }
    }

    /// Reports, once interrupts are enabled again, a counter that was read without a look at its pending overflow flag.
    pub(super) fn report_unseen_overflow(&mut self) {
        if let Some((timer, cycle, address)) = self.unseen_overflow.take() {
            self.io.log.report_finding(FindingKind::OverflowUnseen(timer), cycle, address);
        }
    }
}
