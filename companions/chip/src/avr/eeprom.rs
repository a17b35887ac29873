//! The EEPROM.
//!
//! Source: ATmega328P data sheet (DS40002061), section 8.4 and "EEPROM Control Register".

use super::io::Io;
use super::sources::SourceId;
use crate::Image;

/// A register of the EEPROM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    /// EECR.
    Control,
    /// EEDR.
    Data,
    /// EEARL.
    Address,
    /// EEARH.
    AddressHigh,
}

/// Contents and state of the EEPROM.
#[derive(Debug, Clone)]
pub struct Eeprom {
    bytes: Vec<u8>,
    control: u8,
    data: u8,
    address: u16,
    ready: SourceId,
    unlocked: u64,
    busy_until: u64,
    /// A byte that was read and not put anywhere yet.
    last_read: Option<u8>,
}

const EERIE: u8 = 0x08;
const EEMPE: u8 = 0x04;
const EEPE: u8 = 0x02;
const EERE: u8 = 0x01;

impl Eeprom {
    /// Creates an EEPROM with the image's contents; the rest is erased.
    pub fn new(size: u32, ready: SourceId, image: &Image) -> Self {
        let mut bytes = vec![0xff; size as usize];
        for (address, part) in &image.eeprom {
            for (byte, value) in bytes.iter_mut().skip(*address as usize).zip(part) {
                *byte = *value;
            }
        }
        Eeprom { bytes, control: 0, data: 0, address: 0, ready, unlocked: 0, busy_until: 0, last_read: None }
    }

    pub fn read(&self, reg: Reg) -> u8 {
        match reg {
            Reg::Control => self.control,
            Reg::Data => self.data,
            Reg::Address => self.address as u8,
            Reg::AddressHigh => (self.address >> 8) as u8,
        }
    }

    /// True if a byte is the one that was read last and not stored since; forgets it then.
    pub fn take_last_read(&mut self, byte: u8) -> bool {
        self.last_read.take_if(|last_read| *last_read == byte).is_some()
    }

    /// Writes a register; returns the cycles for which the processor is halted.
    pub fn write(&mut self, reg: Reg, value: u8, io: &mut Io) -> u64 {
        match reg {
            Reg::Data => self.data = value,
            Reg::Address => self.address = self.address & 0xff00 | u16::from(value),
            Reg::AddressHigh => self.address = self.address & 0xff | u16::from(value) << 8,
            Reg::Control => return self.write_control(value, io),
        }
        0
    }

    /// Executes a write of EECR: a read, a write or an enable; returns the cycles for which the processor is halted.
    fn write_control(&mut self, value: u8, io: &mut Io) -> u64 {
        let busy = self.control & EEPE;
        self.control = value & 0x38 | busy | self.control & EEMPE | value & EEMPE;
        if value & EEMPE != 0 {
            self.unlocked = io.clock.now + 4;
        }
        let at = usize::from(self.address) % self.bytes.len().max(1);
        let mut halted = 0;
        if value & EEPE != 0 && busy == 0 && io.clock.now <= self.unlocked {
            // Erase and write, erase only, write only (table 8-1).
            let (byte, ns) = match value >> 4 & 3 {
                1 => (0xff, 1_800_000),
                2 => (self.bytes[at] & self.data, 1_800_000),
                _ => (self.data, 3_400_000),
            };
            self.bytes[at] = byte;
            self.control = self.control & !EEMPE | EEPE;
            self.busy_until = io.clock.cycle_at(io.clock.wall() + io.clock.periods_in_ns(ns));
            halted = 2;
        } else if value & EERE != 0 && busy == 0 {
            self.data = self.bytes[at];
            self.last_read = Some(self.data);
            halted = 4;
        }
        self.update_ready_flag(io);
        halted
    }

    /// Sets the interrupt flag as long as the EEPROM is ready. Its enable bit is kept in byte 1 of the data space, its flag in
    /// byte 0: these are addresses of the processor's registers, and nothing else reads them here.
    fn update_ready_flag(&self, io: &mut Io) {
        io.set_register(1, self.control & EERIE);
        io.update_pending();
        if self.control & (EERIE | EEPE) == EERIE {
            io.raise_flag(self.ready, io.clock.now);
        } else {
            io.clear_flag(self.ready);
        }
    }

    /// Returns the cycle at which the write ends; `u64::MAX` without one.
    pub fn next_event_cycle(&self) -> u64 {
        if self.control & EEPE != 0 { self.busy_until } else { u64::MAX }
    }

    /// Ends a write that is over by now.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        if self.control & EEPE != 0 && self.busy_until <= io.clock.now {
            self.control &= !EEPE;
            self.update_ready_flag(io);
        }
    }
}
