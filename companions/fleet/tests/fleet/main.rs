//! A fleet, from slices to the answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

mod answers;
mod boots;
mod compaction;
mod cutting;
mod deliveries;
mod guide;
mod refusals;
mod samples;
mod spark;
mod statistics;
