//! Events and figures of a firmware on a simulated chip, besides its activations.

use serde::{Deserialize, Serialize};

use crate::EdgeKind;

/// Memory that a firmware takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FirmwareSize {
    /// Bytes of flash: code, constants, and the initial values of variables.
    pub flash: u32,
    /// Bytes of RAM that are taken from the beginning: variables, without the stack.
    pub ram: u32,
}

/// A place in a firmware.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeLocation {
    /// The instruction's address in bytes.
    pub address: u32,
    /// The function it belongs to, or the interrupt whose handler it is; `None` where the firmware holds no names.
    pub function: Option<String>,
    /// File and line, `main.c:17`; `None` where the firmware holds no debug data.
    pub line: Option<String>,
}

/// Interrupts of one vector. Times are cycles of the chip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorInterrupts {
    /// The vector's name in the chip's manual.
    pub vector: String,
    /// Number of times its handler ran to its end.
    pub count: u64,
    /// Interrupts that never came: their flag was set again before it was served.
    pub lost: u64,
    /// Shortest handler, from entry to return, interruptions included.
    pub min_cycles: u64,
    /// Longest handler.
    pub max_cycles: u64,
    /// Sum of all handlers.
    pub total_cycles: u64,
    /// Shortest time from the flag (with its interrupt enabled) to the handler's first instruction.
    pub min_latency_cycles: u64,
    /// Longest such time.
    pub max_latency_cycles: u64,
    /// Handlers that ended in another thread than they began in, in a system that changes stacks: their lengths are
    /// unknown, and the figures are those of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub switched: u64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The longest stretch with interrupts off outside of handlers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptsOff {
    /// Length in cycles.
    pub cycles: u64,
    /// Beginning, in nanoseconds since reset.
    pub at_ns: i64,
    /// Code that turned them off.
    pub from: CodeLocation,
    /// Code that turned them on again.
    pub to: CodeLocation,
}

/// A pin of a firmware that is measured as a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinReport {
    /// The task it is.
    pub task: String,
    /// Its name in the chip's manual.
    pub pin: String,
    /// Its number on a board, such as "pin 13 of an Arduino Uno".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_board: Option<String>,
    /// Edges that begin an activation.
    pub edge: EdgeKind,
    /// The mean distance of its starts in cycles, as a fraction.
    pub period_cycles: (u64, u64),
    /// Lateness of its last start on a grid that begins with its first start, in nanoseconds, if a period was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ns: Option<i64>,
    /// Its shortest and its longest pulse, in cycles; `None` where every edge begins an activation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulse_cycles: Option<(u64, u64)>,
    /// The vector whose handler makes its starts; `None` where the program does, or a peripheral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// Causes of its late starts, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<LateStartCause>,
    /// Starts that were late by at least a tenth of the worst.
    #[serde(default)]
    pub late: u64,
    /// Late starts that neither a handler nor a lock explains.
    #[serde(default)]
    pub unexplained: u64,
}

/// Cause of late starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateStartCause {
    /// The vector of the handler; `None` for interrupts turned off outside of handlers.
    pub vector: Option<String>,
    /// Beginning of the handler, or the code that turned interrupts off.
    pub place: CodeLocation,
    /// Number of starts it made late.
    pub starts: u64,
    /// Largest delay, in cycles.
    pub worst_cycles: u64,
}

/// Greatest depth of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDepth {
    /// Most bytes in use at once.
    pub deepest: u32,
    /// Bytes available before it meets the variables; `None` if the firmware does not state it.
    pub room: Option<u32>,
}

/// Events and figures of a firmware on its chip, besides its activations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareReport {
    /// The chip.
    pub mcu: String,
    /// Its clock.
    pub clock_hz: u32,
    /// Use of its memories.
    pub size: FirmwareSize,
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles of them asleep.
    pub asleep_cycles: u64,
    /// Interrupts, by vector.
    pub interrupts: Vec<VectorInterrupts>,
    /// The longest stretch with interrupts off; `None` if they never were, once they had been on.
    pub off: Option<InterruptsOff>,
    /// Greatest depth of the stack; `None` if none was used.
    pub stack: Option<StackDepth>,
    /// Its pins, as the tasks of the run are in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinReport>,
    /// Text that it sent over its serial ports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
}

