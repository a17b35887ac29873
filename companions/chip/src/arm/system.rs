//! The processor's own registers: special ones (ARMv6-M manual, B5.2.2), and those in the system control space (B3.2).

use super::nvic::{LINE, NMI, PENDSV, SVCALL, SYSTICK};
use super::{Bus, Core};
use crate::log::{Fault, FindingKind};

/// Cortex-M0+ r0p1.
const CPUID: u32 = 0x410c_c601;
/// SCR: SLEEPONEXIT.
const SLEEP_ON_EXIT: u32 = 2;

impl<B: Bus> Core<B> {
    pub(super) fn is_unprivileged(&self) -> bool {
        self.unprivileged && self.ipsr == 0
    }

    pub(super) fn sleeps_on_exit(&self) -> bool {
        self.nvic.sleep_control & SLEEP_ON_EXIT != 0
    }

    pub(super) fn execute_cps(&mut self, on: bool) {
        self.finish_instruction(1);
        self.set_primask(on, 2);
    }

    /// Sets PRIMASK at the end of an instruction, whose address is `back` bytes back.
    fn set_primask(&mut self, on: bool, back: u32) {
        if self.is_unprivileged() || self.primask == on {
            return;
        }
        self.primask = on;
        self.nvic.set_primask(on);
        self.monitor.record_interrupt_switch(!on, self.now, self.r[15].wrapping_sub(back));
    }

    pub(super) fn execute_svc(&mut self) {
        if !self.nvic.can_interrupt(SVCALL) {
            return self.stop_with_fault(Fault::NoCall);
        }
        self.finish_instruction(1);
        self.nvic.set_pending(SVCALL, self.now);
    }

    /// Returns the special register that MRS names by this number.
    pub(super) fn read_special_register(&self, which: u16) -> u32 {
        let psr = self.xpsr();
        let (thread_sp, handler_sp) = match self.process_stack {
            true => (self.r[13], self.other_sp),
            false => (self.other_sp, self.r[13]),
        };
        match which {
            0 | 2 => psr & 0xf000_0000,
            1 | 3 => psr & 0xf000_003f,
            5 | 7 => psr & 0x3f,
            8 if !self.is_unprivileged() => handler_sp,
            9 if !self.is_unprivileged() => thread_sp,
            16 if !self.is_unprivileged() => u32::from(self.primask),
            20 => u32::from(self.process_stack && self.ipsr == 0) << 1 | u32::from(self.unprivileged),
            _ => 0,
        }
    }

    /// Writes the special register that MSR names by this number; for calls behind the instruction.
    pub(super) fn write_special_register(&mut self, which: u16, value: u32) {
        match which {
            0..=3 => self.set_flags(value),
            8 | 9 if !self.is_unprivileged() => {
                if (which == 9) == self.process_stack {
                    self.r[13] = value & !3;
                    self.record_stack_pointer(false);
                } else {
                    self.other_sp = value & !3;
                }
            }
            16 => self.set_primask(value & 1 != 0, 4),
            20 if !self.is_unprivileged() => {
                self.unprivileged = value & 1 != 0;
                if self.ipsr == 0 && (value & 2 != 0) != self.process_stack {
                    std::mem::swap(&mut self.r[13], &mut self.other_sp);
                    self.process_stack = value & 2 != 0;
                }
            }
            _ => {}
        }
    }

