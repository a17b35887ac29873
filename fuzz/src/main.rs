//! One target, the one that `JITTERLAB_FUZZ` names when it is built, driven by libFuzzer. The program holds what this target
//! reaches alone: libFuzzer looks through all counters after each input.
#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, Target, lot};
use tempfile::TempDir;

const TARGET: Target = named(env!("JITTERLAB_FUZZ"));
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder for temporary files"));

const fn named(name: &str) -> Target {
    let mut number = 0;
    while !same(TARGETS[number].name.as_bytes(), name.as_bytes()) {
        number += 1;
    }
    TARGETS[number]
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([first, a @ ..], [other, b @ ..]) => *first == *other && same(a, b),
        _ => false,
    }
}

fuzz_target!(|data: &[u8]| (TARGET.run)(FOLDER.path(), data, lot(data).is_multiple_of(TARGET.share)));
