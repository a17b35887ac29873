//! Variables of several bytes that are read byte by byte while a handler changes them.

use super::Avr;
use super::decode::Kind;
use crate::log::FindingKind;

/// Loads that follow each other in code and in memory, into registers that do so too: how compilers read a variable.
#[derive(Debug, Clone, Copy, Default)]
struct Loads {
    /// The last one's address in words.
    pc: u32,
    /// Data addresses of the first byte and the last.
    first: u16,
    last: u16,
}

/// A variable that has been read in part when a handler comes.
#[derive(Debug)]
struct Half {
    /// Where the reading goes on, and the stack pointer there.
    pc: u32,
    sp: u16,
    loads: Loads,
    /// All its bytes, as they are then.
    before: Vec<u8>,
    vector: u8,
}

/// Reads of several bytes.
#[derive(Debug, Default)]
pub struct Torn {
    loads: Loads,
    halves: Vec<Half>,
}

impl Torn {
    /// Most bytes of a variable, and most that are read at once.
    const BYTES: u16 = 8;
    const HALVES: usize = 16;
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Avr {
    /// An instruction has read a byte.
    #[inline]
    pub(super) fn torn_loaded(&mut self, address: u16) {
        if address < self.chip.ram_start {
            return;
        }
        let before = self.torn.loads;
        let follows = address == before.last.wrapping_add(1) && self.follows(before.pc, self.pc);
        let first = if follows { before.first } else { address };
        self.torn.loads = Loads { pc: self.pc, first, last: address };
    }

    /// True if an instruction comes right after another one, and names the next register.
    fn follows(&self, one: u32, next: u32) -> bool {
        let [Some(one_op), Some(next_op)] = [one, next].map(|pc| self.code.get(pc as usize)) else {
            return false;
        };
        one + u32::from(one_op.words) == next && one_op.d + 1 == next_op.d
    }

    /// The data address that an instruction reads, where it is one of those that read variables.
    fn read_by(&self, pc: u32) -> Option<u16> {
        let op = self.code.get(pc as usize)?;
        match op.kind {
            Kind::Lds => Some(op.k as u16),
            Kind::LdYQ => {
                Some(u16::from_le_bytes([self.registers[28], self.registers[29]]).wrapping_add(op.k as u16))
            }
            Kind::LdZQ => {
                Some(u16::from_le_bytes([self.registers[30], self.registers[31]]).wrapping_add(op.k as u16))
            }
            _ => None,
        }
    }

    /// A handler comes: maybe between two bytes of a variable.
    pub(super) fn torn_suspected(&mut self, vector: u8) {
        let loads = self.torn.loads;
        let (mut last, mut at) = (loads.pc, self.pc);
        let mut end = loads.last.wrapping_add(1);
        while end - loads.first < Torn::BYTES && self.follows(last, at) && self.read_by(at) == Some(end) {
            end += 1;
            (last, at) = (at, at + u32::from(self.code[at as usize].words));
        }
        let bytes = self.io.data.get(usize::from(loads.first)..usize::from(end));
        let Some(before) = bytes.filter(|_| last != loads.pc).map(<[u8]>::to_vec) else { return };
        // Threads that never go on would fill the memory.
        if self.torn.halves.len() >= Torn::HALVES {
            self.torn.halves.clear();
        }
        self.torn.halves.push(Half { pc: self.pc, sp: self.sp, loads, before, vector });
    }

    /// A handler ends. Where bytes changed that had been read and others that had not, what is read is neither the value before nor the
    /// one after.
    pub(super) fn torn_decided(&mut self) {
        let goes_on = |half: &Half| half.pc == self.pc && half.sp == self.sp;
        let Some(index) = self.torn.halves.iter().position(goes_on) else { return };
        let Half { loads, before, vector, .. } = self.torn.halves.swap_remove(index);
        self.torn.loads = loads;
        let first = usize::from(loads.first);
        let after = &self.io.data[first..first + before.len()];
        let were_read = usize::from(loads.last - loads.first) + 1;
        if before[..were_read] == after[..were_read] || before[were_read..] == after[were_read..] {
            return;
        }
        let bytes = before.len() as u8;
        let read = [&before[..were_read], &after[were_read..]].concat();
        let (before, after, read) = (number(&before), number(after), number(&read));
        let kind = FindingKind::TornRead { data: loads.first, bytes, vector, before, after, read };
        self.io.log.find(kind, self.io.clock.wall(), loads.pc * 2);
    }
}
