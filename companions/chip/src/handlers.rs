//! Durations of handlers, waiting times of interrupts, and stretches with interrupts off: counted in the same
//! way on every chip.

use crate::log::{Keeper, Log, Off, Span, Vector};

/// Interrupts of one vector.
#[derive(Debug, Clone, Copy, Default)]
struct VectorFigures {
    count: u64,
    cycles: u64,
    min: u64,
    max: u64,
    entries: u64,
    min_latency: u64,
    max_latency: u64,
    handler: u32,
    switched: u64,
}

/// Most vectors; no chip has more.
const VECTORS: usize = 64;

/// Figures of handlers so far.
#[derive(Debug)]
pub struct Handlers {
    /// Running handlers, outermost first: vector, cycle of entry, and stack pointer at entry.
    running: Vec<(u8, u64, u32)>,
    seen: [VectorFigures; VECTORS],
    /// Cycle and address at which interrupts were turned off outside of a handler.
    off_since: Option<(u64, u32)>,
    longest_off: Option<Off>,
    /// Individual handlers and locks, if requested.
    spans: Option<Vec<Span>>,
}

impl Handlers {
    /// Creates empty figures.
    pub fn new(spans: bool) -> Self {
        Handlers {
            running: Vec::new(),
            seen: [VectorFigures::default(); VECTORS],
            off_since: None,
            longest_off: None,
            spans: spans.then(Vec::new),
        }
    }

    /// Handles a reset of the chip.
    pub fn reset(&mut self) {
        self.running.clear();
        self.off_since = None;
    }

    /// Returns the vector of the running handler.
    pub fn running(&self) -> Option<u8> {
        self.running.last().map(|(vector, ..)| *vector)
    }

    /// Records the entry of a handler at an address in bytes with a stack pointer, `latency` after its
    /// interrupt was pending.
    pub fn entered(&mut self, vector: u8, cycle: u64, latency: u64, (handler, sp): (u32, u32)) {
        // Firmware that leaves handlers without a return would otherwise fill the memory.
        if self.running.len() < 64 {
            self.running.push((vector, cycle, sp));
        }
        let seen = &mut self.seen[usize::from(vector) % VECTORS];
        seen.min_latency = if seen.entries == 0 { latency } else { seen.min_latency.min(latency) };
        seen.max_latency = seen.max_latency.max(latency);
        seen.entries += 1;
        seen.handler = handler;
    }

    fn span(&mut self, begin: u64, end: u64, keeper: Keeper) {
        if let Some(spans) = self.spans.as_mut().filter(|spans| spans.len() < Log::SPANS) {
            spans.push(Span { begin, end, keeper });
        }
    }

    /// Another thread goes on: how long the handlers take that run is not known.
    pub fn thread_changed(&mut self) {
        for (vector, ..) in self.running.drain(..) {
            self.seen[usize::from(vector) % VECTORS].switched += 1;
        }
    }

    /// Records the end of a handler at the moment `end` with this stack pointer. If the last one was entered
    /// with another stack pointer, another thread continues, and the duration of the handlers is unknown.
    pub fn left(&mut self, end: u64, sp: u32) {
        if self.running.last().is_some_and(|(.., at)| *at != sp) {
            self.thread_changed();
        }
        let Some((vector, entered, _)) = self.running.pop() else { return };
        let cycles = end.saturating_sub(entered);
        let seen = &mut self.seen[usize::from(vector) % VECTORS];
        seen.min = if seen.count == 0 { cycles } else { seen.min.min(cycles) };
        seen.max = seen.max.max(cycles);
        seen.count += 1;
        seen.cycles += cycles;
        self.span(entered, end, Keeper::Handler(vector));
    }

    /// Records interrupts being turned off; only counted outside of handlers. The address is in bytes.
    pub fn off(&mut self, cycle: u64, address: u32) {
        if self.running.is_empty() {
            self.off_since = Some((cycle, address));
        }
    }

    /// Records interrupts being turned on, or the end of the counted stretch.
    pub fn on(&mut self, cycle: u64, address: u32) {
        let Some((since, from)) = self.off_since.take() else { return };
        let cycles = cycle.saturating_sub(since);
        self.span(since, cycle, Keeper::Lock(from));
        if self.longest_off.is_none_or(|longest| cycles > longest.cycles) {
            self.longest_off = Some(Off { cycle: since, cycles, address: from, end_address: address });
        }
    }

    /// Writes the figures into the log; `of_vector` returns a vector's name and the number of its lost interrupts.
    pub fn finish<N: Into<String>>(
        &mut self,
        log: &mut Log,
        of_vector: impl Fn(u8) -> Option<(N, (u64, u64))>,
    ) {
        log.off = self.longest_off;
        log.spans = self.spans.take().unwrap_or_default();
        for (number, seen) in (0u8..).zip(&self.seen) {
            let named = of_vector(number).filter(|(_, (lost, _))| seen.entries > 0 || *lost > 0);
            let Some((name, (lost, first_lost))) = named else { continue };
            log.vectors.push(Vector {
                number,
                name: name.into(),
                count: seen.count,
                cycles: seen.cycles,
                min_cycles: seen.min,
                max_cycles: seen.max,
                min_latency_cycles: seen.min_latency,
                max_latency_cycles: seen.max_latency,
                lost,
                first_lost,
                handler: seen.handler,
                switched: seen.switched,
            });
        }
    }
}
