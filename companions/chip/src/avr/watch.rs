//! What is written down about interrupts, locks and the stack while the firmware runs.

use super::chips::Chip;
use super::flag;
use super::io::Io;
use crate::handlers::Handlers;
use crate::log::{Finding, Rest, Stack, Stop};

/// What is being watched.
#[derive(Debug)]
pub struct Watch {
    /// Handlers and locks.
    pub handlers: Handlers,
    ram_end: u16,
    variables_end: Option<u16>,
    /// The stack is the one that begins at the end of the memory, not a thread's own.
    on_main_stack: bool,
    lowest: u16,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new(chip: &Chip, variables_end: Option<u32>) -> Self {
        let ram_end = chip.ram_start + chip.ram - 1;
        Watch {
            handlers: Handlers::new(),
            ram_end,
            variables_end: variables_end.and_then(|end| u16::try_from(end).ok()),
            on_main_stack: false,
            lowest: ram_end,
        }
    }

    /// The chip was reset.
    pub fn reset(&mut self) {
        self.handlers.reset();
        self.on_main_stack = false;
    }

    /// An instruction at `address` (in words) turned interrupts off (its begin), or on (its end).
    pub fn switched(&mut self, on: bool, wall: u64, address: u32) {
        match on {
            true => self.handlers.on(wall, address * 2),
            false => self.handlers.off(wall, address * 2),
        }
    }

    /// The firmware set the stack pointer; `frame` where it is a function that makes room for its variables.
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

    /// Whether the stack is deeper than ever.
    pub fn is_deeper(&self, sp: u16) -> bool {
        sp < self.lowest
    }

    /// The stack grew; tells by how many bytes into the variables.
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

    /// Writes it into the log.
    pub fn finish(&mut self, io: &mut Io, sreg: u8, pc: u32) {
        let wall = io.clock.wall();
        io.log.cycles = wall;
        io.log.address = pc * 2;
        let over = matches!(io.log.stop, Stop::Asleep(Rest::Done));
        if !over && sreg & 1 << flag::I == 0 {
            self.handlers.on(wall, pc * 2);
        }
        io.log.stack = (self.lowest < self.ram_end).then(|| Stack {
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
