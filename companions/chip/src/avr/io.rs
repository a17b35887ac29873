//! Shared state of the parts of a chip: the data space, the interrupt sources, the pins, the clock, and the log.

use super::clock::Clock;
use super::ports::{PinEvent, Ports};
use super::sources::{SourceId, Sources};
use crate::{Log, Pin};

/// Shared state of the parts of a chip.
#[derive(Debug)]
pub struct Io {
    /// The data space: registers of peripherals as read, and memory. The processor's own registers are elsewhere.
    pub data: Vec<u8>,
    pub sources: Sources,
    pub ports: Ports,
    pub clock: Clock,
    pub log: Log,
    /// True while a deep sleep has stopped the clock of the peripherals.
    pub frozen: bool,
    /// The address of the instruction that writes a register, in bytes.
    pub address: u32,
}

impl Io {
    /// Sets the flag of an interrupt source at a cycle.
    pub fn raise_flag(&mut self, id: SourceId, cycle: u64) {
        self.raise_flag_at_moment(id, self.clock.wall_at(cycle));
    }

    /// Sets the flag of an interrupt source at a moment, in periods of the oscillator.
    pub fn raise_flag_at_moment(&mut self, id: SourceId, wall: u64) {
        self.sources.raise_flag(id, wall, &mut self.data);
    }

    pub fn clear_flag(&mut self, id: SourceId) {
        self.sources.clear_flag(id, &mut self.data);
    }

    /// Recomputes the pending interrupts, after a write to flags or enables.
    pub fn update_pending(&mut self) {
        self.sources.update_pending(self.clock.wall(), &self.data);
    }

    /// True if the interrupt of a source is enabled.
    pub fn is_enabled(&self, id: SourceId) -> bool {
        self.sources.is_enabled(id, &self.data)
    }

    /// Returns a byte of the data space, without side effects.
    pub fn register(&self, address: u16) -> u8 {
        self.data[usize::from(address)]
    }

    /// Sets a byte of the data space, without side effects.
    pub fn set_register(&mut self, address: u16, value: u8) {
        self.data[usize::from(address)] = value;
    }

    /// Lets a peripheral set a pin at a cycle (`None`: no longer); `takes` also makes it an output.
    pub fn override_pin(&mut self, pin: Pin, value: Option<bool>, takes: bool, cycle: u64) {
        let at = PinEvent { cycle, wall: self.clock.wall_at(cycle), log: &mut self.log };
        self.ports.override_pin(pin, value, takes, at);
    }

    /// Sets the level of a pin from outside, at a moment in periods of the oscillator.
    pub fn drive_from_outside(&mut self, pin: Pin, high: bool, wall: u64) {
        let at = PinEvent { cycle: self.clock.cycle_at(wall).min(self.clock.now), wall, log: &mut self.log };
        self.ports.drive_from_outside(pin, high, at);
    }

    pub fn set_port_register(&mut self, port: u8, value: u8) {
        let at = PinEvent { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_port_register(port, value, at);
    }

    pub fn set_direction(&mut self, port: u8, value: u8) {
        let at = PinEvent { cycle: self.clock.now, wall: self.clock.wall(), log: &mut self.log };
        self.ports.set_direction(port, value, at);
    }
}
