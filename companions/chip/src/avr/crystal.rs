//! Timer that counts a watch crystal: values written to it arrive later, and values read after a deep sleep are old.
//!
//! Source: ATmega328P data sheet (DS40002061), section 18.9 "Asynchronous Operation of Timer/Counter2".

use super::clock::Clock;
use super::io::Io;
use super::sources::SourceId;

/// A watch crystal's frequency.
pub const HZ: u128 = 32_768;

/// Number of the crystal's edges until a moment of the oscillator.
pub fn edges_until(wall: u64, clock: &Clock) -> u64 {
    (u128::from(wall) * HZ / u128::from(clock.hz)) as u64
}

/// Moment of the oscillator at the crystal's edge of this number.
pub fn moment_of_edge(edge: u64, clock: &Clock) -> u64 {
    (u128::from(edge) * u128::from(clock.hz)).div_ceil(HZ) as u64
}

/// Synchronisation between the processor and such a timer, whose registers are `Reg`s.
#[derive(Debug, Clone)]
pub struct RegisterSynchroniser<Reg> {
    /// Values written and not yet arrived: the edge of arrival, the register, the value.
    written: Vec<(u64, Reg, u8)>,
    /// True while the processor's clock is stopped: nothing arrives.
    asleep: bool,
    /// The value that the counter reads as, until an edge.
    old: Option<(u8, u64)>,
    /// The last interrupt, and the edge after which it came.
    raised: Option<(SourceId, u64)>,
}

impl<Reg: Copy + PartialEq> RegisterSynchroniser<Reg> {
    pub fn new() -> Self {
        RegisterSynchroniser { written: Vec::new(), asleep: false, old: None, raised: None }
    }

    /// Records a write of the firmware, which arrives with the second edge. (A write to a busy register
    /// discards the value on its way.)
    pub fn write(&mut self, reg: Reg, value: u8, io: &Io) {
        self.written.retain(|(_, other, _)| *other != reg);
        self.written.push((edges_until(io.clock.wall(), &io.clock) + 2, reg, value));
    }

    /// Value written to a register that has not arrived yet.
    pub fn pending_value(&self, reg: Reg) -> Option<u8> {
        self.written.iter().find(|(_, other, _)| *other == reg).map(|(_, _, value)| *value)
    }

    /// Registers whose written values have not arrived yet.
    pub fn busy_registers(&self) -> impl Iterator<Item = Reg> + '_ {
        self.written.iter().map(|(_, reg, _)| *reg)
    }

    /// Moment at which the next written value arrives; `u64::MAX` without one, or asleep.
    pub fn next_arrival(&self, clock: &Clock) -> u64 {
        let first = self.written.first().filter(|_| !self.asleep);
        first.map_or(u64::MAX, |(edge, ..)| moment_of_edge(*edge, clock))
    }

    /// Takes the next written value that has arrived by now: its moment, register and value.
    pub fn take_arrived(&mut self, clock: &Clock) -> Option<(u64, Reg, u8)> {
        let at = self.next_arrival(clock);
        (at <= clock.wall()).then(|| {
            let (_, reg, value) = self.written.remove(0);
            (at, reg, value)
        })
    }

    /// Value that the counter reads as, if it differs from the current one.
    pub fn old_count(&self, clock: &Clock) -> Option<u8> {
        self.old.filter(|(_, until)| edges_until(clock.wall(), clock) < *until).map(|(count, _)| count)
    }

    /// Records that an interrupt's flag was set at a moment.
    pub fn record_flag(&mut self, id: SourceId, wall: u64, clock: &Clock) {
        self.raised = Some((id, edges_until(wall, clock)));
    }

    /// Begins a sleep, over which the counter reads as `count`; returns the interrupt that ends it at once, if any:
    /// "If re-entering sleep mode within the TOSC1 cycle, the interrupt will immediately occur".
    pub fn begin_sleep(&mut self, count: u8, clock: &Clock) -> Option<SourceId> {
        self.asleep = true;
        self.old = Some((self.old_count(clock).unwrap_or(count), u64::MAX));
        self.raised.filter(|(_, edge)| *edge == edges_until(clock.wall(), clock)).map(|(id, _)| id)
    }

    /// Ends the sleep: "TCNT2 will read as the previous value (before entering sleep) until the next rising
    /// TOSC1 edge".
    pub fn end_sleep(&mut self, clock: &Clock) {
        let now = edges_until(clock.wall(), clock);
        self.asleep = false;
        if let Some((_, until)) = &mut self.old {
            *until = now + 1;
        }
        self.written.iter_mut().for_each(|(edge, ..)| *edge = now + 2);
    }
}
