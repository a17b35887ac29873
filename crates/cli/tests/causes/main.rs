//! Causes of late activations, from the kernel's events: needs root, and no other measurement at the same
//! time.

#[path = "../shared/mod.rs"]
mod shared;
#[path = "../shared/storm.rs"]
mod storm;

mod injected;
mod kinds;
mod known_effects;
mod many_events;
mod tracing_left;
mod why;
