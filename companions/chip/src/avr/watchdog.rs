//! The watchdog with its own oscillator.
//!
//! Source: ATmega328P data sheet (DS40002061), section 11.8 "Watchdog Timer"; ATmega128 data sheet (2467), "Watchdog Timer".

use super::io::Io;
use super::sources::SourceId;

/// WDTCSR of the newer chips, WDTCR of the ATmega128.
#[derive(Debug, Clone)]
pub struct Watchdog {
    address: u16,
    id: SourceId,
    /// True if it can interrupt, and is enabled by WDE or WDIE.
    newer: bool,
    /// Moment of the oscillator at which it ends.
    ends: Option<u64>,
    /// Cycle until which a timed sequence lets the firmware change it.
    unlocked: u64,
}

const WDIF: u8 = 0x80;
const WDIE: u8 = 0x40;
const WDCE: u8 = 0x10;
const WDE: u8 = 0x08;

/// Most cycles between the two writes of the timed sequence.
const SEQUENCE: u64 = 4;

impl Watchdog {
    /// Creates the watchdog at reset: off, as with the fuse WDTON unprogrammed.
    pub fn new(address: u16, id: SourceId, newer: bool) -> Self {
        Watchdog { address, id, newer, ends: None, unlocked: 0 }
    }

    /// Returns the timeout in periods of the oscillator: 2048 cycles of 128 kHz and their doubles (table 11-2).
    fn timeout_periods(&self, io: &Io) -> u64 {
        let value = io.register(self.address);
        let stage = value & 7 | if self.newer { value >> 2 & 8 } else { 0 };
        // The ATmega128's oscillator runs at 1 MHz and is counted from 16384 on: this gives about the same times.
        io.clock.periods_in_ns(16_000_000u64 << stage.min(9))
    }

    fn is_running(&self, io: &Io) -> bool {
        let value = io.register(self.address);
        value & WDE != 0 || self.newer && value & WDIE != 0
    }

    /// Executes WDR: the timeout begins anew.
    pub fn restart(&mut self, io: &Io) {
        self.ends = self.is_running(io).then(|| io.clock.wall() + self.timeout_periods(io));
    }

    /// Executes a write of its register, which a timed sequence must precede.
    pub fn write(&mut self, value: u8, io: &mut Io) {
        let before = io.register(self.address);
        let unlocked = io.clock.now <= self.unlocked;
        if value & (WDCE | WDE) == WDCE | WDE {
            self.unlocked = io.clock.now + SEQUENCE;
        }
        let protected = WDE | if self.newer { 0x27 } else { 0x07 };
        let kept = if unlocked { value & protected } else { before & protected | value & WDE };
        let interrupt = if self.newer { before & WDIF & !value | value & WDIE } else { 0 };
        io.set_register(self.address, kept | interrupt);
        io.update_pending();
        if (before ^ io.register(self.address)) & (WDE | WDIE | 0x27) != 0 {
            self.restart(io);
        }
    }

    /// Returns the moment of the oscillator at which it times out; `u64::MAX` if it is off.
    pub fn timeout_moment(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Handles a timeout by now; returns true if it resets the chip.
    pub fn advance_to_now(&mut self, io: &mut Io) -> bool {
        let Some(ends) = self.ends.filter(|ends| *ends <= io.clock.wall()) else { return false };
        let value = io.register(self.address);
        self.ends = Some(ends + self.timeout_periods(io));
        if !self.newer || value & WDIE == 0 {
            return true;
        }
        io.raise_flag_at_moment(self.id, ends);
        false
    }

    /// Clears WDIE at the entry of its handler if reset is enabled too.
    /// The handler must set it again, or the next timeout is a reset.
    pub fn handle_interrupt_entry(&self, io: &mut Io) {
        if io.register(self.address) & WDE != 0 {
            io.data[usize::from(self.address)] &= !WDIE;
            io.update_pending();
        }
    }
}
