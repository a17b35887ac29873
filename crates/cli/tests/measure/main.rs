//! Measurements on this machine as any user makes them. No time is asserted, only what must hold on any machine.

#[path = "../shared/mod.rs"]
mod shared;

mod compensate;
mod faults;
mod going_on;
mod matrix;
mod run;
mod terminal;
mod unclosed;
mod witness;
