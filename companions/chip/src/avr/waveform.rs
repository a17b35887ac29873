//! Modes of a timer, as selected by the control registers (tables 15-8, 15-9, 16-4, 16-5, 18-8, 18-9).
//!
//! Source: ATmega328P data sheet (DS40002061), chapters 15, 16 and 18.

/// Counting mode, and the time at which compare registers take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wave {
    /// Normal and CTC: compare registers take effect at once.
    Up,
    /// Fast PWM: they take effect at the bottom.
    Fast,
    /// Phase correct: they take effect at the top; phase and frequency correct (`true`): at the bottom.
    Phase(bool),
}

/// Highest value of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// A number.
    Fixed(u16),
    /// OCRnA.
    Compare,
    /// ICRn.
    Capture,
}

/// Source of the counter's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Nothing.
    Stopped,
    /// The prescaler, with its divider.
    Divided(u64),
    /// A pin's rising edges, or its falling ones.
    Edges(bool),
}

/// Returns the waveform of a mode, WGMn3:0 or WGMn2:0.
pub fn of_mode(wide: bool, mode: u8) -> (Wave, Top) {
    if wide {
        match mode {
            0 | 13 => (Wave::Up, Top::Fixed(0xffff)),
            1 => (Wave::Phase(false), Top::Fixed(0xff)),
            2 => (Wave::Phase(false), Top::Fixed(0x1ff)),
            3 => (Wave::Phase(false), Top::Fixed(0x3ff)),
            4 => (Wave::Up, Top::Compare),
            5 => (Wave::Fast, Top::Fixed(0xff)),
            6 => (Wave::Fast, Top::Fixed(0x1ff)),
            7 => (Wave::Fast, Top::Fixed(0x3ff)),
            8 => (Wave::Phase(true), Top::Capture),
            9 => (Wave::Phase(true), Top::Compare),
            10 => (Wave::Phase(false), Top::Capture),
            11 => (Wave::Phase(false), Top::Compare),
            12 => (Wave::Up, Top::Capture),
            14 => (Wave::Fast, Top::Capture),
            _ => (Wave::Fast, Top::Compare),
        }
    } else {
        match mode {
            1 => (Wave::Phase(false), Top::Fixed(0xff)),
            2 => (Wave::Up, Top::Compare),
            3 => (Wave::Fast, Top::Fixed(0xff)),
            5 => (Wave::Phase(false), Top::Compare),
            7 => (Wave::Fast, Top::Compare),
            _ => (Wave::Up, Top::Fixed(0xff)),
        }
    }
}

impl Source {
    /// Returns the source of CSn2:0; `fine` is true for a prescaler that also divides by 32 and 128.
    pub fn selected(bits: u8, fine: bool) -> Self {
        match (bits, fine) {
            (0, _) => Source::Stopped,
            (1, _) => Source::Divided(1),
            (2, _) => Source::Divided(8),
            (3, false) => Source::Divided(64),
            (4, false) => Source::Divided(256),
            (5, false) => Source::Divided(1024),
            (n, false) => Source::Edges(n == 7),
            (n, true) => Source::Divided([32, 64, 128, 256, 1024][usize::from(n - 3)]),
        }
    }
}
