//! Instructions and their cycles: ARMv6-M manual, chapters A5 and A6; Technical Reference Manual, table 3-1.
//!
//! `self.now` advances at the end of an instruction: accesses to peripherals see its first cycle.

use super::{Bus, Core, Sleep, Width};
use crate::log::Fault;

/// Cycles of a taken branch.
const BRANCH_CYCLES: u64 = 2;

impl<B: Bus> Core<B> {
    /// Executes the instruction that begins with this halfword, at R15.
    pub(super) fn execute(&mut self, op: u16) {
        match op >> 11 {
            0b00000..=0b00010 => self.execute_shift_immediate(op),
            0b00011 => self.execute_three_operand_add(op),
            0b00100..=0b00111 => self.execute_immediate(op),
            0b01000 if op & 0x0400 == 0 => self.execute_data_processing(op),
            0b01000 => self.execute_high_register_or_branch(op),
            0b01001 => {
                let address = (self.pc_value() & !3).wrapping_add(u32::from(op & 0xff) * 4);
                self.load_register(low_register(op >> 8), address, Width::Word, false);
            }
            0b01010 | 0b01011 => self.execute_register_offset_access(op),
            0b01100..=0b10001 => self.execute_immediate_offset_access(op),
            0b10010 | 0b10011 => {
                let address = self.r[13].wrapping_add(u32::from(op & 0xff) * 4);
                self.load_or_store(op & 0x0800 != 0, low_register(op >> 8), address, Width::Word);
            }
            0b10100 => {
                let address = (self.pc_value() & !3).wrapping_add(u32::from(op & 0xff) * 4);
                self.set_register(low_register(op >> 8), address);
            }
            0b10101 => {
                self.set_register(low_register(op >> 8), self.r[13].wrapping_add(u32::from(op & 0xff) * 4));
            }
            0b10110 | 0b10111 => self.execute_misc(op),
            0b11000 | 0b11001 => self.execute_load_store_multiple(op),
            0b11010 | 0b11011 => self.execute_conditional_branch(op),
            0b11100 => {
                let offset = sign_extend(u32::from(op & 0x7ff) << 1, 12);
                self.jump(self.pc_value().wrapping_add(offset), BRANCH_CYCLES);
            }
            0b11110 => self.execute_32bit(op),
            _ => self.stop_with_fault(Fault::NoInstruction(op)),
        }
    }

    /// Returns R15 as instructions read it.
    fn pc_value(&self) -> u32 {
        self.r[15].wrapping_add(4)
    }

    fn read_register(&self, register: usize) -> u32 {
        if register == 15 { self.pc_value() } else { self.r[register] }
    }

    /// Goes on to the next instruction, after this many cycles.
    pub(super) fn finish_instruction(&mut self, cycles: u64) {
        self.r[15] = self.r[15].wrapping_add(2);
        self.now += cycles;
    }

    /// Sets a register and finishes the instruction, after one cycle.
    fn set_register(&mut self, register: usize, value: u32) {
        self.r[register] = value;
        self.finish_instruction(1);
    }

    /// Continues at an address after this many cycles.
    pub(super) fn jump(&mut self, target: u32, cycles: u64) {
        self.last_branch_at = self.r[15];
        self.r[15] = target & !1;
        self.now += cycles;
    }

    /// Executes BX or a load of the PC: the last bit of the address marks Thumb code, or the value ends an exception.
    pub(super) fn branch_exchange(&mut self, target: u32, cycles: u64) {
        if self.is_exception_return(target) {
            self.now += cycles;
            self.return_from_exception(target);
        } else if target & 1 == 0 {
            self.stop_with_fault(Fault::NoThumb);
        } else {
            self.jump(target, cycles);
        }
    }

    /// Sets N and Z from a result.
    fn set_nz_flags(&mut self, value: u32) {
        (self.n, self.z) = (value >> 31 != 0, value == 0);
    }

    /// Adds, sets all flags, and returns the sum.
    fn add_with_flags(&mut self, a: u32, b: u32, carry: bool) -> u32 {
        let (sum, first) = a.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(u32::from(carry));
        (self.c, self.v) = (first || second, ((a ^ sum) & (b ^ sum)) >> 31 != 0);
        self.set_nz_flags(sum);
        sum
    }

