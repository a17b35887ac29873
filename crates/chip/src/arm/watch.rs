//! What is written down about exceptions, locks and the stack while the firmware runs.

use crate::log::{Entry, Finding, Log, Off, Rest, Stack, Stop, Vector};

/// Exceptions of one number.
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
    /// Handlers that run, outermost first: number, and when each was entered.
    running: Vec<(u8, u64)>,
    seen: [Seen; 48],
    tell_entries: bool,
    /// When and where interrupts were turned off outside of a handler.
    off_since: Option<(u64, u32)>,
    longest_off: Option<Off>,
    /// They have been on.
    were_on: bool,
    woke: bool,
    /// Where the main stack begins.
    top: u32,
    variables_end: Option<u32>,
    /// The stack in use is the main one, not a thread's own.
    on_main_stack: bool,
    lowest: u32,
}

impl Watch {
    pub fn new(top: u32, variables_end: Option<u32>, tell_entries: bool) -> Self {
        Watch {
            running: Vec::new(),
            seen: [Seen::default(); 48],
            tell_entries,
            off_since: None,
            longest_off: None,
            were_on: false,
            woke: false,
            top,
            variables_end,
            on_main_stack: top != 0,
            lowest: top,
        }
    }

    /// A handler is entered, `latency` after its exception was pending: whether that ended a sleep.
    pub fn entered(&mut self, exception: u8, cycle: u64, latency: u64, address: u32, log: &mut Log) -> bool {
        // Firmware that leaves handlers by other ways than a return would fill the memory.
        if self.running.len() < 64 {
            self.running.push((exception, cycle));
        }
        let seen = &mut self.seen[usize::from(exception % 48)];
        seen.min_latency = if seen.entries == 0 { latency } else { seen.min_latency.min(latency) };
        seen.max_latency = seen.max_latency.max(latency);
        seen.entries += 1;
        log.entries += 1;
        self.were_on = true;
        if self.tell_entries {
            log.entered.push(Entry { cycle, vector: exception, address });
        }
        std::mem::take(&mut self.woke)
    }

    /// A handler ends with the moment `end`.
    pub fn left(&mut self, end: u64) {
        let Some((exception, entered)) = self.running.pop() else { return };
        let cycles = end.saturating_sub(entered);
        let seen = &mut self.seen[usize::from(exception % 48)];
        seen.min = if seen.count == 0 { cycles } else { seen.min.min(cycles) };
        seen.max = seen.max.max(cycles);
        seen.count += 1;
        seen.cycles += cycles;
    }

    /// Interrupts were turned off (at its end) or on by an instruction at `address`.
    pub fn switched(&mut self, on: bool, cycle: u64, address: u32) {
        if on {
            self.were_on = true;
            self.close(cycle, address);
        } else if self.running.is_empty() && self.were_on {
            self.off_since = Some((cycle, address));
        }
    }

    /// It sleeps: with interrupts off, whatever comes ends the sleep all the same.
    pub fn asleep(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke = false;
        if primask {
            self.close(cycle, address);
        }
    }

    /// It goes on.
    pub fn awake(&mut self, primask: bool, cycle: u64, address: u32) {
        self.woke = true;
        if primask && self.running.is_empty() && self.were_on {
            self.off_since = Some((cycle, address));
        }
    }

    fn close(&mut self, until: u64, to: u32) {
        let Some((since, from)) = self.off_since.take() else { return };
        let cycles = until.saturating_sub(since);
        if self.longest_off.is_none_or(|longest| cycles > longest.cycles) {
            self.longest_off = Some(Off { cycle: since, cycles, address: from, end_address: to });
        }
    }

    /// Whether the stack is deeper than ever.
    pub fn is_deeper(&self, sp: u32) -> bool {
        sp < self.lowest
    }

    /// The stack grew.
    pub fn grew(&mut self, sp: u32, cycle: u64, address: u32) -> Option<Finding> {
        if !self.on_main_stack {
            return None;
        }
        self.lowest = sp;
        let end = self.variables_end.filter(|end| sp < *end)?;
        Some(Finding::StackOverflow { cycle, address, bytes: end - sp })
    }

    /// The firmware set the stack pointer: to the main stack, which begins where it is highest, or to a thread's own.
    pub fn stack_set(&mut self, sp: u32, frame: bool, cycle: u64, address: u32) -> Option<Finding> {
        if self.variables_end.is_none_or(|end| sp >= end) {
            if sp > self.top {
                (self.top, self.lowest) = (sp, sp);
            }
            self.on_main_stack = true;
            self.lowest = self.lowest.min(sp);
            None
        } else if frame {
            self.grew(sp, cycle, address)
        } else {
            self.on_main_stack = false;
            None
        }
    }

    /// Writes it into the log.
    pub fn finish(
        &mut self,
        log: &mut Log,
        primask: bool,
        pc: u32,
        lost: [u64; 48],
        name: impl Fn(u8) -> &'static str,
    ) {
        log.address = pc;
        if primask && !matches!(log.stop, Stop::Asleep(Rest::Done)) {
            self.close(log.cycles, pc);
        }
        log.off = self.longest_off;
        log.stack = (self.lowest < self.top).then(|| Stack {
            deepest: self.top - self.lowest,
            room: self.variables_end.map(|end| self.top.saturating_sub(end)),
        });
        for (number, (seen, lost)) in (0u8..).zip(self.seen.iter().zip(lost)) {
            if seen.entries == 0 && lost == 0 {
                continue;
            }
            log.vectors.push(Vector {
                number,
                name: name(number).into(),
                count: seen.count,
                cycles: seen.cycles,
                min_cycles: seen.min,
                max_cycles: seen.max,
                min_latency_cycles: seen.min_latency,
                max_latency_cycles: seen.max_latency,
                lost,
            });
        }
    }
}
