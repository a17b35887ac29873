//! What can be missing, and what to do about each.

#![cfg_attr(not(feature = "xenomai"), allow(dead_code, reason = "of the cores only"))]

use std::io;

use jitterlab_model::Policy;

use super::core::Core;

/// Why a task cannot run on a Xenomai core. Each message ends with the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XenomaiError {
    /// The program knows nothing of Xenomai.
    #[error(
        "this program was built without Xenomai, which {core} needs: build it with the cargo feature xenomai of jitterlab-rt"
    )]
    NotBuilt {
        /// The core.
        core: Core,
    },
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
    /// The kernel has the core, and it was stopped.
    #[error("the {core} core of this kernel does not run, it is {state}: {remedy}")]
    Stopped {
        /// The core.
        core: Core,
        /// As the core names its state.
        state: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The library and the kernel do not fit each other.
    #[error(
        "{library} is made for ABI {wanted} of the EVL core, and this kernel has ABI {}: use the libevl that belongs to this kernel, or the kernel that belongs to it",
        abi.map_or("unknown".into(), |abi| abi.to_string())
    )]
    Abi {
        /// The library's file name.
        library: String,
        /// The ABI that the library is made for.
        wanted: i32,
        /// The newest one that the kernel has, where it says so.
        abi: Option<i32>,
    },
    /// The library is not there, or does not load.
    #[error(
        "{library} cannot be loaded ({said}): install Xenomai's user space, and name its directory in LD_LIBRARY_PATH or /etc/ld.so.conf if it is neither the linker's nor Xenomai's own"
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
        policy: Policy,
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

pub(super) const COBALT_RELEASE: &str = "Xenomai 3.0.5 or newer is needed";
pub(super) const COBALT_PERMISSION: &str = "If that is about permission: give the kernel the parameter xenomai.allowed_group=GID, join that group, and let it read and write /dev/rtdm/*; or run as root. If the core is stopped: xenomai.state=enabled";
pub(super) const COBALT_MEMORY: &str = "libcobalt locks all memory: raise the limits memlock (to unlimited) and rtprio in /etc/security/limits.conf, or run as root";
pub(super) const EVL_RELEASE: &str = "libevl 0.49 is known to have it";
pub(super) const EVL_PERMISSION: &str = "If that is about permission: let your group read and write /dev/evl/* (and what is below it), and raise its limits memlock and rtprio in /etc/security/limits.conf; or run as root";
pub(super) const EVL_START: &str = "boot without evl.state=stopped, or start it as root with `evl start`, or with `echo start > /sys/devices/virtual/evl/control/state`";
pub(super) const SIGACTION: &str = "allow sigaction in the sandbox";
pub(super) const REPORT: &str = "report this kernel and library to jitterlab";
/// What the dynamic linker says of a library whose thread-local storage wants to be there from the beginning.
pub(super) const REFUSES: &str = "cannot be dlopen()ed";
/// What it says of a library that is in none of its folders.
pub(super) const NOWHERE: &str = "cannot open shared object file: No such file or directory";

/// How an attempt in a child failed that said nothing itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum Attempt {
    #[error("it could not be tried: {0}")]
    NotMade(#[from] io::Error),
    #[error("it ends the process with status {0}")]
    Status(i32),
    #[error("it is ended by signal {0}")]
    Signal(i32),
    #[error("{said}")]
    Said { said: String, status: Option<i32> },
}

impl Attempt {
    /// What it came back with, if it came back.
    pub(super) fn status(&self) -> Option<i32> {
        match self {
            Attempt::Status(status) => Some(*status),
            Attempt::Said { status, .. } => *status,
            _ => None,
        }
    }
}

/// What moved the thread to Linux's side, in words (SIGDEBUG_* of Cobalt, EVL_HMDIAG_* of EVL).
pub(super) fn cause_name(core: Core, cause: u8) -> String {
    let name = match (core, cause) {
        (_, 1) => "a signal",
        (_, 2) => "a system call",
        (_, 3) => "a fault",
        (Core::Cobalt, 4) => "priority inversion",
        (Core::Cobalt, 5) => "memory that was not locked",
        (Core::Cobalt, 6) | (Core::Evl, 4) => "the watchdog",
        _ => return format!("cause {cause}"),
    };
    name.into()
}
