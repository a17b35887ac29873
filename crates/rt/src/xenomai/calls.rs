//! Loading the cores' libraries, once for the process.
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use jitterlab_model::Error;

use super::core::Core;
use super::{cobalt, evl};

/// A core's library, ready for use.
#[derive(Debug, Clone, Copy)]
pub(super) enum Calls {
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
/// The missing part, and its remedy.
pub fn prepare(core: Core) -> Result<(), Error> {
    prepare_with_root(Path::new("/"), core)
}

/// Prepares a core as [`prepare`] does, with /proc and /dev below `root`.
pub(super) fn prepare_with_root(root: &Path, core: Core) -> Result<(), Error> {
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

/// Returns the calls of a core's library, or an error if it was not prepared.
pub(super) fn prepared_calls(core: Core) -> Result<Calls, Error> {
    let calls = match core {
        Core::Cobalt => COBALT.get().map(Calls::Cobalt),
        Core::Evl => EVL.get().map(Calls::Evl),
    };
    calls.ok_or_else(|| {
        Error::refused(format!(
            "{core} is not prepared in this process: that is done before the first task's \
             thread is made"
        ))
    })
}
