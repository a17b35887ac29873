//! Entry to handlers, and return from them.

use jitterlab_model::firmware::Part;

use super::decode::Kind;
use super::{Avr, chips, flag};
use crate::log::{Entry, Finding};

impl Avr {
    /// Returns the cycles of the shortest interrupt response, which sleep adds once more: 4, or 5 with
    /// addresses of three bytes (ATmega328P, section 7.7.1; ATmega2560, section 7.8.1).
    fn entry_cycles(&self) -> u64 {
        if self.chip.wide_pc() { 5 } else { 4 }
    }

    /// Enters the pending interrupt with the lowest vector.
    pub(super) fn enter(&mut self) {
        self.enter_from(false);
    }

    /// Enters it, from sleep or not.
    pub(super) fn enter_from(&mut self, asleep: bool) {
        let vector = self.io.sources.pending().trailing_zeros() as u8;
        let wall = self.io.clock.wall();
        let since = self.io.sources.enter(vector, wall, &mut self.io.data);
        self.io.log.entries += 1;
        self.io.log.entries_asleep += u64::from(asleep);
        if self.tell_entries {
            self.io.log.entered.push(Entry { cycle: wall, vector, address: self.pc * 2 });
        }
        let sp = u32::from(self.sp);
        self.watch.interrupts(self.io.clock.now, self.sp);
        self.torn_suspected(vector);
        self.push_address(self.pc);
        self.sreg &= !(1 << flag::I);
        self.came_from = self.pc;
        self.pc = u32::from(vector) * 2;
        self.io.clock.now += self.entry_cycles() * if asleep { 2 } else { 1 };
        let handler = self.jump_target() * 2;
        self.watch.handlers.entered(vector, wall, self.io.clock.wall() - since, (handler, sp));
        if self.io.sources.of_vector(vector).is_some_and(|(name, _)| name == "WDT") {
            self.watchdog.entered(&mut self.io);
        }
        self.external.look(&mut self.io);
        const IVSEL: u8 = 2;
        if self.chip.family == chips::Family::Newer && self.io.byte(0x55) & IVSEL != 0 {
            self.not_simulated(Part::BootVectors);
        }
    }

    /// Returns the target of the next instruction, in words: a vector is a jump to its handler.
    fn jump_target(&self) -> u32 {
        match self.code.get(self.pc as usize) {
            Some(op) if op.kind == Kind::Jmp => op.k as u32,
            Some(op) if op.kind == Kind::Rjmp => self.relative(*op),
            _ => self.pc,
        }
    }

    /// Records that the firmware uses a part that is not simulated.
    pub(super) fn not_simulated(&mut self, part: Part) {
        let (cycle, address) = (self.io.clock.wall(), self.pc * 2);
        self.io.log.find(Finding::NotSimulated { part, cycle, address });
    }

    /// Records that address 0 is reached without a reset.
    pub(super) fn restarted(&mut self) {
        let (cycle, vector) = (self.io.clock.wall(), self.watch.handlers.running());
        self.io.log.find(Finding::Restarted { cycle, vector, times: 1 });
    }

    /// Pushes a byte onto the stack.
    pub(super) fn push(&mut self, value: u8) {
        self.store(self.sp, value);
        self.sp = self.sp.wrapping_sub(1);
        if self.watch.is_deeper(self.sp) {
            let over = self.watch.grew(self.sp);
            self.stack_is_over(over);
        }
    }

    /// Records that the stack grew into the variables by this many bytes.
    pub(super) fn stack_is_over(&mut self, bytes: Option<u16>) {
        if let Some(bytes) = bytes {
            let (cycle, address, bytes) = (self.io.clock.wall(), self.pc * 2, u32::from(bytes));
            self.io.log.find(Finding::StackOverflow { cycle, address, bytes });
        }
    }

    /// Pops a byte from the stack.
    pub(super) fn pop(&mut self) -> u8 {
        self.sp = self.sp.wrapping_add(1);
        self.load(self.sp)
    }

    /// Pushes an address onto the stack, its lowest byte first.
    pub(super) fn push_address(&mut self, address: u32) {
        self.push(address as u8);
        self.push((address >> 8) as u8);
        if self.chip.wide_pc() {
            self.push((address >> 16) as u8);
        }
    }

    /// Pops an address from the stack.
    pub(super) fn pop_address(&mut self) -> u32 {
        let high = if self.chip.wide_pc() { u32::from(self.pop()) << 16 } else { 0 };
        let middle = u32::from(self.pop()) << 8;
        high | middle | u32::from(self.pop())
    }
}
