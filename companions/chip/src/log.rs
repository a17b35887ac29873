//! What a simulated chip did.
//!
//! All times are periods of the chip's oscillator since reset: cycles of the processor, as long as the firmware neither divides its
//! clock nor stops it in a deep sleep.

use jitterlab_model::firmware::Part;

/// A change of a pin's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// When: the beginning of the instruction that changed it, or the moment at which a peripheral did.
    pub cycle: u64,
    /// Which of the watched pins.
    pub pin: usize,
    /// High or low.
    pub high: bool,
}

/// An interrupt's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When, before what the entry costs.
    pub cycle: u64,
    /// Its vector.
    pub vector: u8,
    /// The address of the instruction it came before, in bytes.
    pub address: u32,
}

/// All interrupts of one vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// Its number; reset is 0.
    pub number: u8,
    /// Its name, as the chip's manual has it.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Cycles from the entry (what it costs included) to the end of the return, of all together, other interrupts that came between
    /// included.
    pub cycles: u64,
    /// Shortest.
    pub min_cycles: u64,
    /// Longest.
    pub max_cycles: u64,
    /// Longest time from the moment its flag was set and it was enabled to its first instruction.
    pub max_latency_cycles: u64,
    /// Shortest such time.
    pub min_latency_cycles: u64,
    /// How often its flag was set again while it was still set: interrupts that never came.
    pub lost: u64,
    /// When the first of them was lost.
    pub first_lost: u64,
    /// The address of its handler, in bytes.
    pub handler: u32,
    /// Handlers that ended on another stack than they began on: how long they took is not known.
    pub switched: u64,
}

/// A stretch of time with interrupts off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Off {
    /// When it began.
    pub cycle: u64,
    /// How long it lasted.
    pub cycles: u64,
    /// The address of the instruction that turned them off, in bytes.
    pub address: u32,
    /// The address of the instruction that turned them on again, in bytes.
    pub end_address: u32,
}

/// Handler or lock that keeps everything else waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeper {
    /// The handler of a vector.
    Handler(u8),
    /// Interrupts turned off outside of handlers, by the instruction at this address, in bytes.
    Lock(u32),
}

/// A stretch of time that something kept everything else waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The handler or lock.
    pub keeper: Keeper,
}

/// How deep the stack got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Most bytes in use at once, of the stack that begins at the end of the memory.
    pub deepest: u32,
    /// Bytes between the end of the variables and the end of the memory; unknown where the firmware does not say.
    pub room: Option<u32>,
}

/// Something that a person who measures this firmware has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The firmware uses a part of the chip that is not simulated.
    NotSimulated {
        /// Which.
        part: Part,
        /// When it first did.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
    },
    /// The firmware measured an analog voltage: what is connected is not known, 0 was read.
    AnalogRead {
        /// When it first did.
        cycle: u64,
    },
    /// The stack grew into the variables.
    StackOverflow {
        /// When it first did.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
        /// Bytes by which it did at most.
        bytes: u32,
    },
    /// An access where there is no memory; a write to the processor's registers through a pointer, too.
    OutsideMemory {
        /// When it first happened.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
        /// The data address.
        data: u32,
        /// Written, else read.
        written: bool,
    },
    /// The firmware went through address 0 again without a reset: an interrupt without a handler, or a jump through a null
    /// pointer.
    Restarted {
        /// When it first did.
        cycle: u64,
        /// The vector whose missing handler did it, if one did.
        vector: Option<u8>,
        /// How often.
        times: u64,
    },
    /// A compare value was written that the counter had passed: the match came a lap later.
    CompareBehind {
        /// The timer.
        timer: u8,
        /// The compare unit: 0 for A.
        unit: u8,
        /// When it first was.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
        /// Cycles of a lap.
        lap: u64,
        /// How often.
        times: u64,
    },
    /// An alarm was set to a time that had passed.
    AlarmPast {
        /// Which.
        alarm: u8,
        /// When it first was.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
        /// By how many ticks it had.
        late: u32,
        /// How often.
        times: u64,
    },
    /// A counter was read while its overflow waited, and its flag was not looked at before interrupts were on again.
    OverflowUnseen {
        /// The timer.
        timer: u8,
        /// When it first was.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
        /// How often.
        times: u64,
    },
    /// A variable was read byte by byte, and a handler that came in between changed bytes on both sides.
    TornRead {
        /// The variable's data address.
        data: u16,
        /// Its bytes.
        bytes: u8,
        /// The handler's vector.
        vector: u8,
        /// When it first was.
        cycle: u64,
        /// The address of the instruction that read the last byte before the handler, in bytes.
        address: u32,
        /// Its value before the handler.
        before: u64,
        /// Its value after the handler.
        after: u64,
        /// The value that was read.
        read: u64,
        /// How often.
        times: u64,
    },
    /// An interrupt was due again sooner than any handler can end.
    DueTooOften {
        /// Its vector.
        vector: u8,
        /// When it first was.
        cycle: u64,
        /// The least distance, in cycles.
        apart: u64,
        /// How often.
        times: u64,
    },
    /// The firmware changes stacks: the depth of none is known.
    StacksChanged {
        /// When it first did.
        cycle: u64,
        /// The instruction's address in bytes.
        address: u32,
    },
    /// The watchdog reset the chip.
    WatchdogReset {
        /// When it first did.
        cycle: u64,
        /// How often.
        times: u64,
    },
    /// Waking from deep sleep takes the oscillator's start-up time, which the fuses set and the firmware does not tell.
    StartUpAssumed {
        /// What was taken, in cycles.
        cycles: u64,
    },
    /// Code came from flash behind a cache, and was taken to be in the cache always.
    FlashAssumedFast,
    /// The firmware sets the processor's clock to another frequency than the one that was counted with.
    ClockDiffers {
        /// To which; `None` where it is that of an oscillator nobody knows exactly.
        hz: Option<u32>,
    },
}

