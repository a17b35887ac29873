//! Records of exceptions, locks and the stack while the firmware runs.

use jitterlab_model::firmware::StackDepth;

use crate::handlers::Handlers;
use crate::log::{Entry, Log, Rest, Stop};

/// State of the records.
#[derive(Debug)]
pub struct Watch {
    handlers: Handlers,
    tell_entries: bool,
    /// True if interrupts have been on.
    were_on: bool,
    woke: bool,
    /// Start address of the main stack.
    top: u32,
    variables_end: Option<u32>,
    /// True if the main stack is in use, not a thread's own.
    on_main_stack: bool,
    lowest: u32,
}

impl Watch {
    pub fn new(top: u32, variables_end: Option<u32>, tell_entries: bool, spans: bool) -> Self {
        Watch {
            handlers: Handlers::new(spans),
            tell_entries,
            were_on: false,
            woke: false,
            top,
            variables_end,
            on_main_stack: top != 0,
            lowest: top,
        }
    }

    /// Records the entry of a handler, `latency` after its exception was pending; returns true if that ended a sleep.
    pub fn entered(&mut self, entry: Entry, latency: u64, handler: u32, log: &mut Log) -> bool {
        // The processor itself separates the stacks of threads and handlers.
        self.handlers.entered(entry.vector, entry.cycle, latency, (handler, 0));
        log.entries += 1;
        self.were_on = true;
        if self.tell_entries {
            log.entered.push(entry);
        }
        std::mem::take(&mut self.woke)
    }

    /// Records the end of a handler at the moment `end`.
    pub fn left(&mut self, end: u64) {
        self.handlers.left(end, 0);
    }

    /// Records that an instruction at `address` turned interrupts off (at its end) or on.
    pub fn switched(&mut self, on: bool, cycle: u64, address: u32) {
        if on {
            self.were_on = true;
            self.handlers.on(cycle, address);
        } else if self.were_on {
            self.handlers.off(cycle, address);
        }
    }

    /// Records a sleep: with interrupts off, any interrupt still ends it.
    pub fn asleep(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke = false;
        if primask {
            self.handlers.on(cycle, address);
        }
    }

    /// Records the end of a sleep.
    pub fn awake(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke = true;
        if primask && self.were_on {
            self.handlers.off(cycle, address);
        }
    }

    /// True if the stack is deeper than ever before.
    pub fn is_deeper(&self, sp: u32) -> bool {
        sp < self.lowest
    }

    /// Records a growing stack; returns the number of bytes by which it overlaps the variables.
    pub fn grew(&mut self, sp: u32) -> Option<u32> {
        if !self.on_main_stack {
            return None;
        }
        self.lowest = sp;
        self.variables_end?.checked_sub(sp).filter(|bytes| *bytes > 0)
    }

    /// Records a new stack pointer: to the main stack, which begins at its highest value, or to a thread's own.
    pub fn stack_set(&mut self, sp: u32, frame: bool) -> Option<u32> {
        if self.variables_end.is_none_or(|end| sp >= end) {
            if sp > self.top {
                (self.top, self.lowest) = (sp, sp);
            }
            self.on_main_stack = true;
            self.lowest = self.lowest.min(sp);
            None
        } else if frame {
            self.grew(sp)
        } else {
            self.on_main_stack = false;
            None
        }
    }

    /// Writes the records into the log.
    pub fn finish(
        &mut self,
        log: &mut Log,
        primask: bool,
        pc: u32,
        lost: [(u64, u64); 48],
        name: impl Fn(u8) -> &'static str,
    ) {
        log.address = pc;
        if primask && !matches!(log.stop, Stop::Asleep(Rest::Done)) {
            self.handlers.on(log.cycles, pc);
        }
        log.stack = (self.lowest < self.top).then(|| StackDepth {
            deepest: self.top - self.lowest,
            room: self.variables_end.map(|end| self.top.saturating_sub(end)),
        });
        self.handlers.finish(log, |number| lost.get(usize::from(number)).map(|lost| (name(number), *lost)));
    }
}
