//! `mem`: allocating, touching and freeing memory, as `stress -m` does.

use std::hint::black_box;
use std::io;

use jitterlab_model::Error;
use jitterlab_model::load::LoadUnit;

use super::{Kind, Work, WorkShare, parse_size, parse_worker_count};

/// Default of `stress -m`.
const DEFAULT_BYTES: u64 = 256 << 20;

pub(super) const KIND: Kind = Kind {
    name: "mem",
    usage: "mem[:N[,SIZE]]",
    unit: Some(LoadUnit::Bytes),
    share: |arguments, place| {
        let (n, size) = arguments.split_once(',').unwrap_or((arguments, ""));
        let workers = parse_worker_count(n, 1)?;
        let size = if size.is_empty() { DEFAULT_BYTES } else { parse_size(size)? };
        let available = place.facts.memory.available_bytes.unwrap_or(u64::MAX);
        if size.saturating_mul(u64::from(workers)) > available / 10 * 9 {
            return Err(Error::bad_use(format!(
                "{workers} x {} MiB is more memory than there is",
                size >> 20
            )));
        }
        Ok(WorkShare { workers, arguments: size.to_string() })
    },
    begin: |arguments| {
        let size = usize::try_from(arguments.parse().unwrap_or(DEFAULT_BYTES)).unwrap_or(usize::MAX);
        Ok(Box::new(MemoryLoad { size, held: Vec::new() }))
    },
};

struct MemoryLoad {
    size: usize,
    held: Vec<u8>,
}

impl Work for MemoryLoad {
    /// Touches a little more of the block, page fault by page fault; a full one is given back.
    fn step(&mut self) -> io::Result<u64> {
        const PART: usize = 4 << 20;
        if self.held.capacity() < self.size {
            self.held
                .try_reserve_exact(self.size)
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        }
        let part = PART.min(self.size - self.held.len());
        self.held.resize(self.held.len() + part, 0x5A);
        black_box(self.held.last());
        if self.held.len() == self.size {
            // Above the allocator's threshold this is an munmap.
            self.held = Vec::new();
        }
        Ok(part as u64)
    }
}
