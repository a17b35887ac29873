//! What a firmware did on a simulated chip, besides its activations.

use serde::{Deserialize, Serialize};

use crate::EdgeKind;

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
    /// Handlers that ended in another thread than they began in, of a system that changes stacks: how long they took is not known, and
    /// the figures are those of the others.
    #[serde(default, skip_serializing_if = "is_none")]
    pub switched: u64,
}

const fn is_none(count: &u64) -> bool {
    *count == 0
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
    /// Which of its edges begin an activation.
    pub edge: EdgeKind,
    /// The mean distance of its starts in cycles, as a fraction.
    pub period_cycles: (u64, u64),
    /// How late its last start is on a grid that begins with its first, where a period was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ns: Option<i64>,
    /// Its shortest and its longest pulse, in cycles; `None` where every edge begins an activation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulse_cycles: Option<(u64, u64)>,
    /// The vector whose handler makes its starts; `None` where the program does, or a peripheral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// What makes its starts late, most of all first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<Disturbance>,
    /// Starts that were late by at least a tenth of the worst.
    #[serde(default)]
    pub late: u64,
    /// Those that neither a handler nor a lock explains.
    #[serde(default)]
    pub unexplained: u64,
}

/// What makes starts late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The vector of the handler that does; `None` for interrupts turned off outside of handlers.
    pub vector: Option<String>,
    /// Where the handler begins, or where interrupts are turned off.
    pub place: Place,
    /// How many starts it made late.
    pub starts: u64,
    /// By how much at most, in cycles.
    pub worst_cycles: u64,
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
    /// Its pins, as the tasks of the run are in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinReport>,
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
    /// The firmware does not tell its clock's frequency.
    ClockAssumed {
        /// What was taken, in Hz.
        hz: u32,
    },
    /// A pin changed too little to be measured.
    PinSilent {
        /// The pin.
        pin: String,
        /// How often it changed.
        edges: u64,
    },
    /// Interrupts never came: their flag was set again before it was served.
    InterruptsLost {
        /// The vector.
        vector: String,
        /// How many.
        lost: u64,
        /// When the first was.
        #[serde(default)]
        at_ns: i64,
        /// What kept it waiting: the vector of a handler, where none interrupts turned off outside of handlers.
        #[serde(default)]
        by: Option<String>,
        /// Where that handler begins, or where interrupts were turned off; `None` where they had never been on.
        #[serde(default)]
        place: Option<Place>,
    },
    /// A compare value was written that the counter had already passed: the match came a whole lap later.
    CompareBehind {
        /// The timer.
        timer: u8,
        /// The compare unit, such as `OCR1A`.
        unit: String,
        /// How often.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// Where.
        place: Place,
        /// How long a lap takes.
        lap_ns: i64,
    },
    /// An alarm was set to a time that had passed: it comes when the counter has gone around.
    AlarmPast {
        /// Which of the timer's alarms.
        alarm: u8,
        /// How often.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// Where.
        place: Place,
        /// By how much it had passed.
        late_ns: i64,
    },
    /// A counter was read while its overflow waited, and nobody asked for that: a time made of both jumps back.
    OverflowUnseen {
        /// The counter, such as `TCNT1`.
        counter: String,
        /// How often.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// Where.
        place: Place,
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
        /// How often.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// Where.
        place: Place,
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
        /// How often.
        times: u64,
        /// When it first was.
        at_ns: i64,
        /// The least distance, in cycles.
        cycles: u64,
    },
    /// The firmware changes stacks, as a system with threads does: the depth of the one that the chip begins with says nothing.
    StacksChanged {
        /// When it first did.
        at_ns: i64,
        /// Where.
        place: Place,
    },
    /// The watchdog's oscillator times interrupts: it is right to a tenth.
    WatchdogTimes {
        /// How often it did.
        times: u64,
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
