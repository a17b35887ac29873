//! One state machine of a block of programmable input and output, and its instructions (data sheet, 3.4 and 3.5).

use std::collections::VecDeque;

use super::peripherals::WriteKind;

/// Memory, flags and pins shared by the machines of a block.
#[derive(Debug, Clone, Default)]
pub struct PioSharedState {
    pub memory: [u16; 32],
    pub flags: u8,
    /// Output levels, driven pins, and input levels.
    pub out: u32,
    pub enabled: u32,
    pub input: u32,
}

#[derive(Debug, Clone)]
pub struct StateMachine {
    number: u32,
    on: bool,
    /// Cycles of a step, in 256ths; the number of steps since the cycle `since`.
    divider: u64,
    since: u64,
    steps: u64,
    execution: u32,
    shift: u32,
    pins: u32,
    pc: u32,
    x: u32,
    y: u32,
    /// The shift registers, each with its number of bits shifted in or out.
    input: (u32, u32),
    output: (u32, u32),
    /// Remaining steps of a delay.
    delay: u32,
    /// True while it waits for data to send: nothing happens before that is written.
    idle: bool,
    /// An instruction to execute before that at the program counter.
    forced: Option<u16>,
    /// The flag that it set itself, while it waits for that to be cleared.
    waits_for: Option<u8>,
    pub to_send: VecDeque<u32>,
    pub received: VecDeque<u32>,
}

enum InstructionOutcome {
    On,
    /// It jumped, and the program counter is set.
    Jumped,
    /// The next instruction is this one, without a delay before it.
    Executes(u16),
    /// The instruction is retried in the next step.
    Stalled,
}

impl StateMachine {
    pub fn new(number: u32) -> Self {
        StateMachine {
            number,
            on: false,
            divider: 256,
            since: 0,
            steps: 0,
            execution: 0x1_f000,
            shift: 0xc_0000,
            pins: 5 << 26,
            pc: 0,
            x: 0,
            y: 0,
            input: (0, 0),
            output: (0, 32),
            delay: 0,
            idle: false,
            forced: None,
            waits_for: None,
            to_send: VecDeque::new(),
            received: VecDeque::new(),
        }
    }

    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Executes SM_RESTART, which keeps the contents of the registers.
    pub fn restart(&mut self) {
        (self.input.1, self.output.1, self.delay) = (0, 32, 0);
        (self.forced, self.waits_for) = (None, None);
    }

    /// Ends the wait for data, if the machine waits: it goes on with the first step from this cycle.
    pub fn resume_if_idle(&mut self, cycle: u64) {
        if std::mem::take(&mut self.idle) {
            self.steps = (cycle.saturating_sub(self.since) * 256).div_ceil(self.divider);
        }
    }

    /// Restarts the clock divider: steps count from this cycle.
    pub fn restart_clock(&mut self, cycle: u64) {
        (self.since, self.steps) = (cycle, 0);
    }

    /// Turns the machine on or off; its clock starts at this cycle.
    pub fn set_on(&mut self, on: bool, cycle: u64) {
        if on && !self.on {
            self.restart_clock(cycle);
        }
        self.on = on;
    }

    pub fn next_step_cycle(&self) -> u64 {
        if self.on && !self.idle { self.since + self.steps * self.divider / 256 } else { u64::MAX }
    }

    /// Returns the words that fit into the FIFO for sending; both FIFOs can be joined.
    pub fn send_capacity(&self) -> usize {
        [4, 8, 0, 0][(self.shift >> 30 & 3) as usize]
    }

    pub fn receive_capacity(&self) -> usize {
        [4, 0, 8, 0][(self.shift >> 30 & 3) as usize]
    }

    pub fn read(&self, register: u32, shared: &PioSharedState) -> u32 {
        match register {
            0x00 => (self.divider as u32 & 0xff_ffff) << 8,
            0x04 => self.execution | u32::from(self.forced.is_some()) << 31,
            0x08 => self.shift,
            0x0c => self.pc,
            0x10 => u32::from(shared.memory[self.pc as usize & 31]),
            _ => self.pins,
        }
    }

