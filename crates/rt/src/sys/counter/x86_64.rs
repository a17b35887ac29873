#![expect(unsafe_code, reason = "an intrinsic")]

use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

use jitterlab_model::Error;

pub(super) const NAME: &str = "time stamp counter";

#[inline]
pub(super) fn read() -> i64 {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { _mm_lfence() };
    // SAFETY: every x86-64 processor has this instruction; Linux lets user space execute it.
    (unsafe { _rdtsc() }) as i64
}

/// An error unless the counter has a constant rate in all power states: CPUID leaf 8000_0007h, EDX bit 8.
pub(super) fn unusable_reason() -> Option<Error> {
    let advanced = __cpuid(0x8000_0000).eax >= 0x8000_0007;
    let invariant = advanced && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
    (!invariant).then_some(Error::not_measured(
        "the processor does not promise that its time stamp counter runs at a constant \
         rate",
    ))
}
