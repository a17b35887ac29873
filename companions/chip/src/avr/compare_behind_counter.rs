//! Compare values written behind the counter: their match comes a whole lap later.

/// Distance from a counter to a compare value being written, in parts of a lap.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareDistance {
    /// From the counter to the value; a whole lap if the value is certainly missed.
    pub laps: f64,
    /// From the previous value to this one.
    pub step: f64,
}

/// Latest writes to the compare units of a timer.
#[derive(Debug, Clone, Default)]
pub struct CompareWrites {
    units: [CompareUnit; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct CompareUnit {
    /// Number of values written well ahead of the counter.
    well_ahead: u32,
    /// Time and instruction of a write that seems to lie behind it.
    behind: Option<(u64, u32)>,
}

/// Distance in laps from which on a value meant to be near is behind.
const BEHIND_FROM: f64 = 15.0 / 16.0;
/// Distance in laps below which a value is well ahead.
const WELL_AHEAD: f64 = 0.5;
/// Previous values that show an intended distance.
const INTENDED_FROM: u32 = 3;

impl CompareWrites {
    /// Records the write of a value, with its time and instruction `by`; `runs` is false while the counter is stopped.
    pub fn record_write(&mut self, unit: usize, ahead: CompareDistance, by: (u64, u32), runs: bool) {
        let unit = &mut self.units[unit];
        let meant_near = ahead.laps >= 1.0
            || ahead.step > 0.0 && ahead.step < WELL_AHEAD
            || unit.well_ahead >= INTENDED_FROM;
        unit.behind = (runs && ahead.laps >= BEHIND_FROM && meant_near).then_some(by);
        if runs && unit.behind.is_none() {
            unit.well_ahead = if ahead.laps < WELL_AHEAD { unit.well_ahead + 1 } else { 0 };
        }
    }

    /// Returns, once, the time and instruction of the last write to a unit, if that was behind the counter.
    pub fn take_write_behind(&mut self, unit: usize) -> Option<(u64, u32)> {
        self.units[unit].behind.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_meant_to_be_near_is_behind() {
        let write = |writes: &mut CompareWrites, laps, step| {
            writes.record_write(0, CompareDistance { laps, step }, (7, 9), true);
            writes.take_write_behind(0)
        };
        let mut writes = CompareWrites::default();
        assert_eq!(write(&mut writes, 0.99, 0.98), None, "a long period");
        assert_eq!(write(&mut writes, 0.99, 0.01), Some((7, 9)), "a short step");
        assert_eq!(write(&mut writes, 1.0, 0.0), Some((7, 9)), "a top below the counter");
        for _ in 0..3 {
            assert_eq!(write(&mut writes, 0.1, 0.7), None);
        }
        assert_eq!(write(&mut writes, 0.999, 0.7), Some((7, 9)), "unlike those before");
        writes.record_write(0, CompareDistance { laps: 1.0, step: 0.0 }, (1, 1), false);
        assert_eq!(writes.take_write_behind(0), None, "a counter that stands");
    }
}
