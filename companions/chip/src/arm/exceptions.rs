//! Entry to and return from exceptions (ARMv6-M manual, B1.5.6 to B1.5.13), with their cycles.
//!
//! The Technical Reference Manual (3.6.1) gives one figure: at worst 15 cycles pass from an interrupt to the
//! first instruction of its handler. Here they are always charged, from the end of the current instruction
//! (one that loads or stores several registers is abandoned and restarted later, as the manual says). Storing
//! the eight words of the frame takes 9 cycles, like a store of eight registers; the remaining 6 are for the
//! vector and the first fetch. So a handler that directly follows another one (tail-chaining) begins after 6
//! cycles. A more urgent interrupt before the first instruction (late arrival) replaces the first one and
//! begins at most 6 cycles later. The return takes 9 cycles, like a load of eight registers, and 2 for the
//! fetches of a branch, besides the returning instruction; no manual states this.

use super::{Bus, Core, InstructionPoint, Sleep, Width};
use crate::log::{Fault, HandlerEntry};

/// Cycles to store the frame.
pub const STACKING_CYCLES: u64 = 9;
/// Cycles from there to the handler's first instruction.
pub const FETCH_CYCLES: u64 = 6;
/// Cycles to load the frame and fetch the next instruction.
pub const RETURN_CYCLES: u64 = 11;

/// Values of EXC_RETURN: the mode and stack to return to.
const TO_HANDLER: u32 = 0xffff_fff1;
const TO_THREAD: u32 = 0xffff_fff9;
const TO_PROCESS: u32 = 0xffff_fffd;

impl<B: Bus> Core<B> {
    /// True if a branch to this value ends an exception.
    pub(super) fn is_exception_return(&self, target: u32) -> bool {
        self.ipsr != 0 && target >= 0xf000_0000
    }

    /// Takes an exception; `stacks` is true if the frame is pushed first, false directly after another handler.
    pub(super) fn enter_exception(&mut self, exception: u8, stacks: bool) {
        let began = self.now;
        let mut exception = exception;
        if stacks {
            if !self.push_frame() {
                return;
            }
            self.now += STACKING_CYCLES;
        }
        // A more urgent exception that became pending meanwhile goes first; its vector is fetched instead.
        let mut chosen = 0;
        while chosen != exception && self.stop.is_none() {
            if self.now >= self.next_event {
                self.advance_peripherals();
            }
            exception = self.nvic.exception_to_take().unwrap_or(exception);
            chosen = exception;
            self.now += FETCH_CYCLES;
            if self.now >= self.next_event {
                self.advance_peripherals();
            }
            exception = self.nvic.exception_to_take().unwrap_or(exception);
        }
        let since = self.nvic.activate(exception);
        self.event = true;
        let latency = self.now.saturating_sub(since);
        let interrupted = self.r[15];
        (self.ipsr, self.process_stack) = (u32::from(exception), false);
        let vector = self.nvic.vectors.wrapping_add(4 * u32::from(exception));
        let now = InstructionPoint { cycle: self.now, address: interrupted };
        let Some((target, _)) = self.bus.read(vector, Width::Word, now) else {
            return self.stop_with_fault(Fault::NoAccess(vector));
        };
        let entry = HandlerEntry { cycle: began, vector: exception, address: interrupted };
        if self.monitor.record_entry(entry, latency, target & !1, self.bus.log()) {
            self.bus.log().entries_from_sleep += 1;
        }
        if target & 1 == 0 {
            return self.stop_with_fault(Fault::NoThumb);
        }
        self.last_branch_at = interrupted;
        self.r[15] = target & !1;
    }

    /// Pushes the registers that the handler may change; returns false if that fails.
    fn push_frame(&mut self) -> bool {
        let on_process_stack = self.process_stack && self.ipsr == 0;
        let sp = self.r[13];
        let frame = sp.wrapping_sub(32) & !4;
        let psr = self.xpsr() | (sp & 4) << 7;
        let words = [self.r[0], self.r[1], self.r[2], self.r[3], self.r[12], self.r[14], self.r[15], psr];
        let now = InstructionPoint { cycle: self.now, address: self.r[15] };
        for (at, word) in (0..).step_by(4).zip(words) {
            let address = frame.wrapping_add(at);
            if self.bus.write(address, word, Width::Word, now).is_none() {
                self.stop_with_fault(Fault::NoAccess(address));
                return false;
            }
        }
        self.r[14] = match (self.ipsr != 0, on_process_stack) {
            (true, _) => TO_HANDLER,
            (false, false) => TO_THREAD,
            (false, true) => TO_PROCESS,
        };
        self.r[13] = frame;
        if on_process_stack {
            std::mem::swap(&mut self.r[13], &mut self.other_sp);
        }
        self.record_stack_growth();
        true
    }

    /// Ends the running handler at `self.now`; `how` is the value of EXC_RETURN.
    pub(super) fn return_from_exception(&mut self, how: u32) {
        let exception = self.ipsr as u8;
        self.nvic.deactivate(exception, self.now);
        self.event = true;
        // An urgent exception that is pending now, or before the frame is loaded, follows directly, without
        // moving the frame.
        if self.now >= self.next_event {
            self.advance_peripherals();
        }
        if self.nvic.exception_to_take().is_none()
            && self.advance_if_interrupted_within(RETURN_CYCLES)
            && self.nvic.exception_to_take().is_none()
        {
            return;
        }
        if let Some(next) = self.nvic.exception_to_take() {
            self.monitor.record_return(self.now);
            self.r[14] = how;
            return self.enter_exception(next, false);
        }
        let to_process = how == TO_PROCESS;
        if !matches!(how, TO_HANDLER | TO_THREAD | TO_PROCESS)
            || (how == TO_HANDLER) != self.nvic.is_any_active()
        {
            return self.stop_with_fault(Fault::NoAccess(how));
        }
        if to_process {
            std::mem::swap(&mut self.r[13], &mut self.other_sp);
        }
        let frame = self.r[13];
        let mut words = [0; 8];
        let now = InstructionPoint { cycle: self.now, address: self.r[15] };
        for (at, word) in (0..).step_by(4).zip(&mut words) {
            let address = frame.wrapping_add(at);
            let Some((value, _)) = self.bus.read(address, Width::Word, now) else {
                return self.stop_with_fault(Fault::NoAccess(address));
            };
            *word = value;
        }
        let [r0, r1, r2, r3, r12, lr, pc, psr] = words;
        self.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        (self.r[12], self.r[14], self.r[15]) = (r12, lr, pc & !1);
        self.r[13] = frame.wrapping_add(32) | (psr >> 7 & 4);
        self.set_flags(psr);
        self.ipsr = if how == TO_HANDLER { psr & 0x3f } else { 0 };
        self.process_stack = to_process;
        self.now += RETURN_CYCLES;
        self.monitor.record_return(self.now);
        if psr & 1 << 24 == 0 {
            return self.stop_with_fault(Fault::NoThumb);
        }
        if self.ipsr == 0 && self.sleeps_on_exit() {
            self.begin_sleep(Sleep::Interrupt);
        }
    }

    /// Stops the processor until something wakes it.
    pub(super) fn begin_sleep(&mut self, sleep: Sleep) {
        self.monitor.record_sleep(self.primask, self.now, self.r[15].wrapping_sub(2));
        self.sleep = Some(sleep);
    }
}
