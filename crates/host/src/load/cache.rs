//! `cache`: walking memory at random so that the last-level cache holds nothing else.

use std::hint::black_box;
use std::io;

use jitterlab_model::load::LoadUnit;

use super::cpu::xorshift;
use super::{Kind, Work, WorkShare, parse_size, parse_worker_count};

/// A cache line on nearly every processor, in bytes.
const LINE: u64 = 64;
/// Size in bytes if the machine does not report its caches.
const UNKNOWN_CACHE: u64 = 32 << 20;

pub(super) const KIND: Kind = Kind {
    name: "cache",
    usage: "cache[:N[,SIZE]]",
    unit: Some(LoadUnit::Bytes),
    share: |arguments, place| {
        let (n, size) = arguments.split_once(',').unwrap_or((arguments, ""));
        let largest = place.facts.caches.iter().filter_map(|cache| cache.size_bytes).max();
        let quarter = place.facts.memory.available_bytes.unwrap_or(u64::MAX) / 4;
        let size = match size {
            "" => (2 * largest.unwrap_or(UNKNOWN_CACHE)).min(quarter),
            size => parse_size(size)?,
        };
        Ok(WorkShare { workers: parse_worker_count(n, 1)?, arguments: size.to_string() })
    },
    begin: |arguments| {
        let lines = arguments.parse().unwrap_or(UNKNOWN_CACHE).max(LINE) / LINE;
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let count = usize::try_from(lines * (LINE / 8)).map_err(|_| full())?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| full())?;
        // Written once, so that every page is there when the load begins.
        words.resize(count, 1);
        Ok(Box::new(CacheLoad { words, lines, seed: 0x9E37_79B9_7F4A_7C15 }))
    },
};

struct CacheLoad {
    words: Vec<u64>,
    lines: u64,
    seed: u64,
}

impl Work for CacheLoad {
    fn step(&mut self) -> io::Result<u64> {
        const ROUNDS: u64 = 50_000;
        for _ in 0..ROUNDS {
            self.seed = xorshift(self.seed);
            let word = (self.seed % self.lines * (LINE / 8)) as usize;
            self.words[word] = self.words[word].wrapping_add(self.seed);
        }
        black_box(self.words.first());
        Ok(ROUNDS * LINE)
    }
}
