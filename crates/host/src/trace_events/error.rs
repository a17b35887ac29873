//! Errors in reading the kernel's events.

use std::io;
use std::path::Path;

use jitterlab_model::Error;
use nix::unistd::geteuid;

/// Error for a system without tracefs where none can be mounted.
pub(super) fn no_tracefs_error(cause: io::Error) -> Error {
    let remedy = remedy(&cause);
    Error::refused("the kernel's trace events cannot be reached")
        .because(cause)
        .remedy(format!("{remedy}, or mount them: mount -t tracefs tracefs /sys/kernel/tracing"))
}

/// Error for a file or folder that this process may not use.
pub(super) fn not_permitted_error(path: &Path, cause: io::Error) -> Error {
    let remedy = remedy(&cause);
    Error::refused(format!("{} cannot be used", path.display())).because(cause).remedy(remedy)
}

/// Error for a process in a PID namespace, whose threads have other numbers than in events.
pub(super) fn pid_namespace_error() -> Error {
    Error::refused("the kernel's trace events cannot be used in a PID namespace: they name threads by other numbers")
        .remedy("run on the machine itself rather than in a container, or give that the host's namespace (--pid=host)")
}

/// Error for a file of the kernel in an unknown format.
pub(super) fn unknown_format_error(path: &Path) -> Error {
    Error::refused(format!("{} of this kernel cannot be understood", path.display()))
        .remedy("report it with the content of that file")
}

/// Remedy for an error in the use of tracefs. Root may trace, unless a container or a locked-down kernel forbids it.
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
