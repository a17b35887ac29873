//! Statistics on series of known truth.

mod calibration;
mod patterns_found;
mod prediction_scenarios;
#[path = "../../calibration/mod.rs"]
#[allow(dead_code, reason = "a part of the tables is looked at")]
mod tables;
