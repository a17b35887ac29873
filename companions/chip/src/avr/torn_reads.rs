//! Variables of several bytes that are read byte by byte while a handler changes them.

use super::Avr;
use super::decode::Kind;
use crate::log::FindingKind;

/// Loads that follow each other in code and in memory, into registers that do so too: how compilers read a variable.
#[derive(Debug, Clone, Copy, Default)]
struct AdjacentLoads {
    /// The last one's address in words.
    pc: u32,
    /// Data addresses of the first byte and the last.
    first: u16,
    last: u16,
}

/// A variable that has been read in part when a handler comes.
#[derive(Debug)]
struct PartialRead {
    /// Address of the next load in words, and the stack pointer there.
    pc: u32,
    sp: u16,
    loads: AdjacentLoads,
    /// All its bytes before the handler.
    before: Vec<u8>,
    vector: u8,
}

/// Recorder of variables that are read byte by byte.
#[derive(Debug, Default)]
pub struct TornReads {
    loads: AdjacentLoads,
    partial_reads: Vec<PartialRead>,
}

impl TornReads {
    /// Most bytes of a variable, and most that are read at once.
    const MAX_BYTES: u16 = 8;
    const MAX_PARTIAL_READS: usize = 16;
}

fn from_little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Avr {
    /// Records that the current instruction read the byte at a data address.
    #[inline]
    pub(super) fn record_load(&mut self, address: u16) {
        if address < self.chip.ram_start {
            return;
        }
        let before = self.torn_reads.loads;
        let follows = address == before.last.wrapping_add(1) && self.is_next_load(before.pc, self.pc);
        let first = if follows { before.first } else { address };
        self.torn_reads.loads = AdjacentLoads { pc: self.pc, first, last: address };
    }

    /// True if an instruction comes right after another one, and names the next register.
    fn is_next_load(&self, one: u32, next: u32) -> bool {
        let [Some(one_op), Some(next_op)] = [one, next].map(|pc| self.code.get(pc as usize)) else {
            return false;
        };
        one + u32::from(one_op.words) == next && one_op.d + 1 == next_op.d
    }

    /// Returns the data address that an instruction loads from, if it is one of those that read variables.
    fn address_loaded_by(&self, pc: u32) -> Option<u16> {
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

    /// Records the variable that is read in part, if any, when a handler is entered.
    pub(super) fn record_partial_read(&mut self, vector: u8) {
        let loads = self.torn_reads.loads;
        let (mut last, mut at) = (loads.pc, self.pc);
        let mut end = loads.last.wrapping_add(1);
        while end - loads.first < TornReads::MAX_BYTES
            && self.is_next_load(last, at)
            && self.address_loaded_by(at) == Some(end)
        {
            end += 1;
            (last, at) = (at, at + u32::from(self.code[at as usize].words));
        }
        let bytes = self.io.data.get(usize::from(loads.first)..usize::from(end));
        let Some(before) = bytes.filter(|_| last != loads.pc).map(<[u8]>::to_vec) else { return };
        // Threads that never go on would fill the memory.
        if self.torn_reads.partial_reads.len() >= TornReads::MAX_PARTIAL_READS {
            self.torn_reads.partial_reads.clear();
        }
        self.torn_reads.partial_reads.push(PartialRead { pc: self.pc, sp: self.sp, loads, before, vector });
    }

    /// Reports a torn read when a handler ends, if bytes read before it and bytes not yet read both changed.
    /// The result is neither the value before nor the one after.
    pub(super) fn report_torn_read(&mut self) {
        let goes_on = |half: &PartialRead| half.pc == self.pc && half.sp == self.sp;
        let Some(index) = self.torn_reads.partial_reads.iter().position(goes_on) else { return };
        let PartialRead { loads, before, vector, .. } = self.torn_reads.partial_reads.swap_remove(index);
        self.torn_reads.loads = loads;
        let first = usize::from(loads.first);
        let after = &self.io.data[first..first + before.len()];
        let were_read = usize::from(loads.last - loads.first) + 1;
        if before[..were_read] == after[..were_read] || before[were_read..] == after[were_read..] {
            return;
        }
        let bytes = before.len() as u8;
        let read = [&before[..were_read], &after[were_read..]].concat();
        let (before, after, read) =
            (from_little_endian(&before), from_little_endian(after), from_little_endian(&read));
        let kind = FindingKind::TornRead { data: loads.first, bytes, vector, before, after, read };
        self.io.log.report_finding(kind, self.io.clock.wall(), loads.pc * 2);
    }
}
