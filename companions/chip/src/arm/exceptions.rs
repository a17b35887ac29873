//! How exceptions are entered and left (ARMv6-M manual, B1.5.6 to B1.5.13), and how long that takes.
//!
//! The Technical Reference Manual (3.6.1) has one figure: from an interrupt to the first instruction of its handler are 15 cycles at
//! worst. Here they are always charged, from the end of the instruction that runs (one that loads or stores several registers is given up
//! and begun again later, as the manual says): the eight words of the frame take what a store of eight registers takes, 9, and what is left is
//! for the vector and the first fetch, 6. So a handler that follows another one without leaving (tail-chaining) begins after 6, and a more
//! urgent interrupt that comes before the first instruction (late arrival) is taken in the place of the first, 6 after it at most. The return takes what
//! a load of eight registers does, 9, and 2 for the fetches of a branch, beside the instruction that returns: no manual says it.

use super::{Bus, Core, Now, Sleep, Width};
use crate::log::{Entry, Fault};

/// Storing the frame.
pub const STACKING: u64 = 9;
/// From there to the handler's first instruction.
pub const FETCHING: u64 = 6;
/// Loading the frame, and fetching what follows.
pub const RETURNING: u64 = 11;

/// EXC_RETURN: where to.
const TO_HANDLER: u32 = 0xffff_fff1;
const TO_THREAD: u32 = 0xffff_fff9;
const TO_PROCESS: u32 = 0xffff_fffd;

impl<B: Bus> Core<B> {
    /// Whether a value that is branched to ends an exception.
    pub(super) fn is_return(&self, target: u32) -> bool {
        self.ipsr != 0 && target >= 0xf000_0000
    }

    /// An exception is taken, with the processor's state stored first, or directly after another one.
    pub(super) fn enter(&mut self, exception: u8, stacks: bool) {
        let began = self.now;
        let mut exception = exception;
        if stacks {
            if !self.push_frame() {
                return;
            }
            self.now += STACKING;
        }
        // A more urgent one that came meanwhile goes first; its vector is fetched in the place of the other.
        let mut chosen = 0;
        while chosen != exception && self.stop.is_none() {
            if self.now >= self.next_event {
                self.settle();
            }
            exception = self.nvic.due().unwrap_or(exception);
            chosen = exception;
            self.now += FETCHING;
            if self.now >= self.next_event {
                self.settle();
            }
            exception = self.nvic.due().unwrap_or(exception);
        }
        let since = self.nvic.begin(exception);
        self.event = true;
        let latency = self.now.saturating_sub(since);
        let interrupted = self.r[15];
        (self.ipsr, self.process_stack) = (u32::from(exception), false);
        let vector = self.nvic.vectors.wrapping_add(4 * u32::from(exception));
        let now = Now { cycle: self.now, address: interrupted };
        let Some((target, _)) = self.bus.read(vector, Width::Word, now) else {
            return self.crash(Fault::NoAccess(vector));
        };
        let entry = Entry { cycle: began, vector: exception, address: interrupted };
        if self.watch.entered(entry, latency, target & !1, self.bus.log()) {
            self.bus.log().entries_asleep += 1;
        }
        if target & 1 == 0 {
            return self.crash(Fault::NoThumb);
        }
        self.came_from = interrupted;
        self.r[15] = target & !1;
    }

    /// Stores what the handler may change; false if that cannot be done.
    fn push_frame(&mut self) -> bool {
        let on_process_stack = self.process_stack && self.ipsr == 0;
        let sp = self.r[13];
        let frame = sp.wrapping_sub(32) & !4;
        let psr = self.xpsr() | (sp & 4) << 7;
        let words = [self.r[0], self.r[1], self.r[2], self.r[3], self.r[12], self.r[14], self.r[15], psr];
        let now = Now { cycle: self.now, address: self.r[15] };
        for (at, word) in (0..).step_by(4).zip(words) {
            let address = frame.wrapping_add(at);
            if self.bus.write(address, word, Width::Word, now).is_none() {
                self.crash(Fault::NoAccess(address));
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
        self.grew();
        true
    }

    /// A handler ends: the instruction took until `self.now`.
    pub(super) fn leave(&mut self, how: u32) {
        let exception = self.ipsr as u8;
        self.nvic.end(exception, self.now);
        self.event = true;
        // What is due by now, or before the frame is loaded, and urgent enough, follows without the frame being moved.
        if self.now >= self.next_event {
            self.settle();
        }
        if self.nvic.due().is_none() && self.interrupted(RETURNING) && self.nvic.due().is_none() {
            return;
        }
        if let Some(next) = self.nvic.due() {
            self.watch.left(self.now);
            self.r[14] = how;
            return self.enter(next, false);
        }
        let to_process = how == TO_PROCESS;
        if !matches!(how, TO_HANDLER | TO_THREAD | TO_PROCESS) || (how == TO_HANDLER) != self.nvic.is_any() {
            return self.crash(Fault::NoAccess(how));
        }
        if to_process {
            std::mem::swap(&mut self.r[13], &mut self.other_sp);
        }
        let frame = self.r[13];
        let mut words = [0; 8];
        let now = Now { cycle: self.now, address: self.r[15] };
        for (at, word) in (0..).step_by(4).zip(&mut words) {
            let address = frame.wrapping_add(at);
            let Some((value, _)) = self.bus.read(address, Width::Word, now) else {
                return self.crash(Fault::NoAccess(address));
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
        self.now += RETURNING;
        self.watch.left(self.now);
        if psr & 1 << 24 == 0 {
            return self.crash(Fault::NoThumb);
        }
        if self.ipsr == 0 && self.sleeps_on_exit() {
            self.fall_asleep(Sleep::Interrupt);
        }
    }

    /// The processor stops until something wakes it.
    pub(super) fn fall_asleep(&mut self, sleep: Sleep) {
        self.watch.asleep(self.primask, self.now, self.r[15].wrapping_sub(2));
        self.sleep = Some(sleep);
    }
}
