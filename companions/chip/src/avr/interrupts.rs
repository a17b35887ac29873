//! Entry to handlers, and return from them.

use jitterlab_model::firmware::UnsimulatedPart;

use super::decode::Kind;
use super::{Avr, chips, flag};
use crate::log::{FindingKind, HandlerEntry};

impl Avr {
    /// Enters the pending interrupt with the lowest vector; from sleep that takes longer.
    pub(super) fn enter_interrupt(&mut self, asleep: bool) {
        let vector = self.io.sources.pending().trailing_zeros() as u8;
        let wall = self.io.clock.wall();
        let since = self.io.sources.enter_handler(vector, wall, &mut self.io.data);
        self.io.log.entry_count += 1;
        self.io.log.entries_from_sleep += u64::from(asleep);
        if self.records_entries {
            self.io.log.entries.push(HandlerEntry { cycle: wall, vector, address: self.pc * 2 });
        }
        let sp = u32::from(self.sp);
        self.monitor.record_entry(self.io.clock.now, self.sp);
        self.record_partial_read(vector);
        self.push_address(self.pc);
        self.sreg &= !(1 << flag::I);
        self.last_branch_at = self.pc;
        self.pc = u32::from(vector) * 2;
        // The shortest response (ATmega328P, section 7.7.1; ATmega2560, section 7.8.1), which sleep adds once more.
        self.io.clock.now += (4 + self.wide_pc_cycles) * if asleep { 2 } else { 1 };
        let handler = self.jump_target() * 2;
        self.monitor.handlers.record_entry(vector, wall, self.io.clock.wall() - since, (handler, sp));
        if self.io.sources.name_and_losses(vector).is_some_and(|(name, _)| name == "WDT") {
            self.watchdog.handle_interrupt_entry(&mut self.io);
        }
        self.external.raise_low_levels(&mut self.io);
        const IVSEL: u8 = 2;
        if self.chip.family == chips::Family::Newer && self.io.register(0x55) & IVSEL != 0 {
            self.report_not_simulated(UnsimulatedPart::BootVectors);
        }
    }

    /// Returns the handler's address in words: the target of the jump at the vector, where the PC is.
    fn jump_target(&self) -> u32 {
        match self.code.get(self.pc as usize) {
            Some(op) if op.kind == Kind::Jmp => op.k as u32,
            Some(op) if op.kind == Kind::Rjmp => self.relative_target(*op),
            _ => self.pc,
        }
    }

    pub(super) fn report_not_simulated(&mut self, part: UnsimulatedPart) {
        self.report_finding(FindingKind::NotSimulated(part));
    }

    /// Records a finding, at the current instruction.
    pub(super) fn report_finding(&mut self, kind: FindingKind) {
        self.io.log.report_finding(kind, self.io.clock.wall(), self.pc * 2);
    }

    /// Reports that address 0 is reached without a reset.
    pub(super) fn report_restart(&mut self) {
        self.report_finding(FindingKind::Restarted(self.monitor.handlers.running_vector()));
    }

    pub(super) fn push_byte(&mut self, value: u8) {
        self.store_byte(self.sp, value);
        self.sp = self.sp.wrapping_sub(1);
        if self.monitor.is_deeper(self.sp) {
            let over = self.monitor.record_stack_growth(self.sp);
            self.report_stack_overflow(over);
        }
    }

    /// Reports that the stack grew into the variables by this many bytes, if it did.
    pub(super) fn report_stack_overflow(&mut self, bytes: Option<u16>) {
        if let Some(bytes) = bytes {
            self.report_finding(FindingKind::StackOverflow(u32::from(bytes)));
        }
    }

    pub(super) fn pop_byte(&mut self) -> u8 {
        self.sp = self.sp.wrapping_add(1);
        self.load_byte(self.sp)
    }

    /// Pushes an address onto the stack, its lowest byte first.
    pub(super) fn push_address(&mut self, address: u32) {
        self.push_byte(address as u8);
        self.push_byte((address >> 8) as u8);
        if self.chip.has_wide_pc() {
            self.push_byte((address >> 16) as u8);
        }
    }

    pub(super) fn pop_address(&mut self) -> u32 {
        let high = if self.chip.has_wide_pc() { u32::from(self.pop_byte()) << 16 } else { 0 };
        let middle = u32::from(self.pop_byte()) << 8;
        high | middle | u32::from(self.pop_byte())
    }
}
