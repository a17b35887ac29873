//! What a trace of activations says.
//!
//! Everything here takes activations, series or distributions from memory and gives figures; nothing reads files,
//! prints or knows an operating system. Definitions, formulas and their sources: `docs/method/analysis.md`.

pub mod compensation;
pub mod correlation;
pub mod extremes;
mod fourier;
pub mod line;
pub mod matrix;
pub mod misses;
pub mod rank;
#[cfg(test)]
mod reference;
pub mod stationarity;
pub mod summary;
pub mod time_error;
pub mod verdict;

pub use summary::{Figures, Summary};
pub use verdict::{Caveat, Verdict};
