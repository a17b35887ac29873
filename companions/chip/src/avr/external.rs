//! Interrupts of pins: INTn and PCINTn.
//!
//! Source: ATmega328P data sheet (DS40002061), chapter 13 "External Interrupts". In figure 13-1 a pin change
//! sets its flag three cycles later; the data sheet gives no figure for INTn, where the same is assumed.

use super::io::Io;
use super::sources::Id;
use crate::Pin;

/// One INTn.
#[derive(Debug, Clone)]
pub struct Int {
    /// Its source.
    pub id: Id,
    pub pin: Pin,
    /// True if it detects edges without a clock.
    pub asynchronous: bool,
    /// Position of its two sense bits: a register's address and the lower bit's number.
    pub sense: (u16, u8),
}

/// Pins that share a PCINTn.
#[derive(Debug, Clone)]
pub struct PinChange {
    /// Its source.
    pub id: Id,
    /// The pin of each bit of the mask register.
    pub pins: [Option<Pin>; 8],
    /// The mask register's address.
    pub mask: u16,
}

/// External interrupts of a chip.
#[derive(Debug, Clone, Default)]
pub struct External {
    /// INT0 and on.
    pub ints: Vec<Int>,
    /// PCINT0 and on.
    pub changes: Vec<PinChange>,
    /// Flags that the synchroniser will set, each with its cycle.
    pub coming: Vec<(u64, Id)>,
}

/// Cycles from the pin to the flag.
const LATE: u64 = 3;

impl External {
    /// Returns the pins that may interrupt.
    pub fn pins(&self) -> Vec<Pin> {
        let changes = self.changes.iter().flat_map(|c| c.pins.iter().flatten().copied());
        self.ints.iter().map(|i| i.pin).chain(changes).collect()
    }

    fn sense(int: &Int, io: &Io) -> u8 {
        io.byte(int.sense.0) >> int.sense.1 & 3
    }

    /// Handles a change of a pin.
    pub fn pin_changed(&mut self, pin: Pin, high: bool, cycle: u64, io: &mut Io) {
        let mut seen = Vec::new();
        for int in self.ints.iter().filter(|int| int.pin == pin) {
            match (Self::sense(int, io), high) {
                // Edges need the clock that a deep sleep stops, except for INT3 to 0 of the larger chips.
                (1..=3, _) if io.frozen && !int.asynchronous => {}
                (1, _) | (2, false) | (3, true) => seen.push(int.id),
                (0, false) => io.raise(int.id, cycle),
                (0, true) => io.lower(int.id),
                _ => {}
            }
        }
        for change in &self.changes {
            let masked = io.byte(change.mask);
            let bit = change.pins.iter().position(|p| *p == Some(pin));
            if bit.is_some_and(|bit| masked & 1 << bit != 0) {
                seen.push(change.id);
            }
        }
        for id in seen {
            // An edge that is detected without a clock does not wait for it.
            match io.frozen {
                true => io.raise(id, cycle),
                false => self.coming.push((cycle + LATE, id)),
            }
        }
    }

    /// Returns the cycle at which the synchroniser sets its next flag.
    pub fn next(&self) -> u64 {
        self.coming.iter().map(|(cycle, _)| *cycle).min().unwrap_or(u64::MAX)
    }

    /// Sets the flags whose time has come. In a deep sleep none waits for the stopped clock.
    pub fn settle(&mut self, io: &mut Io) {
        let now = if io.frozen { u64::MAX } else { io.clock.now };
        for (cycle, id) in self.coming.extract_if(.., |(cycle, _)| *cycle <= now) {
            io.raise(id, cycle.min(io.clock.now));
        }
    }

    /// Drops edges on their way, after a reset or a change of the sense bits of an INTn.
    pub fn forget(&mut self, which: impl Fn(&Int) -> bool) {
        let dropped: Vec<Id> = self.ints.iter().filter(|int| which(int)).map(|int| int.id).collect();
        self.coming.retain(|(_, id)| !dropped.contains(id));
    }

    /// Interrupts on a low level as long as it lasts: called when it may begin to matter.
    pub fn look(&self, io: &mut Io) {
        for int in &self.ints {
            if Self::sense(int, io) == 0 && io.is_enabled(int.id) && !io.ports.level(int.pin) {
                io.raise_at(int.id, io.clock.wall());
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
        let [first, second, change] = ["INT0", "INT1", "PCINT2"].map(|name| sources.named(name));
        let int =
            |id, bit| Int { id, pin: Pin { port: 3, bit }, asynchronous: true, sense: (0x69, 2 * (bit - 2)) };
        let mut external = External {
            ints: vec![int(first, 2), int(second, 3)],
            changes: Vec::new(),
            coming: vec![(5, first), (6, second), (7, change)],
        };
        external.forget(|int| int.id == first);
        assert_eq!(external.coming, [(6, second), (7, change)]);
        external.forget(|_| true);
        assert_eq!(external.coming, [(7, change)]);
    }
}
