//! Causes of late activations, from the kernel's events: root, and nothing else that measures beside them.

#[path = "../shared/mod.rs"]
mod shared;

mod injected;
mod known_effects;
mod states;
mod tracing_left;
mod why;
