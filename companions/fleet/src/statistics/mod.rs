//! Statistics of a fleet. The unit is the machine: activations and days of one machine depend on each other, and counted as
//! independent they accuse innocent changes.

mod change;
mod daily_series;
mod rate;

pub use change::{GroupChange, false_discoveries, group_change, placebo_p_value};
pub use daily_series::{DailyModel, DailySeries, first_alarm};
pub use rate::{GammaRates, ShiftShare};
