//! Why nothing was watched.

use std::io;

use super::target::Target;
use crate::trace_events::TraceEventsError;

/// Why nothing was watched. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The kernel's events cannot be read.
    #[error(transparent)]
    Events(#[from] TraceEventsError),
    /// No command.
    #[error("no command to start: write it after --")]
    NoCommand,
    /// The command cannot be started.
    #[error("{program} cannot be started: {error}")]
    NotStarted {
        /// The program.
        program: String,
        /// The system's words.
        error: io::Error,
    },
    /// There is nothing of that name.
    #[error("there is no {}", named(.0))]
    NoSuchThing(Target),
    /// No thread waits periodically.
    #[error(
        "none of {threads} threads seen in {seconds:.0} s waits periodically ({passes} waits in all): look longer with --find, or at another program"
    )]
    NotPeriodic {
        /// Threads that were looked at.
        threads: usize,
        /// How long.
        seconds: f64,
        /// Waits that were seen.
        passes: usize,
    },
    /// Somebody asked for an end too early.
    #[error("interrupted before a periodic thread was found")]
    Interrupted,
}

fn named(target: &Target) -> String {
    match target {
        Target::Process(number) => format!("process {number}"),
        Target::Thread(name) => {
            format!("thread named {name:?} (names have 15 letters at most; ps -eLo comm lists them)")
        }
        Target::Unit(unit) => format!("running process of a unit {unit:?} (systemctl lists them)"),
        Target::Container(name) => {
            format!(
                "running process of a container {name:?}; its number or the path of its control group will do, too"
            )
        }
        Target::Command(words) => format!("process of {}", words.join(" ")),
    }
}

impl WatchError {
    /// Whether the request itself is at fault, rather than the system.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        matches!(self, WatchError::NoCommand | WatchError::NoSuchThing(_))
    }
}
