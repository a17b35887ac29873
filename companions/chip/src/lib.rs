//! Microcontrollers, simulated to the cycle: what their firmware does to their pins, and what its interrupts cost.
//!
//! The model is the manuals': each file names the chapter it follows. Firmware comes as an [`Image`], what is wanted as a [`Setup`], and
//! what happened as a [`Log`].

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
pub use log::{Edge, Entry, Finding, Keeper, Log, Off, Span, Stack, Stop, Vector};
pub use pin::Pin;
pub use stimulus::Stimulus;

/// What is simulated, and what is recorded of it.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub image: Image,
    /// Frequency of the chip's oscillator.
    pub clock_hz: u32,
    /// The pins whose edges are recorded, as [`Edge::pin`] counts them.
    pub watch: Vec<Pin>,
    /// What comes to pins from outside.
    pub stimuli: Vec<Stimulus>,
    /// Simulated time at most, in periods of the oscillator.
    pub cycles: u64,
    /// Edges at most.
    pub edges: Option<u64>,
    /// Whether each interrupt's entry is recorded with the address it interrupts.
    pub entries: bool,
    /// Whether each handler and each lock is recorded.
    pub spans: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub pokes: Vec<(u16, u8)>,
}

impl Setup {
    /// A firmware at 16 MHz, for a second.
    pub fn from_image(image: Image) -> Self {
        Setup {
            image,
            clock_hz: 16_000_000,
            watch: Vec::new(),
            stimuli: Vec::new(),
            cycles: 16_000_000,
            edges: None,
            entries: false,
            spans: false,
            pokes: Vec::new(),
        }
    }
}
