//! Rate between two clocks: a task's starts on one, due times on another.

use crate::patterns::SlowChange;

/// Rate, in millionths, from which on a drift looks like one of clocks; a slower one more likely comes from
/// the load or the temperature.
const MIN_CLOCK_GAIN_PPM: f64 = 0.5;

impl SlowChange {
    /// Returns the rate by which starts gain on due times, in millionths; `None` unless steady and large. It is large
    /// enough for two clocks from 0.5 on; below 0, starts lose.
    pub fn clock_gain_ppm(&self, period_ns: f64) -> Option<f64> {
        let trend = self.trend.filter(|t| t.found)?;
        let millionths = 1e6 * trend.slope / (self.part_due_times as f64 * period_ns);
        (millionths.abs() >= MIN_CLOCK_GAIN_PPM).then_some(millionths)
    }
}
