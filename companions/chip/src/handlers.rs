//! Durations of handlers, waiting times of interrupts, and stretches with interrupts off: counted in the same
//! way on every chip.

use crate::log::{Blocker, InterruptsOff, Log, Span, VectorStatistics};

/// Counts and extremes, in cycles, of the interrupts of one vector.
#[derive(Debug, Clone, Copy, Default)]
struct VectorCounts {
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

/// Largest number of vectors of a chip.
const MAX_VECTORS: usize = 64;

/// Statistics of handlers and locks up to now.
#[derive(Debug)]
pub struct HandlerStatistics {
    /// Running handlers, outermost first: vector, cycle of entry, and stack pointer at entry.
    running: Vec<(u8, u64, u32)>,
    by_vector: [VectorCounts; MAX_VECTORS],
    /// Cycle and address at which interrupts were turned off outside of a handler.
    off_since: Option<(u64, u32)>,
    longest_off: Option<InterruptsOff>,
    /// Individual handlers and locks, if requested.
    spans: Option<Vec<Span>>,
}

impl HandlerStatistics {
    /// Creates empty statistics; `spans` is true if individual handlers and locks are kept too.
    pub fn new(spans: bool) -> Self {
        HandlerStatistics {
            running: Vec::new(),
            by_vector: [VectorCounts::default(); MAX_VECTORS],
            off_since: None,
            longest_off: None,
            spans: spans.then(Vec::new),
        }
    }

    /// Forgets running handlers and locks, at a reset of the chip.
    pub fn reset(&mut self) {
        self.running.clear();
        self.off_since = None;
    }

    /// Vector of the innermost running handler.
    pub fn running_vector(&self) -> Option<u8> {
        self.running.last().map(|(vector, ..)| *vector)
    }

    /// Records a handler's entry, `latency` after its interrupt was pending: address in bytes, stack pointer.
    pub fn record_entry(&mut self, vector: u8, cycle: u64, latency: u64, (handler, sp): (u32, u32)) {
        // Firmware that leaves handlers without a return would otherwise fill the memory.
        if self.running.len() < 64 {
            self.running.push((vector, cycle, sp));
        }
        let statistics = &mut self.by_vector[usize::from(vector) % MAX_VECTORS];
        statistics.min_latency =
            if statistics.entries == 0 { latency } else { statistics.min_latency.min(latency) };
        statistics.max_latency = statistics.max_latency.max(latency);
        statistics.entries += 1;
        statistics.handler = handler;
    }

    /// Keeps one handler or lock, if requested.
    fn record_span(&mut self, begin: u64, end: u64, blocker: Blocker) {
        if let Some(spans) = self.spans.as_mut().filter(|spans| spans.len() < Log::MAX_SPANS) {
            spans.push(Span { begin, end, blocker });
        }
    }

    /// Drops the running handlers, as another thread continues and their durations are unknown.
    pub fn record_thread_switch(&mut self) {
        for (vector, ..) in self.running.drain(..) {
            self.by_vector[usize::from(vector) % MAX_VECTORS].switched += 1;
        }
    }

    /// Records the end of a handler at the moment `end` with this stack pointer. If the last one was entered
    /// with another stack pointer, another thread continues, and the duration of the handlers is unknown.
    pub fn record_return(&mut self, end: u64, sp: u32) {
        if self.running.last().is_some_and(|(.., at)| *at != sp) {
            self.record_thread_switch();
        }
        let Some((vector, entered, _)) = self.running.pop() else { return };
        let cycles = end.saturating_sub(entered);
        let statistics = &mut self.by_vector[usize::from(vector) % MAX_VECTORS];
        statistics.min = if statistics.count == 0 { cycles } else { statistics.min.min(cycles) };
        statistics.max = statistics.max.max(cycles);
        statistics.count += 1;
        statistics.cycles += cycles;
        self.record_span(entered, end, Blocker::Handler(vector));
    }

    /// Records interrupts being turned off; only counted outside of handlers. The address is in bytes.
    pub fn record_interrupts_off(&mut self, cycle: u64, address: u32) {
        if self.running.is_empty() {
            self.off_since = Some((cycle, address));
        }
    }

    /// Records interrupts being turned on, or the end of the counted stretch.
    pub fn record_interrupts_on(&mut self, cycle: u64, address: u32) {
        let Some((since, from)) = self.off_since.take() else { return };
        let cycles = cycle.saturating_sub(since);
        self.record_span(since, cycle, Blocker::Lock(from));
        if self.longest_off.is_none_or(|longest| cycles > longest.cycles) {
            self.longest_off =
                Some(InterruptsOff { cycle: since, cycles, address: from, end_address: address });
        }
    }

    /// Moves the statistics into the log; `vector_info` gives a vector's name, lost interrupts and their first time.
    pub fn write_to_log<N: Into<String>>(
        &mut self,
        log: &mut Log,
        vector_info: impl Fn(u8) -> Option<(N, (u64, u64))>,
    ) {
        log.longest_off = self.longest_off;
        log.spans = self.spans.take().unwrap_or_default();
        for (number, statistics) in (0u8..).zip(&self.by_vector) {
            let named = vector_info(number).filter(|(_, (lost, _))| statistics.entries > 0 || *lost > 0);
            let Some((name, (lost, first_lost))) = named else { continue };
            log.vectors.push(VectorStatistics {
                number,
                name: name.into(),
                count: statistics.count,
                cycles: statistics.cycles,
                min_cycles: statistics.min,
                max_cycles: statistics.max,
                min_latency_cycles: statistics.min_latency,
                max_latency_cycles: statistics.max_latency,
                lost,
                first_lost,
                handler: statistics.handler,
                switched: statistics.switched,
            });
        }
    }
}
