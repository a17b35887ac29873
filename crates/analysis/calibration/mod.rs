//! How often statistics are wrong, on series that are not white: what `docs/evidence/calibration.md` prints, and what a test
//! keeps.

pub mod comparison;
pub mod periods;
pub mod prediction;
pub mod requirement;
pub mod series;
pub mod settings;
pub mod starts;
pub mod table;
