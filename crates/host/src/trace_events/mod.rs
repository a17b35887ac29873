//! The kernel's own events, read while tasks run: threads on each processor, interrupts and timers.
//!
//! An instance of tracefs of our own: other people's tracing does not notice it, and it costs about half of
//! perf's rings for an event. An instance that a killed process leaves is removed by the next [`sweep`].

mod calls;
mod decode;
mod error;
mod format;
mod instance;
mod page;
mod place;
mod reader;
mod symbols;

pub use calls::name as call_name;
pub use instance::sweep;
pub use reader::{Detail, TraceEvents};
