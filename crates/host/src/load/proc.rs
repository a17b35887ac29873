//! `proc`: reading the kernel's own figures, as `cat /proc/xenomai/stat` and `top` do. Making them takes locks and, for some,
//! asks every processor.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use jitterlab_model::load::LoadUnit;

use super::{Kind, Work, share_of_one};

pub(super) const KIND: Kind = Kind {
    name: "proc",
    usage: "proc[:N]",
    unit: Some(LoadUnit::Bytes),
    share: share_of_one,
    begin: |_| Ok(Box::new(ProcLoad { buffer: vec![0; 64 * 1024] })),
};

/// Figures of the whole machine; those of Xenomai are there under its kernel only.
const FILES: &[&str] = &[
    "/proc/stat",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/vmstat",
    "/proc/xenomai/stat",
    "/proc/xenomai/sched/stat",
];

struct ProcLoad {
    buffer: Vec<u8>,
}

impl ProcLoad {
    /// Reads a file to its end, and returns its size; 0 for a file that is missing or goes.
    fn read_to_end(&mut self, path: PathBuf) -> u64 {
        let Ok(mut file) = File::open(path) else { return 0 };
        let mut read = 0;
        while let Ok(n @ 1..) = file.read(&mut self.buffer) {
            read += n as u64;
        }
        read
    }
}

impl Work for ProcLoad {
    fn step(&mut self) -> io::Result<u64> {
        let mut read: u64 = FILES.iter().map(|file| self.read_to_end(PathBuf::from(file))).sum();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit())) {
                read += self.read_to_end(PathBuf::from("/proc").join(name).join("stat"));
            }
        }
        Ok(read)
    }
}