    pub fn write(
        &mut self,
        register: u32,
        kind: WriteKind,
        value: u32,
        cycle: u64,
        shared: &mut PioSharedState,
    ) {
        self.resume_if_idle(cycle);
        let value = kind.new_value(if register == 0x10 { 0 } else { self.read(register, shared) }, value);
        match register {
            0x00 => {
                // A whole part of 0 divides by 65536.
                let divider = u64::from(value >> 8);
                let divider = if divider < 256 { divider + (65_536 << 8) } else { divider };
                if divider != self.divider {
                    let next = self.next_step_cycle();
                    self.restart_clock(if self.on { next.max(cycle) } else { cycle });
                    self.divider = divider;
                }
            }
            0x04 => self.execution = value & 0x7fff_ffff,
            0x08 => {
                if (self.shift ^ value) >> 30 != 0 {
                    self.to_send.clear();
                    self.received.clear();
                }
                self.shift = value;
            }
            // Executes an instruction at once.
            0x10 => {
                self.delay = 0;
                self.execute_word(value as u16, true, shared);
            }
            0x14 => self.pins = value,
            _ => {}
        }
    }

    pub fn step(&mut self, shared: &mut PioSharedState) {
        self.steps += 1;
        if self.delay > 0 {
            self.delay -= 1;
            return self.autopull(shared.memory[self.pc as usize & 31]);
        }
        let (word, forced) = match self.forced.take() {
            Some(word) => (word, true),
            None => (shared.memory[self.pc as usize & 31], false),
        };
        self.execute_word(word, forced, shared);
    }

    /// Executes an instruction with its side-set and delay; `forced` is true for one that is not of the program.
    fn execute_word(&mut self, word: u16, forced: bool, shared: &mut PioSharedState) {
        let delay = self.apply_side_set(u32::from(word), shared);
        let (went, is_out) = (self.execute_operation(u32::from(word), shared), word >> 13 == 3);
        if !is_out {
            self.autopull(word);
        }
        match went {
            InstructionOutcome::Stalled => {
                self.forced = forced.then_some(word);
                self.idle = self.to_send.is_empty() && (is_out || word & 0xe080 == 0x8080);
                return;
            }
            InstructionOutcome::Jumped => {}
            _ if forced => {}
            _ => {
                let [bottom, top] = [self.execution >> 7 & 31, self.execution >> 12 & 31];
                self.pc = if self.pc == top { bottom } else { (self.pc + 1) & 31 };
            }
        }
        match went {
            InstructionOutcome::Executes(next) => self.forced = Some(next),
            // With autopull, a delay may contain a transfer.
            _ if self.shift & 1 << 17 == 0 && self.on => self.steps += u64::from(delay),
            _ => self.delay = delay,
        }
    }

    /// Sets the side-set pins of an instruction, and returns its delay: both share five bits.
    fn apply_side_set(&self, word: u32, shared: &mut PioSharedState) -> u32 {
        let count = self.pins >> 29;
        let field = word >> 8 & 31;
        let delay = field & ((1u32 << (5 - count.min(5))) - 1);
        let optional = self.execution & 1 << 30 != 0;
        let bits = count - u32::from(optional && count > 0);
        if count > 0 && (!optional || field & 16 != 0) {
            let value = field >> (5 - count.min(5)) & ((1 << bits) - 1);
            let target = if self.execution & 1 << 29 != 0 { &mut shared.enabled } else { &mut shared.out };
            write_pins(target, value, self.pins >> 10 & 31, bits);
        }
        delay
    }

    /// With autopull, refills an output register at its threshold during every instruction but OUT and PULL (3.5.4).
    fn autopull(&mut self, word: u16) {
        let is_pull = word & 0xe080 == 0x8080;
        if self.shift & 1 << 17 != 0
            && !is_pull
            && self.output.1 >= self.pull_threshold()
            && let Some(value) = self.to_send.pop_front()
        {
            self.output = (value, 0);
        }
    }

    fn pull_threshold(&self) -> u32 {
        bit_count(self.shift >> 25)
    }

    fn push_threshold(&self) -> u32 {
        bit_count(self.shift >> 20)
    }

    /// Returns the input levels of the pins, rotated so that the machine's first pin is bit 0.
    fn input_levels(&self, shared: &PioSharedState) -> u32 {
        shared.input.rotate_right(self.pins >> 15 & 31)
    }

    /// Returns the mask of an interrupt flag; its index may be relative to the machine's number.
    fn flag_mask(&self, index: u32) -> u8 {
        let low = index & 3;
        let of = if index & 16 != 0 { (low + self.number) & 3 | index & 4 } else { index & 7 };
        1 << of
    }

