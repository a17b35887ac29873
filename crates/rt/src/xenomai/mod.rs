//! Xenomai's real-time cores next to Linux, Cobalt (Xenomai 3) and EVL (Xenomai 4), through their own libraries. They
//! are there with the cargo feature `xenomai`; without it [`prepare`] returns an error.
//!
//! The libraries are loaded when a task asks for them, so that one program serves stock Linux and both cores.
//! [`prepare`] does that once for the process; then each task's thread is attached to its core and runs on an
//! [`OnCore`] system, whose clock and sleep are the core's.
//!
//! Real time can be lost silently there: a thread that calls Linux is moved to Linux's side and may stay. So each
//! activation checks that it is on the core's side ([`jitterlab_model::Flags::NOT_REAL_TIME`]).

mod core;
mod error;

#[cfg(feature = "xenomai")]
mod calls;
#[cfg(feature = "xenomai")]
mod cobalt;
#[cfg(feature = "xenomai")]
mod evl;
#[cfg(feature = "xenomai")]
mod library;
#[cfg(feature = "xenomai")]
mod on_core;
#[cfg(all(test, feature = "xenomai"))]
mod tests;
#[cfg(feature = "xenomai")]
mod try_in_child;

pub use core::Core;
#[cfg(not(feature = "xenomai"))]
pub(crate) use error::not_built_error;

#[cfg(feature = "xenomai")]
pub use calls::prepare;
#[cfg(feature = "xenomai")]
pub use on_core::{OnCore, attach};

#[cfg(not(feature = "xenomai"))]
use jitterlab_model::Error;

/// Refuses: this program was built without Xenomai.
///
/// # Errors
/// Always.
#[cfg(not(feature = "xenomai"))]
pub fn prepare(core: Core) -> Result<(), Error> {
    Err(not_built_error(core))
}
