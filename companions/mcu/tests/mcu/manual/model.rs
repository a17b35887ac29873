//! A second model from the ATmega328P's and ATmega2560's manuals, as simple as possible: the program as
//! disassembled by binutils, one clock cycle after the other. It shares nothing with `jitterlab-chip`, is a
//! hundred times slower, and has only the parts that the firmwares here use.

mod instructions;

use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// One instruction as `avr-objdump` prints it.
#[derive(Debug, Clone)]
struct Line {
    bytes: u32,
    name: String,
    operands: Vec<String>,
}

/// A timer, ticked by hand.
#[derive(Debug, Clone, Default)]
struct Timer {
    /// Addresses of TCCRnA, TCCRnB, TCNTn, OCRnA, TIFRn, TIMSKn, and of the vectors of compare match A, B and overflow.
    at: [usize; 6],
    vectors: [u32; 3],
    wide: bool,
    count: u32,
    temporary: u8,
    /// A write to TCNTn blocks the match of the next timer clock.
    blocked: bool,
}

/// The whole machine.
pub struct Model {
    /// By address.
    program: Vec<Option<Rc<Line>>>,
    flash: Vec<u8>,
    memory: Vec<u8>,
    three_byte_pc: bool,
    pc: u32,
    /// Cycles that the present instruction, or an interrupt's entry, still takes.
    busy: u32,
    cycle: u64,
    /// Address and value that the present instruction writes at its end.
    late: Option<(usize, u8)>,
    asleep: bool,
    /// One more instruction before any interrupt.
    one_more: bool,
    timers: Vec<Timer>,
    /// Until when a byte is sent, and the one that waits.
    sending: Option<u64>,
    waiting: Option<u8>,
    baud_written: u64,
    /// Changes of ports B and D.
    pub edges: Vec<(u64, char, u8, bool)>,
    pub sent: Vec<u8>,
}

const SREG: usize = 0x5f;
const SP: usize = 0x5d;
const UCSR0A: usize = 0xc0;
const UDR0: usize = 0xc6;

impl Model {
    /// Reads the firmware with binutils.
    pub fn new(elf: &Path, three_byte_pc: bool) -> Self {
        let text = Command::new("avr-objdump").arg("-d").arg(elf).output().unwrap();
        let mut program = vec![None; 1 << 18];
        for line in String::from_utf8_lossy(&text.stdout).lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let Some(address) = columns[0].trim().strip_suffix(':') else { continue };
            let (Ok(address), true) = (u32::from_str_radix(address, 16), columns.len() >= 3) else {
                continue;
            };
            let bytes = columns[1].split_whitespace().count() as u32;
            let operands = columns.get(3).map_or(Vec::new(), |text| {
                let text = text.split(';').next().unwrap_or("");
                text.split(',').map(|o| o.trim().to_owned()).filter(|o| !o.is_empty()).collect()
            });
            let name = columns[2].trim().to_owned();
            program[address as usize] = Some(Rc::new(Line { bytes, name, operands }));
        }
        let raw = elf.with_extension("bin");
        let copied =
            Command::new("avr-objcopy").args(["-O", "binary", "-R", ".eeprom"]).arg(elf).arg(&raw).status();
        assert!(copied.unwrap().success());
        let mut memory = vec![0; 0x2200];
        memory[UCSR0A] = 0x20;
        let narrow = |at, vectors| Timer { at, vectors, ..Timer::default() };
        let vectors = match three_byte_pc {
            false => [[14, 15, 16], [11, 12, 13], [7, 8, 9]],
            true => [[21, 22, 23], [17, 18, 20], [13, 14, 15]],
        };
        let timers = vec![
            narrow([0x44, 0x45, 0x46, 0x47, 0x35, 0x6e], vectors[0]),
            Timer { wide: true, ..narrow([0x80, 0x81, 0x84, 0x88, 0x36, 0x6f], vectors[1]) },
            narrow([0xb0, 0xb1, 0xb2, 0xb3, 0x37, 0x70], vectors[2]),
        ];
        let ram_end: u16 = if three_byte_pc { 0x21ff } else { 0x8ff };
        memory[SP..SP + 2].copy_from_slice(&ram_end.to_le_bytes());
        Model {
            program,
            flash: std::fs::read(raw).unwrap(),
            memory,
            three_byte_pc,
            pc: 0,
            busy: 0,
            cycle: 0,
            late: None,
            asleep: false,
            one_more: false,
            timers,
            sending: None,
            waiting: None,
            baud_written: 0,
            edges: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Runs for this many cycles, or until it sleeps with interrupts off.
    pub fn run(&mut self, cycles: u64) {
        while self.cycle < cycles && !(self.asleep && !self.flag('I') && self.sending.is_none()) {
            if self.busy == 0 {
                self.begin_instruction_or_interrupt();
            }
            self.cycle += 1;
            self.busy = self.busy.saturating_sub(1);
            self.advance_peripherals();
            if let Some((at, value)) = self.late.take() {
                self.write(at, value);
            }
        }
    }

    /// Cycles of an instruction before the one that reaches a register: its last.
    fn pass_cycles(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.cycle += 1;
            self.advance_peripherals();
        }
    }

