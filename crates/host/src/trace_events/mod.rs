//! The kernel's own events, read while tasks run: which thread had which processor, which interrupts and timers came.
//!
//! An instance of tracefs of our own: other people's tracing does not notice it, and it costs about half of what
//! perf's rings cost for an event. What a killed process leaves goes with the next [`sweep`].

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
