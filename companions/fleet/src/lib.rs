//! A fleet: slices of time on many machines, which merge by sum.
//!
//! [`rows`] are the tables' rows; [`Tables`] holds rows of several slices and makes them of counted activations; [`run_slices`] makes
//! them of a run; [`sums`] are their figures; [`delivery`] is how they lie in files.

pub mod answer;
pub mod boots;
pub mod calendar;
pub mod compaction;
pub mod delivery;
pub mod engine;
pub mod error;
pub mod folder;
pub mod hash;
pub mod intake;
pub mod limit_counts;
pub mod machine_names;
pub mod overlaps;
pub mod queries;
pub mod results;
pub mod rows;
pub mod run_slices;
pub mod statistics;
pub mod sum_parts;
pub mod sums;
pub mod tables;
pub mod words;

pub use delivery::Delivery;
pub use rows::{BinRow, CauseRow, LimitRow, MachineRow, SliceRow, WorstRow};
pub use tables::{Interval, Stream, Tables, TaskSlice};
