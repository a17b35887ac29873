//! Record of a simulated chip's behaviour.
//!
//! All times are periods of the chip's oscillator since reset. They equal cycles of the processor as long as
//! the firmware neither divides its clock nor stops it in a deep sleep.

use jitterlab_model::firmware::{StackDepth, UnsimulatedPart};

/// A change of a pin's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Time: the beginning of the instruction that changed it, or the moment at which a peripheral did.
    pub cycle: u64,
    pub pin: usize,
    pub high: bool,
}

/// An interrupt's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerEntry {
    /// Time, before the cycles of the entry.
    pub cycle: u64,
    pub vector: u8,
    /// Address of the interrupted instruction, in bytes.
    pub address: u32,
}

/// Figures of all interrupts of one vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorStatistics {
    /// Its number; reset is 0.
    pub number: u8,
    pub name: String,
    /// Number of handlers that ran to their end.
    pub count: u64,
    /// Total cycles from the entry (its own cycles included) to the end of the return, including other
    /// interrupts in between.
    pub cycles: u64,
    /// Shortest handler, in cycles.
    pub min_cycles: u64,
    /// Longest handler, in cycles.
    pub max_cycles: u64,
    /// Longest time from its flag being set and enabled to its first instruction.
    pub max_latency_cycles: u64,
    /// Shortest time from its flag being set and enabled to its first instruction.
    pub min_latency_cycles: u64,
    /// Number of times its flag was set while it was still set: these interrupts are lost.
    pub lost: u64,
    /// Time of the first lost one.
    pub first_lost: u64,
    /// The address of its handler, in bytes.
    pub handler: u32,
    /// Number of handlers that ended on another stack than they began on: their duration is unknown.
    pub switched: u64,
}

/// A stretch of time with interrupts off; times are in periods of the oscillator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptsOff {
    pub cycle: u64,
    pub cycles: u64,
    /// The address of the instruction that turned them off, in bytes.
    pub address: u32,
    /// The address of the instruction that turned them on again, in bytes.
    pub end_address: u32,
}

/// Handler or lock that makes everything else wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocker {
    Handler(u8),
    /// Interrupts turned off outside of handlers, by the instruction at this address in bytes.
    Lock(u32),
}

/// A stretch of time in which a handler or lock made everything else wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub begin: u64,
    pub end: u64,
    pub blocker: Blocker,
}

/// Something that matters for a measurement of the firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// Time of the first occurrence.
    pub cycle: u64,
    /// The address of its instruction, in bytes.
    pub address: u32,
    pub times: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The firmware uses a part of the chip that is not simulated.
    NotSimulated(UnsimulatedPart),
    /// The firmware measured an analog voltage, which is unknown: it read 0.
    AnalogRead,
    /// The stack grew into the variables, by this many bytes at most.
    StackOverflow(u32),
    /// An access where there is no memory, or a write to the processor's registers through a pointer.
    OutsideMemory {
        data: u32,
        /// True for a write, false for a read.
        written: bool,
    },
    /// The firmware went through address 0 again without a reset: an interrupt without a handler (of this vector), or a jump
    /// through a null pointer.
    Restarted(Option<u8>),
    /// A compare value was written behind the counter: the match came a lap later.
    CompareBehind {
        timer: u8,
        /// The compare unit: 0 for A.
        unit: u8,
        lap: u64,
    },
    /// An alarm was set to a past time.
    AlarmPast {
        alarm: u8,
        /// Ticks since that time.
        late: u32,
    },
    /// The counter of this timer was read with a pending overflow, and the flag was not read before interrupts were on again.
    OverflowUnseen(u8),
    /// A variable was read byte by byte, and a handler that came in between changed bytes on both sides. The instruction is
    /// the one that read the last byte before the handler.
    TornRead {
        /// The variable's data address.
        data: u16,
        bytes: u8,
        vector: u8,
        before: u64,
        after: u64,
        read: u64,
    },
    /// An interrupt was due again sooner than any handler can end.
    DueTooOften {
        vector: u8,
        /// The least distance, in cycles.
        apart: u64,
    },
    /// The firmware changes stacks: their depths are unknown.
    StacksChanged,
    WatchdogReset,
    /// Waking from deep sleep takes the oscillator's start-up time, here these cycles. It depends on the fuses; the firmware
    /// does not contain them.
    StartUpAssumed(u64),
    /// Code came from flash behind a cache, and was assumed to be always in the cache.
    FlashAssumedFast,
    /// The firmware sets the processor's clock to another frequency than the simulated one; `None` for an oscillator whose
    /// exact frequency is unknown.
    ClockDiffers(Option<u32>),
}

