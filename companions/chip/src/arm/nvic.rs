//! Pending, enabled and active exceptions, and the one to take next.
//!
//! Sources: ARMv6-M manual, B1.5 (the exception model) and B3.4 (the NVIC). Priorities have two bits.

/// Numbers of exceptions; those of interrupt lines start at 16.
pub const NMI: u8 = 2;
/// The fault into which all faults escalate.
pub const HARD_FAULT: u8 = 3;
pub const SVCALL: u8 = 11;
pub const PENDSV: u8 = 14;
pub const SYSTICK: u8 = 15;
pub const LINE: u8 = 16;

/// Mask of the system exceptions, which are always enabled.
const SYSTEM: u64 = 0xffff;
/// Priority of thread mode, numerically above every priority that can be set.
const THREAD: i32 = 4;

/// The nested vectored interrupt controller.
#[derive(Debug)]
pub struct Nvic {
    /// SCR.
    pub sleep_control: u32,
    pub vectors: u32,
    pending: u64,
    enabled: u64,
    active: u64,
    /// Lines that are high.
    lines: u32,
    /// Priorities of the exceptions from 0 on.
    priorities: [u8; 48],
    primask: bool,
    /// Cycle at which each became pending and enabled.
    pending_since: [u64; 48],
    /// Number of further requests while each was pending, and the cycle of the first.
    lost: [(u64, u64); 48],
    /// The exception to take, updated at each change.
    to_take: Option<u8>,
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
            pending_since: [0; 48],
            lost: [(0, 0); 48],
            to_take: None,
        }
    }

    /// Exception to take now, if one is urgent enough.
    pub fn exception_to_take(&self) -> Option<u8> {
        self.to_take
    }

    fn priority(&self, exception: u8) -> i32 {
        match exception {
            NMI => -2,
            HARD_FAULT => -1,
            other => i32::from(self.priorities[usize::from(other)]),
        }
    }

    /// Priority of the running code without PRIMASK; lower numbers are more urgent.
    fn execution_priority(&self) -> i32 {
        indices_of_set_bits(self.active).map(|e| self.priority(e)).min().unwrap_or(THREAD)
    }

    /// Priority and number of the most urgent exception that is pending and enabled.
    fn most_urgent_pending(&self) -> Option<(i32, u8)> {
        indices_of_set_bits(self.pending & self.enabled).map(|e| (self.priority(e), e)).min()
    }

    /// True if an exception is urgent enough to interrupt the running code.
    pub fn can_interrupt(&self, exception: u8) -> bool {
        let masked = if self.primask { 0 } else { THREAD };
        self.priority(exception) < self.execution_priority().min(masked)
    }

    fn update_exception_to_take(&mut self) {
        self.to_take = self.most_urgent_pending().map(|(_, e)| e).filter(|e| self.can_interrupt(*e));
    }

    /// True if WFI and WFE end: an exception is pending that would be taken if PRIMASK were clear (B1.5.19).
    pub fn ends_sleep(&self) -> bool {
        self.most_urgent_pending().is_some_and(|(priority, _)| priority < self.execution_priority())
    }

    /// True if no line can ever interrupt.
    pub fn has_no_enabled_line(&self) -> bool {
        self.enabled == SYSTEM
    }

    pub fn set_primask(&mut self, on: bool) {
        self.primask = on;
        self.update_exception_to_take();
    }

    pub fn set_pending(&mut self, exception: u8, cycle: u64) {
        let bit = 1 << exception;
        if self.pending & bit != 0 {
            let (lost, first) = &mut self.lost[usize::from(exception)];
            *first = if *lost == 0 { cycle } else { *first };
            *lost += 1;
        } else {
            self.pending_since[usize::from(exception)] = cycle;
        }
        self.pending |= bit;
        self.update_exception_to_take();
    }

    pub fn clear_pending(&mut self, exception: u8) {
        self.pending &= !(1 << exception);
        self.pend_high_lines();
    }

    /// Sets the state of all lines, where a rising one makes its interrupt pending; true if any rose.
    /// A falling one does not clear it.
    pub fn set_lines(&mut self, lines: u32, cycle: u64) -> bool {
        let rising = lines & !self.lines;
        self.lines = lines;
        for line in indices_of_set_bits(u64::from(rising)) {
            let exception = usize::from(LINE + line);
            if self.pending & 1 << exception == 0 {
                self.pending_since[exception] = cycle;
            }
            self.pending |= 1 << exception;
        }
        if rising != 0 {
            self.update_exception_to_take();
        }
        rising != 0
    }

    /// Makes the interrupt of each line that is still high pending again, unless it is being handled.
    fn pend_high_lines(&mut self) {
        self.pending |= u64::from(self.lines) << LINE & !self.active;
        self.update_exception_to_take();
    }

    /// Makes an exception active instead of pending; returns the cycle since which it waited.
    pub fn activate(&mut self, exception: u8) -> u64 {
        self.active |= 1 << exception;
        self.pending &= !(1 << exception);
        self.update_exception_to_take();
        self.pending_since[usize::from(exception)]
    }

    pub fn deactivate(&mut self, exception: u8, cycle: u64) {
        self.active &= !(1 << exception);
        if u64::from(self.lines) << LINE & 1 << exception != 0 && self.pending & 1 << exception == 0 {
            self.pending_since[usize::from(exception)] = cycle;
        }
        self.pend_high_lines();
    }

    pub fn is_any_active(&self) -> bool {
        self.active != 0
    }

    /// Returns for all exceptions the number of lost requests, and the cycle of the first.
    pub fn lost_requests(&self) -> [(u64, u64); 48] {
        self.lost
    }

    /// Enabled interrupt lines, one bit each: ISER and ICER as read.
    pub fn enabled_lines(&self) -> u32 {
        (self.enabled >> LINE) as u32
    }

    pub fn pending_lines(&self) -> u32 {
        (self.pending >> LINE) as u32
    }

    pub fn is_pending(&self, exception: u8) -> bool {
        self.pending & 1 << exception != 0
    }

    /// Executes a write of ISER (`on`) or ICER.
    pub fn set_enabled_lines(&mut self, lines: u32, on: bool, cycle: u64) {
        let lines = u64::from(lines) << LINE;
        if on {
            for exception in indices_of_set_bits(lines & !self.enabled & self.pending) {
                self.pending_since[usize::from(exception)] = cycle;
            }
            self.enabled |= lines;
        } else {
            self.enabled &= !lines;
        }
        self.update_exception_to_take();
    }

    /// Executes a write of ISPR (`on`) or ICPR.
    pub fn set_pending_lines(&mut self, lines: u32, on: bool, cycle: u64) {
        for line in indices_of_set_bits(u64::from(lines)) {
            if on {
                self.set_pending(LINE + line, cycle);
            } else {
                self.clear_pending(LINE + line);
            }
        }
    }

    /// Register with the priorities of four exceptions, from this one on.
    pub fn priority_register(&self, from: u8) -> u32 {
        (0..4).map(|n| u32::from(self.priorities[usize::from(from + n)]) << (8 * u32::from(n) + 6)).sum()
    }

    pub fn set_priority_register(&mut self, from: u8, value: u32) {
        for n in 0..4 {
            self.priorities[usize::from(from + n)] = (value >> (8 * u32::from(n) + 6) & 3) as u8;
        }
        self.update_exception_to_take();
    }

    /// The most urgent exception that is pending and enabled, for ICSR; 0 if there is none.
    pub fn most_urgent_or_zero(&self) -> u8 {
        self.most_urgent_pending().map_or(0, |(_, exception)| exception)
    }
}

fn indices_of_set_bits(mut word: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as u8)
    })
}