    /// A write with the end of an instruction's last cycle, the one that is left.
    fn write_at_end(&mut self, at: usize, value: u8, cycles: u32) -> u32 {
        self.pass_cycles(cycles - 1);
        self.late = Some((at, value));
        1
    }

    /// Between two instructions, or asleep.
    fn begin_instruction_or_interrupt(&mut self) {
        if std::mem::take(&mut self.one_more) {
            return self.begin_instruction();
        }
        let pending = if self.flag('I') { self.pending() } else { None };
        let Some(vector) = pending else {
            if !self.asleep {
                self.begin_instruction();
            }
            return;
        };
        let entry = if self.three_byte_pc { 5 } else { 4 };
        self.busy = if self.asleep { entry + entry } else { entry };
        self.asleep = false;
        self.acknowledge(vector);
        self.push_pc(self.pc);
        self.set_flag('I', false);
        self.pc = vector * 4;
    }

    fn pending(&self) -> Option<u32> {
        let mut found: Vec<u32> = Vec::new();
        for timer in &self.timers {
            let both = self.memory[timer.at[4]] & self.memory[timer.at[5]];
            let bits = [(2, 0), (4, 1), (1, 2)];
            found.extend(
                bits.iter().filter(|(bit, _)| both & bit != 0).map(|(_, which)| timer.vectors[*which]),
            );
        }
        let (status, enable) = (self.memory[UCSR0A], self.memory[UCSR0A + 1]);
        if status & enable & 0x20 != 0 {
            found.push(if self.three_byte_pc { 26 } else { 19 });
        }
        found.into_iter().min()
    }

    fn acknowledge(&mut self, vector: u32) {
        for timer in &self.timers {
            for (bit, which) in [(2, 0), (4, 1), (1, 2)] {
                if timer.vectors[which] == vector {
                    self.memory[timer.at[4]] &= !bit;
                }
            }
        }
    }

    /// Performs the actions of peripherals at a rising edge of the clock.
    fn advance_peripherals(&mut self) {
        for index in 0..self.timers.len() {
            let control = self.memory[self.timers[index].at[1]] & 7;
            let divider = if index == 2 {
                [0, 1, 8, 32, 64, 128, 256, 1024][usize::from(control)]
            } else {
                [0, 1, 8, 64, 256, 1024, 0, 0][usize::from(control)]
            };
            if divider != 0 && self.cycle.is_multiple_of(divider) {
                self.tick(index);
            }
        }
        if self.sending.is_some_and(|end| end <= self.cycle) {
            self.sending = None;
            if let Some(byte) = self.waiting.take() {
                self.begin_frame(byte, self.cycle);
                self.memory[UCSR0A] |= 0x20;
            } else {
                self.memory[UCSR0A] |= 0x40;
            }
        }
    }

    fn tick(&mut self, index: usize) {
        let timer = &mut self.timers[index];
        let [a, b, _, compare, flags, _] = timer.at;
        let (low, high) = (self.memory[a] & 3, self.memory[b] >> 3 & 3);
        let read = |at: usize| {
            if timer.wide {
                u32::from(self.memory[at]) | u32::from(self.memory[at + 1]) << 8
            } else {
                u32::from(self.memory[at])
            }
        };
        let compares = [read(compare), read(compare + if timer.wide { 2 } else { 1 })];
        let max = if timer.wide { 0xffff } else { 0xff };
        let clears = if timer.wide { high == 1 && low == 0 } else { low == 2 };
        if !std::mem::take(&mut timer.blocked) {
            for (bit, value) in [(2, compares[0]), (4, compares[1])] {
                if timer.count == value {
                    self.memory[flags] |= bit;
                }
            }
        }
        if timer.count == max {
            timer.count = 0;
            self.memory[flags] |= 1;
        } else if clears && timer.count == compares[0] {
            timer.count = 0;
        } else {
            timer.count += 1;
        }
    }

