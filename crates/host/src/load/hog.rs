//! `hog`: a CPU hog in the sense of LinuxCNC's wiki, `while true; do echo "nothing" > /dev/null; done`.

use std::fs::OpenOptions;
use std::io::{self, Write};

use jitterlab_model::load::LoadUnit;

use super::{Kind, Work, share_per_cpu};

pub(super) const KIND: Kind = Kind {
    name: "hog",
    usage: "hog[:N]",
    unit: Some(LoadUnit::Operations),
    share: share_per_cpu,
    begin: |_| Ok(Box::new(SyscallLoad)),
};

struct SyscallLoad;

impl Work for SyscallLoad {
    /// As the shell does for each `echo`: open, write, close.
    fn step(&mut self) -> io::Result<u64> {
        const ROUNDS: u64 = 1_000;
        for _ in 0..ROUNDS {
            OpenOptions::new().write(true).open("/dev/null")?.write_all(b"nothing\n")?;
        }
        Ok(3 * ROUNDS)
    }
}
