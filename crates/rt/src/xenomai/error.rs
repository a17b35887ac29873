//! Missing parts of a core, and their remedies.

#![cfg_attr(not(feature = "xenomai"), allow(dead_code, reason = "of the cores only"))]

use std::io;

use jitterlab_model::{Error, Policy};

use super::core::Core;

pub(super) const COBALT_RELEASE: &str = "Xenomai 3.0.5 or newer is needed";
pub(super) const COBALT_PERMISSION: &str = "If that is about permission: give the kernel the parameter xenomai.allowed_group=GID, join that group, and let it read and write /dev/rtdm/*; or run as root. If the core is stopped: xenomai.state=enabled";
pub(super) const COBALT_MEMORY: &str = "libcobalt locks all memory: raise the limits memlock (to unlimited) and rtprio in /etc/security/limits.conf, or run as root";
pub(super) const EVL_RELEASE: &str = "libevl 0.49 is known to have it";
pub(super) const EVL_PERMISSION: &str = "If that is about permission: let your group read and write /dev/evl/* (and what is below it), and raise its limits memlock and rtprio in /etc/security/limits.conf; or run as root";
pub(super) const EVL_START: &str = "boot without evl.state=stopped, or start it as root with `evl start`, or with `echo start > /sys/devices/virtual/evl/control/state`";
pub(super) const SIGACTION: &str = "allow sigaction in the sandbox";
pub(super) const REPORT: &str = "report this kernel and library to jitterlab";
/// Message of the dynamic linker for a library whose thread-local storage must be there from the beginning.
pub(super) const STATIC_TLS_REFUSED: &str = "cannot be dlopen()ed";
/// Message of the dynamic linker for a library that is in none of its folders.
pub(super) const LIBRARY_NOT_FOUND: &str = "cannot open shared object file: No such file or directory";

/// An attempt in a child ended the process with this status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(pub i32);

/// Error for a program that was built without Xenomai.
#[cfg(not(feature = "xenomai"))]
pub(crate) fn not_built_error(core: Core) -> Error {
    Error::refused(format!("this program was built without Xenomai, which {core} needs"))
        .remedy("build it with the cargo feature xenomai of jitterlab-rt")
}

/// Error for a kernel without this core: the missing file, its build option, and the parameter that turns it on and off.
pub(super) fn no_core_error(core: Core, missing: &str, option: &str, parameter: &str) -> Error {
    Error::refused(format!("this kernel has no running {core} core ({missing} does not exist)"))
        .remedy(format!("boot a kernel built with {option}, and not with {parameter} turned off"))
}

/// Error for a library that does not load even when it is preloaded.
pub(super) fn not_preloaded_error(library: &str, said: &str) -> Error {
    Error::refused(format!(
        "{library} refuses to be loaded by a running program, and preloading it did not help ({said})"
    ))
    .remedy(format!(
        "build Xenomai with --enable-dlopen-libs, or start with LD_PRELOAD={library} (a program with file capabilities \
         ignores that: run it as root instead)"
    ))
}

/// Error for a library whose initialisation fails; it was tried in a child so that it could not end this process.
pub(super) fn not_initialised_error(library: &str, said: &str, remedy: &str) -> Error {
    Error::refused(format!("{library} cannot be initialised: {said}. {remedy}"))
}

pub(super) fn no_policy_error(core: Core, policy: Policy) -> Error {
    Error::bad_use(format!("{core} has no policy {policy}")).remedy("use policy=fifo:N or policy=rr:N")
}

/// Error for a core that refuses the thread: the function that failed, and its error.
pub(super) fn not_attached_error(core: Core, call: &str, error: io::Error, remedy: &str) -> Error {
    Error::refused(format!("{core} does not take the thread ({call})")).because(error).remedy(remedy)
}

/// Cause of a thread's move to Linux's side, in words (SIGDEBUG_* of Cobalt, EVL_HMDIAG_* of EVL).
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
