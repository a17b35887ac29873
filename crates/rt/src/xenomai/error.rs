//! What can be missing, and what to do about each.

use std::io;

use super::Core;

/// Why a task cannot run on a Xenomai core. Each message ends with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum XenomaiError {
    /// The kernel has no such core.
    #[error(
        "this kernel has no running {core} core ({missing} does not exist): boot a kernel built with {option}, and not with {parameter} turned off"
    )]
    NoCore {
        /// The core.
        core: Core,
        /// What shows that.
        missing: String,
        /// The kernel's build option.
        option: &'static str,
        /// The kernel parameter that turns it on and off.
        parameter: &'static str,
    },
    /// The library is not there, or does not load.
    #[error(
        "{library} cannot be loaded ({said}): install Xenomai's user space, and name its directory in LD_LIBRARY_PATH or /etc/ld.so.conf if it is an unusual one such as /usr/xenomai/lib"
    )]
    NoLibrary {
        /// Its file name.
        library: String,
        /// The dynamic linker's answer.
        said: String,
    },
    /// The library has to be preloaded, and that did not help.
    #[error(
        "{library} refuses to be loaded by a running program, and preloading it did not help ({said}): build Xenomai with --enable-dlopen-libs, or start with LD_PRELOAD={library} (a program with file capabilities ignores that: run it as root instead)"
    )]
    NotPreloaded {
        /// Its file name.
        library: String,
        /// What happened.
        said: String,
    },
    /// A function the library should have.
    #[error("{library} has no {symbol}: {needed}")]
    NoSymbol {
        /// Its file name.
        library: String,
        /// The function.
        symbol: String,
        /// Which release has it.
        needed: &'static str,
    },
    /// The library's initialisation fails; it was tried in a child so that it could not end this process.
    #[error("{library} cannot be initialised: {said}. {remedy}")]
    NotInitialised {
        /// Its file name.
        library: String,
        /// What it said.
        said: String,
        /// What to do.
        remedy: String,
    },
    /// A scheduling policy that the core does not have.
    #[error("{core} has no policy {policy}: use policy=fifo:N or policy=rr:N")]
    Policy {
        /// The core.
        core: Core,
        /// What was asked for.
        policy: &'static str,
    },
    /// The core did not take the thread.
    #[error("{core} does not take the thread ({call}: {error}): {remedy}")]
    NotAttached {
        /// The core.
        core: Core,
        /// The function that failed.
        call: &'static str,
        /// Its answer.
        error: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// A thread before its process.
    #[error("{core} is not prepared in this process: that is done before the first task's thread is made")]
    NotPrepared {
        /// The core.
        core: Core,
    },
}