    /// Reads a register of the system control space.
    pub(super) fn read_system_register(&mut self, address: u32) -> u32 {
        match address & 0xfff {
            register @ (0x10 | 0x14 | 0x18 | 0x1c) if is_system_control_page(address) => {
                if register == 0x10 {
                    self.advance_systick();
                }
                self.systick.read(register, self.now)
            }
            0x100 | 0x180 => self.nvic.enabled_lines(),
            0x200 | 0x280 => self.nvic.pending_lines(),
            register @ 0x400..0x420 => self.nvic.priority_register(LINE + (register & 0x1c) as u8),
            0xd00 => CPUID,
            0xd04 => {
                let pending = |exception, bit: u32| u32::from(self.nvic.is_pending(exception)) << bit;
                pending(NMI, 31)
                    | pending(PENDSV, 28)
                    | pending(SYSTICK, 26)
                    | u32::from(self.nvic.pending_lines() != 0) << 22
                    | u32::from(self.nvic.most_urgent_or_zero()) << 12
                    | self.ipsr
            }
            0xd08 => self.nvic.vectors,
            0xd0c => 0xfa05_0000,
            0xd10 => self.nvic.sleep_control,
            0xd14 => 0x208,
            0xd1c => self.nvic.priority_register(8),
            0xd20 => self.nvic.priority_register(12),
            0xd24 => u32::from(self.nvic.is_pending(SVCALL)) << 15,
            _ => 0,
        }
    }

    pub(super) fn write_system_register(&mut self, address: u32, value: u32) {
        // The write takes effect at the end of the store; pending events are settled then.
        let at = self.now + 2;
        match address & 0xfff {
            register @ (0x10 | 0x14 | 0x18) if is_system_control_page(address) => {
                self.advance_systick();
                self.systick.write(register, value, at);
            }
            0x100 => self.nvic.set_enabled_lines(value, true, at),
            0x180 => self.nvic.set_enabled_lines(value, false, at),
            0x200 => self.nvic.set_pending_lines(value, true, at),
            0x280 => self.nvic.set_pending_lines(value, false, at),
            register @ 0x400..0x420 => self.nvic.set_priority_register(LINE + (register & 0x1c) as u8, value),
            0xd04 => {
                for (bit, exception, on) in [
                    (31, NMI, true),
                    (28, PENDSV, true),
                    (27, PENDSV, false),
                    (26, SYSTICK, true),
                    (25, SYSTICK, false),
                ] {
                    match (value >> bit & 1 != 0, on) {
                        (true, true) => self.nvic.set_pending(exception, at),
                        (true, false) => self.nvic.clear_pending(exception),
                        _ => {}
                    }
                }
            }
            0xd08 => self.nvic.vectors = value & 0xffff_ff00,
            // SYSRESETREQ, with its key.
            0xd0c if value >> 16 == 0x05fa && value & 4 != 0 => self.stop_with_fault(Fault::Reset),
            0xd10 => self.nvic.sleep_control = value & 0x16,
            // The first has a priority for SVCall only, the second for PendSV and SysTick.
            0xd1c => self.nvic.set_priority_register(8, value & 0xff00_0000),
            0xd20 => self.nvic.set_priority_register(12, value & 0xffff_0000),
            _ => {}
        }
        self.next_event = self.now;
    }

    /// Records the stack pointer if the main stack is deeper than ever before.
    pub(super) fn record_stack_growth(&mut self) {
        if self.monitor.is_deeper(self.r[13]) && !(self.process_stack && self.ipsr == 0) {
            let over = self.monitor.record_stack_growth(self.r[13]);
            self.report_stack_overflow(over);
        }
    }

    /// Records a new stack pointer; `frame` is true if a function makes room for its variables.
    pub(super) fn record_stack_pointer(&mut self, frame: bool) {
        if self.process_stack && self.ipsr == 0 {
            return;
        }
        let over = self.monitor.record_stack_pointer(self.r[13], frame);
        self.report_stack_overflow(over);
    }

    /// Records that the stack grew into the variables by this many bytes.
    fn report_stack_overflow(&mut self, bytes: Option<u32>) {
        if let Some(bytes) = bytes {
            self.bus.log().report_finding(FindingKind::StackOverflow(bytes), self.now, self.r[15]);
        }
    }
}

/// True if an address lies in the page of the system control space, which includes SysTick.
const fn is_system_control_page(address: u32) -> bool {
    address >> 12 == 0xe_000e
}
