//! A fleet, from slices to the answer.

mod answers;
mod cutting;
mod deliveries;
mod guide;
mod samples;
mod spark;
mod statistics;
