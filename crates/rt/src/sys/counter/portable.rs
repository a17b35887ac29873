//! No counter is known here that user space may read on every such processor.

use crate::error::Unusable;

pub(super) const NAME: &str = "CLOCK_MONOTONIC_RAW";

#[inline]
pub(super) fn read() -> i64 {
    super::super::time::now_ns(libc::CLOCK_MONOTONIC_RAW)
}

pub(super) fn unusable() -> Option<Unusable> {
    Some(Unusable::NotThere)
}
