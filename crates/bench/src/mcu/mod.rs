//! A microcontroller as a bench: AVR firmware on a cycle-accurate simulator (simavr).
//!
//! Nothing of it is needed to build jitterlab. The simulator is reached through a small C program
//! ([`simulator`]) that is compiled on first use against the simavr that is installed, so the layout of simavr's structures,
//! which changes from version to version, is always the right one, and a fault in the simulated firmware cannot
//! take jitterlab along. The time services under `mcu/` travel inside this crate ([`firmware`]).
//!
//! Times of the records are cycles turned into nanoseconds, each from its absolute cycle and rounded to the nearest, so
//! no rounding accumulates.

pub mod cost;
mod error;
pub mod firmware;
pub mod leds;
pub mod recommend;
pub mod request;
pub mod run;
pub mod simulator;
mod sources;
pub mod sweep;
mod tools;

pub use error::McuError;
pub use firmware::{Board, Compiler, Firmware, Program};
pub use jitterlab_model::mcu::{
    AlarmFigures, Choice, CostFigures, Interruption, Size, Strategy, ThreadFigures,
};
pub use request::{McuRequest, Subject};
pub use run::{EdgeKind, McuRun, Pin};
pub use simulator::{Edge, Recording, Setup, Simulator, StopCause, Vector};