    /// Executes an instruction without its side-set and delay.
    fn execute_operation(&mut self, word: u32, shared: &mut PioSharedState) -> InstructionOutcome {
        let (what, low) = (word >> 5 & 7, word & 31);
        match word >> 13 {
            0 => self.execute_jmp(what, low, shared),
            1 => self.execute_wait(word, shared),
            2 => self.execute_in(what, bit_count(low), shared),
            3 => self.execute_out(what, bit_count(low), shared),
            4 => self.execute_push_or_pull(word),
            5 => self.execute_mov(word, shared),
            6 => self.execute_irq(word, shared),
            _ => {
                let [base, count] = [self.pins >> 5 & 31, self.pins >> 26 & 7];
                match what {
                    0 => write_pins(&mut shared.out, low, base, count),
                    1 => self.x = low,
                    2 => self.y = low,
                    4 => write_pins(&mut shared.enabled, low, base, count),
                    _ => {}
                }
                InstructionOutcome::On
            }
        }
    }

    fn execute_jmp(&mut self, condition: u32, to: u32, shared: &PioSharedState) -> InstructionOutcome {
        let jumps = match condition {
            0 => true,
            1 => self.x == 0,
            2 => {
                self.x = self.x.wrapping_sub(1);
                self.x != u32::MAX
            }
            3 => self.y == 0,
            4 => {
                self.y = self.y.wrapping_sub(1);
                self.y != u32::MAX
            }
            5 => self.x != self.y,
            6 => shared.input >> (self.execution >> 24 & 31) & 1 != 0,
            _ => self.output.1 < self.pull_threshold(),
        };
        if !jumps {
            return InstructionOutcome::On;
        }
        self.pc = to;
        InstructionOutcome::Jumped
    }

    fn execute_wait(&self, word: u32, shared: &mut PioSharedState) -> InstructionOutcome {
        let (wanted, low) = (word & 0x80 != 0, word & 31);
        let is = match word >> 5 & 3 {
            0 => shared.input >> low & 1 != 0,
            1 => self.input_levels(shared) >> low & 1 != 0,
            2 => {
                let flag = self.flag_mask(low);
                let is = shared.flags & flag != 0;
                if is && wanted {
                    shared.flags &= !flag;
                }
                is
            }
            _ => wanted,
        };
        if is == wanted { InstructionOutcome::On } else { InstructionOutcome::Stalled }
    }

    fn execute_in(&mut self, from: u32, count: u32, shared: &PioSharedState) -> InstructionOutcome {
        let pushes = self.shift & 1 << 16 != 0;
        let is_full = |machine: &Self| machine.received.len() >= machine.receive_capacity();
        if pushes && self.input.1 >= self.push_threshold() {
            // It was full, and the push did not succeed.
            if is_full(self) {
                return InstructionOutcome::Stalled;
            }
            self.push_received();
        }
        let value = match from {
            0 => self.input_levels(shared),
            1 => self.x,
            2 => self.y,
            6 => self.input.0,
            7 => self.output.0,
            _ => 0,
        } & low_bits_mask(count);
        let old = self.input.0;
        self.input.0 = match (self.shift & 1 << 18 != 0, count) {
            (_, 32) => value,
            (true, _) => old >> count | value << (32 - count),
            (false, _) => old << count | value,
        };
        self.input.1 = (self.input.1 + count).min(32);
        if pushes && self.input.1 >= self.push_threshold() && !is_full(self) {
            self.push_received();
        }
        InstructionOutcome::On
    }

    /// Moves the input shift register into the FIFO.
    fn push_received(&mut self) {
        self.received.push_back(self.input.0);
        self.input = (0, 0);
    }

