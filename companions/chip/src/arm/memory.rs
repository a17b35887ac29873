//! Loads and stores: of one register, and of several (ARMv6-M manual, A6.7; Technical Reference Manual, table 3-1 and 3.6.1).

use super::execute::{low_register, sign_extend};
use super::{Bus, Core, InstructionPoint, Width};
use crate::log::Fault;

/// The registers of the processor itself.
const SYSTEM: std::ops::Range<u32> = 0xe000_0000..0xe010_0000;

impl<B: Bus> Core<B> {
    /// Returns the current cycle and instruction.
    fn instruction_point(&self) -> InstructionPoint {
        InstructionPoint { cycle: self.now, address: self.r[15] }
    }

    /// Reads from the bus; returns the value and the cycles of the data phase, or `None` after a hard fault.
    fn read_bus(&mut self, address: u32, width: Width) -> Option<(u32, u64)> {
        let found = if address & (width.bytes() - 1) != 0 {
            None
        } else if SYSTEM.contains(&address) {
            (width == Width::Word && !self.is_unprivileged()).then(|| (self.read_system_register(address), 1))
        } else {
            self.bus.read(address, width, self.instruction_point())
        };
        if found.is_none() {
            self.stop_with_fault(Fault::NoAccess(address));
        }
        found
    }

    /// Writes to the bus; returns the cycles of the data phase, or `None` after a hard fault.
    fn write_bus(&mut self, address: u32, value: u32, width: Width) -> Option<u64> {
        let done = if address & (width.bytes() - 1) != 0 {
            None
        } else if SYSTEM.contains(&address) {
            let may = width == Width::Word && !self.is_unprivileged();
            may.then(|| {
                self.write_system_register(address, value);
                1
            })
        } else {
            let done = self.bus.write(address, value, width, self.instruction_point());
            // A register of a peripheral may have changed the next event.
            if address >= PERIPHERALS {
                self.next_event = self.now;
            }
            done
        };
        if done.is_none() {
            self.stop_with_fault(Fault::NoAccess(address));
        }
        done
    }

    pub(super) fn load_register(&mut self, register: usize, address: u32, width: Width, signed: bool) {
        let Some((value, cycles)) = self.read_bus(address, width) else { return };
        self.r[register] = if signed { sign_extend(value, 8 * width.bytes()) } else { value };
        self.finish_instruction(1 + cycles);
    }

    pub(super) fn store_register(&mut self, register: usize, address: u32, width: Width) {
        let Some(cycles) = self.write_bus(address, self.r[register], width) else { return };
        self.finish_instruction(1 + cycles);
    }

    /// Advances to an interrupt within these cycles and returns true, also if the run stops; else false.
    /// The instruction is then abandoned, and restarted after the handler.
    fn advance_until_interrupt(&mut self, cycles: u64) -> bool {
        let until = self.now + cycles;
        while self.next_event < until && self.stop.is_none() {
            self.now = self.now.max(self.next_event);
            self.advance_peripherals();
            if self.nvic.exception_to_take().is_some() {
                return true;
            }
        }
        self.stop.is_some()
    }

    /// Advances to an interrupt that arrives within these cycles and returns true; else the time stays.
    pub(super) fn advance_if_interrupted_within(&mut self, cycles: u64) -> bool {
        let began = self.now;
        if self.next_event >= began + cycles {
            return false;
        }
        if self.advance_until_interrupt(cycles) {
            return true;
        }
        self.now = began;
        false
    }

    pub(super) fn execute_load_store_multiple(&mut self, op: u16) {
        let (base, loads) = (low_register(op >> 8), op & 0x0800 != 0);
        let list = op & 0xff;
        if list == 0 {
            return self.stop_with_fault(Fault::NoInstruction(op));
        }
        if self.advance_if_interrupted_within(1 + u64::from(list.count_ones())) {
            return;
        }
        let mut address = self.r[base];
        let mut cycles = 1;
        for register in (0..8).filter(|n| list & 1 << n != 0) {
            let Some(data) = self.load_or_store_word(register, address, loads) else { return };
            cycles += data;
            address = address.wrapping_add(4);
        }
        if !(loads && list & 1 << base != 0) {
            self.r[base] = address;
        }
        self.finish_instruction(cycles);
    }

    /// Loads or stores one register; returns the cycles of the data phase, or `None` after a hard fault.
    fn load_or_store_word(&mut self, register: usize, address: u32, loads: bool) -> Option<u64> {
        if loads {
            let (value, cycles) = self.read_bus(address, Width::Word)?;
            self.r[register] = value;
            Some(cycles)
        } else {
            self.write_bus(address, self.r[register], Width::Word)
        }
    }

    pub(super) fn execute_push(&mut self, op: u16) {
        let list = op & 0xff | (op & 0x100) << 6;
        let count = list.count_ones();
        if self.advance_if_interrupted_within(1 + u64::from(count)) {
            return;
        }
        let bottom = self.r[13].wrapping_sub(4 * count);
        let (mut address, mut cycles) = (bottom, 1);
        for register in (0..15).filter(|n| list & 1 << n != 0) {
            let Some(data) = self.load_or_store_word(register, address, false) else { return };
            cycles += data;
            address = address.wrapping_add(4);
        }
        self.r[13] = bottom;
        self.record_stack_growth();
        self.finish_instruction(cycles);
    }

    pub(super) fn execute_pop(&mut self, op: u16) {
        let (list, with_pc) = (op & 0xff, op & 0x100 != 0);
        let count = list.count_ones() + u32::from(with_pc);
        if self.advance_if_interrupted_within(1 + u64::from(count)) {
            return;
        }
        let (mut address, mut cycles) = (self.r[13], 1);
        for register in (0..8).filter(|n| list & 1 << n != 0) {
            let Some(data) = self.load_or_store_word(register, address, true) else { return };
            cycles += data;
            address = address.wrapping_add(4);
        }
        if with_pc {
            let Some((target, data)) = self.read_bus(address, Width::Word) else { return };
            self.r[13] = address.wrapping_add(4);
            self.branch_exchange(target, cycles + data + 2);
        } else {
            self.r[13] = address;
            self.finish_instruction(cycles);
        }
    }
}

/// First address without memory.
const PERIPHERALS: u32 = 0x4000_0000;
