//! The serial peripheral interface as a master whose slave returns ones.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 19 "SPI".

use super::io::Io;
use super::sources::Id;

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
    done: Id,
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
    /// Creates the interface at reset.
    pub fn new(control: u16, done: Id) -> Self {
        Spi { control, done, ends: None, read: false }
    }

    fn access(&mut self, io: &mut Io) {
        if std::mem::take(&mut self.read) {
            io.lower(self.done);
            io.data[usize::from(self.control) + 1] &= !WCOL;
        }
    }

    /// Handles a read of a register.
    pub fn read(&mut self, reg: Reg, io: &mut Io) -> u8 {
        self.settle(io);
        match reg {
            Reg::Control => io.byte(self.control),
            Reg::Status => {
                let value = io.byte(self.control + 1);
                self.read |= value & (SPIF | WCOL) != 0;
                value
            }
            Reg::Data => {
                self.access(io);
                0xff
            }
        }
    }

    /// Handles a write of a register.
    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) {
        self.settle(io);
        match reg {
            Reg::Control => {
                io.set_byte(self.control, value);
                io.refresh();
            }
            Reg::Status => {
                let flags = io.byte(self.control + 1) & !SPI2X;
                io.set_byte(self.control + 1, flags | value & SPI2X);
            }
            Reg::Data => {
                self.access(io);
                if io.byte(self.control) & (SPE | MSTR) != SPE | MSTR {
                    return;
                }
                if self.ends.is_some() {
                    io.data[usize::from(self.control) + 1] |= WCOL;
                    return;
                }
                // Table 19-5.
                let divider = [4u64, 16, 64, 128][usize::from(io.byte(self.control) & 3)];
                let double = io.byte(self.control + 1) & SPI2X != 0;
                self.ends = Some(io.clock.now + 8 * if double { divider / 2 } else { divider });
            }
        }
    }

    /// Returns the cycle at which to settle next.
    pub fn next(&self) -> u64 {
        self.ends.unwrap_or(u64::MAX)
    }

    /// Ends a transfer.
    pub fn settle(&mut self, io: &mut Io) {
        if let Some(end) = self.ends.filter(|end| *end <= io.clock.now) {
            self.ends = None;
            io.raise(self.done, end);
        }
    }
}
