//! Error rates of the statistics on series that are not white: printed in `docs/evidence/calibration.md` and
//! kept by a test.

pub mod comparison;
pub mod periods;
pub mod prediction;
pub mod requirement;
pub mod series;
pub mod settings;
pub mod starts;
pub mod table;