/// Reason why a chip stays idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalSleep {
    /// It sleeps with interrupts off, which marks the end of a program.
    Done,
    /// It sleeps with interrupts on, and nothing that runs in this sleep mode can wake it.
    Unwakeable {
        mode: &'static str,
        /// The instruction's address in bytes.
        address: u32,
    },
}

/// Reason why a processor cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It reached erased or missing flash.
    NoCode,
    /// It reached a word that is no instruction.
    NoInstruction(u16),
    /// It reached memory that cannot be accessed, or not in this way (ARM: a hard fault).
    NoAccess(u32),
    /// It reached a breakpoint without a debugger.
    Breakpoint,
    /// ARM: it branched to an even address, where there are no Thumb instructions.
    NoThumb,
    /// ARM: a supervisor call that cannot interrupt the running code.
    NoCall,
    /// It resets itself, which is not simulated.
    Reset,
}

/// Reason why the simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// The time was over.
    #[default]
    Cycles,
    /// The requested number of edges was seen.
    Edges,
    /// The chip sleeps forever.
    Asleep(FinalSleep),
    /// The firmware did something that a processor cannot do.
    Crashed {
        fault: Fault,
        /// Address of the instruction, in bytes.
        address: u32,
        /// Address of the instruction that led there, in bytes.
        from: u32,
    },
}

/// Result of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Changes of watched pins, in order of time.
    pub edges: Vec<Edge>,
    /// Interrupt entries, if requested.
    pub entries: Vec<HandlerEntry>,
    /// Handlers and locks in order of their ends, if requested: the first [`Log::MAX_SPANS`] of them.
    pub spans: Vec<Span>,
    /// Data that the firmware sent over its serial ports, in order.
    pub serial: Vec<u8>,
    pub vectors: Vec<VectorStatistics>,
    pub stop: Stop,
    /// Address of the instruction at the end, in bytes.
    pub address: u32,
    pub cycles: u64,
    pub asleep_cycles: u64,
    pub entry_count: u64,
    pub entries_from_sleep: u64,
    /// The longest stretch with interrupts off outside of handlers, after they had first been on.
    pub longest_off: Option<InterruptsOff>,
    /// Use of the stack; `None` if it was not used.
    pub stack: Option<StackDepth>,
    pub findings: Vec<Finding>,
}

impl Log {
    /// Most handlers and locks recorded individually.
    pub const MAX_SPANS: usize = 4 << 20;

    /// Returns the cycles at which a pin went high (or low).
    pub fn edge_cycles(&self, pin: usize, high: bool) -> impl Iterator<Item = u64> + '_ {
        self.edges.iter().filter(move |e| e.pin == pin && e.high == high).map(|e| e.cycle)
    }

    /// Returns the fraction of the time spent asleep, 0 to 1.
    pub fn asleep_share(&self) -> f64 {
        self.asleep_cycles as f64 / self.cycles.max(1) as f64
    }

    /// Adds a finding, or counts it with the known one of its kind.
    pub(crate) fn report_finding(&mut self, kind: FindingKind, cycle: u64, address: u32) {
        use FindingKind as K;
        let same = |known: &&mut Finding| match (known.kind, kind) {
            (K::NotSimulated(a), K::NotSimulated(b)) => a == b,
            (K::TornRead { data: a, .. }, K::TornRead { data: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
        };
        match self.findings.iter_mut().find(same) {
            None => self.findings.push(Finding { kind, cycle, address, times: 1 }),
            Some(known) => {
                known.times += 1;
                if let (K::StackOverflow(bytes), K::StackOverflow(more)) = (&mut known.kind, kind) {
                    *bytes = more.max(*bytes);
                }
            }
        }
    }
}
