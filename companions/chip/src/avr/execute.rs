//! Instructions and their cycles.
//!
//! Source: "AVR Instruction Set Manual" (DS40002198), column AVRe.

use jitterlab_model::firmware::UnsimulatedPart;

use super::decode::{Kind, Op};
use super::{Avr, flag};
use crate::log::Fault;

/// The pointer registers.
const X: usize = 26;
const Y: usize = 28;
const Z: usize = 30;

impl Avr {
    fn register_pair(&self, low: usize) -> u16 {
        u16::from_le_bytes([self.registers[low], self.registers[low + 1]])
    }

    fn set_register_pair(&mut self, low: usize, value: u16) {
        [self.registers[low], self.registers[low + 1]] = value.to_le_bytes();
    }

    fn is_flag_set(&self, flag: u8) -> bool {
        self.sreg & 1 << flag != 0
    }

    fn set_flag(&mut self, flag: u8, on: bool) {
        self.sreg = self.sreg & !(1 << flag) | u8::from(on) << flag;
    }

    /// Sets N, Z, V and S from a result.
    fn set_nzvs(&mut self, result: u8, overflow: bool) {
        let negative = result & 0x80 != 0;
        let bits = u8::from(result == 0) << flag::Z
            | u8::from(negative) << flag::N
            | u8::from(overflow) << flag::V
            | u8::from(negative != overflow) << flag::S;
        self.sreg = self.sreg & !0x1e | bits;
    }

    /// Adds, sets all flags, and returns the sum.
    fn add_with_flags(&mut self, a: u8, b: u8, carry: bool) -> u8 {
        let sum = u16::from(a) + u16::from(b) + u16::from(carry);
        let result = sum as u8;
        self.set_nzvs(result, (a ^ result) & (b ^ result) & 0x80 != 0);
        self.set_flag(flag::C, sum > 0xff);
        self.set_flag(flag::H, (a & 0xf) + (b & 0xf) + u8::from(carry) > 0xf);
        result
    }

    /// Subtracts, sets all flags, and returns the difference.
    fn subtract_with_flags(&mut self, a: u8, b: u8, carry: bool) -> u8 {
        let result = a.wrapping_sub(b).wrapping_sub(u8::from(carry));
        self.set_nzvs(result, (a ^ b) & (a ^ result) & 0x80 != 0);
        self.set_flag(flag::C, u16::from(a) < u16::from(b) + u16::from(carry));
        self.set_flag(flag::H, a & 0xf < (b & 0xf) + u8::from(carry));
        result
    }

    /// Subtracts with carry, and leaves Z unchanged if the result is 0: the other bytes of a longer number decide.
    fn subtract_keeping_zero(&mut self, a: u8, b: u8) -> u8 {
        let was_zero = self.is_flag_set(flag::Z);
        let result = self.subtract_with_flags(a, b, self.is_flag_set(flag::C));
        self.set_flag(flag::Z, result == 0 && was_zero);
        result
    }

    /// Sets a register to the result of a logic operation, with its flags.
    fn set_logic_result(&mut self, d: usize, result: u8) {
        self.registers[d] = result;
        self.set_nzvs(result, false);
    }

    /// Sets a register to the result of LSR, ROR or ASR, with its flags.
    fn set_shift_result(&mut self, d: usize, result: u8) {
        let carry = self.registers[d] & 1 != 0;
        self.registers[d] = result;
        self.set_flag(flag::C, carry);
        self.set_nzvs(result, (result & 0x80 != 0) != carry);
    }

    /// Sets R1:R0 to a product, with its flags; returns the cycles.
    fn set_product(&mut self, product: u16, carry: bool) -> u64 {
        self.set_register_pair(0, product);
        self.set_flag(flag::C, carry);
        self.set_flag(flag::Z, product == 0);
        2
    }

    /// Returns both factors of a multiplication, each signed or unsigned.
    fn factors(&self, op: Op, signed: (bool, bool)) -> (i32, i32) {
        let read = |r: u8, signed| {
            let value = self.registers[usize::from(r)];
            if signed { i32::from(value as i8) } else { i32::from(value) }
        };
        (read(op.d, signed.0), read(op.r, signed.1))
    }

