//! What takes input from outside, as functions of any bytes: each must come to an end without a panic, whatever it is
//! given. Files are written to a folder of the caller's.

mod causes;
mod devices;
mod programs;
mod results;
mod runs;
mod stimuli;
mod structures;
mod texts;

use std::path::{Path, PathBuf};

/// One of them.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of its corpus.
    pub name: &'static str,
    /// Takes a folder for files, the input, and whether to do with it what takes long, too.
    pub run: fn(&Path, &[u8], bool),
    /// That is done with one input of so many, so that it takes about as long as all the rest.
    pub share: u32,
}

/// All of them.
pub const TARGETS: [Target; 12] = [
    Target { name: "run-file", run: runs::run_file, share: 1024 },
    Target { name: "journal", run: runs::journal, share: 1024 },
    Target { name: "values", run: runs::values, share: 8192 },
    Target { name: "structures", run: structures::structures, share: 64 },
    Target { name: "import", run: runs::import, share: 256 },
    Target { name: "causes", run: causes::causes, share: 256 },
    Target { name: "devices", run: devices::devices, share: 4096 },
    Target { name: "texts", run: texts::texts, share: 1 },
    Target { name: "programs", run: programs::programs, share: 1 },
    Target { name: "results", run: results::results, share: 64 },
    Target { name: "stimuli", run: stimuli::stimuli, share: 16 },
    Target { name: "firmware", run: stimuli::firmware, share: 16 },
];

/// A number made of the input: the same for the same one.
pub fn lot(data: &[u8]) -> u32 {
    let mix =
        |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (data.iter().fold(data.len() as u64, mix) >> 32) as u32
}

/// A file in the folder.
fn file(folder: &Path, name: &str, data: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, data).expect("a temporary file");
    path
}
