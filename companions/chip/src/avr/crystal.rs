//! Timer that counts a watch crystal: values written to it arrive later, and values read after a deep sleep are old.
//!
//! Source: ATmega328P data sheet (DS40002061), section 18.9 "Asynchronous Operation of Timer/Counter2".

use super::clock::Clock;
use super::io::Io;
use super::sources::Id;

/// A watch crystal's frequency.
pub const HZ: u128 = 32_768;

/// Returns the number of the crystal's edges up to a moment of the oscillator.
pub fn edges(wall: u64, clock: &Clock) -> u64 {
    (u128::from(wall) * HZ / u128::from(clock.hz)) as u64
}

/// Returns the moment of an edge.
pub fn moment(edge: u64, clock: &Clock) -> u64 {
    (u128::from(edge) * u128::from(clock.hz)).div_ceil(HZ) as u64
}

/// Synchronisation between the processor and such a timer, whose registers are `Reg`s.
#[derive(Debug, Clone)]
pub struct Crystal<Reg> {
    /// Values written and not yet arrived: the edge of arrival, the register, the value.
    written: Vec<(u64, Reg, u8)>,
    /// True while the processor's clock is stopped: nothing arrives.
    asleep: bool,
    /// The value that the counter reads as, until an edge.
    old: Option<(u8, u64)>,
    /// The last interrupt, and the edge after which it came.
    raised: Option<(Id, u64)>,
}

impl<Reg: Copy + PartialEq> Crystal<Reg> {
    /// Creates it without written values, awake.
    pub fn new() -> Self {
        Crystal { written: Vec::new(), asleep: false, old: None, raised: None }
    }

    /// Takes a write of the firmware, which arrives with the second edge. (A write to a busy register
    /// discards the value on its way.)
    pub fn write(&mut self, reg: Reg, value: u8, io: &Io) {
        self.written.retain(|(_, other, _)| *other != reg);
        self.written.push((edges(io.clock.wall(), &io.clock) + 2, reg, value));
    }

    /// Returns the value of a register that is on its way.
    pub fn on_its_way(&self, reg: Reg) -> Option<u8> {
        self.written.iter().find(|(_, other, _)| *other == reg).map(|(_, _, value)| *value)
    }

    /// Returns the busy registers.
    pub fn busy(&self) -> impl Iterator<Item = Reg> + '_ {
        self.written.iter().map(|(_, reg, _)| *reg)
    }

    /// Returns the moment of the next arrival.
    pub fn next(&self, clock: &Clock) -> u64 {
        let first = self.written.first().filter(|_| !self.asleep);
        first.map_or(u64::MAX, |(edge, ..)| moment(*edge, clock))
    }

    /// Returns the next value that has arrived by now, with its moment and register.
    pub fn arrived(&mut self, clock: &Clock) -> Option<(u64, Reg, u8)> {
        let at = self.next(clock);
        (at <= clock.wall()).then(|| {
            let (_, reg, value) = self.written.remove(0);
            (at, reg, value)
        })
    }

    /// Returns the value that the counter reads as, if it differs from the current one.
    pub fn old_count(&self, clock: &Clock) -> Option<u8> {
        self.old.filter(|(_, until)| edges(clock.wall(), clock) < *until).map(|(count, _)| count)
    }

    /// Notes that a flag was set at a moment.
    pub fn raised(&mut self, id: Id, wall: u64, clock: &Clock) {
        self.raised = Some((id, edges(wall, clock)));
    }

    /// Begins a sleep that stops the clock of the registers. "If re-entering sleep mode within the TOSC1
    /// cycle, the interrupt will immediately occur and the device wake up again": returns that interrupt.
    pub fn fall_asleep(&mut self, count: u8, clock: &Clock) -> Option<Id> {
        self.asleep = true;
        self.old = Some((self.old_count(clock).unwrap_or(count), u64::MAX));
        self.raised.filter(|(_, edge)| *edge == edges(clock.wall(), clock)).map(|(id, _)| id)
    }

    /// Ends the sleep: "TCNT2 will read as the previous value (before entering sleep) until the next rising
    /// TOSC1 edge".
    pub fn wake(&mut self, clock: &Clock) {
        let now = edges(clock.wall(), clock);
        self.asleep = false;
        if let Some((_, until)) = &mut self.old {
            *until = now + 1;
        }
        self.written.iter_mut().for_each(|(edge, ..)| *edge = now + 2);
    }
}