    /// Executes MUL, MULS or MULSU; returns the cycles.
    fn multiply(&mut self, op: Op, signed: (bool, bool)) -> u64 {
        let (a, b) = self.factors(op, signed);
        let product = (a * b) as u16;
        self.set_product(product, product & 0x8000 != 0)
    }

    /// Executes FMUL, FMULS or FMULSU; returns the cycles.
    fn multiply_fraction(&mut self, op: Op, signed: (bool, bool)) -> u64 {
        let (a, b) = self.factors(op, signed);
        let product = (a * b) as u16;
        self.set_product(product << 1, product & 0x8000 != 0)
    }

    /// Loads a register at the beginning of the instruction's last cycle; returns the remaining cycles. With this
    /// and [`Avr::store_in_last_cycle`], a timer's counter that was just written, started or stopped reads as observed
    /// on an ATmega328P (avr8js, issues 36, 40, 41 and 72). The same is assumed for other registers.
    fn load_in_last_cycle(&mut self, d: u8, address: u16, cycles: u64) -> u64 {
        self.io.clock.now += cycles - 1;
        self.registers[usize::from(d & 31)] = self.load_byte(address);
        self.record_load(address);
        1
    }

    /// Writes a byte at the end of the instruction's last cycle; returns the remaining cycles: none.
    fn store_in_last_cycle(&mut self, address: u16, value: u8, cycles: u64) -> u64 {
        self.io.clock.now += cycles;
        self.store_byte(address, value);
        0
    }

    /// Loads through a pointer, to which `before` and `after` are added then; returns the remaining cycles.
    fn load_through_pointer(&mut self, op: Op, pointer: usize, before: u16, after: u16) -> u64 {
        let address = self.register_pair(pointer).wrapping_add(before);
        if before != 0 || after != 0 {
            self.set_register_pair(pointer, address.wrapping_add(after));
        }
        self.load_in_last_cycle(op.d, address, 2)
    }

    fn store_through_pointer(&mut self, op: Op, pointer: usize, before: u16, after: u16) -> u64 {
        let value = self.registers[usize::from(op.d)];
        let address = self.register_pair(pointer).wrapping_add(before);
        if before != 0 || after != 0 {
            self.set_register_pair(pointer, address.wrapping_add(after));
        }
        self.store_in_last_cycle(address, value, 2)
    }

    /// Executes LPM or ELPM (`extended`: with RAMPZ above Z); `step` adds one to the whole address; returns the cycles.
    fn load_flash(&mut self, op: Op, extended: bool, step: bool) -> u64 {
        let high = if extended { u32::from(self.io.register(RAMPZ)) << 16 } else { 0 };
        let address = high | u32::from(self.register_pair(Z));
        let word = self.flash.get(address as usize / 2).copied().unwrap_or(0xffff);
        if step {
            self.set_register_pair(Z, (address + 1) as u16);
            if extended {
                self.io.set_register(RAMPZ, ((address + 1) >> 16) as u8);
            }
        }
        self.registers[usize::from(op.d)] = word.to_le_bytes()[address as usize % 2];
        3
    }

    /// Executes XCH, LAS, LAC or LAT by a function of memory and register; returns the cycles.
    fn execute_read_modify_write(&mut self, op: Op, change: fn(u8, u8) -> u8) -> u64 {
        let address = self.register_pair(Z);
        let (memory, register) = (self.load_byte(address), self.registers[usize::from(op.d)]);
        self.registers[usize::from(op.d)] = memory;
        self.store_byte(address, change(memory, register));
        2
    }

    /// Continues at an address in words; address 0 is a restart.
    fn jump_to(&mut self, address: u32) {
        self.last_branch_at = self.pc;
        self.pc = address;
        if address == 0 {
            self.report_restart();
        }
    }

    /// Returns the target of a relative jump, call or branch, in words.
    pub(super) fn relative_target(&self, op: Op) -> u32 {
        let words = self.chip.flash / 2;
        (i64::from(self.pc) + 1 + i64::from(op.k)).rem_euclid(i64::from(words)) as u32
    }

    /// Returns the target in Z, with EIND above it if `extended`.
    fn indirect_target(&self, extended: bool) -> u32 {
        let high = if extended { u32::from(self.io.register(EIND)) << 16 } else { 0 };
        high | u32::from(self.register_pair(Z))
    }