    fn execute_shift_immediate(&mut self, op: u16) {
        let value = self.r[low_register(op >> 3)];
        let by = u32::from(op >> 6 & 0x1f);
        let result = match (op >> 11, by) {
            (0, 0) => value,
            (0, _) => self.shift_with_carry(Shift::Left, value, by),
            // Zero means 32.
            (1, _) => self.shift_with_carry(Shift::Right, value, if by == 0 { 32 } else { by }),
            _ => self.shift_with_carry(Shift::Arithmetic, value, if by == 0 { 32 } else { by }),
        };
        self.set_nz_flags(result);
        self.set_register(low_register(op), result);
    }

    /// Returns a value shifted by `by` bits, and sets the carry unless `by` is 0.
    fn shift_with_carry(&mut self, shift: Shift, value: u32, by: u32) -> u32 {
        if by == 0 {
            return value;
        }
        let wide = u64::from(value);
        let (result, carry) = match shift {
            Shift::Left if by > 32 => (0, false),
            Shift::Left => ((wide << by) as u32, wide << by >> 32 & 1 != 0),
            Shift::Right if by > 32 => (0, false),
            Shift::Right => ((wide >> by) as u32, wide >> (by - 1) & 1 != 0),
            Shift::Arithmetic => {
                let wide = i64::from(value.cast_signed());
                let by = by.min(32);
                ((wide >> by) as u32, wide >> (by - 1) & 1 != 0)
            }
            Shift::Rotate => {
                let result = value.rotate_right(by & 31);
                (result, result >> 31 != 0)
            }
        };
        self.c = carry;
        result
    }

    fn execute_three_operand_add(&mut self, op: u16) {
        let a = self.r[low_register(op >> 3)];
        let b = if op & 0x0400 != 0 { u32::from(op >> 6 & 7) } else { self.r[low_register(op >> 6)] };
        let result = if op & 0x0200 != 0 {
            self.add_with_flags(a, !b, true)
        } else {
            self.add_with_flags(a, b, false)
        };
        self.set_register(low_register(op), result);
    }

    fn execute_immediate(&mut self, op: u16) {
        let (register, value) = (low_register(op >> 8), u32::from(op & 0xff));
        let old = self.r[register];
        let result = match op >> 11 & 3 {
            0 => {
                self.set_nz_flags(value);
                value
            }
            1 => {
                self.add_with_flags(old, !value, true);
                old
            }
            2 => self.add_with_flags(old, value, false),
            _ => self.add_with_flags(old, !value, true),
        };
        self.set_register(register, result);
    }

    /// Executes an operation on two low registers.
    fn execute_data_processing(&mut self, op: u16) {
        let (register, b) = (low_register(op), self.r[low_register(op >> 3)]);
        let a = self.r[register];
        let carry = self.c;
        let result = match op >> 6 & 0xf {
            0x0 => a & b,
            0x1 => a ^ b,
            0x2 => self.shift_with_carry(Shift::Left, a, b & 0xff),
            0x3 => self.shift_with_carry(Shift::Right, a, b & 0xff),
            0x4 => self.shift_with_carry(Shift::Arithmetic, a, b & 0xff),
            0x5 => return self.add_into_register(register, a, b, carry),
            0x6 => return self.add_into_register(register, a, !b, carry),
            0x7 => self.shift_with_carry(Shift::Rotate, a, b & 0xff),
            0x8 => return self.finish_with_nz_flags(a & b),
            0x9 => return self.add_into_register(register, !b, 0, true),
            0xa => {
                self.add_with_flags(a, !b, true);
                return self.finish_instruction(1);
            }
            0xb => {
                self.add_with_flags(a, b, false);
                return self.finish_instruction(1);
            }
            0xc => a | b,
            // One cycle on the chips simulated here; a multiplier of 32 cycles exists.
            0xd => a.wrapping_mul(b),
            0xe => a & !b,
            _ => !b,
        };
        self.set_nz_flags(result);
        self.set_register(register, result);
    }

    fn add_into_register(&mut self, register: usize, a: u32, b: u32, carry: bool) {
        let sum = self.add_with_flags(a, b, carry);
        self.set_register(register, sum);
    }

