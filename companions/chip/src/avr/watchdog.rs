//! The watchdog with its own oscillator.
//!
//! Source: ATmega328P data sheet (DS40002061), section 11.8 "Watchdog Timer"; ATmega128 data sheet (2467), "Watchdog Timer".

use super::io::Io;
use super::sources::Id;

/// WDTCSR of the newer chips, WDTCR of the ATmega128.
#[derive(Debug, Clone)]
pub struct Watchdog {
    address: u16,
    id: Id,
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
    /// Creates it at reset: off, as with the fuse WDTON unprogrammed.
    pub fn new(address: u16, id: Id, newer: bool) -> Self {
        Watchdog { address, id, newer, ends: None, unlocked: 0 }
    }

    /// Returns the periods of the oscillator until it ends: 2048 cycles of 128 kHz and their doubles (table 11-2).
    fn length(&self, io: &Io) -> u64 {
        let value = io.byte(self.address);
        let stage = value & 7 | if self.newer { value >> 2 & 8 } else { 0 };
        // The ATmega128's oscillator runs at 1 MHz and is counted from 16384 on: this gives about the same times.
        io.clock.periods(16_000_000u64 << stage.min(9))
    }

    fn runs(&self, io: &Io) -> bool {
        let value = io.byte(self.address);
        value & WDE != 0 || self.newer && value & WDIE != 0
    }

    /// WDR: restarts it.
    pub fn restart(&mut self, io: &Io) {
        self.ends = self.runs(io).then(|| io.clock.wall() + self.length(io));
    }

    /// Handles a write of its register.
    pub fn write(&mut self, value: u8, io: &mut Io) {
        let before = io.byte(self.address);
        let unlocked = io.clock.now <= self.unlocked;
        if value & (WDCE | WDE) == WDCE | WDE {
            self.unlocked = io.clock.now + SEQUENCE;
        }
        let protected = WDE | if self.newer { 0x27 } else { 0x07 };
        let kept = if unlocked { value & protected } else { before & protected | value & WDE };
        let interrupt = if self.newer { before & WDIF & !value | value & WDIE } else { 0 };
        io.set_byte(self.address, kept | interrupt);
        io.refresh();
        if (before ^ io.byte(self.address)) & (WDE | WDIE | 0x27) != 0 {
            self.restart(io);
        }
    }

    /// Returns the moment of the oscillator at which it ends.
    pub fn next(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Settles it; returns true if it resets the chip.
    pub fn settle(&mut self, io: &mut Io) -> bool {
        let Some(ends) = self.ends.filter(|ends| *ends <= io.clock.wall()) else { return false };
        let value = io.byte(self.address);
        self.ends = Some(ends + self.length(io));
        if !self.newer || value & WDIE == 0 {
            return true;
        }
        io.raise_at(self.id, ends);
        false
    }

    /// Handles the entry of its handler: if reset is enabled too, the handler must set WDIE again, or the
    /// next timeout is a reset.
    pub fn entered(&self, io: &mut Io) {
        if io.byte(self.address) & WDE != 0 {
            io.data[usize::from(self.address)] &= !WDIE;
            io.refresh();
        }
    }
}
