//! SysTick, the timer of the processor (ARMv6-M manual, B3.3): 24 bits, counting down.

/// The timer, in processor cycles (CLKSOURCE 1). With the external reference (0) it counts every `reference` cycles.
#[derive(Debug, Default)]
pub struct SysTick {
    control: u32,
    reload: u32,
    /// The cycle at which it was or will be zero: its value follows from this.
    zero_at: u64,
    /// Its value while it is stopped.
    stopped: u32,
    /// True if it has been zero since COUNTFLAG was read.
    flag: bool,
    /// Cycles of a count of the external reference.
    pub reference: u64,
}

const ENABLE: u32 = 1;
const TICKINT: u32 = 2;
const CLKSOURCE: u32 = 4;

impl SysTick {
    fn cycles_per_count(&self) -> u64 {
        if self.control & CLKSOURCE != 0 { 1 } else { self.reference.max(1) }
    }

    fn is_enabled(&self) -> bool {
        self.control & ENABLE != 0
    }

    /// Returns the cycle at which the counter is zero next; `u64::MAX` if it never is.
    pub fn next_zero_cycle(&self) -> u64 {
        if self.is_enabled() && (self.reload != 0 || self.zero_at != 0) && self.zero_at != u64::MAX {
            self.zero_at
        } else {
            u64::MAX
        }
    }

    /// Advances the timer to a cycle; returns the cycle of its last interrupt, if there was one.
    pub fn advance_to(&mut self, now: u64) -> Option<u64> {
        let mut interrupted = None;
        while self.next_zero_cycle() <= now {
            let at = self.zero_at;
            self.flag = true;
            if self.control & TICKINT != 0 {
                interrupted = Some(at);
            }
            // With the next count it has the reload value again: a period is one count more.
            self.zero_at = match self.reload {
                0 => u64::MAX,
                reload => at + (u64::from(reload) + 1) * self.cycles_per_count(),
            };
        }
        interrupted
    }

    fn value(&self, now: u64) -> u32 {
        if !self.is_enabled() {
            return self.stopped;
        }
        match self.zero_at {
            u64::MAX => 0,
            zero => (zero.saturating_sub(now).div_ceil(self.cycles_per_count()) as u32).min(self.reload),
        }
    }

    /// Reads CSR, which clears COUNTFLAG, or RVR, CVR or CALIB.
    pub fn read(&mut self, register: u32, now: u64) -> u32 {
        match register {
            0x10 => self.control | u32::from(std::mem::take(&mut self.flag)) << 16,
            0x14 => self.reload,
            0x18 => self.value(now),
            _ => 1 << 31,
        }
    }

    pub fn write(&mut self, register: u32, value: u32, now: u64) {
        match register {
            0x10 => {
                let stands = self.value(now);
                let ran = self.is_enabled();
                self.control = value & 7;
                self.stopped = stands;
                if self.is_enabled() && !ran {
                    self.restart_count(now);
                }
            }
            0x14 => self.reload = value & 0xff_ffff,
            0x18 => {
                (self.stopped, self.flag) = (0, false);
                if self.is_enabled() {
                    self.restart_count(now);
                }
            }
            _ => {}
        }
    }

    /// Counts from its current value; from zero, it takes the reload value with the next count.
    fn restart_count(&mut self, now: u64) {
        let counts = match self.stopped {
            0 => u64::from(self.reload) + 1,
            value => u64::from(value),
        };
        self.zero_at =
            if counts == 1 && self.reload == 0 { u64::MAX } else { now + counts * self.cycles_per_count() };
    }
}
