//! What is written down about interrupts, locks and the stack while the firmware runs.

use super::chips::Chip;
use super::flag;
use super::io::Io;
use crate::log::{Finding, Off, Rest, Stack, Stop, Vector};

/// Interrupts of one vector.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    count: u64,
    cycles: u64,
    min: u64,
    max: u64,
    entries: u64,
    min_latency: u64,
    max_latency: u64,
}

/// What is being watched.
#[derive(Debug)]
pub struct Watch {
    /// Handlers that run, outermost first: vector, and when it was entered.
    running: Vec<(u8, u64)>,
    seen: [Seen; 64],
    /// When and where interrupts were turned off outside of a handler.
    off_since: Option<(u64, u32)>,
    longest_off: Option<Off>,
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
            running: Vec::new(),
            seen: [Seen::default(); 64],
            off_since: None,
            longest_off: None,
            ram_end,
            variables_end: variables_end.and_then(|end| u16::try_from(end).ok()),
            on_main_stack: false,
            lowest: ram_end,
        }
    }

    /// The chip was reset.
    pub fn reset(&mut self) {
        self.running.clear();
        self.off_since = None;
        self.on_main_stack = false;
    }

    /// The vector whose handler runs.
    pub fn running(&self) -> Option<u8> {
        self.running.last().map(|(vector, _)| *vector)
    }

    /// A handler is entered, `latency` after its interrupt was pending.
    pub fn entered(&mut self, vector: u8, wall: u64, latency: u64) {
        // Firmware that leaves handlers by other ways than RETI would fill the memory.
        if self.running.len() < 64 {
            self.running.push((vector, wall));
        }
        let seen = &mut self.seen[usize::from(vector & 63)];
        seen.min_latency = if seen.entries == 0 { latency } else { seen.min_latency.min(latency) };
        seen.max_latency = seen.max_latency.max(latency);
        seen.entries += 1;
    }

    /// A handler ends with the moment `end`.
    pub fn left(&mut self, end: u64) {
        let Some((vector, entered)) = self.running.pop() else { return };
        let cycles = end.saturating_sub(entered);
        let seen = &mut self.seen[usize::from(vector & 63)];
        seen.min = if seen.count == 0 { cycles } else { seen.min.min(cycles) };
        seen.max = seen.max.max(cycles);
        seen.count += 1;
        seen.cycles += cycles;
    }

    /// An instruction at `address` (in words) turned interrupts off (its begin), or on (its end).
    pub fn switched(&mut self, on: bool, wall: u64, address: u32) {
        if !on {
            if self.running.is_empty() {
                self.off_since = Some((wall, address));
            }
        } else if let Some((since, from)) = self.off_since.take() {
            self.was_off(since, wall, from, address);
        }
    }

    fn was_off(&mut self, since: u64, until: u64, from: u32, to: u32) {
        let cycles = until.saturating_sub(since);
        if self.longest_off.is_none_or(|longest| cycles > longest.cycles) {
            self.longest_off = Some(Off { cycle: since, cycles, address: from * 2, end_address: to * 2 });
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
        if let Some((since, from)) = self.off_since.filter(|_| !over && sreg & 1 << flag::I == 0) {
            self.was_off(since, wall, from, pc);
        }
        io.log.off = self.longest_off;
        io.log.stack = (self.lowest < self.ram_end).then(|| Stack {
            deepest: u32::from(self.ram_end - self.lowest),
            room: self.variables_end.map(|end| (u32::from(self.ram_end) + 1).saturating_sub(u32::from(end))),
        });
        for (number, seen) in (0u8..).zip(&self.seen) {
            let Some((name, lost)) = io.sources.of_vector(number) else { continue };
            if seen.entries == 0 && lost == 0 {
                continue;
            }
            io.log.vectors.push(Vector {
                number,
                name: name.into(),
                count: seen.count,
                cycles: seen.cycles,
                min_cycles: seen.min,
                max_cycles: seen.max,
                min_latency_cycles: seen.min_latency,
                max_latency_cycles: seen.max_latency,
                lost,
            });
        }
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
