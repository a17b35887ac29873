//! Compare values written behind the counter: their match comes a whole lap later.

/// Distance from a counter to a compare value being written, in parts of a lap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead {
    /// From the counter to the value; a whole lap if the value is certainly missed.
    pub of_lap: f64,
    /// From the previous value to this one.
    pub step: f64,
}

/// The compare units of a timer.
#[derive(Debug, Clone, Default)]
pub struct Laps {
    units: [Unit; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    /// Number of values written well ahead of the counter.
    well: u32,
    /// Time and instruction of a write that seems to lie behind it.
    behind: Option<(u64, u32)>,
}

/// Distance in laps from which on a value meant to be near is behind.
const NEARLY: f64 = 15.0 / 16.0;
/// Distance in laps below which a value is well ahead.
const WELL: f64 = 0.5;
/// Previous values that show an intended distance.
const USUAL: u32 = 3;

impl Laps {
    /// Handles the write of a value at a time by an instruction; `runs` is false while the counter is stopped.
    pub fn written(&mut self, unit: usize, ahead: Ahead, by: (u64, u32), runs: bool) {
        let unit = &mut self.units[unit];
        let meant_near = ahead.of_lap >= 1.0 || ahead.step > 0.0 && ahead.step < WELL || unit.well >= USUAL;
        unit.behind = (runs && ahead.of_lap >= NEARLY && meant_near).then_some(by);
        if runs && unit.behind.is_none() {
            unit.well = if ahead.of_lap < WELL { unit.well + 1 } else { 0 };
        }
    }

    /// Handles a match of a unit; returns time and instruction of its write, if that was behind the counter.
    pub fn matched(&mut self, unit: usize) -> Option<(u64, u32)> {
        self.units[unit].behind.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_meant_to_be_near_is_behind() {
        let write = |laps: &mut Laps, of_lap, step| {
            laps.written(0, Ahead { of_lap, step }, (7, 9), true);
            laps.matched(0)
        };
        let mut laps = Laps::default();
        assert_eq!(write(&mut laps, 0.99, 0.98), None, "a long period");
        assert_eq!(write(&mut laps, 0.99, 0.01), Some((7, 9)), "a short step");
        assert_eq!(write(&mut laps, 1.0, 0.0), Some((7, 9)), "a top below the counter");
        for _ in 0..3 {
            assert_eq!(write(&mut laps, 0.1, 0.7), None);
        }
        assert_eq!(write(&mut laps, 0.999, 0.7), Some((7, 9)), "unlike those before");
        laps.written(0, Ahead { of_lap: 1.0, step: 0.0 }, (1, 1), false);
        assert_eq!(laps.matched(0), None, "a counter that stands");
    }
}
