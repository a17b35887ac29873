//! Records of interrupts, locks and the stack while the firmware runs.

use jitterlab_model::firmware::StackDepth;

use super::chips::Chip;
use super::flag;
use super::io::Io;
use crate::handlers::HandlerStatistics;
use crate::log::{FinalSleep, Finding, FindingKind, Stop};

/// Recorder of handlers, locks and the depth of the stack.
#[derive(Debug)]
pub struct ExecutionMonitor {
    pub handlers: HandlerStatistics,
    ram_end: u16,
    variables_end: Option<u16>,
    /// True while the stack at the end of the memory is in use, false on a thread's own.
    on_main_stack: bool,
    lowest_sp: u16,
    /// True if the firmware changed to a stack that cannot be distinguished from the first.
    is_stack_changed: bool,
    /// Cycle of the last read of the stack pointer.
    read_at: u64,
    /// Number of stack frames made by functions since the running handler began.
    frames: u32,
    /// Programs that handlers interrupted, outermost first.
    interrupted: Vec<InterruptedProgram>,
    /// A byte of the stack pointer that was written alone: true for the high one, the cycle, and the value before.
    single_byte: Option<(bool, u64, u16)>,
}

/// A program that a handler interrupted.
#[derive(Debug)]
struct InterruptedProgram {
    /// Cycle of its last read of the stack pointer, and number of its stack frames.
    read_at: u64,
    frames: u32,
    /// Cycle of the handler's entry, and the stack pointer then.
    entered: u64,
    sp: u16,
}

impl ExecutionMonitor {
    pub fn new(chip: &Chip, variables_end: Option<u32>, spans: bool) -> Self {
        let ram_end = chip.ram_start + chip.ram - 1;
        ExecutionMonitor {
            handlers: HandlerStatistics::new(spans),
            ram_end,
            variables_end: variables_end.and_then(|end| u16::try_from(end).ok()),
            on_main_stack: false,
            lowest_sp: ram_end,
            is_stack_changed: false,
            read_at: 0,
            frames: 0,
            interrupted: Vec::new(),
            single_byte: None,
        }
    }

    /// Forgets handlers and stack frames, at a reset of the chip.
    pub fn reset(&mut self) {
        self.handlers.reset();
        self.interrupted.clear();
        self.frames = 0;
        self.on_main_stack = false;
    }

    /// Records the entry of a handler, for the frames of the interrupted program.
    pub fn record_entry(&mut self, cycle: u64, sp: u16) {
        // Firmware that leaves handlers by other ways than a return would fill the memory.
        if self.interrupted.len() < 64 {
            let frames = std::mem::take(&mut self.frames);
            self.interrupted.push(InterruptedProgram { read_at: self.read_at, frames, entered: cycle, sp });
        }
    }

    /// Records the end of a handler: the interrupted program goes on, unless the stack is another one.
    pub fn record_return(&mut self, cycle: u64, sp: u16) {
        match self.interrupted.pop() {
            Some(before) if before.sp == sp => {
                self.read_at = before.read_at + cycle.saturating_sub(before.entered);
                self.frames = before.frames;
            }
            _ => {
                self.interrupted.clear();
                (self.read_at, self.frames) = (0, 0);
            }
        }
    }

    /// Records that an instruction at `address` (in words) turned interrupts off (at its beginning) or on (at its end).
    pub fn record_interrupt_switch(&mut self, on: bool, wall: u64, address: u32) {
        match on {
            true => self.handlers.record_interrupts_on(wall, address * 2),
            false => self.handlers.record_interrupts_off(wall, address * 2),
        }
    }

    /// Records a read of the stack pointer, as by a function that makes room for its variables.
    pub fn record_stack_pointer_read(&mut self, cycle: u64) {
        self.read_at = cycle;
    }

    /// Records a written byte of the stack pointer; once both are written, returns the value before, else `None`.
    /// `sp` is the value before this write. Compilers write the high byte first, thread switches may write it last.
    pub fn record_stack_pointer_byte(&mut self, high: bool, sp: u16, cycle: u64) -> Option<u16> {
        /// Most cycles for a pair of writes.
        const PAIR: u64 = 8;
        match self.single_byte.take() {
            Some((other, at, before)) if other != high && cycle - at <= PAIR => Some(before),
            _ => {
                self.single_byte = Some((high, cycle, sp));
                None
            }
        }
    }

