//! Which exceptions are pending, enabled and active, and which is to be taken.
//!
//! Sources: ARMv6-M manual, B1.5 (the exception model) and B3.4 (the NVIC). Priorities have two bits.

/// Numbers of exceptions; those of interrupt lines follow from 16 on.
pub const NMI: u8 = 2;
/// The fault that all faults are.
pub const HARD_FAULT: u8 = 3;
/// Supervisor call.
pub const SVCALL: u8 = 11;
/// What is done later.
pub const PENDSV: u8 = 14;
/// The timer of the processor.
pub const SYSTICK: u8 = 15;
/// The first interrupt line.
pub const LINE: u8 = 16;

/// All that is no line is always enabled.
const SYSTEM: u64 = 0xffff;
/// Above every priority that can be set.
const THREAD: i32 = 4;

/// The controller.
#[derive(Debug)]
pub struct Nvic {
    /// SCR.
    pub sleep_control: u32,
    /// The address of the vectors (VTOR).
    pub vectors: u32,
    pending: u64,
    enabled: u64,
    active: u64,
    /// Lines that are high.
    lines: u32,
    /// Two bits each, of the exceptions from 0 on.
    priorities: [u8; 48],
    primask: bool,
    /// When each became pending, and was enabled.
    since: [u64; 48],
    /// How often each was asked for while it was pending, and when it first was.
    lost: [(u64, u64); 48],
    /// What is to be taken, found out at each change.
    due: Option<u8>,
}

impl Nvic {
    pub fn new(vectors: u32) -> Self {
        Nvic {
            sleep_control: 0,
            vectors,
            pending: 0,
            enabled: SYSTEM,
            active: 0,
            lines: 0,
            priorities: [0; 48],
            primask: false,
            since: [0; 48],
            lost: [(0, 0); 48],
            due: None,
        }
    }

    /// The exception to be taken now.
    pub fn due(&self) -> Option<u8> {
        self.due
    }

    fn priority(&self, exception: u8) -> i32 {
        match exception {
            NMI => -2,
            HARD_FAULT => -1,
            other => i32::from(self.priorities[usize::from(other)]),
        }
    }

    /// Of what runs, without PRIMASK.
    fn running(&self) -> i32 {
        bits(self.active).map(|e| self.priority(e)).min().unwrap_or(THREAD)
    }

    /// The most urgent that is pending and enabled.
    fn first(&self) -> Option<(i32, u8)> {
        bits(self.pending & self.enabled).map(|e| (self.priority(e), e)).min()
    }

    /// Whether an exception is urgent enough to interrupt what runs now.
    pub fn can_interrupt(&self, exception: u8) -> bool {
        let masked = if self.primask { 0 } else { THREAD };
        self.priority(exception) < self.running().min(masked)
    }

    fn refresh(&mut self) {
        self.due = self.first().map(|(_, e)| e).filter(|e| self.can_interrupt(*e));
    }

    /// Whether WFI ends: something is pending that would be taken if PRIMASK were clear (B1.5.19).
    pub fn wakes(&self) -> bool {
        self.first().is_some_and(|(priority, _)| priority < self.running())
    }

    /// No line can ever interrupt.
    pub fn nothing_enabled(&self) -> bool {
        self.enabled == SYSTEM
    }

    /// PRIMASK was set or cleared.
    pub fn set_primask(&mut self, on: bool) {
        self.primask = on;
        self.refresh();
    }

    /// Asks for an exception, at a cycle.
    pub fn pend(&mut self, exception: u8, cycle: u64) {
        let bit = 1 << exception;
        if self.pending & bit != 0 {
            let (lost, first) = &mut self.lost[usize::from(exception)];
            *first = if *lost == 0 { cycle } else { *first };
            *lost += 1;
        } else {
            self.since[usize::from(exception)] = cycle;
        }
        self.pending |= bit;
        self.refresh();
    }

    /// Takes it back.
    pub fn unpend(&mut self, exception: u8) {
        self.pending &= !(1 << exception);
        self.pend_high_lines();
    }

    /// What the lines say now: one that rises makes its interrupt pending, and one that falls does not take that back. Whether any rose.
    pub fn set_lines(&mut self, lines: u32, cycle: u64) -> bool {
        let rising = lines & !self.lines;
        self.lines = lines;
        for line in bits(u64::from(rising)) {
            let exception = usize::from(LINE + line);
            if self.pending & 1 << exception == 0 {
                self.since[exception] = cycle;
            }
            self.pending |= 1 << exception;
        }
        if rising != 0 {
            self.refresh();
        }
        rising != 0
    }

    /// A line that is still high makes its interrupt pending again, unless that is handled.
    fn pend_high_lines(&mut self) {
        self.pending |= u64::from(self.lines) << LINE & !self.active;
        self.refresh();
    }

    /// An exception is taken. Since when it waited.
    pub fn begin(&mut self, exception: u8) -> u64 {
        self.active |= 1 << exception;
        self.pending &= !(1 << exception);
        self.refresh();
        self.since[usize::from(exception)]
    }

    /// It is over.
    pub fn end(&mut self, exception: u8, cycle: u64) {
        self.active &= !(1 << exception);
        if u64::from(self.lines) << LINE & 1 << exception != 0 && self.pending & 1 << exception == 0 {
            self.since[usize::from(exception)] = cycle;
        }
        self.pend_high_lines();
    }

    /// Whether any exception is being handled.
    pub fn is_any(&self) -> bool {
        self.active != 0
    }

    /// Of all exceptions, how often each never came, and when it first did not.
    pub fn lost(&self) -> [(u64, u64); 48] {
        self.lost
    }

    /// ISER, ICER, ISPR and ICPR, as they are read.
    pub fn enabled_lines(&self) -> u32 {
        (self.enabled >> LINE) as u32
    }

    pub fn pending_lines(&self) -> u32 {
        (self.pending >> LINE) as u32
    }

    /// Whether a system exception is pending.
    pub fn is_pending(&self, exception: u8) -> bool {
        self.pending & 1 << exception != 0
    }

    /// ISER and ICER, as they are written.
    pub fn enable(&mut self, lines: u32, on: bool, cycle: u64) {
        let lines = u64::from(lines) << LINE;
        if on {
            for exception in bits(lines & !self.enabled & self.pending) {
                self.since[usize::from(exception)] = cycle;
            }
            self.enabled |= lines;
        } else {
            self.enabled &= !lines;
        }
        self.refresh();
    }

    /// ISPR and ICPR, as they are written.
    pub fn pend_lines(&mut self, lines: u32, on: bool, cycle: u64) {
        for line in bits(u64::from(lines)) {
            if on {
                self.pend(LINE + line, cycle);
            } else {
                self.unpend(LINE + line);
            }
        }
    }

    /// Four priorities of a register, from an exception on.
    pub fn priorities(&self, from: u8) -> u32 {
        (0..4).map(|n| u32::from(self.priorities[usize::from(from + n)]) << (8 * u32::from(n) + 6)).sum()
    }

    pub fn set_priorities(&mut self, from: u8, value: u32) {
        for n in 0..4 {
            self.priorities[usize::from(from + n)] = (value >> (8 * u32::from(n) + 6) & 3) as u8;
        }
        self.refresh();
    }

    /// The exception that comes first, for ICSR; 0 if none does.
    pub fn first_pending(&self) -> u8 {
        self.first().map_or(0, |(_, exception)| exception)
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as u8)
    })
}
