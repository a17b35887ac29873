//! Shared state of the parts of a chip: the data space, the interrupt sources, the pins, the clock, and the log.

use super::clock::Clock;
use super::ports::{At, Ports};
use super::sources::{Id, Sources};
use crate::{Log, Pin};

/// Shared state of the parts of a chip.
#[derive(Debug)]
pub struct Io {
    /// The data space: registers of peripherals as read, and memory. The processor's own registers are elsewhere.
    pub data: Vec<u8>,
    /// Interrupt sources.
    pub sources: Sources,
    /// Pins.
    pub ports: Ports,
    /// Time.
    pub clock: Clock,
    /// Record of events.
    pub log: Log,
    /// True while a deep sleep has stopped the clock of the peripherals.
    pub frozen: bool,
    /// The address of the instruction that writes a register, in bytes.
    pub address: u32,
}

impl Io {
    /// Sets a flag at a cycle.
    pub fn raise(&mut self, id: Id, cycle: u64) {
        self.raise_at(id, self.clock.wall_at(cycle));
    }

    /// Sets a flag at a time in periods of the oscillator.
    pub fn raise_at(&mut self, id: Id, wall: u64) {
        self.sources.raise(id, wall, &mut self.data);
    }

    /// Clears a flag.
    pub fn lower(&mut self, id: Id) {
        self.sources.lower(id, &mut self.data);
    }

    /// Handles a write to flags or enables.
    pub fn refresh(&mut self) {
        self.sources.refresh(self.clock.wall(), &self.data);
    }

    /// True if a source's flag would interrupt.
    pub fn is_enabled(&self, id: Id) -> bool {
        self.sources.is_enabled(id, &self.data)
    }

    /// Returns a register as read.
    pub fn byte(&self, address: u16) -> u8 {
        self.data[usize::from(address)]
    }

    /// Sets a register.
    pub fn set_byte(&mut self, address: u16, value: u8) {
        self.data[usize::from(address)] = value;
    }

    /// Sets a pin's value by a peripheral, at a cycle.
    pub fn override_value(&mut self, pin: Pin, value: Option<bool>, takes: bool, cycle: u64) {
        let at = At { cycle, wall: self.clock.wall_at(cycle), log: &mut self.log };
        self.ports.override_value(pin, value, takes, at);
    }

    /// Sets a level from outside, at a moment of the oscillator.
    pub fn drive(&mut self, pin: Pin, high: bool, wall: u64) {
        let at = At { cycle: self.clock.cycle_at(wall).min(self.clock.now), wall, log: &mut self.log };
        self.ports.drive(pin, high, at);
    }

    /// Handles a write of PORT, now.
    pub fn set_out(&mut self, port: u8, value: u8) {
        let at = At { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_out(port, value, at);
    }

    /// Handles a write of DDR, now.
    pub fn set_direction(&mut self, port: u8, value: u8) {
        let at = At { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_direction(port, value, at);
    }
}
