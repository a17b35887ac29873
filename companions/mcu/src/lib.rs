//! A microcontroller as a bench: firmware on a chip simulated to the cycle (`jitterlab-chip`).
//!
//! The time services under `mcu/` travel inside this crate ([`firmware`]); building programs with them needs the cross compiler.
//!
//! Times of the records are cycles turned into nanoseconds, each from its absolute cycle and rounded to the nearest, so
//! no rounding accumulates.

mod boards;
pub mod cost;
pub mod delays;
mod disturbance;
mod dump;
pub mod epos_figure7;
pub mod epos_related_timers;
mod error;
mod figures;
pub mod firmware;
pub mod image;
mod linker_error;
pub mod polled_wait;
pub mod recommend;
mod report;
pub mod request;
pub mod run;
pub mod several_alarms;
pub mod simulator;
mod sources;
mod stimulus;
pub mod sweep;
mod symbols;
mod tools;
mod uf2;
pub mod words;
mod workers;

pub use dump::value_change_dump;
pub use error::{FailureCase, is_missing};
pub use figures::{
    AlarmFigures, CostFigures, DelayFigures, Interruption, NearbyFigures, ServicesOutput, Strategy,
    ThreadFigures, TimerKind,
};
pub use firmware::{Board, Compiler, Firmware, Program};
pub use jitterlab_chip::log::FinalSleep;
pub use jitterlab_chip::{Edge, Log, Pin, Stop, VectorStatistics};
pub use jitterlab_model::firmware::FirmwareSize;
pub use request::{FirmwareSource, McuRequest};
pub use run::{McuPins, McuRun};
pub use simulator::{Recording, Setup, SimulationLength, simulate};
pub use stimulus::{SerialText, StimulusSpec};
