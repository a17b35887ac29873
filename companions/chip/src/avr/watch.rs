//! Records of interrupts, locks and the stack while the firmware runs.

use super::chips::Chip;
use super::flag;
use super::io::Io;
use crate::handlers::Handlers;
use crate::log::{Finding, Rest, Stack, Stop};

/// State of the records.
#[derive(Debug)]
pub struct Watch {
    /// Handlers and locks.
    pub handlers: Handlers,
    ram_end: u16,
    variables_end: Option<u16>,
    /// True if the stack in use begins at the end of the memory, and is not a thread's own.
    on_main_stack: bool,
    lowest: u16,
    /// True if the firmware changed to a stack that cannot be distinguished from the first.
    changed: bool,
    /// Cycle of the last read of the stack pointer.
    read_at: u64,
    /// A byte of the stack pointer that was written alone: true for the high one, the cycle, and the value before.
    half: Option<(bool, u64, u16)>,
}

impl Watch {
    /// Creates empty records.
    pub fn new(chip: &Chip, variables_end: Option<u32>, spans: bool) -> Self {
        let ram_end = chip.ram_start + chip.ram - 1;
        Watch {
            handlers: Handlers::new(spans),
            ram_end,
            variables_end: variables_end.and_then(|end| u16::try_from(end).ok()),
            on_main_stack: false,
            lowest: ram_end,
            changed: false,
            read_at: 0,
            half: None,
        }
    }

    /// Handles a reset of the chip.
    pub fn reset(&mut self) {
        self.handlers.reset();
        self.on_main_stack = false;
    }

    /// Records that an instruction at `address` (in words) turned interrupts off (at its beginning) or on (at its end).
    pub fn switched(&mut self, on: bool, wall: u64, address: u32) {
        match on {
            true => self.handlers.on(wall, address * 2),
            false => self.handlers.off(wall, address * 2),
        }
    }

    /// Records a read of the stack pointer, as by a function that makes room for its variables.
    pub fn stack_read(&mut self, cycle: u64) {
        self.read_at = cycle;
    }

    /// Records a write of one of its bytes, where the pointer was `sp` before; returns the value before both
    /// writes once both bytes are written. Compilers write the high byte first, thread switches may write it last.
    pub fn stack_written(&mut self, high: bool, sp: u16, cycle: u64) -> Option<u16> {
        /// Most cycles for a pair of writes.
        const PAIR: u64 = 8;
        match self.half.take() {
            Some((other, at, before)) if other != high && cycle - at <= PAIR => Some(before),
            _ => {
                self.half = Some((high, cycle, sp));
                None
            }
        }
    }

    /// True if a function sets the stack pointer to make room for its variables: it reads the pointer and
    /// subtracts; at its end it restores the pointer from Y.
    pub fn is_frame(&self, before: u16, sp: u16, y: u16, cycle: u64) -> bool {
        /// Most cycles from reading to writing.
        const SUBTRACTING: u64 = 16;
        if sp < before { cycle - self.read_at <= SUBTRACTING } else { y == sp }
    }

    /// Returns true at the first change to a stack that cannot be distinguished from the first one; such a
    /// change is downwards.
    pub fn changes_stack(&mut self, before: u16, sp: u16, frame: bool) -> bool {
        let inside = self.variables_end.is_none_or(|end| sp.saturating_add(1) >= end);
        let first = inside && sp < before && !frame && !self.changed;
        self.changed |= first;
        first
    }

    /// Records a new stack pointer; `frame` is true if a function makes room for its variables.
    pub fn stack_set(&mut self, sp: u16, frame: bool) -> Option<u16> {
        let inside = self.variables_end.is_none_or(|end| sp.saturating_add(1) >= end);
        if inside {
            self.on_main_stack = true;
            self.lowest = self.lowest.min(sp);
            None
        } else if frame && self.on_main_stack {
            self.overflow(sp)
        } else {
            self.on_main_stack = false;
            None
        }
    }

    /// True if the stack is deeper than ever before.
    pub fn is_deeper(&self, sp: u16) -> bool {
        sp < self.lowest
    }

    /// Records a growing stack; returns the number of bytes by which it overlaps the variables.
    pub fn grew(&mut self, sp: u16) -> Option<u16> {
        if !self.on_main_stack {
            return None;
        }
        match self.variables_end {
            Some(end) if sp.saturating_add(1) < end => self.overflow(sp),
            _ => {
                self.lowest = sp;
                None
            }
        }
    }

    fn overflow(&mut self, sp: u16) -> Option<u16> {
        self.lowest = self.lowest.min(sp);
        self.variables_end.map(|end| end.saturating_sub(sp.saturating_add(1)))
    }

    /// Writes the records into the log.
    pub fn finish(&mut self, io: &mut Io, sreg: u8, pc: u32) {
        let wall = io.clock.wall();
        io.log.cycles = wall;
        io.log.address = pc * 2;
        let over = matches!(io.log.stop, Stop::Asleep(Rest::Done));
        if !over && sreg & 1 << flag::I == 0 {
            self.handlers.on(wall, pc * 2);
        }
        io.log.stack = (self.lowest < self.ram_end && !self.changed).then(|| Stack {
            deepest: u32::from(self.ram_end - self.lowest),
            room: self.variables_end.map(|end| (u32::from(self.ram_end) + 1).saturating_sub(u32::from(end))),
        });
        self.handlers.finish(&mut io.log, |number| io.sources.of_vector(number));
        for finding in &mut io.log.findings {
            if let Finding::StackOverflow { bytes, .. } = finding {
                *bytes = (*bytes).max(
                    self.variables_end
                        .map_or(0, |end| u32::from(end).saturating_sub(u32::from(self.lowest) + 1)),
                );
            }
        }
    }
}
