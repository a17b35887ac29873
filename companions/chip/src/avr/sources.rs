//! Interrupt sources: each has a flag, an enable bit, and a vector.

/// A byte of the data space and one of its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bit {
    pub address: u16,
    pub mask: u8,
}

impl Bit {
    /// Creates bit `number` of the byte at `address`.
    pub const fn new(address: u16, number: u8) -> Self {
        Bit { address, mask: 1 << number }
    }

    fn is_set(self, data: &[u8]) -> bool {
        data[usize::from(self.address)] & self.mask != 0
    }
}

/// One source of interrupts.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its vector's name in the manual.
    pub name: &'static str,
    pub vector: u8,
    pub flag: Bit,
    pub enable: Bit,
    /// True if entering the handler clears the flag; otherwise the flag shows a lasting condition.
    pub cleared_on_entry: bool,
}

/// Identifier of a source; [`SourceId::NONE`] if the chip has none of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceId(usize);

impl SourceId {
    /// No source: raising it does nothing.
    pub const NONE: SourceId = SourceId(usize::MAX);
}

#[cfg(test)]
impl Source {
    /// Creates a source whose flag and enable are the bits of its vector's number.
    pub(super) fn for_tests(name: &'static str, vector: u8) -> Source {
        Source {
            name,
            vector,
            flag: Bit::new(0, vector),
            enable: Bit::new(1, vector),
            cleared_on_entry: true,
        }
    }
}

/// All sources of a chip.
#[derive(Debug, Clone)]
pub struct Sources {
    list: Vec<Source>,
    /// By vector: true if flag and enable are both set.
    pending: u64,
    /// By source: time at which it became pending.
    since: Vec<u64>,
    /// By source: number of times its flag was set while it was set and enabled, and the time of the first.
    lost: Vec<(u64, u64)>,
    /// By source: time at which its flag was last set.
    raised: Vec<u64>,
    /// By source: those that came sooner than any handler ends.
    too_often: Vec<TooFrequentRequests>,
}

/// Interrupts that are due again sooner than any handler can end, as where the top of a timer is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TooFrequentRequests {
    pub times: u64,
    pub first: u64,
    /// Shortest time between two.
    pub apart: u64,
}

/// The least time from one interrupt to the next that a handler leaves: 4 cycles to it, RETI's 4, and one instruction.
const SHORTEST_HANDLER_CYCLES: u64 = 9;

impl Sources {
    pub fn new(list: Vec<Source>) -> Self {
        let (since, lost) = (vec![0; list.len()], vec![(0, 0); list.len()]);
        let (raised, too_often) = (vec![0; list.len()], vec![TooFrequentRequests::default(); list.len()]);
        Sources { list, pending: 0, since, lost, raised, too_often }
    }

    /// Returns the source of a name, or [`SourceId::NONE`].
    pub fn by_name(&self, name: &str) -> SourceId {
        self.list.iter().position(|s| s.name == name).map_or(SourceId::NONE, SourceId)
    }

    /// Returns the pending vectors, one bit each.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Sets the flag of a source by the hardware, at `time`.
    pub fn raise_flag(&mut self, id: SourceId, time: u64, data: &mut [u8]) {
        let Some(source) = self.list.get(id.0) else { return };
        let enabled = source.enable.is_set(data);
        let apart = time.saturating_sub(std::mem::replace(&mut self.raised[id.0], time));
        if source.flag.is_set(data) {
            let (lost, first) = &mut self.lost[id.0];
            let too_often = &mut self.too_often[id.0];
            if enabled && source.cleared_on_entry && apart < SHORTEST_HANDLER_CYCLES {
                let begins = too_often.times == 0;
                *too_often = TooFrequentRequests {
                    times: too_often.times + 1,
                    first: if begins { time } else { too_often.first },
                    apart: if begins { apart } else { too_often.apart.min(apart) },
                };
            } else if enabled && source.cleared_on_entry {
                *first = if *lost == 0 { time } else { *first };
                *lost += 1;
            }
            return;
        }
        data[usize::from(source.flag.address)] |= source.flag.mask;
        if enabled {
            self.pending |= 1 << source.vector;
            self.since[id.0] = time;
        }
    }

    /// Clears the flag of a source by the hardware.
    pub fn clear_flag(&mut self, id: SourceId, data: &mut [u8]) {
        let Some(source) = self.list.get(id.0) else { return };
        data[usize::from(source.flag.address)] &= !source.flag.mask;
        self.pending &= !(1 << source.vector);
    }

    pub fn is_raised(&self, id: SourceId, data: &[u8]) -> bool {
        self.list.get(id.0).is_some_and(|source| source.flag.is_set(data))
    }

