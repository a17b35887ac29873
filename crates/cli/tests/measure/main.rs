//! Measurements on this machine as any user makes them. Times are not asserted, only facts that hold on any
//! machine.

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
