#![doc = include_str!("../README.md")]

pub mod bursts;
pub mod caveats;
pub mod clusters;
pub mod code_paths;
pub mod compare;
pub mod compensation;
pub mod correlation;
pub mod deviations;
pub mod drift;
pub mod exact;
pub mod expectation;
pub mod extremes;
mod fourier;
pub mod kernels;
pub mod line;
pub mod long_run;
pub mod matrix;
pub mod measured;
pub mod misses;
pub mod outlook;
pub mod papers;
pub mod patterns;
pub mod periodic;
pub mod predict;
pub mod proof;
pub mod purposes;
pub mod random;
pub mod rank;
pub mod recommendation;
#[cfg(test)]
mod reference;
pub mod require;
pub mod scan;
pub mod spectrum;
pub mod stationarity;
pub mod summary;
pub mod task_analysis;
pub mod time_error;
pub mod transitions;
pub mod trial;
pub mod verdict;
pub mod wakeup;

pub use caveats::Caveat;
pub use summary::{Statistics, Summary};
pub use task_analysis::TaskAnalysis;
pub use verdict::Verdict;
