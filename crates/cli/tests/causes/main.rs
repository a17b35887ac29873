//! Causes of late activations, from the kernel's events: needs root, and no other measurement at the same
//! time.

#[path = "../shared/mod.rs"]
mod shared;

mod injected;
mod known_effects;
mod states;
mod tracing_left;
mod why;