    /// True if a function makes its stack frame: reads the pointer and subtracts; or ends it: restores it from Y.
    pub fn is_frame(&self, before: u16, sp: u16, y: u16, cycle: u64) -> bool {
        /// Most cycles from reading to writing.
        const SUBTRACTING: u64 = 16;
        if sp < before { cycle - self.read_at <= SUBTRACTING } else { y == sp }
    }

    /// Counts the frame that a new stack pointer makes or removes; else records a switch of threads.
    pub fn record_frame_or_thread_switch(&mut self, before: u16, sp: u16, frame: bool) {
        match (sp < before, frame) {
            _ if sp == before => {}
            (true, true) => self.frames += 1,
            (false, true) if self.frames > 0 => self.frames -= 1,
            _ => self.handlers.record_thread_switch(),
        }
    }

    /// True at the first change, downwards, to a stack that cannot be distinguished from the first one.
    pub fn is_first_stack_change(&mut self, before: u16, sp: u16, frame: bool) -> bool {
        let inside = self.variables_end.is_none_or(|end| sp.saturating_add(1) >= end);
        let first = inside && sp < before && !frame && !self.is_stack_changed;
        self.is_stack_changed |= first;
        first
    }

    /// Records a new stack pointer; returns the bytes by which the stack overlaps the variables, if it does.
    /// `frame` is true if a function makes or removes its stack frame.
    pub fn record_stack_pointer(&mut self, sp: u16, frame: bool) -> Option<u16> {
        let inside = self.variables_end.is_none_or(|end| sp.saturating_add(1) >= end);
        if inside {
            self.on_main_stack = true;
            self.lowest_sp = self.lowest_sp.min(sp);
            None
        } else if frame && self.on_main_stack {
            self.record_overflow(sp)
        } else {
            self.on_main_stack = false;
            None
        }
    }

    /// True if the stack is deeper than ever before.
    pub fn is_deeper(&self, sp: u16) -> bool {
        sp < self.lowest_sp
    }

    /// Records the deepest stack pointer; returns the bytes by which the stack overlaps the variables, if it does.
    pub fn record_stack_growth(&mut self, sp: u16) -> Option<u16> {
        if !self.on_main_stack {
            return None;
        }
        match self.variables_end {
            Some(end) if sp.saturating_add(1) < end => self.record_overflow(sp),
            _ => {
                self.lowest_sp = sp;
                None
            }
        }
    }

    /// Records a stack pointer within the variables; returns the bytes by which the stack overlaps them.
    fn record_overflow(&mut self, sp: u16) -> Option<u16> {
        self.lowest_sp = self.lowest_sp.min(sp);
        self.variables_end.map(|end| end.saturating_sub(sp.saturating_add(1)))
    }

    /// Writes to the log at the end: time, last instruction, a lock that still lasts, stack, and handlers.
    pub fn complete_log(&mut self, io: &mut Io, sreg: u8, pc: u32) {
        let wall = io.clock.wall();
        io.log.cycles = wall;
        io.log.address = pc * 2;
        let over = matches!(io.log.stop, Stop::Asleep(FinalSleep::Done));
        if !over && sreg & 1 << flag::I == 0 {
            self.handlers.record_interrupts_on(wall, pc * 2);
        }
        io.log.stack = (self.lowest_sp < self.ram_end && !self.is_stack_changed).then(|| StackDepth {
            deepest: u32::from(self.ram_end - self.lowest_sp),
            room: self.variables_end.map(|end| (u32::from(self.ram_end) + 1).saturating_sub(u32::from(end))),
        });
        self.handlers.write_to_log(&mut io.log, |number| io.sources.name_and_losses(number));
        for (vector, of) in io.sources.vectors_due_too_often() {
            let kind = FindingKind::DueTooOften { vector, apart: of.apart };
            io.log.findings.push(Finding { kind, cycle: of.first, address: 0, times: of.times });
        }
        for finding in &mut io.log.findings {
            if let FindingKind::StackOverflow(bytes) = &mut finding.kind {
                *bytes = (*bytes).max(
                    self.variables_end
                        .map_or(0, |end| u32::from(end).saturating_sub(u32::from(self.lowest_sp) + 1)),
                );
            }
        }
    }
}