/// Why a chip does nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It sleeps with interrupts off: the way to say that a program is over.
    Done,
    /// It sleeps with interrupts on, and nothing that runs in this sleep mode can wake it.
    Unwakeable {
        /// The sleep mode's name.
        mode: &'static str,
        /// The instruction's address in bytes.
        address: u32,
    },
}

/// What a processor cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It reached erased or missing flash.
    NoCode,
    /// It reached a word that is no instruction.
    NoInstruction(u16),
    /// It reached memory that cannot be accessed, or not in this way (ARM: a hard fault).
    NoAccess(u32),
    /// It reached a breakpoint that no debugger waits for.
    Breakpoint,
    /// ARM: it branched to an even address, where there are no Thumb instructions.
    NoThumb,
    /// ARM: a supervisor call where it cannot interrupt what runs.
    NoCall,
    /// It resets itself, which is not followed.
    Reset,
}

/// Why the simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// The time was over.
    #[default]
    Cycles,
    /// The wanted number of edges was seen.
    Edges,
    /// The chip sleeps for ever.
    Asleep(Rest),
    /// The firmware did something that no processor can.
    Crashed {
        /// What.
        fault: Fault,
        /// Where, in bytes.
        address: u32,
        /// From which instruction it came there, in bytes.
        from: u32,
    },
}

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Changes of watched pins, in order of time.
    pub edges: Vec<Edge>,
    /// Interrupt entries, where asked for.
    pub entered: Vec<Entry>,
    /// Handlers and locks in order of their ends, where asked for: the first [`Log::SPANS`] of them.
    pub spans: Vec<Span>,
    /// What the firmware sent over its serial ports, in order.
    pub serial: Vec<u8>,
    /// Interrupts by vector.
    pub vectors: Vec<Vector>,
    /// Why it ended.
    pub stop: Stop,
    /// Where the program was at the end: the instruction's address in bytes.
    pub address: u32,
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles spent asleep.
    pub slept: u64,
    /// Interrupt entries.
    pub entries: u64,
    /// Those from sleep.
    pub entries_asleep: u64,
    /// The longest stretch with interrupts off outside of handlers, once they had been on.
    pub off: Option<Off>,
    /// How deep the stack got; `None` if none was used.
    pub stack: Option<Stack>,
    /// What a person has to know.
    pub findings: Vec<Finding>,
}

impl Log {
    /// Most handlers and locks that are written down one by one.
    pub const SPANS: usize = 4 << 20;

    /// The cycles at which a pin went high (or low).
    pub fn edges_of(&self, pin: usize, high: bool) -> impl Iterator<Item = u64> + '_ {
        self.edges.iter().filter(move |e| e.pin == pin && e.high == high).map(|e| e.cycle)
    }

    /// Share of the time spent asleep, 0 to 1.
    pub fn asleep_share(&self) -> f64 {
        self.slept as f64 / self.cycles.max(1) as f64
    }

    /// Says it once of each kind.
    pub(crate) fn find(&mut self, finding: Finding) {
        let same = |f: &&mut Finding| match (&**f, &finding) {
            (Finding::NotSimulated { part: a, .. }, Finding::NotSimulated { part: b, .. }) => a == b,
            (Finding::TornRead { data: a, .. }, Finding::TornRead { data: b, .. }) => a == b,
            (Finding::DueTooOften { vector: a, .. }, Finding::DueTooOften { vector: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        match (self.findings.iter_mut().find(same), finding) {
            (None, finding) => self.findings.push(finding),
            (Some(Finding::StackOverflow { bytes, .. }), Finding::StackOverflow { bytes: more, .. }) => {
                *bytes = (*bytes).max(more);
            }
            (
                Some(
                    Finding::Restarted { times, .. }
                    | Finding::WatchdogReset { times, .. }
                    | Finding::CompareBehind { times, .. }
                    | Finding::AlarmPast { times, .. }
                    | Finding::OverflowUnseen { times, .. }
                    | Finding::TornRead { times, .. },
                ),
                _,
            ) => *times += 1,
            (Some(_), _) => {}
        }
    }
}
