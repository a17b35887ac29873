//! Interrupts of pins: INTn and PCINTn.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 13 "External Interrupts". In figure 13-1 a pin change
//! sets its flag three cycles later; the data sheet gives no figure for INTn, where the same is assumed.

use super::io::Io;
use super::sources::SourceId;
use crate::Pin;

/// An INTn.
#[derive(Debug, Clone)]
pub struct ExternalInterrupt {
    pub id: SourceId,
    pub pin: Pin,
    /// True if it detects edges without a clock.
    pub asynchronous: bool,
    /// Position of its two sense bits: a register's address and the lower bit's number.
    pub sense: (u16, u8),
}

/// Pins that share a PCINTn.
#[derive(Debug, Clone)]
pub struct PinChangeInterrupt {
    pub id: SourceId,
    /// The pin of each bit of the mask register.
    pub pins: [Option<Pin>; 8],
    pub mask: u16,
}

/// External interrupts of a chip.
#[derive(Debug, Clone, Default)]
pub struct ExternalInterrupts {
    pub ints: Vec<ExternalInterrupt>,
    pub changes: Vec<PinChangeInterrupt>,
    /// Flags that the synchroniser will set, each with its cycle.
    pub pending_flags: Vec<(u64, SourceId)>,
}

/// Cycles from the pin to the flag.
const SYNCHRONISER_CYCLES: u64 = 3;

impl ExternalInterrupts {
    pub fn pins(&self) -> Vec<Pin> {
        let changes = self.changes.iter().flat_map(|c| c.pins.iter().flatten().copied());
        self.ints.iter().map(|i| i.pin).chain(changes).collect()
    }

    fn sense_bits(int: &ExternalInterrupt, io: &Io) -> u8 {
        io.register(int.sense.0) >> int.sense.1 & 3
    }

    /// Passes the change of a pin to the synchroniser or sets its flag, if it interrupts.
    pub fn handle_pin_change(&mut self, pin: Pin, high: bool, cycle: u64, io: &mut Io) {
        let mut seen = Vec::new();
        for int in self.ints.iter().filter(|int| int.pin == pin) {
            match (Self::sense_bits(int, io), high) {
                // Edges need the clock that a deep sleep stops, except for INT3 to 0 of the larger chips.
                (1..=3, _) if io.frozen && !int.asynchronous => {}
                (1, _) | (2, false) | (3, true) => seen.push(int.id),
                (0, false) => io.raise_flag(int.id, cycle),
                (0, true) => io.clear_flag(int.id),
                _ => {}
            }
        }
        for change in &self.changes {
            let masked = io.register(change.mask);
            let bit = change.pins.iter().position(|p| *p == Some(pin));
            if bit.is_some_and(|bit| masked & 1 << bit != 0) {
                seen.push(change.id);
            }
        }
        for id in seen {
            // An edge that is detected without a clock does not wait for it.
            match io.frozen {
                true => io.raise_flag(id, cycle),
                false => self.pending_flags.push((cycle + SYNCHRONISER_CYCLES, id)),
            }
        }
    }

    /// Returns the cycle at which the synchroniser sets its next flag.
    pub fn next_event_cycle(&self) -> u64 {
        self.pending_flags.iter().map(|(cycle, _)| *cycle).min().unwrap_or(u64::MAX)
    }

    /// Sets the flags that have passed the synchroniser by now. In a deep sleep none waits for the stopped clock.
    pub fn advance_to_now(&mut self, io: &mut Io) {
        let now = if io.frozen { u64::MAX } else { io.clock.now };
        for (cycle, id) in self.pending_flags.extract_if(.., |(cycle, _)| *cycle <= now) {
            io.raise_flag(id, cycle.min(io.clock.now));
        }
    }

    /// Drops the edges in the synchroniser of some INTn, after a change of their sense bits.
    pub fn drop_pending_edges(&mut self, which: impl Fn(&ExternalInterrupt) -> bool) {
        let dropped: Vec<SourceId> = self.ints.iter().filter(|int| which(int)).map(|int| int.id).collect();
        self.pending_flags.retain(|(_, id)| !dropped.contains(id));
    }

    /// Raises the interrupts whose pin is low and whose sense bits ask for a low level.
    pub fn raise_low_levels(&self, io: &mut Io) {
        for int in &self.ints {
            if Self::sense_bits(int, io) == 0 && io.is_enabled(int.id) && !io.ports.level(int.pin) {
                io.raise_flag_at_moment(int.id, io.clock.wall());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avr::sources::{Source, Sources};

    /// An edge on its way is dropped by a change of the sense bits, and by a reset.
    #[test]
    fn an_edge_on_its_way_is_dropped_by_a_change() {
        let sources = Sources::new(vec![
            Source::for_tests("INT0", 1),
            Source::for_tests("INT1", 2),
            Source::for_tests("PCINT2", 5),
        ]);
        let [first, second, change] = ["INT0", "INT1", "PCINT2"].map(|name| sources.by_name(name));
        let int = |id, bit| ExternalInterrupt {
            id,
            pin: Pin { port: 3, bit },
            asynchronous: true,
            sense: (0x69, 2 * (bit - 2)),
        };
        let mut external = ExternalInterrupts {
            ints: vec![int(first, 2), int(second, 3)],
            changes: Vec::new(),
            pending_flags: vec![(5, first), (6, second), (7, change)],
        };
        external.drop_pending_edges(|int| int.id == first);
        assert_eq!(external.pending_flags, [(6, second), (7, change)]);
        external.drop_pending_edges(|_| true);
        assert_eq!(external.pending_flags, [(7, change)]);
    }
}
