//! Pins: levels driven by the firmware, by peripherals in its place, and from outside.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 14 "I/O-Ports".

use crate::{Edge, Log, Pin};

/// Eight pins.
#[derive(Debug, Clone, Default)]
struct Port {
    direction: u8,
    port_register: u8,
    /// Pins whose output value a peripheral sets; the firmware still sets the direction.
    overridden: u8,
    /// Pins that a peripheral makes outputs.
    taken: u8,
    value: u8,
    driven: u8,
    outside: u8,
    /// Levels now, and before the last change.
    level: u8,
    before: u8,
    changed_at: u64,
    /// Index of the watched pin for each bit.
    watched: [Option<u16>; 8],
    /// Bits whose changes a part of the chip depends on.
    listened: u8,
}

/// A change of levels that a part of the chip depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortChange {
    pub port: u8,
    /// The changed bits, of those listened to.
    pub bits: u8,
    /// The port's levels after it.
    pub level: u8,
    /// Time, in cycles.
    pub cycle: u64,
}

/// All pins of a chip.
#[derive(Debug, Clone)]
pub struct Ports {
    ports: [Port; 12],
    pub changes: Vec<PortChange>,
}

/// Cycles of a level through the synchroniser to the PIN register (section 14.2.4: half a cycle to one and a half).
const SYNCHRONISER_CYCLES: u64 = 1;

impl Ports {
    /// Creates pins that are all inputs, with nothing connected.
    pub fn new() -> Self {
        Ports { ports: Default::default(), changes: Vec::new() }
    }

    /// Records the changes of a pin from now on, as those of watched pin `index`.
    pub fn watch_pin(&mut self, pin: Pin, index: u16) {
        self.ports[usize::from(pin.port)].watched[usize::from(pin.bit & 7)] = Some(index);
    }

    /// Collects the changes of a pin in `changes` from now on.
    pub fn collect_changes_of(&mut self, pin: Pin) {
        self.ports[usize::from(pin.port)].listened |= 1 << pin.bit;
    }

    pub fn is_observed(&self, pin: Pin) -> bool {
        let port = &self.ports[usize::from(pin.port)];
        port.watched[usize::from(pin.bit & 7)].is_some() || port.listened & 1 << pin.bit != 0
    }

    /// Returns the DDR register.
    pub fn direction(&self, port: u8) -> u8 {
        self.ports[usize::from(port)].direction
    }

    /// Returns the PORT register.
    pub fn port_register(&self, port: u8) -> u8 {
        self.ports[usize::from(port)].port_register
    }

    /// Returns the PIN register, read at a cycle: the levels one cycle before.
    pub fn read(&self, port: u8, cycle: u64) -> u8 {
        let port = &self.ports[usize::from(port)];
        if cycle > port.changed_at + SYNCHRONISER_CYCLES { port.level } else { port.before }
    }

    pub fn level(&self, pin: Pin) -> bool {
        self.ports[usize::from(pin.port)].level & 1 << pin.bit != 0
    }

    /// Writes DDR.
    pub fn set_direction(&mut self, port: u8, value: u8, at: PinEvent<'_>) {
        self.ports[usize::from(port)].direction = value;
        self.update_levels(port, at);
    }

    /// Writes PORT.
    pub fn set_port_register(&mut self, port: u8, value: u8, at: PinEvent<'_>) {
        self.ports[usize::from(port)].port_register = value;
        self.update_levels(port, at);
    }

    /// Lets a peripheral set a pin in place of PORT (`None`: no longer); `takes` also makes it an output.
    pub fn override_pin(&mut self, pin: Pin, value: Option<bool>, takes: bool, at: PinEvent<'_>) {
        let bit = 1 << pin.bit;
        let port = &mut self.ports[usize::from(pin.port)];
        set_bits(&mut port.overridden, bit, value.is_some());
        set_bits(&mut port.taken, bit, value.is_some() && takes);
        set_bits(&mut port.value, bit, value == Some(true));
        self.update_levels(pin.port, at);
    }

