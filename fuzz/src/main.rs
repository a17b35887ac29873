//! One target, the one that `JITTERLAB_FUZZ` names, driven by libFuzzer.
#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, Target};
use tempfile::TempDir;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("JITTERLAB_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("JITTERLAB_FUZZ={name:?} is none of {TARGETS:?}")).1
});
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder for temporary files"));

fuzz_target!(|data: &[u8]| TARGET(FOLDER.path(), data));
