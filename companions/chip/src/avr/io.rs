//! What the parts of a chip share: the data space, the sources of interrupts, the pins, the clock, and the log.

use super::clock::Clock;
use super::ports::{At, Ports};
use super::sources::{Id, Sources};
use crate::{Log, Pin};

/// What the parts of a chip share.
#[derive(Debug)]
pub struct Io {
    /// The data space: the registers of peripherals as they are read, and memory. The processor's own registers are not here.
    pub data: Vec<u8>,
    /// What can interrupt.
    pub sources: Sources,
    /// Pins.
    pub ports: Ports,
    /// Time.
    pub clock: Clock,
    /// What happened.
    pub log: Log,
    /// A deep sleep has stopped the clock of the peripherals.
    pub frozen: bool,
    /// The address of the instruction that writes a register, in bytes.
    pub address: u32,
}

impl Io {
    /// A flag is set, at a cycle.
    pub fn raise(&mut self, id: Id, cycle: u64) {
        self.raise_at(id, self.clock.wall_at(cycle));
    }

    /// The same, in periods of the oscillator.
    pub fn raise_at(&mut self, id: Id, wall: u64) {
        self.sources.raise(id, wall, &mut self.data);
    }

    /// A flag is cleared.
    pub fn lower(&mut self, id: Id) {
        self.sources.lower(id, &mut self.data);
    }

    /// The firmware wrote to flags or enables.
    pub fn refresh(&mut self) {
        self.sources.refresh(self.clock.wall(), &self.data);
    }

    /// Whether a source's flag would interrupt.
    pub fn is_enabled(&self, id: Id) -> bool {
        self.sources.is_enabled(id, &self.data)
    }

    /// A register as it is read.
    pub fn byte(&self, address: u16) -> u8 {
        self.data[usize::from(address)]
    }

    /// Sets a register.
    pub fn set_byte(&mut self, address: u16, value: u8) {
        self.data[usize::from(address)] = value;
    }

    /// A peripheral sets a pin's value, at a cycle.
    pub fn override_value(&mut self, pin: Pin, value: Option<bool>, takes: bool, cycle: u64) {
        let at = At { cycle, wall: self.clock.wall_at(cycle), log: &mut self.log };
        self.ports.override_value(pin, value, takes, at);
    }

    /// A level comes from outside, at a moment of the oscillator.
    pub fn drive(&mut self, pin: Pin, high: bool, wall: u64) {
        let at = At { cycle: self.clock.cycle_at(wall).min(self.clock.now), wall, log: &mut self.log };
        self.ports.drive(pin, high, at);
    }

    /// The firmware writes PORT, now.
    pub fn set_out(&mut self, port: u8, value: u8) {
        let at = At { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_out(port, value, at);
    }

    /// The firmware writes DDR, now.
    pub fn set_direction(&mut self, port: u8, value: u8) {
        let at = At { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_direction(port, value, at);
    }
}