    fn execute_out(&mut self, to: u32, count: u32, shared: &mut PioSharedState) -> InstructionOutcome {
        let pulls = self.shift & 1 << 17 != 0;
        if pulls && self.output.1 >= self.pull_threshold() {
            if let Some(value) = self.to_send.pop_front() {
                self.output = (value, 0);
            }
            return InstructionOutcome::Stalled;
        }
        let old = self.output.0;
        let value = if self.shift & 1 << 19 != 0 { old } else { old.checked_shr(32 - count).unwrap_or(old) }
            & low_bits_mask(count);
        self.output.0 = match (self.shift & 1 << 19 != 0, count) {
            (_, 32) => 0,
            (true, _) => old >> count,
            (false, _) => old << count,
        };
        self.output.1 = (self.output.1 + count).min(32);
        if pulls
            && self.output.1 >= self.pull_threshold()
            && let Some(next) = self.to_send.pop_front()
        {
            self.output = (next, 0);
        }
        let [base, pins] = [self.pins & 31, self.pins >> 20 & 63];
        match to {
            0 => write_pins(&mut shared.out, value, base, pins),
            1 => self.x = value,
            2 => self.y = value,
            4 => write_pins(&mut shared.enabled, value, base, pins),
            5 => {
                self.pc = value & 31;
                return InstructionOutcome::Jumped;
            }
            6 => self.input = (value, count),
            7 => return InstructionOutcome::Executes(value as u16),
            _ => {}
        }
        InstructionOutcome::On
    }

    fn execute_push_or_pull(&mut self, word: u32) -> InstructionOutcome {
        let (pulls, conditional, blocks) = (word & 0x80 != 0, word & 0x40 != 0, word & 0x20 != 0);
        if pulls {
            // With autopull, PULL does nothing while the register is full.
            if (conditional || self.shift & 1 << 17 != 0) && self.output.1 < self.pull_threshold() {
                return InstructionOutcome::On;
            }
            match self.to_send.pop_front() {
                Some(value) => self.output = (value, 0),
                None if blocks => return InstructionOutcome::Stalled,
                None => self.output = (self.x, 0),
            }
            return InstructionOutcome::On;
        }
        if conditional && self.input.1 < self.push_threshold() {
            return InstructionOutcome::On;
        }
        match self.received.len() < self.receive_capacity() {
            true => self.push_received(),
            false if blocks => return InstructionOutcome::Stalled,
            false => self.input = (0, 0),
        }
        InstructionOutcome::On
    }

    fn execute_mov(&mut self, word: u32, shared: &mut PioSharedState) -> InstructionOutcome {
        let value = match word & 7 {
            0 => self.input_levels(shared),
            1 => self.x,
            2 => self.y,
            5 => {
                let (limit, of_received) = ((self.execution & 15) as usize, self.execution & 16 != 0);
                let level = if of_received { self.received.len() } else { self.to_send.len() };
                if level < limit { u32::MAX } else { 0 }
            }
            6 => self.input.0,
            7 => self.output.0,
            _ => 0,
        };
        let value = match word >> 3 & 3 {
            1 => !value,
            2 => value.reverse_bits(),
            _ => value,
        };
        match word >> 5 & 7 {
            0 => write_pins(&mut shared.out, value, self.pins & 31, self.pins >> 20 & 63),
            1 => self.x = value,
            2 => self.y = value,
            4 => return InstructionOutcome::Executes(value as u16),
            5 => {
                self.pc = value & 31;
                return InstructionOutcome::Jumped;
            }
            6 => self.input = (value, 0),
            7 => self.output = (value, 0),
            _ => {}
        }
        InstructionOutcome::On
    }

    fn execute_irq(&mut self, word: u32, shared: &mut PioSharedState) -> InstructionOutcome {
        let flag = self.flag_mask(word & 31);
        if word & 0x40 != 0 {
            shared.flags &= !flag;
            return InstructionOutcome::On;
        }
        if self.waits_for.is_none() {
            shared.flags |= flag;
        }
        if word & 0x20 == 0 {
            return InstructionOutcome::On;
        }
        let waits = self.waits_for.is_none() || shared.flags & flag != 0;
        self.waits_for = waits.then_some(flag);
        if waits { InstructionOutcome::Stalled } else { InstructionOutcome::On }
    }
}

/// Returns the number of bits in a field of five bits, where 0 means 32.
const fn bit_count(field: u32) -> u32 {
    if field & 31 == 0 { 32 } else { field & 31 }
}

/// Returns a mask of the lowest `count` bits, 1 to 32.
fn low_bits_mask(count: u32) -> u32 {
    u32::MAX >> (32 - count)
}

/// Writes the low bits of a value to `count` pins of `target`, from the first on, wrapping around after 32.
fn write_pins(target: &mut u32, value: u32, first: u32, count: u32) {
    if count > 0 {
        let mask = low_bits_mask(count.min(32)).rotate_left(first);
        *target = *target & !mask | value.rotate_left(first) & mask;
    }
}
