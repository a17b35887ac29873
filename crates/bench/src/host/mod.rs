//! This machine as a bench: its facts and its tasks.

pub mod facts;
pub mod topology;
