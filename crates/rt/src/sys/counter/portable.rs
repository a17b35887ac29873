//! No counter is known here that user space may read on every such processor.

use jitterlab_model::Error;

pub(super) const NAME: &str = "CLOCK_MONOTONIC_RAW";

#[inline]
pub(super) fn read() -> i64 {
    super::super::time::now_ns(libc::CLOCK_MONOTONIC_RAW)
}

pub(super) fn unusable_reason() -> Option<Error> {
    Some(Error::not_measured("jitterlab knows no counter of this processor that a program may read"))
}
