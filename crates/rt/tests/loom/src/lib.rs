//! The tests of the counters and of the ring in every order of loads and stores that the memory model allows, as far as loom knows it.

#![cfg(test)]
#![expect(dead_code, reason = "only what the measured thread and its watchers share is tried")]

#[path = "../../../src/counters.rs"]
mod counters;
#[path = "../../../src/ring.rs"]
mod ring;

/// Type of the other modules that the counters need.
mod wake {
    pub(crate) use jitterlab_rt::Arrival;
}
