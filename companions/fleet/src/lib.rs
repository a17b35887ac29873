//! A fleet: slices of time on many machines, which merge by sum.
//!
//! [`rows`] are the tables' rows; [`Tables`] holds rows of several slices and makes them of counted activations; [`cut`] makes
//! them of a run; [`sums`] are their figures; [`delivery`] is how they lie in files.

pub mod cut;
pub mod delivery;
pub mod hash;
pub mod rows;
pub mod sums;
pub mod tables;

pub use delivery::Delivery;
pub use rows::{BinRow, CauseRow, LimitRow, MachineRow, SliceRow, WorstRow};
pub use tables::{Interval, Stream, Tables, TaskSlice};
