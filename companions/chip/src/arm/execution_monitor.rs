//! Records of exceptions, locks and the stack while the firmware runs.

use jitterlab_model::firmware::StackDepth;

use crate::handlers::HandlerStatistics;
use crate::log::{FinalSleep, HandlerEntry, Log, Stop};

/// Recorder of handlers, locks and the depth of the main stack.
#[derive(Debug)]
pub struct ExecutionMonitor {
    handlers: HandlerStatistics,
    records_entries: bool,
    were_interrupts_on: bool,
    woke_from_sleep: bool,
    /// Initial pointer of the main stack.
    stack_top: u32,
    variables_end: Option<u32>,
    /// True while the main stack is in use, false on a thread's own.
    on_main_stack: bool,
    lowest_sp: u32,
}

impl ExecutionMonitor {
    pub fn new(stack_top: u32, variables_end: Option<u32>, records_entries: bool, spans: bool) -> Self {
        ExecutionMonitor {
            handlers: HandlerStatistics::new(spans),
            records_entries,
            were_interrupts_on: false,
            woke_from_sleep: false,
            stack_top,
            variables_end,
            on_main_stack: stack_top != 0,
            lowest_sp: stack_top,
        }
    }

    /// Records the entry of a handler, `latency` after its exception was pending; returns true if that ended a sleep.
    pub fn record_entry(&mut self, entry: HandlerEntry, latency: u64, handler: u32, log: &mut Log) -> bool {
        // The processor itself separates the stacks of threads and handlers.
        self.handlers.record_entry(entry.vector, entry.cycle, latency, (handler, 0));
        log.entry_count += 1;
        self.were_interrupts_on = true;
        if self.records_entries {
            log.entries.push(entry);
        }
        std::mem::take(&mut self.woke_from_sleep)
    }

    /// Records the end of a handler at the moment `end`.
    pub fn record_return(&mut self, end: u64) {
        self.handlers.record_return(end, 0);
    }

    /// Records that an instruction at `address` turned interrupts off (at its end) or on.
    pub fn record_interrupt_switch(&mut self, on: bool, cycle: u64, address: u32) {
        if on {
            self.were_interrupts_on = true;
            self.handlers.record_interrupts_on(cycle, address);
        } else if self.were_interrupts_on {
            self.handlers.record_interrupts_off(cycle, address);
        }
    }

    /// Records the beginning of a sleep; with interrupts off, any interrupt still ends it.
    pub fn record_sleep(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke_from_sleep = false;
        if primask {
            self.handlers.record_interrupts_on(cycle, address);
        }
    }

    pub fn record_wake_up(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke_from_sleep = true;
        if primask && self.were_interrupts_on {
            self.handlers.record_interrupts_off(cycle, address);
        }
    }

    /// True if the stack is deeper than ever before.
    pub fn is_deeper(&self, sp: u32) -> bool {
        sp < self.lowest_sp
    }

    /// Records the deepest stack pointer; returns the bytes by which the stack overlaps the variables, if it does.
    pub fn record_stack_growth(&mut self, sp: u32) -> Option<u32> {
        if !self.on_main_stack {
            return None;
        }
        self.lowest_sp = sp;
        self.variables_end?.checked_sub(sp).filter(|bytes| *bytes > 0)
    }

    /// Records a new stack pointer; returns the bytes by which the main stack overlaps the variables, if it does.
    /// It is the main stack's or a thread's own; `frame` is true if a function makes room for its variables.
    pub fn record_stack_pointer(&mut self, sp: u32, frame: bool) -> Option<u32> {
        if self.variables_end.is_none_or(|end| sp >= end) {
            if sp > self.stack_top {
                (self.stack_top, self.lowest_sp) = (sp, sp);
            }
            self.on_main_stack = true;
            self.lowest_sp = self.lowest_sp.min(sp);
            None
        } else if frame {
            self.record_stack_growth(sp)
        } else {
            self.on_main_stack = false;
            None
        }
    }

    /// Writes to the log at the end: last instruction, a lock that still lasts, stack, and handlers.
    pub fn complete_log(
        &mut self,
        log: &mut Log,
        primask: bool,
        pc: u32,
        lost: [(u64, u64); 48],
        name: impl Fn(u8) -> &'static str,
    ) {
        log.address = pc;
        if primask && !matches!(log.stop, Stop::Asleep(FinalSleep::Done)) {
            self.handlers.record_interrupts_on(log.cycles, pc);
        }
        log.stack = (self.lowest_sp < self.stack_top).then(|| StackDepth {
            deepest: self.stack_top - self.lowest_sp,
            room: self.variables_end.map(|end| self.stack_top.saturating_sub(end)),
        });
        self.handlers
            .write_to_log(log, |number| lost.get(usize::from(number)).map(|lost| (name(number), *lost)));
    }
}
