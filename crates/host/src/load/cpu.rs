//! `cpu`: square roots, as `stress -c` computes them.

use std::hint::black_box;
use std::io;

use super::{Kind, Work, share_per_cpu};

pub(super) const KIND: Kind = Kind {
    name: "cpu",
    usage: "cpu[:N]",
    unit: None,
    share: share_per_cpu,
    begin: |_| Ok(Box::new(CpuLoad { seed: 0x9E37_79B9_7F4A_7C15 })),
};

struct CpuLoad {
    seed: u64,
}

impl Work for CpuLoad {
    fn step(&mut self) -> io::Result<u64> {
        for _ in 0..100_000 {
            self.seed = xorshift(self.seed);
            black_box((self.seed as f64).sqrt());
        }
        Ok(0)
    }
}

/// The next of a sequence of random numbers (Marsaglia, "Xorshift RNGs", 2003).
pub(super) fn xorshift(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
}