    fn call(&mut self, address: u32, instruction_words: u32) {
        self.push_address(self.pc + instruction_words);
        self.jump_to(address);
    }

    /// Skips the next instruction if the condition holds; returns the cycles: one, and one for each word skipped.
    fn skip_if(&mut self, condition: bool) -> u64 {
        if !condition {
            return 1;
        }
        let words = self.code.get(self.pc as usize + 1).map_or(1, |op| op.words);
        self.pc += u32::from(words);
        1 + u64::from(words)
    }

    /// Branches if the condition holds; returns the cycles.
    fn branch_if(&mut self, condition: bool, op: Op) -> u64 {
        if !condition {
            return 1;
        }
        let from = self.pc;
        self.last_branch_at = from;
        self.pc = self.relative_target(op).wrapping_sub(1);
        2
    }

    /// Returns the address of the register of an IN, OUT, SBI and so on.
    fn io_address(op: Op) -> u16 {
        op.k as u16 + 0x20
    }

    /// Executes one instruction; time passes at its end, except for accesses to registers of peripherals.
    #[inline]
    pub(super) fn execute(&mut self, op: Op) {
        let cycles = match op.kind {
            // These set the address of the next instruction themselves.
            Kind::Jmp => {
                self.jump_to(op.k as u32);
                3
            }
            Kind::Call => {
                self.call(op.k as u32, 2);
                4 + self.wide_pc_cycles
            }
            Kind::Rjmp => {
                self.jump_to(self.relative_target(op));
                2
            }
            Kind::Rcall => {
                self.call(self.relative_target(op), 1);
                3 + self.wide_pc_cycles
            }
            Kind::Ijmp | Kind::Eijmp => {
                self.jump_to(self.indirect_target(op.kind == Kind::Eijmp));
                2
            }
            Kind::Icall | Kind::Eicall => {
                self.call(self.indirect_target(op.kind == Kind::Eicall), 1);
                3 + self.wide_pc_cycles
            }
            Kind::Ret => {
                let address = self.pop_address();
                self.jump_to(address);
                4 + self.wide_pc_cycles
            }
            Kind::Reti => {
                let address = self.pop_address();
                self.jump_to(address);
                let cycles = 4 + self.wide_pc_cycles;
                let end = self.io.clock.wall_at(self.io.clock.now + cycles);
                self.monitor.handlers.record_return(end, u32::from(self.sp));
                self.monitor.record_return(self.io.clock.now + cycles, self.sp);
                self.report_torn_read();
                self.report_unseen_overflow();
                self.set_interrupt_flag_by_reti();
                cycles
            }
            Kind::Invalid => {
                let fault =
                    if self.pc >= self.code_end { Fault::NoCode } else { Fault::NoInstruction(op.k as u16) };
                self.stop_with_fault(fault);
                return;
            }
            _ => {
                let cycles = self.execute_sequential(op);
                self.pc = self.pc.wrapping_add(u32::from(op.words));
                cycles
            }
        };
        self.io.clock.now += cycles;
    }

