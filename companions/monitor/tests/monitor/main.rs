//! The monitor over months of fast time, killed again and again, and read by a real Prometheus.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]
#![expect(unsafe_code, reason = "the allocator's counts have no other door")]

mod guide;
mod hogs;
mod kills;
mod month;
mod prometheus;
mod service;
