//! Why the kernel's events cannot be read.

use std::io;
use std::path::PathBuf;

use jitterlab_model::Refusal;
use nix::unistd::geteuid;

/// Why the kernel's events cannot be read. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceEventsError {
    /// There is no tracefs, and none can be mounted.
    #[error(
        "the kernel's trace events cannot be reached ({error}): {help}, or mount them: mount -t tracefs tracefs /sys/kernel/tracing", error = .0, help = remedy(.0)
    )]
    NoTraceFs(io::Error),
    /// Only root may trace.
    #[error("{path} cannot be used ({error}): {}", remedy(error))]
    NotPermitted {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// The kernel lacks events without which nothing can be said.
    #[error("this kernel has no event {0}: it was built without CONFIG_EVENT_TRACING")]
    NoEvent(&'static str),
    /// A file of the kernel that reads otherwise than expected.
    #[error("{path} of this kernel cannot be understood; please report this with its content")]
    Format {
        /// The file.
        path: PathBuf,
    },
}

impl TraceEventsError {
    /// What is noted of it in a run that goes on without.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let (why, remedy) = match self {
            TraceEventsError::NoTraceFs(error) => (
                error.to_string(),
                format!("{}, or: mount -t tracefs tracefs /sys/kernel/tracing", remedy(error)),
            ),
            TraceEventsError::NotPermitted { path, error } => {
                (format!("{}: {error}", path.display()), remedy(error).to_owned())
            }
            TraceEventsError::NoEvent(_) => {
                (self.to_string(), "use a kernel with CONFIG_EVENT_TRACING".to_owned())
            }
            TraceEventsError::Format { .. } => {
                (self.to_string(), "report it with the content of that file".to_owned())
            }
        };
        Refusal { what: "the kernel's trace events".into(), why, remedy }
    }
}

/// What helps. Root may trace, unless a container or a kernel that is locked down takes that away.
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