    /// Cycles of a bit on the serial line.
    fn cycles_per_bit(&self) -> u64 {
        let samples = if self.memory[UCSR0A] & 2 != 0 { 8 } else { 16 };
        (u64::from(self.memory[0xc4]) + 1) * samples
    }

    /// A frame of ten bits.
    fn begin_frame(&mut self, byte: u8, start: u64) {
        self.sending = Some(start + 10 * self.cycles_per_bit());
        self.sent.push(byte);
    }

    fn read(&mut self, at: usize) -> u8 {
        for timer in &mut self.timers {
            if at == timer.at[2] {
                timer.temporary = (timer.count >> 8) as u8;
                return timer.count as u8;
            }
            if timer.wide && at == timer.at[2] + 1 {
                return timer.temporary;
            }
        }
        match at {
            0x23 => self.memory[0x25] & self.memory[0x24],
            _ => self.memory[at],
        }
    }

    fn write(&mut self, at: usize, value: u8) {
        for timer in &mut self.timers {
            let [_, _, count, compare, flags, _] = timer.at;
            let words = [count, compare, compare + 2];
            if at == flags {
                self.memory[flags] &= !value;
                return;
            }
            if timer.wide && words.iter().any(|word| at == word + 1) {
                timer.temporary = value;
                return;
            }
            if at == count {
                timer.count = u32::from(value) | if timer.wide { u32::from(timer.temporary) << 8 } else { 0 };
                timer.blocked = true;
                return;
            }
            if timer.wide && words.contains(&at) {
                self.memory[at + 1] = timer.temporary;
            }
        }
        match at {
            0x23 => self.set_port(0x25, self.memory[0x25] ^ value),
            0x25 | 0x2b => self.set_port(at, value),
            SREG => {
                self.one_more |= value & 0x80 != 0 && self.memory[SREG] & 0x80 == 0;
                self.memory[SREG] = value;
            }
            UCSR0A => self.memory[at] = self.memory[at] & 0xfc & !(value & 0x40) | value & 3,
            0xc4 => {
                self.memory[at] = value;
                self.baud_written = self.cycle;
            }
            UDR0 => {
                if self.sending.is_none() {
                    // With the next edge of the bit clock, which runs since the baud rate was written.
                    let edges = (self.cycle - self.baud_written) / self.cycles_per_bit() + 1;
                    self.begin_frame(value, self.baud_written + edges * self.cycles_per_bit());
                } else {
                    self.waiting = Some(value);
                    self.memory[UCSR0A] &= !0x20;
                }
            }
            _ => self.memory[at] = value,
        }
    }

    fn set_port(&mut self, at: usize, value: u8) {
        let port = if at == 0x25 { 'B' } else { 'D' };
        for bit in (0..8).filter(|bit| (self.memory[at] ^ value) & 1 << bit != 0) {
            self.edges.push((self.cycle, port, bit, value & 1 << bit != 0));
        }
        self.memory[at] = value;
    }

    fn flag(&self, name: char) -> bool {
        let bit = "CZNVSHTI".find(name).unwrap();
        self.memory[SREG] & 1 << bit != 0
    }

    fn set_flag(&mut self, name: char, on: bool) {
        let bit = "CZNVSHTI".find(name).unwrap();
        self.memory[SREG] = self.memory[SREG] & !(1 << bit) | u8::from(on) << bit;
    }

    fn sp(&self) -> usize {
        usize::from(u16::from_le_bytes([self.memory[SP], self.memory[SP + 1]]))
    }

    fn push(&mut self, value: u8) {
        let sp = self.sp();
        self.write(sp, value);
        self.memory[SP..SP + 2].copy_from_slice(&((sp - 1) as u16).to_le_bytes());
    }

    fn pop(&mut self) -> u8 {
        let sp = self.sp() + 1;
        self.memory[SP..SP + 2].copy_from_slice(&(sp as u16).to_le_bytes());
        self.read(sp)
    }

    fn push_pc(&mut self, address: u32) {
        let words = address / 2;
        self.push(words as u8);
        self.push((words >> 8) as u8);
        if self.three_byte_pc {
            self.push((words >> 16) as u8);
        }
    }

    fn pop_pc(&mut self) -> u32 {
        let mut words = 0;
        for _ in 0..if self.three_byte_pc { 3 } else { 2 } {
            words = words << 8 | u32::from(self.pop());
        }
        words * 2
    }

    fn pair(&self, low: usize) -> u16 {
        u16::from_le_bytes([self.memory[low], self.memory[low + 1]])
    }

    fn set_pair(&mut self, low: usize, value: u16) {
        self.memory[low..low + 2].copy_from_slice(&value.to_le_bytes());
    }
}
