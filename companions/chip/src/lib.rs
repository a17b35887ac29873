//! Microcontrollers, simulated to the cycle: pin changes by their firmware, and the cost of its interrupts.
//!
//! The model follows the manuals: each file names its chapter. Input is a firmware, an [`Image`], and a
//! [`Setup`]; the result is a [`Log`].

pub mod arm;
pub mod avr;
mod chip;
mod handlers;
mod image;
pub mod log;
mod pin;
mod stimulus;

pub use chip::Chip;
pub use image::Image;
pub use log::{
    Blocker, Edge, Finding, FindingKind, HandlerEntry, InterruptsOff, Log, Span, Stop, VectorStatistics,
};
pub use pin::Pin;
pub use stimulus::Stimulus;

/// Input of a simulation, and the events to record.
#[derive(Debug, Clone)]
pub struct Setup {
    pub image: Image,
    /// Frequency of the chip's oscillator, in Hz.
    pub clock_hz: u32,
    /// Pins whose edges are recorded; [`Edge::pin`] is an index into them.
    pub recorded_pins: Vec<Pin>,
    pub stimuli: Vec<Stimulus>,
    /// Largest simulated time, in periods of the oscillator.
    pub max_cycles: u64,
    pub max_edges: Option<u64>,
    /// True if each interrupt's entry is recorded, with the interrupted address.
    pub record_entries: bool,
    /// True if each handler and each lock is recorded.
    pub record_spans: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub initial_bytes: Vec<(u16, u8)>,
}

impl Setup {
    /// Creates a setup for a firmware at 16 MHz, for one second.
    pub fn from_image(image: Image) -> Self {
        Setup {
            image,
            clock_hz: 16_000_000,
            recorded_pins: Vec::new(),
            stimuli: Vec::new(),
            max_cycles: 16_000_000,
            max_edges: None,
            record_entries: false,
            record_spans: false,
            initial_bytes: Vec::new(),
        }
    }
}