    /// Sets N and Z from a value and finishes the instruction.
    fn finish_with_nz_flags(&mut self, value: u32) {
        self.set_nz_flags(value);
        self.finish_instruction(1);
    }

    /// Executes an operation on any two registers, BX or BLX.
    fn execute_high_register_or_branch(&mut self, op: u16) {
        let from = usize::from(op >> 3 & 15);
        let to = low_register(op) | usize::from(op >> 4 & 8);
        let (a, b) = (self.read_register(to), self.read_register(from));
        match op >> 8 & 3 {
            1 => {
                self.add_with_flags(a, !b, true);
                self.finish_instruction(1);
            }
            3 => {
                let target = b;
                if op & 0x80 != 0 {
                    self.r[14] = self.r[15].wrapping_add(2) | 1;
                }
                self.branch_exchange(target, BRANCH_CYCLES);
            }
            which => {
                let value = if which == 0 { a.wrapping_add(b) } else { b };
                match to {
                    // ADD and MOV to the PC ignore the last bit.
                    15 => self.jump(value, BRANCH_CYCLES),
                    13 => {
                        self.r[13] = value & !3;
                        self.record_stack_pointer(which == 0);
                        self.finish_instruction(1);
                    }
                    _ => self.set_register(to, value),
                }
            }
        }
    }

    fn execute_register_offset_access(&mut self, op: u16) {
        let address = self.r[low_register(op >> 3)].wrapping_add(self.r[low_register(op >> 6)]);
        let register = low_register(op);
        match op >> 9 & 7 {
            0 => self.load_or_store(false, register, address, Width::Word),
            1 => self.load_or_store(false, register, address, Width::Half),
            2 => self.load_or_store(false, register, address, Width::Byte),
            3 => self.load_register(register, address, Width::Byte, true),
            4 => self.load_or_store(true, register, address, Width::Word),
            5 => self.load_or_store(true, register, address, Width::Half),
            6 => self.load_or_store(true, register, address, Width::Byte),
            _ => self.load_register(register, address, Width::Half, true),
        }
    }

    fn execute_immediate_offset_access(&mut self, op: u16) {
        let offset = u32::from(op >> 6 & 0x1f);
        let (width, offset) = match op >> 12 {
            6 => (Width::Word, offset * 4),
            7 => (Width::Byte, offset),
            _ => (Width::Half, offset * 2),
        };
        let address = self.r[low_register(op >> 3)].wrapping_add(offset);
        self.load_or_store(op & 0x0800 != 0, low_register(op), address, width);
    }

    fn load_or_store(&mut self, loads: bool, register: usize, address: u32, width: Width) {
        if loads {
            self.load_register(register, address, width, false);
        } else {
            self.store_register(register, address, width);
        }
    }

    fn execute_misc(&mut self, op: u16) {
        let (register, value) = (low_register(op), self.r[low_register(op >> 3)]);
        match op >> 6 & 0x3f {
            0b00_0000 | 0b00_0001 => {
                self.r[13] = self.r[13].wrapping_add(u32::from(op & 0x7f) * 4);
                self.finish_instruction(1);
            }
            0b00_0010 | 0b00_0011 => {
                self.r[13] = self.r[13].wrapping_sub(u32::from(op & 0x7f) * 4);
                self.record_stack_growth();
                self.finish_instruction(1);
            }
            0b00_1000 => self.set_register(register, sign_extend(value & 0xffff, 16)),
            0b00_1001 => self.set_register(register, sign_extend(value & 0xff, 8)),
            0b00_1010 => self.set_register(register, value & 0xffff),
            0b00_1011 => self.set_register(register, value & 0xff),
            0b01_0000..=0b01_0111 => self.execute_push(op),
            0b01_1001 if op & 0xffef == 0xb662 => self.execute_cps(op & 0x10 != 0),
            0b10_1000 => self.set_register(register, value.swap_bytes()),
            0b10_1001 => {
                let swapped = value.swap_bytes();
                self.set_register(register, swapped.rotate_left(16));
            }
            0b10_1011 => {
                let swapped = (value as u16).swap_bytes();
                self.set_register(register, sign_extend(u32::from(swapped), 16));
            }
            0b11_0000..=0b11_0111 => self.execute_pop(op),
            0b11_1000..=0b11_1011 => self.stop_with_fault(Fault::Breakpoint),
            0b11_1100..=0b11_1111 => self.execute_hint(op),
            _ => self.stop_with_fault(Fault::NoInstruction(op)),
        }
    }

