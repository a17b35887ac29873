//! The kernel's own events, read while tasks run: threads on each processor, interrupts and timers.
//!
//! An instance of tracefs of our own: other people's tracing does not notice it, and it costs about half of
//! perf's rings for an event. An instance that a killed process leaves is removed by the next [`remove_stale_instances`].

mod calls;
mod decode;
mod error;
mod format;
mod instance;
mod page;
mod reader;
mod symbols;
mod tracefs;

pub use calls::call_name;
pub use instance::remove_stale_instances;
pub use reader::{Detail, TraceEvents};
