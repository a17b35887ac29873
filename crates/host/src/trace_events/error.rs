//! Errors in reading the kernel's events.

use std::io;
use std::path::Path;

use jitterlab_model::Error;
use nix::unistd::geteuid;

/// There is no tracefs, and none can be mounted.
pub(super) fn no_tracefs(cause: io::Error) -> Error {
    let remedy = remedy(&cause);
    Error::refused("the kernel's trace events cannot be reached")
        .because(cause)
        .remedy(format!("{remedy}, or mount them: mount -t tracefs tracefs /sys/kernel/tracing"))
}

/// Only root may use this file or folder.
pub(super) fn not_permitted(path: &Path, cause: io::Error) -> Error {
    let remedy = remedy(&cause);
    Error::refused(format!("{} cannot be used", path.display())).because(cause).remedy(remedy)
}

/// Threads have other numbers here than the events name.
pub(super) fn other_numbers() -> Error {
    Error::refused("the kernel's trace events cannot be used in a PID namespace: they name threads by other numbers")
        .remedy("run on the machine itself rather than in a container, or give that the host's namespace (--pid=host)")
}

/// A file of the kernel that reads otherwise than expected.
pub(super) fn not_understood(path: &Path) -> Error {
    Error::refused(format!("{} of this kernel cannot be understood", path.display()))
        .remedy("report it with the content of that file")
}

/// Remedy for an error. Root may trace, unless a container or a locked-down kernel forbids it.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if !geteuid().is_root() => "run as root (sudo)",
        io::ErrorKind::PermissionDenied => {
            "root may not trace here: run on the machine itself rather than in a container, or give that CAP_SYS_ADMIN and \
             /sys/kernel/tracing; a kernel that is locked down (cat /sys/kernel/security/lockdown) has to be booted with \
             lockdown=none"
        }
        io::ErrorKind::OutOfMemory => "free some memory: each processor's events need 16 MB and more",
        _ => "use a kernel with CONFIG_EVENT_TRACING",
    }
}