/// A part of a chip that is not simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnsimulatedPart {
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
pub enum FirmwareFinding {
    /// The firmware uses a part of the chip that is not simulated.
    NotSimulated {
        /// The part.
        part: UnsimulatedPart,
        /// First use, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first use.
        place: CodeLocation,
    },
    /// The firmware measured an analog voltage, and read 0.
    AnalogRead {
        /// First measurement, in nanoseconds since reset.
        at_ns: i64,
    },
    /// The stack grew into the variables.
    StackOverflow {
        /// By how many bytes at most.
        bytes: u32,
        /// First overflow, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first overflow.
        place: CodeLocation,
    },
    /// The firmware read or wrote where there is no memory; a write to the processor's registers through a pointer (below 0x20), too.
    OutsideMemory {
        /// The data address.
        data: u32,
        /// Written, else read.
        written: bool,
        /// First access, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first access.
        place: CodeLocation,
    },
    /// The firmware went through its beginning again without a reset.
    Restarted {
        /// The interrupt that has no handler, if that is why.
        vector: Option<String>,
        /// Number of restarts.
        times: u64,
        /// First restart, in nanoseconds since reset.
        at_ns: i64,
    },
    /// The watchdog reset the chip.
    WatchdogReset {
        /// Number of resets.
        times: u64,
        /// First reset, in nanoseconds since reset.
        at_ns: i64,
    },
    /// The oscillator's start-up time after deep sleep is set by fuses, which the firmware does not bring.
    StartUpAssumed {
        /// Assumed time, in cycles.
        cycles: u64,
    },
    /// Code came from flash behind a cache, and was taken to be in the cache always.
    FlashAssumedFast,
    /// The firmware sets the processor's clock to another frequency than the one that was counted with.
    ClockDiffers {
        /// New frequency in Hz; `None` for an oscillator whose frequency nobody knows exactly.
        hz: Option<u32>,
    },
    /// The firmware does not state its clock's frequency.
    ClockAssumed {
        /// Assumed frequency in Hz.
        hz: u32,
    },
    /// A pin changed too little to be measured.
    PinSilent {
        /// The pin.
        pin: String,
        /// Number of its edges.
        edges: u64,
    },
    /// Interrupts never came: their flag was set again before it was served.
    InterruptsLost {
        /// The vector.
        vector: String,
        /// Number of lost interrupts.
        lost: u64,
        /// First loss, in nanoseconds since reset.
        #[serde(default)]
        at_ns: i64,
        /// Cause of the wait: the vector of a handler; `None` for interrupts turned off outside of handlers.
        #[serde(default)]
        by: Option<String>,
        /// Beginning of that handler, or the code that turned interrupts off; `None` if they had never been on.
        #[serde(default)]
        place: Option<CodeLocation>,
    },
    /// A compare value was written that the counter had already passed: the match came a whole lap later.
    CompareBehind {
        /// The timer.
        timer: u8,
        /// The compare unit, such as `OCR1A`.
        unit: String,
        /// Number of such writes.
        times: u64,
        /// First such write, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first such write.
        place: CodeLocation,
        /// Time of a lap in nanoseconds.
        lap_ns: i64,
    },
    /// An alarm was set to a time that had passed: it comes when the counter has gone around.
    AlarmPast {
        /// Number of the timer's alarm.
        alarm: u8,
        /// Number of such alarms.
        times: u64,
        /// First such alarm, in nanoseconds since reset.
        at_ns: i64,
        /// Code that set the first such alarm.
        place: CodeLocation,
        /// Lateness of the first such alarm's setting, in nanoseconds.
        late_ns: i64,
    },
    /// A counter was read while its overflow waited, and the firmware did not check that: a time made of both jumps
    /// back.
    OverflowUnseen {
        /// The counter, such as `TCNT1`.
        counter: String,
        /// Number of such reads.
        times: u64,
        /// First such read, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first such read.
        place: CodeLocation,
    },
    /// A variable was read byte by byte, and a handler that came in between changed bytes on both sides: the value that was read is
    /// neither the one before nor the one after.
    TornRead {
        /// The variable.
        variable: String,
        /// Its bytes.
        bytes: u8,
        /// The handler's vector.
        vector: String,
        /// Number of times.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// Where.
        place: CodeLocation,
        /// Its value before the handler.
        before: u64,
        /// Its value after the handler.
        after: u64,
        /// The value that was read.
        read: u64,
    },
    /// An interrupt was due again sooner than any handler can end. Such are not counted as lost.
    DueTooOften {
        /// The vector.
        vector: String,
        /// Number of times.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// The least distance, in cycles.
        cycles: u64,
    },
    /// The firmware changes stacks, as a system with threads does: the depth of the chip's first stack has no meaning
    /// then.
    StacksChanged {
        /// First change, in nanoseconds since reset.
        at_ns: i64,
        /// Code of the first change.
        place: CodeLocation,
    },
    /// The watchdog's oscillator times interrupts: it is right to a tenth.
    WatchdogTimes {
        /// Number of such interrupts.
        times: u64,
    },
    /// The firmware sleeps for ever: nothing that runs in its sleep mode can wake it.
    AsleepForEver {
        /// The sleep mode.
        mode: String,
        /// Beginning of the sleep, in nanoseconds since reset.
        at_ns: i64,
        /// Code that entered it.
        place: CodeLocation,
    },
}
