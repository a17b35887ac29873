//! Instructions and their cycles.

use super::{Line, Model};

impl Model {
    /// Returns the address of `X+`, `-Y` or `Z+5`, and changes the pointer.
    fn pointer_address(&mut self, text: &str) -> usize {
        let name = text.trim_start_matches('-');
        let low = register(&name[..1]);
        let before = text.starts_with('-');
        let value = self.pair(low).wrapping_sub(u16::from(before));
        let rest = name[1..].strip_prefix('+');
        match rest {
            Some("") => self.set_pair(low, value.wrapping_add(1)),
            Some(displacement) => return usize::from(value) + displacement.parse::<usize>().unwrap(),
            None if before => self.set_pair(low, value),
            None => {}
        }
        usize::from(value)
    }

    pub(super) fn begin_instruction(&mut self) {
        let at = self.pc;
        let line = self.program[at as usize].clone().unwrap_or_else(|| panic!("no code at {at:#x}"));
        self.pc += line.bytes;
        self.busy = self.execute(at, &line);
    }

    /// Executes an instruction at once, and returns its cycles.
    fn execute(&mut self, at: u32, line: &Line) -> u32 {
        let operand = |n: usize| line.operands.get(n).map_or("", String::as_str);
        let number = |text: &str| -> i32 {
            let text = text.trim();
            let (text, sign) = text.strip_prefix('-').map_or((text, 1), |t| (t, -1));
            let value = match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).unwrap(),
                None => text.parse().unwrap_or_else(|_| panic!("number {text} at {at:#x}")),
            };
            (value as i32) * sign
        };
        let relative = |text: &str| (at as i32 + 2 + number(text.trim_start_matches(['.', '+']))) as u32;
        let wide = u32::from(self.three_byte_pc);
        let d = || register(operand(0));
        let name = line.name.as_str();
        match name {
            "nop" | "wdr" => 1,
            "add" | "adc" | "lsl" | "rol" => {
                let d = d();
                let r = if line.operands.len() == 2 { register(operand(1)) } else { d };
                let carry = u16::from(matches!(name, "adc" | "rol") && self.flag('C'));
                let (a, b) = (u16::from(self.memory[d]), u16::from(self.memory[r]));
                let sum = a + b + carry;
                self.set_flag('H', (a & 15) + (b & 15) + carry > 15);
                self.set_flag('C', sum > 255);
                self.set_result(d, sum as u8, !(a ^ b) & (a ^ sum) & 0x80 != 0);
                1
            }
            "sub" | "sbc" | "cp" | "cpc" | "subi" | "sbci" | "cpi" | "neg" => {
                let d = d();
                let (a, b) = match name {
                    "neg" => (0, i16::from(self.memory[d])),
                    "subi" | "sbci" | "cpi" => (i16::from(self.memory[d]), (number(operand(1)) & 255) as i16),
                    _ => (i16::from(self.memory[d]), i16::from(self.memory[register(operand(1))])),
                };
                let with_carry = matches!(name, "sbc" | "sbci" | "cpc");
                let carry = i16::from(with_carry && self.flag('C'));
                let zero_before = self.flag('Z');
                let difference = a - b - carry;
                self.set_flag('H', (a & 15) - (b & 15) - carry < 0);
                self.set_flag('C', difference < 0);
                let keeps = matches!(name, "cp" | "cpc" | "cpi");
                let old = self.memory[d];
                self.set_result(d, difference as u8, (a ^ b) & (a ^ difference) & 0x80 != 0);
                if with_carry {
                    self.set_flag('Z', difference as u8 == 0 && zero_before);
                }
                if keeps {
                    self.memory[d] = old;
                }
                1
            }
            "and" | "or" | "eor" | "andi" | "ori" | "tst" | "clr" | "com" => {
                let d = d();
                let a = self.memory[d];
                let other = || self.memory[register(operand(1))];
                let value = match name {
                    "and" => a & other(),
                    "or" => a | other(),
                    "eor" => a ^ other(),
                    "andi" => a & number(operand(1)) as u8,
                    "ori" => a | number(operand(1)) as u8,
                    "clr" => 0,
                    "com" => !a,
                    _ => a,
                };
                if name == "com" {
                    self.set_flag('C', true);
                }
                self.set_result(d, value, false);
                1
            }
            "inc" | "dec" => {
                let d = d();
                let a = self.memory[d];
                let value = if name == "inc" { a.wrapping_add(1) } else { a.wrapping_sub(1) };
                self.set_result(d, value, value == if name == "inc" { 0x80 } else { 0x7f });
                1
            }
            "lsr" | "asr" | "ror" => {
                let d = d();
                let a = self.memory[d];
                let top = match name {
                    "lsr" => 0,
                    "asr" => a & 0x80,
                    _ => u8::from(self.flag('C')) << 7,
                };
                let (value, carry) = (a >> 1 | top, a & 1 != 0);
                self.set_flag('C', carry);
                self.set_result(d, value, (value & 0x80 != 0) != carry);
                1
            }
            "swap" => {
                let d = d();
                self.memory[d] = self.memory[d].rotate_left(4);
                1
            }
            "mov" => {
                self.memory[register(operand(0))] = self.memory[register(operand(1))];
                1
            }
            "movw" => {
                let value = self.pair(register(operand(1)));
                self.set_pair(d(), value);
                1
            }
            "ldi" | "ser" => {
                let value = if name == "ser" { 255 } else { number(operand(1)) as u8 };
                let d = d();
                self.memory[d] = value;
                1
            }
            "adiw" | "sbiw" => {
                let d = d();
                let (a, k) = (self.pair(d), number(operand(1)) as u16);
                let value = if name == "adiw" { a.wrapping_add(k) } else { a.wrapping_sub(k) };
                self.set_pair(d, value);
                let (was, is) = (a & 0x8000 != 0, value & 0x8000 != 0);
                let (overflow, carry) =
                    if name == "adiw" { (!was && is, was && !is) } else { (was && !is, !was && is) };
                for (flag, on) in
                    [('N', is), ('V', overflow), ('S', is != overflow), ('Z', value == 0), ('C', carry)]
                {
                    self.set_flag(flag, on);
                }
                2
            }
            "mul" => {
                let product = u16::from(self.memory[d()]) * u16::from(self.memory[register(operand(1))]);
                self.set_pair(0, product);
                self.set_flag('C', product & 0x8000 != 0);
                self.set_flag('Z', product == 0);
                2
            }
            "in" => {
                let value = self.read(number(operand(1)) as usize + 0x20);
                let d = d();
                self.memory[d] = value;
                1
            }
            "out" => {
                let value = self.memory[register(operand(1))];
                self.write_at_end(number(operand(0)) as usize + 0x20, value, 1)
            }
            "lds" => {
                self.pass_cycles(1);
                let value = self.read(number(operand(1)) as usize & 0xffff);
                let d = d();
                self.memory[d] = value;
                1
            }
            "sts" => {
                let value = self.memory[register(operand(1))];
                self.write_at_end(number(operand(0)) as usize & 0xffff, value, 2)
            }
            "ld" | "ldd" => {
                let address = self.pointer_address(operand(1));
                self.pass_cycles(1);
                let value = self.read(address);
                let d = d();
                self.memory[d] = value;
                1
            }
            "st" | "std" => {
                let value = self.memory[register(operand(1))];
                let address = self.pointer_address(operand(0));
                self.write_at_end(address, value, 2)
            }
            "lpm" | "elpm" => {
                let address = if line.operands.is_empty() {
                    usize::from(self.pair(30))
                } else {
                    self.pointer_address(operand(1))
                };
                let high = if name == "elpm" { usize::from(self.memory[0x5b]) << 16 } else { 0 };
                let d = if line.operands.is_empty() { 0 } else { d() };
                self.memory[d] = self.flash[high + address];
                3
            }
            "push" => {
                let value = self.memory[d()];
                self.push(value);
                2
            }
            "pop" => {
                let value = self.pop();
                let d = d();
                self.memory[d] = value;
                2
            }
            "sbi" | "cbi" => {
                let (address, bit) = (number(operand(0)) as usize + 0x20, 1u8 << number(operand(1)));
                let only = matches!(address, 0x23 | 0x26 | 0x29 | 0x35..=0x37);
                let old = if only { 0 } else { self.memory[address] };
                self.write_at_end(address, if name == "sbi" { old | bit } else { old & !bit }, 2)
            }
            "sbic" | "sbis" => {
                let set = self.read(number(operand(0)) as usize + 0x20) & 1 << number(operand(1)) != 0;
                self.skip_if(set == (name == "sbis"))
            }
            "sbrc" | "sbrs" => {
                let set = self.memory[d()] & 1 << number(operand(1)) != 0;
                self.skip_if(set == (name == "sbrs"))
            }
            "cpse" => self.skip_if(self.memory[d()] == self.memory[register(operand(1))]),
            "bst" => {
                let set = self.memory[d()] & 1 << number(operand(1)) != 0;
                self.set_flag('T', set);
                1
            }
            "bld" => {
                let (d, bit) = (d(), 1u8 << number(operand(1)));
                self.memory[d] = if self.flag('T') { self.memory[d] | bit } else { self.memory[d] & !bit };
                1
            }
            "sec" | "clc" | "set" | "clt" | "seh" | "clh" => {
                let flag = name[2..].to_ascii_uppercase().chars().next().unwrap();
                self.set_flag(flag, name.starts_with("se"));
                1
            }
            "sei" => {
                self.one_more |= !self.flag('I');
                self.set_flag('I', true);
                1
            }
            "cli" => {
                self.set_flag('I', false);
                1
            }
            "sleep" => {
                self.asleep = self.memory[0x53] & 1 != 0;
                1
            }
            "rjmp" => {
                self.pc = relative(operand(0));
                2
            }
            "jmp" => {
                self.pc = number(operand(0)) as u32;
                3
            }
            "ijmp" => {
                self.pc = u32::from(self.pair(30)) * 2;
                2
            }
            "rcall" => {
                self.push_pc(self.pc);
                self.pc = relative(operand(0));
                3 + wide
            }
            "icall" => {
                self.push_pc(self.pc);
                self.pc = u32::from(self.pair(30)) * 2;
                3 + wide
            }
            "call" => {
                self.push_pc(self.pc);
                self.pc = number(operand(0)) as u32;
                4 + wide
            }
            "ret" => {
                self.pc = self.pop_pc();
                4 + wide
            }
            "reti" => {
                self.pc = self.pop_pc();
                self.set_flag('I', true);
                self.one_more = true;
                4 + wide
            }
            _ => {
                let taken = match name {
                    "breq" => self.flag('Z'),
                    "brne" => !self.flag('Z'),
                    "brcs" | "brlo" => self.flag('C'),
                    "brcc" | "brsh" => !self.flag('C'),
                    "brmi" => self.flag('N'),
                    "brpl" => !self.flag('N'),
                    "brlt" => self.flag('S'),
                    "brge" => !self.flag('S'),
                    "brts" => self.flag('T'),
                    "brtc" => !self.flag('T'),
                    _ => panic!("{name} at {at:#x} is not in the model"),
                };
                if taken {
                    self.pc = relative(operand(0));
                }
                1 + u32::from(taken)
            }
        }
    }

    fn set_result(&mut self, d: usize, value: u8, overflow: bool) {
        self.memory[d] = value;
        let negative = value & 0x80 != 0;
        for (flag, on) in [('Z', value == 0), ('N', negative), ('V', overflow), ('S', negative != overflow)] {
            self.set_flag(flag, on);
        }
    }

    fn skip_if(&mut self, condition: bool) -> u32 {
        if !condition {
            return 1;
        }
        let bytes = self.program[self.pc as usize].as_ref().unwrap().bytes;
        self.pc += bytes;
        1 + bytes / 2
    }
}
fn register(name: &str) -> usize {
    match name {
        "X" => 26,
        "Y" => 28,
        "Z" => 30,
        _ => name.trim_start_matches('r').parse().unwrap_or_else(|_| panic!("register {name}")),
    }
}
