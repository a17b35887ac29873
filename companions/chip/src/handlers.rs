//! How long handlers take and keep waiting, and how long interrupts are off outside of them: counted alike on every chip.

use crate::log::{Log, Off, Vector};

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

/// More vectors than any chip has.
const VECTORS: usize = 64;

/// What has been seen of them.
#[derive(Debug)]
pub struct Handlers {
    /// Those that run, outermost first: vector, and when it was entered.
    running: Vec<(u8, u64)>,
    seen: [Seen; VECTORS],
    /// When and where interrupts were turned off outside of a handler.
    off_since: Option<(u64, u32)>,
    longest_off: Option<Off>,
}

impl Handlers {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Handlers { running: Vec::new(), seen: [Seen::default(); VECTORS], off_since: None, longest_off: None }
    }

    /// The chip was reset.
    pub fn reset(&mut self) {
        self.running.clear();
        self.off_since = None;
    }

    /// The vector whose handler runs.
    pub fn running(&self) -> Option<u8> {
        self.running.last().map(|(vector, _)| *vector)
    }

    /// A handler is entered, `latency` after its interrupt was pending.
    pub fn entered(&mut self, vector: u8, cycle: u64, latency: u64) {
        // Firmware that leaves handlers by other ways than a return would fill the memory.
        if self.running.len() < 64 {
            self.running.push((vector, cycle));
        }
        let seen = &mut self.seen[usize::from(vector) % VECTORS];
        seen.min_latency = if seen.entries == 0 { latency } else { seen.min_latency.min(latency) };
        seen.max_latency = seen.max_latency.max(latency);
        seen.entries += 1;
    }

    /// A handler ends with the moment `end`.
    pub fn left(&mut self, end: u64) {
        let Some((vector, entered)) = self.running.pop() else { return };
        let cycles = end.saturating_sub(entered);
        let seen = &mut self.seen[usize::from(vector) % VECTORS];
        seen.min = if seen.count == 0 { cycles } else { seen.min.min(cycles) };
        seen.max = seen.max.max(cycles);
        seen.count += 1;
        seen.cycles += cycles;
    }

    /// Interrupts are off from here on; of interest outside of handlers only. The address is in bytes.
    pub fn off(&mut self, cycle: u64, address: u32) {
        if self.running.is_empty() {
            self.off_since = Some((cycle, address));
        }
    }

    /// They are on again, or what follows does not count.
    pub fn on(&mut self, cycle: u64, address: u32) {
        let Some((since, from)) = self.off_since.take() else { return };
        let cycles = cycle.saturating_sub(since);
        if self.longest_off.is_none_or(|longest| cycles > longest.cycles) {
            self.longest_off = Some(Off { cycle: since, cycles, address: from, end_address: address });
        }
    }

    /// Writes it into the log; `of_vector` tells a vector's name and how many of its interrupts were lost.
    pub fn finish<N: Into<String>>(&self, log: &mut Log, of_vector: impl Fn(u8) -> Option<(N, u64)>) {
        log.off = self.longest_off;
        for (number, seen) in (0u8..).zip(&self.seen) {
            let Some((name, lost)) = of_vector(number).filter(|(_, lost)| seen.entries > 0 || *lost > 0)
            else {
                continue;
            };
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
            });
        }
    }
}
