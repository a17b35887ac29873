//! A fleet, from slices to the answer.

mod cutting;
mod deliveries;
mod samples;
