//! Where activations come from. Each bench yields the same trace, so everything downstream applies to all.

mod child;
pub mod host;
pub mod kernel;
pub mod mcu;
pub mod scratch;
