//! The two-wire interface on a bus without other devices.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 22 "2-wire Serial Interface", table 22-2 for the status codes.

use super::io::Io;
use super::sources::SourceId;

/// The interface: TWBR is byte `base`, TWSR the next one, TWCR the fifth.
#[derive(Debug, Clone)]
pub struct Twi {
    base: u16,
    done: SourceId,
    ends: Option<(u64, u8)>,
}

const TWINT: u8 = 0x80;
const TWSTA: u8 = 0x20;
const TWSTO: u8 = 0x10;
const TWEN: u8 = 0x04;

const STARTED: u8 = 0x08;
const STARTED_AGAIN: u8 = 0x10;
const ADDRESS_TO_WRITE_REFUSED: u8 = 0x20;
const DATA_REFUSED: u8 = 0x30;
const ADDRESS_TO_READ_REFUSED: u8 = 0x48;
const IDLE: u8 = 0xf8;

impl Twi {
    pub fn new(base: u16, done: SourceId, io: &mut Io) -> Self {
        io.set_register(base + 1, IDLE);
        Twi { base, done, ends: None }
    }

    /// Returns the cycles of one bit (section 22.5.2).
    fn cycles_per_bit(&self, io: &Io) -> u64 {
        let exponent = io.register(self.base + 1) & 3;
        16 + 2 * u64::from(io.register(self.base)) * (1 << (2 * exponent))
    }

    /// Executes a write of TWCR.
    pub fn write(&mut self, value: u8, io: &mut Io) {
        let control = self.base + 4;
        let flag = io.register(control) & TWINT & !(value & TWINT);
        io.set_register(control, value & !(TWINT | TWSTO) | flag);
        io.update_pending();
        if value & TWEN == 0 {
            self.ends = None;
            return;
        }
        if value & TWINT == 0 {
            return;
        }
        let status = io.register(self.base + 1) & 0xf8;
        let bit = self.cycles_per_bit(io);
        let (bits, next) = if value & TWSTO != 0 {
            io.set_register(self.base + 1, IDLE | io.register(self.base + 1) & 3);
            self.ends = None;
            return;
        } else if value & TWSTA != 0 {
            (1, if status == IDLE { STARTED } else { STARTED_AGAIN })
        } else if matches!(status, STARTED | STARTED_AGAIN) {
            let reads = io.register(self.base + 3) & 1 != 0;
            (9, if reads { ADDRESS_TO_READ_REFUSED } else { ADDRESS_TO_WRITE_REFUSED })
        } else {
            (9, DATA_REFUSED)
        };
        self.ends = Some((io.clock.now + bits * bit, next));
    }

    /// Returns the cycle at which the step on the bus ends; `u64::MAX` without one.
    pub fn next_event_cycle(&self) -> u64 {
        self.ends.map_or(u64::MAX, |(end, _)| end)
    }

    /// Ends a step on the bus that is over by now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        if let Some((end, status)) = self.ends.filter(|(end, _)| *end <= io.clock.now) {
            self.ends = None;
            io.set_register(self.base + 1, status | io.register(self.base + 1) & 3);
            io.raise_flag(self.done, end);
        }
    }
}
