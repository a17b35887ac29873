#![expect(unsafe_code, reason = "an instruction")]

use std::arch::asm;

use jitterlab_model::Error;

pub(super) const NAME: &str = "virtual counter";

#[inline]
pub(super) fn read() -> i64 {
    let ticks: i64;
    // SAFETY: Linux lets user space read the virtual counter (CNTVCT_EL0); the barrier keeps the order.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// `None`: the architecture promises a constant rate.
pub(super) fn unusable_reason() -> Option<Error> {
    None
}
