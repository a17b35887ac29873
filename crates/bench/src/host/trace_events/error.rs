//! Why the kernel's events cannot be read.

use std::io;
use std::path::PathBuf;

use jitterlab_model::Refusal;

/// Why the kernel's events cannot be read. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceEventsError {
    /// There is no tracefs, and none can be mounted.
    #[error(
        "the kernel's trace events cannot be reached ({0}): run as root, or mount them: mount -t tracefs tracefs /sys/kernel/tracing"
    )]
    NoTraceFs(io::Error),
    /// Only root may trace.
    #[error("{path} cannot be used ({error}): run as root (sudo)")]
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
            TraceEventsError::NoTraceFs(error) => {
                (error.to_string(), "run as root, or: mount -t tracefs tracefs /sys/kernel/tracing")
            }
            TraceEventsError::NotPermitted { path, error } => {
                (format!("{}: {error}", path.display()), "run as root (sudo)")
            }
            TraceEventsError::NoEvent(_) => (self.to_string(), "use a kernel with CONFIG_EVENT_TRACING"),
            TraceEventsError::Format { .. } => (self.to_string(), "report it with the content of that file"),
        };
        Refusal { what: "the kernel's trace events".into(), why, remedy: remedy.into() }
    }
}
