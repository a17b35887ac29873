//! The serial peripheral interface as a master whose slave returns ones.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 19 "SPI".

use super::io::Io;
use super::sources::SourceId;

/// A register of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    /// SPCR.
    Control,
    /// SPSR.
    Status,
    /// SPDR.
    Data,
}

/// The interface: SPCR is byte `control`, SPSR the next one.
#[derive(Debug, Clone)]
pub struct Spi {
    control: u16,
    done: SourceId,
    ends: Option<u64>,
    /// True if SPSR was read with SPIF set: an access to SPDR then clears the flag.
    read: bool,
}

const SPE: u8 = 0x40;
const MSTR: u8 = 0x10;
const SPIF: u8 = 0x80;
const WCOL: u8 = 0x40;
const SPI2X: u8 = 0x01;

impl Spi {
    pub fn new(control: u16, done: SourceId) -> Self {
        Spi { control, done, ends: None, read: false }
    }

    /// Clears SPIF at an access to SPDR, if SPSR was read with the flag set.
    fn clear_flag_if_read(&mut self, io: &mut Io) {
        if std::mem::take(&mut self.read) {
            io.clear_flag(self.done);
            io.data[usize::from(self.control) + 1] &= !WCOL;
        }
    }

    pub fn read(&mut self, reg: Reg, io: &mut Io) -> u8 {
        self.advance_to_now(io);
        match reg {
            Reg::Control => io.register(self.control),
            Reg::Status => {
                let value = io.register(self.control + 1);
                self.read |= value & (SPIF | WCOL) != 0;
                value
            }
            Reg::Data => {
                self.clear_flag_if_read(io);
                0xff
            }
        }
    }

    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) {
        self.advance_to_now(io);
        match reg {
            Reg::Control => {
                io.set_register(self.control, value);
                io.update_pending();
            }
            Reg::Status => {
                let flags = io.register(self.control + 1) & !SPI2X;
                io.set_register(self.control + 1, flags | value & SPI2X);
            }
            Reg::Data => {
                self.clear_flag_if_read(io);
                if io.register(self.control) & (SPE | MSTR) != SPE | MSTR {
                    return;
                }
                if self.ends.is_some() {
                    io.data[usize::from(self.control) + 1] |= WCOL;
                    return;
                }
                // Table 19-5.
                let divider = [4u64, 16, 64, 128][usize::from(io.register(self.control) & 3)];
                let double = io.register(self.control + 1) & SPI2X != 0;
                self.ends = Some(io.clock.now + 8 * if double { divider / 2 } else { divider });
            }
        }
    }

    /// Returns the cycle at which the transfer ends; `u64::MAX` without one.
    pub fn next_event_cycle(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Ends a transfer that is over by now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        if let Some(end) = self.ends.filter(|end| *end <= io.clock.now) {
            self.ends = None;
            io.raise_flag(self.done, end);
        }
    }
}
