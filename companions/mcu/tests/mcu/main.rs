//! Tests of the microcontroller bench with the real compiler, and of the library on this system.
//! Tests without their tools are skipped with a message, unless all tools are required.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run the tools has failed")]

mod api;
mod arduino;
mod arm;
mod bugs;
mod chip;
mod cost;
mod crystal;
mod entries;
mod interrupts;
mod manual;
mod native;
mod nearby;
mod packages;
mod periods;
mod silicon;
mod threads;
mod together;
mod user;

use jitterlab_mcu::{Compiler, is_missing};

/// True if a missing tool is a failure: on continuous integration, or when requested.
fn all_required() -> bool {
    std::env::var("CI").is_ok_and(|v| v == "true") || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some()
}

/// Skips a test with its reason, or fails if everything is required.
fn skip<T>(reason: &str) -> Option<T> {
    assert!(!all_required(), "{reason}");
    eprintln!("skipped: {reason}");
    None
}

/// Returns the compiler, or `None` after printing the reason.
fn bench() -> Option<Compiler> {
    match Compiler::new() {
        Ok(compiler) => Some(compiler),
        Err(error) if is_missing(&error) => skip(&error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// A firmware of the tests, under `mcu/tests/avr`.
fn test_source(name: &str) -> String {
    format!("{}/../../mcu/tests/avr/{name}.cc", env!("CARGO_MANIFEST_DIR"))
}