    /// Executes an instruction that continues with the next one; returns its cycles.
    #[inline]
    fn execute_sequential(&mut self, op: Op) -> u64 {
        let (d, r, k8) = (usize::from(op.d & 31), usize::from(op.r & 31), op.k as u8);
        let (a, b) = (self.registers[d], self.registers[r]);
        match op.kind {
            Kind::Add => self.registers[d] = self.add_with_flags(a, b, false),
            Kind::Adc => self.registers[d] = self.add_with_flags(a, b, self.is_flag_set(flag::C)),
            Kind::Sub => self.registers[d] = self.subtract_with_flags(a, b, false),
            Kind::Subi => self.registers[d] = self.subtract_with_flags(a, k8, false),
            Kind::Sbc => self.registers[d] = self.subtract_keeping_zero(a, b),
            Kind::Sbci => self.registers[d] = self.subtract_keeping_zero(a, k8),
            Kind::Cp => _ = self.subtract_with_flags(a, b, false),
            Kind::Cpi => _ = self.subtract_with_flags(a, k8, false),
            Kind::Cpc => _ = self.subtract_keeping_zero(a, b),
            Kind::And => self.set_logic_result(d, a & b),
            Kind::Andi => self.set_logic_result(d, a & k8),
            Kind::Or => self.set_logic_result(d, a | b),
            Kind::Ori => self.set_logic_result(d, a | k8),
            Kind::Eor => self.set_logic_result(d, a ^ b),
            Kind::Mov => self.registers[d] = b,
            Kind::Movw => [self.registers[d], self.registers[d + 1]] = [b, self.registers[r + 1]],
            Kind::Ldi => self.registers[d] = k8,
            Kind::Com => {
                self.set_logic_result(d, !a);
                self.set_flag(flag::C, true);
            }
            Kind::Neg => {
                let result = self.subtract_with_flags(0, a, false);
                self.registers[d] = result;
            }
            Kind::Swap => self.registers[d] = a.rotate_left(4),
            Kind::Inc => {
                self.registers[d] = a.wrapping_add(1);
                self.set_nzvs(a.wrapping_add(1), a == 0x7f);
            }
            Kind::Dec => {
                self.registers[d] = a.wrapping_sub(1);
                self.set_nzvs(a.wrapping_sub(1), a == 0x80);
            }
            Kind::Asr => self.set_shift_result(d, (a as i8 >> 1) as u8),
            Kind::Lsr => self.set_shift_result(d, a >> 1),
            Kind::Ror => self.set_shift_result(d, a >> 1 | u8::from(self.is_flag_set(flag::C)) << 7),
            Kind::Bset => {
                let before = self.sreg;
                self.sreg |= 1 << op.d;
                if op.d == flag::I && before != self.sreg {
                    self.handle_interrupt_flag_change(self.io.clock.now);
                }
            }
            Kind::Bclr => {
                let before = self.sreg;
                self.sreg &= !(1 << op.d);
                if op.d == flag::I && before != self.sreg {
                    self.handle_interrupt_flag_change(self.io.clock.now);
                }
            }
            Kind::Bst => self.set_flag(flag::T, a & 1 << op.r != 0),
            Kind::Bld => self.registers[d] = a & !(1 << op.r) | u8::from(self.is_flag_set(flag::T)) << op.r,
            Kind::Adiw => return self.add_word(op, d),
            Kind::Sbiw => return self.subtract_word(op, d),
            Kind::Mul => return self.multiply(op, (false, false)),
            Kind::Muls => return self.multiply(op, (true, true)),
            Kind::Mulsu => return self.multiply(op, (true, false)),
            Kind::Fmul => return self.multiply_fraction(op, (false, false)),
            Kind::Fmuls => return self.multiply_fraction(op, (true, true)),
            Kind::Fmulsu => return self.multiply_fraction(op, (true, false)),
            Kind::Brbs => return self.branch_if(self.is_flag_set(op.d), op),
            Kind::Brbc => return self.branch_if(!self.is_flag_set(op.d), op),
            Kind::Cpse => return self.skip_if(a == b),
            Kind::Sbrc => return self.skip_if(a & 1 << op.r == 0),
            Kind::Sbrs => return self.skip_if(a & 1 << op.r != 0),
            _ => return self.execute_memory_access(op, d, a),
        }
        1
    }

    /// Executes ADIW; returns the cycles.
    fn add_word(&mut self, op: Op, d: usize) -> u64 {
        let before = self.register_pair(d);
        let after = before.wrapping_add(op.k as u16);
        self.set_register_pair(d, after);
        self.set_word_flags(after, !before & after & 0x8000 != 0);
        self.set_flag(flag::C, !after & before & 0x8000 != 0);
        2
    }

    /// Executes SBIW; returns the cycles.
    fn subtract_word(&mut self, op: Op, d: usize) -> u64 {
        let before = self.register_pair(d);
        let after = before.wrapping_sub(op.k as u16);
        self.set_register_pair(d, after);
        self.set_word_flags(after, before & !after & 0x8000 != 0);
        self.set_flag(flag::C, after & !before & 0x8000 != 0);
        2
    }

    fn set_word_flags(&mut self, result: u16, overflow: bool) {
        self.set_nzvs((result >> 8) as u8, overflow);
        self.set_flag(flag::Z, result == 0);
    }

