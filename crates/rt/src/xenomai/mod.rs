//! Xenomai's real-time cores beside Linux, Cobalt (Xenomai 3) and EVL (Xenomai 4), through their own libraries.
//!
//! The libraries are loaded when a task asks for them, so that one program serves stock Linux and both cores.
//! [`prepare`] does that once for the process; then each task's thread is [`attach`]ed to its core and runs on an
//! [`OnCore`] system, whose clock and sleep are the core's.
//!
//! Real time can be lost silently there: a thread that calls Linux is moved to Linux's side and may stay. So
//! whether it is on the core's side is looked at in each activation ([`jitterlab_model::Flags::NOT_REAL_TIME`]).

mod cobalt;
mod error;
mod evl;
mod library;
mod on_core;
mod probe;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use jitterlab_model::Policy;

pub use error::XenomaiError;
pub use on_core::OnCore;

/// A real-time core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// Xenomai 3's.
    Cobalt,
    /// Xenomai 4's.
    Evl,
}

impl Core {
    /// The file name of the library that a program talks to it with.
    pub const fn library(self) -> &'static str {
        match self {
            Core::Cobalt => "libcobalt.so.2",
            Core::Evl => "libevl.so",
        }
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Core::Cobalt => "Cobalt",
            Core::Evl => "EVL",
        })
    }
}

/// A core's library, ready for use.
#[derive(Debug, Clone, Copy)]
enum Calls {
    Cobalt(&'static cobalt::Calls),
    Evl(&'static evl::Calls),
}

static COBALT: OnceLock<cobalt::Calls> = OnceLock::new();
static EVL: OnceLock<evl::Calls> = OnceLock::new();
static PREPARING: Mutex<()> = Mutex::new(());

/// Loads a core's library and initialises it for this process. To be called on the main thread before other
/// threads are made: the cores take the calling thread for the program's first.
///
/// A libcobalt that refuses to be loaded is preloaded instead: the program then begins anew, with the same
/// arguments, so nothing may have happened yet that must not happen twice.
///
/// # Errors
/// What exactly is missing, and what to do about it.
pub fn prepare(core: Core) -> Result<(), XenomaiError> {
    prepare_below(Path::new("/"), core)
}

/// As [`prepare`], with /proc and /dev below `root`.
fn prepare_below(root: &Path, core: Core) -> Result<(), XenomaiError> {
    let _one_at_a_time = PREPARING.lock().unwrap_or_else(PoisonError::into_inner);
    match core {
        Core::Cobalt if COBALT.get().is_none() => {
            let calls = cobalt::Calls::prepare(root)?;
            let _ = COBALT.set(calls);
        }
        Core::Evl if EVL.get().is_none() => {
            let calls = evl::Calls::prepare(root)?;
            let _ = EVL.set(calls);
        }
        _ => {}
    }
    Ok(())
}

/// Makes the calling thread a thread of the core, with this policy; Cobalt shows it under this name. For EVL the
/// thread must have its policy already.
///
/// # Errors
/// A core that was not [`prepare`]d, a policy it does not have, or its own refusal.
pub fn attach(core: Core, policy: Policy, name: &str) -> Result<OnCore, XenomaiError> {
    let calls = match core {
        Core::Cobalt => COBALT.get().map(Calls::Cobalt),
        Core::Evl => EVL.get().map(Calls::Evl),
    };
    let calls = calls.ok_or(XenomaiError::NotPrepared { core })?;
    let handle = match calls {
        Calls::Cobalt(calls) => calls.attach(policy, name)?,
        Calls::Evl(calls) => calls.attach(policy)?,
    };
    Ok(OnCore::new(calls, handle))
}
