//! Entry to handlers, and return from them.

use jitterlab_model::firmware::Part;

use super::decode::Kind;
use super::{Avr, chips, flag};
use crate::log::{Entry, FindingKind};

impl Avr {
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
        // The shortest response (ATmega328P, section 7.7.1; ATmega2560, section 7.8.1), which sleep adds once more.
        self.io.clock.now += (4 + self.wide) * if asleep { 2 } else { 1 };
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
        self.find(FindingKind::NotSimulated(part));
    }

    /// Records a finding of the current instruction.
    pub(super) fn find(&mut self, kind: FindingKind) {
        self.io.log.find(kind, self.io.clock.wall(), self.pc * 2);
    }

    /// Records that address 0 is reached without a reset.
    pub(super) fn restarted(&mut self) {
        self.find(FindingKind::Restarted(self.watch.handlers.running()));
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
            self.find(FindingKind::StackOverflow(u32::from(bytes)));
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