    /// Executes an instruction that accesses memory or peripherals, or affects more than the processor; returns its remaining cycles.
    fn execute_memory_access(&mut self, op: Op, d: usize, a: u8) -> u64 {
        const BACK: u16 = u16::MAX;
        match op.kind {
            Kind::LdX => self.load_through_pointer(op, X, 0, 0),
            Kind::LdXP => self.load_through_pointer(op, X, 0, 1),
            Kind::LdXM => self.load_through_pointer(op, X, BACK, 0),
            Kind::LdYP => self.load_through_pointer(op, Y, 0, 1),
            Kind::LdYM => self.load_through_pointer(op, Y, BACK, 0),
            Kind::LdZP => self.load_through_pointer(op, Z, 0, 1),
            Kind::LdZM => self.load_through_pointer(op, Z, BACK, 0),
            Kind::StX => self.store_through_pointer(op, X, 0, 0),
            Kind::StXP => self.store_through_pointer(op, X, 0, 1),
            Kind::StXM => self.store_through_pointer(op, X, BACK, 0),
            Kind::StYP => self.store_through_pointer(op, Y, 0, 1),
            Kind::StYM => self.store_through_pointer(op, Y, BACK, 0),
            Kind::StZP => self.store_through_pointer(op, Z, 0, 1),
            Kind::StZM => self.store_through_pointer(op, Z, BACK, 0),
            Kind::LdYQ | Kind::LdZQ => {
                let pointer = if op.kind == Kind::LdYQ { Y } else { Z };
                self.load_in_last_cycle(op.d, self.register_pair(pointer).wrapping_add(op.k as u16), 2)
            }
            Kind::StYQ | Kind::StZQ => {
                let pointer = if op.kind == Kind::StYQ { Y } else { Z };
                self.store_in_last_cycle(self.register_pair(pointer).wrapping_add(op.k as u16), a, 2)
            }
            Kind::Lds => self.load_in_last_cycle(op.d, op.k as u16, 2),
            Kind::Sts => self.store_in_last_cycle(op.k as u16, a, 2),
            Kind::In => self.load_in_last_cycle(op.d, Self::io_address(op), 1),
            Kind::Out => self.store_in_last_cycle(Self::io_address(op), a, 1),
            Kind::Sbi | Kind::Cbi => {
                self.io.clock.now += 2;
                self.write_register_bit(Self::io_address(op), op.r, op.kind == Kind::Sbi);
                0
            }
            Kind::Sbic | Kind::Sbis => {
                let set = self.load_byte(Self::io_address(op)) & 1 << op.r != 0;
                self.skip_if(set == (op.kind == Kind::Sbis))
            }
            Kind::Push => {
                self.push_byte(a);
                2
            }
            Kind::Pop => {
                self.registers[d] = self.pop_byte();
                2
            }
            Kind::Lpm => self.load_flash(op, false, false),
            Kind::LpmP => self.load_flash(op, false, true),
            Kind::Elpm => self.load_flash(op, true, false),
            Kind::ElpmP => self.load_flash(op, true, true),
            Kind::Xch => self.execute_read_modify_write(op, |_, register| register),
            Kind::Las => self.execute_read_modify_write(op, |memory, register| memory | register),
            Kind::Lac => self.execute_read_modify_write(op, |memory, register| memory & !register),
            Kind::Lat => self.execute_read_modify_write(op, |memory, register| memory ^ register),
            Kind::Spm => {
                self.report_not_simulated(UnsimulatedPart::WritingFlash);
                1
            }
            Kind::Sleep => {
                self.io.clock.now += 1;
                self.execute_sleep();
                0
            }
            Kind::Wdr => {
                self.watchdog.restart(&self.io);
                self.schedule_next_event();
                1
            }
            _ => 1, // NOP, and BREAK without a debugger
        }
    }

    fn set_interrupt_flag_by_reti(&mut self) {
        let was_on = self.is_flag_set(flag::I);
        self.sreg |= 1 << flag::I;
        self.holds_interrupts = true;
        if !was_on {
            self.handle_interrupt_flag_change(self.io.clock.now);
        }
    }
}

/// Extensions of Z, for reading flash and for calls.
const RAMPZ: u16 = 0x5b;
const EIND: u16 = 0x5c;
