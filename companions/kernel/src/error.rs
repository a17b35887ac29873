//! What the command line finds wrong: options that make no sense together.

use jitterlab_model::units::Exact;

/// Why a command cannot do what was asked; the arguments are at fault. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Code paths and tools beside each other where processors take turns.
    #[error(
        "several processors of counted time take turns, which blurs code paths and tools of nanoseconds: leave --cpus out, or \
         use kernel run"
    )]
    TurnsBlur,
    /// Code paths of a guest whose time is not counted in instructions.
    #[error("code paths show in virtual time only: leave --time real out")]
    PathsInRealTime,
    /// Two runs to compare whose tasks are not the same.
    #[error("the runs have different tasks, {0} and {1}: measure the same on both")]
    DifferentTasks(String, String),
    /// A period that the peers cannot be given.
    #[error("a period of {} is not a whole number of microseconds, and cyclictest and rtla know nothing finer", Exact(*.0))]
    TooFineForPeers(i64),
    /// A command that is none.
    #[error("{option} {command:?} is no command line")]
    NoCommandLine {
        /// Where it was given.
        option: &'static str,
        /// What was given.
        command: String,
    },
}
