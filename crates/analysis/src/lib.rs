#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod aliases;
pub mod align;
mod background;
pub mod bursts;
pub mod causes;
pub mod caveats;
pub mod clusters;
pub mod compare;
pub mod compensation;
pub mod compensation_trial;
pub mod correlation;
pub mod deviations;
pub mod drift;
pub mod exact_binomial;
pub mod expectation;
pub mod extremes;
pub mod folding;
mod fourier;
pub mod isolated;
pub mod least_squares;
pub mod listed_rhythms;
pub mod long_memory;
pub mod long_run;
pub mod matrix;
pub mod measured;
pub mod median_interval;
pub mod misses;
pub mod outlook;
pub mod patterns;
pub mod periodic;
pub mod predict;
pub mod proof;
pub mod purposes;
pub mod random;
pub mod rank;
pub mod recommendation;
pub mod require;
pub mod scan;
pub mod spectral_lines;
pub mod spectrum;
pub mod stationarity;
pub mod summary;
pub mod task_analysis;
#[cfg(test)]
mod tests;
pub mod time_error;
pub mod transitions;
pub mod tune;
pub mod verdict;
pub mod wakeup;
pub mod watch;

pub use caveats::Caveat;
pub use summary::{Statistics, Summary};
pub use task_analysis::TaskAnalysis;
pub use verdict::Verdict;