    /// True if the interrupt of a source is enabled.
    pub fn is_enabled(&self, id: SourceId, data: &[u8]) -> bool {
        self.list.get(id.0).is_some_and(|source| source.enable.is_set(data))
    }

    /// Recomputes the pending interrupts, after a write of the firmware to flags or enables at `time`.
    pub fn update_pending(&mut self, time: u64, data: &[u8]) {
        let mut pending = 0;
        for (source, since) in self.list.iter().zip(&mut self.since) {
            if !source.flag.is_set(data) || !source.enable.is_set(data) {
                continue;
            }
            pending |= 1 << source.vector;
            if self.pending & 1 << source.vector == 0 {
                *since = time;
            }
        }
        self.pending = pending;
    }

    /// Enters the handler of a vector, and returns the time at which the interrupt became pending.
    pub fn enter_handler(&mut self, vector: u8, time: u64, data: &mut [u8]) -> u64 {
        let Some(index) = self.list.iter().position(|s| s.vector == vector) else { return time };
        let since = std::mem::replace(&mut self.since[index], time);
        let source = &self.list[index];
        if source.cleared_on_entry {
            data[usize::from(source.flag.address)] &= !source.flag.mask;
            self.pending &= !(1 << vector);
        }
        since
    }

    /// Name of a vector, its lost interrupts, and the time of the first; `None` for a vector without a source.
    pub fn name_and_losses(&self, vector: u8) -> Option<(&'static str, (u64, u64))> {
        let index = self.list.iter().position(|s| s.vector == vector)?;
        Some((self.list[index].name, self.lost[index]))
    }

    /// Returns the vectors whose interrupts came sooner than any handler ends.
    pub fn vectors_due_too_often(&self) -> impl Iterator<Item = (u8, TooFrequentRequests)> + '_ {
        let vectors = self.list.iter().map(|source| source.vector);
        vectors.zip(self.too_often.iter().copied()).filter(|(_, of)| of.times > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_sources() -> (Sources, Vec<u8>) {
        let source = |name, vector, bit, cleared| Source {
            name,
            vector,
            flag: Bit::new(0, bit),
            enable: Bit::new(1, bit),
            cleared_on_entry: cleared,
        };
        (Sources::new(vec![source("TIMER", 5, 0, true), source("EMPTY", 3, 1, false)]), vec![0; 2])
    }

    #[test]
    fn a_flag_set_while_its_interrupt_is_off_waits_for_it() {
        let (mut sources, mut data) = two_sources();
        let timer = sources.by_name("TIMER");
        sources.raise_flag(timer, 10, &mut data);
        sources.raise_flag(timer, 15, &mut data);
        assert_eq!((sources.pending(), data[0]), (0, 1));
        data[1] = 1;
        sources.update_pending(20, &data);
        assert_eq!(sources.pending(), 1 << 5);
        assert_eq!(sources.enter_handler(5, 23, &mut data), 20);
        assert_eq!((sources.pending(), data[0], sources.name_and_losses(5)), (0, 0, Some(("TIMER", (0, 0)))));
    }

    #[test]
    fn what_comes_twice_before_it_is_served_is_lost_once() {
        let (mut sources, mut data) = two_sources();
        let timer = sources.by_name("TIMER");
        data[1] = 1;
        sources.raise_flag(timer, 10, &mut data);
        sources.raise_flag(timer, 20, &mut data);
        assert_eq!(sources.enter_handler(5, 30, &mut data), 10);
        assert_eq!(sources.name_and_losses(5), Some(("TIMER", (1, 20))));
    }

    #[test]
    fn what_comes_sooner_than_any_handler_ends_is_not_lost() {
        let (mut sources, mut data) = two_sources();
        let timer = sources.by_name("TIMER");
        data[1] = 1;
        for time in [10, 20, 23, 24] {
            sources.raise_flag(timer, time, &mut data);
        }
        assert_eq!(sources.name_and_losses(5), Some(("TIMER", (1, 20))));
        let found: Vec<_> = sources.vectors_due_too_often().collect();
        assert_eq!(found, [(5, TooFrequentRequests { times: 2, first: 23, apart: 1 })]);
    }

    #[test]
    fn a_condition_that_lasts_interrupts_again() {
        let (mut sources, mut data) = two_sources();
        data[1] = 2;
        let empty = sources.by_name("EMPTY");
        sources.raise_flag(empty, 10, &mut data);
        assert_eq!(sources.enter_handler(3, 12, &mut data), 10);
        assert_eq!(sources.pending(), 1 << 3);
        assert_eq!(sources.enter_handler(3, 40, &mut data), 12);
        sources.clear_flag(empty, &mut data);
        assert_eq!(sources.pending(), 0);
        sources.raise_flag(sources.by_name("NO SUCH"), 0, &mut data);
        assert_eq!(sources.pending(), 0);
    }
}
