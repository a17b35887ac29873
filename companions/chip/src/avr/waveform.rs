//! Modes of a timer, as selected by the control registers (tables 15-8, 15-9, 16-4, 16-5, 18-8, 18-9).
//!
//! Source: ATmega328P data sheet (DS40002061), chapters 15, 16 and 18.

/// Counting mode of a timer, and the time at which compare registers take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountingMode {
    /// Normal and CTC: compare registers take effect at once.
    Up,
    /// Fast PWM: they take effect at the bottom.
    Fast,
    /// Phase correct: they take effect at the top; phase and frequency correct (`true`): at the bottom.
    Phase(bool),
}

/// Source of the highest value of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    Fixed(u16),
    /// OCRnA.
    Compare,
    /// ICRn.
    Capture,
}

/// Source of the counter's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    Stopped,
    /// The prescaler, with its divider.
    Divided(u64),
    /// A pin's rising edges, or its falling ones.
    Edges(bool),
}

/// Returns the counting mode and top of a mode number, WGMn3:0 (`wide`: 16 bits) or WGMn2:0.
pub fn mode_and_top(wide: bool, mode: u8) -> (CountingMode, Top) {
    if wide {
        match mode {
            0 | 13 => (CountingMode::Up, Top::Fixed(0xffff)),
            1 => (CountingMode::Phase(false), Top::Fixed(0xff)),
            2 => (CountingMode::Phase(false), Top::Fixed(0x1ff)),
            3 => (CountingMode::Phase(false), Top::Fixed(0x3ff)),
            4 => (CountingMode::Up, Top::Compare),
            5 => (CountingMode::Fast, Top::Fixed(0xff)),
            6 => (CountingMode::Fast, Top::Fixed(0x1ff)),
            7 => (CountingMode::Fast, Top::Fixed(0x3ff)),
            8 => (CountingMode::Phase(true), Top::Capture),
            9 => (CountingMode::Phase(true), Top::Compare),
            10 => (CountingMode::Phase(false), Top::Capture),
            11 => (CountingMode::Phase(false), Top::Compare),
            12 => (CountingMode::Up, Top::Capture),
            14 => (CountingMode::Fast, Top::Capture),
            _ => (CountingMode::Fast, Top::Compare),
        }
    } else {
        match mode {
            1 => (CountingMode::Phase(false), Top::Fixed(0xff)),
            2 => (CountingMode::Up, Top::Compare),
            3 => (CountingMode::Fast, Top::Fixed(0xff)),
            5 => (CountingMode::Phase(false), Top::Compare),
            7 => (CountingMode::Fast, Top::Compare),
            _ => (CountingMode::Up, Top::Fixed(0xff)),
        }
    }
}

impl ClockSource {
    /// Returns the source of CSn2:0; `fine` is true for a prescaler that also divides by 32 and 128.
    pub fn from_clock_select(bits: u8, fine: bool) -> Self {
        match (bits, fine) {
            (0, _) => ClockSource::Stopped,
            (1, _) => ClockSource::Divided(1),
            (2, _) => ClockSource::Divided(8),
            (3, false) => ClockSource::Divided(64),
            (4, false) => ClockSource::Divided(256),
            (5, false) => ClockSource::Divided(1024),
            (n, false) => ClockSource::Edges(n == 7),
            (n, true) => ClockSource::Divided([32, 64, 128, 256, 1024][usize::from(n - 3)]),
        }
    }
}
