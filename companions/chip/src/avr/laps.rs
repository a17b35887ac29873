//! Compare values that are written behind the counter: the match that they were to make comes a whole lap later.

/// Way of a counter to a compare value that is written, in parts of a lap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead {
    /// From the counter to the value; a whole lap where the value is missed for certain.
    pub of_lap: f64,
    /// From the value before to this one.
    pub step: f64,
}

/// The compare units of a timer.
#[derive(Debug, Clone, Default)]
pub struct Laps {
    units: [Unit; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    /// Values that were written well ahead of the counter.
    well: u32,
    /// When and by which instruction one was written that seems to lie behind it.
    behind: Option<(u64, u32)>,
}

/// A value that is nearly a lap ahead was meant to be near, and is behind.
const NEARLY: f64 = 15.0 / 16.0;
/// One that is less ahead is well ahead.
const WELL: f64 = 0.5;
/// As many values before it show that they are meant to be so.
const USUAL: u32 = 3;

impl Laps {
    /// A value is written, at a time and by an instruction, while the counter runs or stands.
    pub fn written(&mut self, unit: usize, ahead: Ahead, by: (u64, u32), runs: bool) {
        let unit = &mut self.units[unit];
        let meant_near = ahead.of_lap >= 1.0 || ahead.step > 0.0 && ahead.step < WELL || unit.well >= USUAL;
        unit.behind = (runs && ahead.of_lap >= NEARLY && meant_near).then_some(by);
        if runs && unit.behind.is_none() {
            unit.well = if ahead.of_lap < WELL { unit.well + 1 } else { 0 };
        }
    }

    /// A unit matches: when and by which instruction its value was written behind the counter, if it was.
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
