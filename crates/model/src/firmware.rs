//! What a firmware did on a simulated chip, besides its activations.

use serde::{Deserialize, Serialize};

/// Memory that a firmware takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Size {
    /// Bytes of flash: code, constants, and the initial values of variables.
    pub flash: u32,
    /// Bytes of RAM that are taken from the beginning: variables, without the stack.
    pub ram: u32,
}

/// A place in a firmware.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The instruction's address in bytes.
    pub address: u32,
    /// The function it belongs to, or the interrupt whose handler it is; `None` where the firmware holds no names.
    pub function: Option<String>,
    /// File and line, `main.c:17`; `None` where the firmware holds no debug data.
    pub line: Option<String>,
}

/// Interrupts of one vector. Times are cycles of the chip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupts {
    /// The vector's name in the chip's manual.
    pub vector: String,
    /// How often its handler ran to its end.
    pub count: u64,
    /// Interrupts that never came: their flag was set again before it was served.
    pub lost: u64,
    /// Shortest handler, from entry to return, with what came between.
    pub min_cycles: u64,
    /// Longest handler.
    pub max_cycles: u64,
    /// All of them together.
    pub total_cycles: u64,
    /// Shortest time from the flag (with its interrupt enabled) to the handler's first instruction.
    pub min_latency_cycles: u64,
    /// Longest such time.
    pub max_latency_cycles: u64,
}

/// The longest stretch with interrupts off outside of handlers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptsOff {
    /// How long.
    pub cycles: u64,
    /// When it began, since reset.
    pub at_ns: i64,
    /// Where they were turned off.
    pub from: Place,
    /// Where they were turned on again.
    pub to: Place,
}

/// How deep the stack got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDepth {
    /// Most bytes in use at once.
    pub deepest: u32,
    /// Bytes it could have before it meets the variables; `None` where the firmware does not tell.
    pub room: Option<u32>,
}

/// What a firmware did on its chip, besides its activations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareReport {
    /// The chip.
    pub mcu: String,
    /// Its clock.
    pub clock_hz: u32,
    /// What the firmware takes of its memories.
    pub size: Size,
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles of them asleep.
    pub asleep_cycles: u64,
    /// Interrupts, by vector.
    pub interrupts: Vec<Interrupts>,
    /// The longest stretch with interrupts off; `None` if they never were, once they had been on.
    pub off: Option<InterruptsOff>,
    /// How deep the stack got; `None` if none was used.
    pub stack: Option<StackDepth>,
    /// What it sent over its serial ports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
}

/// A part of a chip that is not simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Writing flash.
    WritingFlash,
    /// Interrupt vectors in the boot section.
    BootVectors,
    /// USB.
    Usb,
    /// Timer 4 of the ATmega16U4 and 32U4.
    FastTimer,
    /// Memory outside of the chip.
    ExternalMemory,
    /// The division of the clock by XDIV.
    ClockDivision,
    /// A register that the manual calls reserved.
    Reserved,
    /// The second core.
    SecondCore,
    /// Programmable input and output (PIO).
    Pio,
    /// Direct memory access.
    Dma,
    /// Pulse width modulation.
    Pwm,
    /// The converter of voltages.
    Adc,
    /// SPI.
    Spi,
    /// The two-wire interface (I2C).
    TwoWire,
    /// The clock of the time of day.
    RealTimeClock,
    /// The watchdog's reset.
    Watchdog,
    /// The interpolators.
    Interpolator,
    /// Interrupts of serial ports.
    SerialInterrupts,
}

/// Something about a firmware on its chip that a person has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "found")]
pub enum Finding {
    /// The firmware uses a part of the chip that is not simulated.
    NotSimulated {
        /// Which.
        part: Part,
        /// When it first did, since reset.
        at_ns: i64,
        /// Where.
        place: Place,
    },
    /// The firmware measured an analog voltage, and read 0.
    AnalogRead {
        /// When it first did.
        at_ns: i64,
    },
    /// The stack grew into the variables.
    StackOverflow {
        /// By how many bytes at most.
        bytes: u32,
        /// When it first did.
        at_ns: i64,
        /// Where.
        place: Place,
    },
    /// The firmware read or wrote where there is no memory; a write to the processor's registers through a pointer (below 0x20), too.
    OutsideMemory {
        /// The data address.
        data: u32,
        /// Written, else read.
        written: bool,
        /// When it first did.
        at_ns: i64,
        /// Where.
        place: Place,
    },
    /// The firmware went through its beginning again without a reset.
    Restarted {
        /// The interrupt that has no handler, if that is why.
        vector: Option<String>,
        /// How often.
        times: u64,
        /// When it first did.
        at_ns: i64,
    },
    /// The watchdog reset the chip.
    WatchdogReset {
        /// How often.
        times: u64,
        /// When it first did.
        at_ns: i64,
    },
    /// The oscillator's start-up time after deep sleep is set by fuses, which the firmware does not bring.
    StartUpAssumed {
        /// What was taken, in cycles.
        cycles: u64,
    },
    /// Code came from flash behind a cache, and was taken to be in the cache always.
    FlashAssumedFast,
    /// The firmware sets the processor's clock to another frequency than the one that was counted with.
    ClockDiffers {
        /// To which, in Hz; `None` where it is that of an oscillator nobody knows exactly.
        hz: Option<u32>,
    },
    /// Interrupts never came: their flag was set again before it was served.
    InterruptsLost {
        /// The vector.
        vector: String,
        /// How many.
        lost: u64,
    },
    /// The firmware sleeps for ever: nothing that runs in its sleep mode can wake it.
    AsleepForEver {
        /// The sleep mode.
        mode: String,
        /// Since when.
        at_ns: i64,
        /// Where.
        place: Place,
    },
}
