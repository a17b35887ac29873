//! The processor's own counter of time: one small file per processor, and a fallback for all others.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "portable.rs")]
mod processor;

use jitterlab_model::Error;

/// Reads the counter, not before the instructions that come before have been executed.
#[inline]
pub fn read() -> i64 {
    processor::read()
}

/// Name of the counter on this processor.
pub const NAME: &str = processor::NAME;

/// Reason why the counter cannot serve as a clock on this machine; `None` if it can.
pub fn unusable_reason() -> Option<Error> {
    processor::unusable_reason()
}