    fn execute_hint(&mut self, op: u16) {
        match op & 0xff {
            0x20 => {
                self.finish_instruction(BRANCH_CYCLES);
                if !std::mem::take(&mut self.event) {
                    self.begin_sleep(Sleep::Event);
                }
            }
            0x30 => {
                self.finish_instruction(BRANCH_CYCLES);
                self.begin_sleep(Sleep::Interrupt);
            }
            0x40 => {
                self.event = true;
                self.finish_instruction(1);
            }
            // YIELD, NOP, and encodings reserved for future hints.
            low if low & 0xf == 0 => self.finish_instruction(1),
            _ => self.stop_with_fault(Fault::NoInstruction(op)),
        }
    }

    fn execute_conditional_branch(&mut self, op: u16) {
        let holds = match op >> 8 & 0xf {
            0x0 => self.z,
            0x1 => !self.z,
            0x2 => self.c,
            0x3 => !self.c,
            0x4 => self.n,
            0x5 => !self.n,
            0x6 => self.v,
            0x7 => !self.v,
            0x8 => self.c && !self.z,
            0x9 => !self.c || self.z,
            0xa => self.n == self.v,
            0xb => self.n != self.v,
            0xc => !self.z && self.n == self.v,
            0xd => self.z || self.n != self.v,
            0xe => return self.stop_with_fault(Fault::NoInstruction(op)),
            _ => return self.execute_svc(),
        };
        if holds {
            let offset = sign_extend(u32::from(op & 0xff) << 1, 9);
            self.jump(self.pc_value().wrapping_add(offset), BRANCH_CYCLES);
        } else {
            self.finish_instruction(1);
        }
    }

    /// Executes an instruction of two halfwords: BL, MSR, MRS or a barrier.
    fn execute_32bit(&mut self, first: u16) {
        let Some(second) = self.bus.fetch(self.r[15].wrapping_add(2)) else {
            return self.stop_with_fault(Fault::NoCode);
        };
        match (first, second) {
            (_, s) if s & 0xd000 == 0xd000 => {
                let sign = u32::from(first >> 10 & 1);
                let bit = |of: u32| !(u32::from(second) >> of ^ sign) & 1;
                let offset = sign << 24 | bit(13) << 23 | bit(11) << 22;
                let offset = offset | u32::from(first & 0x3ff) << 12 | u32::from(second & 0x7ff) << 1;
                let target = self.pc_value().wrapping_add(sign_extend(offset, 25));
                self.r[14] = self.pc_value() | 1;
                self.jump(target, 3);
            }
            (f, s) if f & 0xfff0 == 0xf380 && s & 0xff00 == 0x8800 => {
                self.finish_32bit_instruction(3);
                self.write_special_register(s & 0xff, self.r[usize::from(f & 15)]);
            }
            (0xf3ef, s) if s & 0xf000 == 0x8000 => {
                let register = usize::from(s >> 8 & 15);
                self.r[register] = self.read_special_register(s & 0xff);
                self.finish_32bit_instruction(3);
            }
            (0xf3bf, s) if s & 0xffc0 == 0x8f40 => self.finish_32bit_instruction(3),
            _ => self.stop_with_fault(Fault::NoInstruction(first)),
        }
    }

    fn finish_32bit_instruction(&mut self, cycles: u64) {
        self.r[15] = self.r[15].wrapping_add(2);
        self.finish_instruction(cycles);
    }
}

#[derive(Clone, Copy)]
enum Shift {
    Left,
    Right,
    Arithmetic,
    Rotate,
}

/// Returns the number of the low register in the lowest three bits.
pub(super) const fn low_register(op: u16) -> usize {
    (op & 7) as usize
}

/// Returns the lowest `bits` of a value as a signed number.
pub(super) const fn sign_extend(value: u32, bits: u32) -> u32 {
    let up = 32 - bits;
    ((value << up).cast_signed() >> up).cast_unsigned()
}
