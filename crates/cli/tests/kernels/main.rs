//! Kernels in QEMU: toy kernels, and Debian's own, which are fetched.

#[path = "../shared/mod.rs"]
mod shared;

mod guest_causes;
mod kernel;
mod pulses;
