//! Helpers that the test executables share.

#![allow(dead_code, reason = "each executable uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

pub mod executable;
pub mod known;
pub mod machine;
pub mod tracing;
