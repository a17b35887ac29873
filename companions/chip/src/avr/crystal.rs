//! What is special about a timer that counts a watch crystal: what is written to it arrives later, and what is read of it after a
//! deep sleep is old.
//!
//! Source: ATmega328P data sheet (DS40002061), section 18.9 "Asynchronous Operation of Timer/Counter2".

use super::clock::Clock;
use super::io::Io;
use super::sources::Id;

/// A watch crystal's frequency.
pub const HZ: u128 = 32_768;

/// How many of the crystal's edges have been until a moment of the oscillator.
pub fn edges(wall: u64, clock: &Clock) -> u64 {
    (u128::from(wall) * HZ / u128::from(clock.hz)) as u64
}

/// The moment of an edge.
pub fn moment(edge: u64, clock: &Clock) -> u64 {
    (u128::from(edge) * u128::from(clock.hz)).div_ceil(HZ) as u64
}

/// Between the processor and such a timer, whose registers are `Reg`s.
#[derive(Debug, Clone)]
pub struct Crystal<Reg> {
    /// What was written and has not arrived: the edge with which it does, register, value.
    written: Vec<(u64, Reg, u8)>,
    /// The processor's clock stands: nothing arrives.
    asleep: bool,
    /// What the counter reads as, until an edge.
    old: Option<(u8, u64)>,
    /// The interrupt that came last, and after which edge.
    raised: Option<(Id, u64)>,
}

impl<Reg: Copy + PartialEq> Crystal<Reg> {
    /// Nothing written, awake.
    pub fn new() -> Self {
        Crystal { written: Vec::new(), asleep: false, old: None, raised: None }
    }

    /// The firmware writes: it arrives with the second edge. (Of a register that is busy still, the value that was on its way is lost.)
    pub fn write(&mut self, reg: Reg, value: u8, io: &Io) {
        self.written.retain(|(_, other, _)| *other != reg);
        self.written.push((edges(io.clock.wall(), &io.clock) + 2, reg, value));
    }

    /// What was written and is on its way.
    pub fn on_its_way(&self, reg: Reg) -> Option<u8> {
        self.written.iter().find(|(_, other, _)| *other == reg).map(|(_, _, value)| *value)
    }

    /// The registers that are busy.
    pub fn busy(&self) -> impl Iterator<Item = Reg> + '_ {
        self.written.iter().map(|(_, reg, _)| *reg)
    }

    /// When something arrives next.
    pub fn next(&self, clock: &Clock) -> u64 {
        let first = self.written.first().filter(|_| !self.asleep);
        first.map_or(u64::MAX, |(edge, ..)| moment(*edge, clock))
    }

    /// What has arrived by now, and when.
    pub fn arrived(&mut self, clock: &Clock) -> Option<(u64, Reg, u8)> {
        let at = self.next(clock);
        (at <= clock.wall()).then(|| {
            let (_, reg, value) = self.written.remove(0);
            (at, reg, value)
        })
    }

    /// What the counter reads as, where it is not what it is.
    pub fn old_count(&self, clock: &Clock) -> Option<u8> {
        self.old.filter(|(_, until)| edges(clock.wall(), clock) < *until).map(|(count, _)| count)
    }

    /// A flag was set at a moment.
    pub fn raised(&mut self, id: Id, wall: u64, clock: &Clock) {
        self.raised = Some((id, edges(wall, clock)));
    }

    /// A sleep begins that stops the clock of the registers. "If re-entering sleep mode within the TOSC1 cycle, the interrupt will
    /// immediately occur and the device wake up again": tells which.
    pub fn fall_asleep(&mut self, count: u8, clock: &Clock) -> Option<Id> {
        self.asleep = true;
        self.old = Some((self.old_count(clock).unwrap_or(count), u64::MAX));
        self.raised.filter(|(_, edge)| *edge == edges(clock.wall(), clock)).map(|(id, _)| id)
    }

    /// It ends: "TCNT2 will read as the previous value (before entering sleep) until the next rising TOSC1 edge".
    pub fn wake(&mut self, clock: &Clock) {
        let now = edges(clock.wall(), clock);
        self.asleep = false;
        if let Some((_, until)) = &mut self.old {
            *until = now + 1;
        }
        self.written.iter_mut().for_each(|(edge, ..)| *edge = now + 2);
    }
}