    /// Ends the control of all pins by peripherals; the levels are recomputed at the next write.
    pub fn end_overrides(&mut self) {
        for port in &mut self.ports {
            (port.overridden, port.taken) = (0, 0);
        }
    }

    pub fn drive_from_outside(&mut self, pin: Pin, high: bool, at: PinEvent<'_>) {
        let port = &mut self.ports[usize::from(pin.port)];
        port.driven |= 1 << pin.bit;
        set_bits(&mut port.outside, 1 << pin.bit, high);
        self.update_levels(pin.port, at);
    }

    /// Computes and records the levels: an output has its value; an input the level from outside, else high with a
    /// pull-up, else low.
    fn update_levels(&mut self, number: u8, at: PinEvent<'_>) {
        let PinEvent { cycle, wall, log } = at;
        let port = &mut self.ports[usize::from(number)];
        let outputs = port.direction | port.taken;
        let value = port.port_register & !port.overridden | port.value & port.overridden;
        let inputs = port.outside & port.driven | port.port_register & !port.driven;
        let level = value & outputs | inputs & !outputs;
        let changed = level ^ port.level;
        if changed == 0 {
            return;
        }
        if cycle != port.changed_at {
            port.before = port.level;
        }
        (port.level, port.changed_at) = (level, cycle);
        for bit in 0..8 {
            let Some(pin) = port.watched[bit].filter(|_| changed & 1 << bit != 0) else { continue };
            log.edges.push(Edge { cycle: wall, pin: usize::from(pin), high: level & 1 << bit != 0 });
        }
        let bits = changed & port.listened;
        if bits != 0 {
            self.changes.push(PortChange { port: number, bits, level, cycle });
        }
    }
}

/// Time of an event on pins, and the log to write it to.
pub struct PinEvent<'a> {
    pub cycle: u64,
    pub wall: u64,
    pub log: &'a mut Log,
}

fn set_bits(byte: &mut u8, mask: u8, on: bool) {
    *byte = if on { *byte | mask } else { *byte & !mask };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_shows_what_drives_it() {
        let (mut ports, mut log) = (Ports::new(), Log::default());
        let pin = Pin { port: 1, bit: 3 };
        ports.watch_pin(pin, 0);
        let mut cycle = 0;
        let mut step = |ports: &mut Ports, act: &dyn Fn(&mut Ports, PinEvent<'_>)| {
            cycle += 10;
            act(ports, PinEvent { cycle, wall: cycle, log: &mut log });
            (ports.level(pin), log.edges.len())
        };
        assert_eq!(step(&mut ports, &|p, at| p.set_port_register(1, 8, at)), (true, 1), "pull-up");
        assert_eq!(step(&mut ports, &|p, at| p.drive_from_outside(pin, false, at)), (false, 2));
        assert_eq!(step(&mut ports, &|p, at| p.set_direction(1, 8, at)), (true, 3));
        assert_eq!(step(&mut ports, &|p, at| p.override_pin(pin, Some(false), false, at)), (false, 4));
        assert_eq!(step(&mut ports, &|p, at| p.set_direction(1, 0, at)), (false, 4));
        assert_eq!(step(&mut ports, &|p, at| p.override_pin(pin, Some(true), true, at)), (true, 5));
        assert_eq!(step(&mut ports, &|p, at| p.override_pin(pin, None, false, at)), (false, 6));
        assert_eq!(log.edges[5], Edge { cycle: 70, pin: 0, high: false });
    }

    /// Section 14.2.4, figure 14-4: reading back a value that was just written needs a NOP between.
    #[test]
    fn a_level_is_read_a_cycle_later() {
        let (mut ports, mut log) = (Ports::new(), Log::default());
        ports.set_direction(1, 1, PinEvent { cycle: 5, wall: 5, log: &mut log });
        ports.set_port_register(1, 1, PinEvent { cycle: 10, wall: 10, log: &mut log });
        assert_eq!((ports.read(1, 11), ports.read(1, 12)), (0, 1));
    }
}
