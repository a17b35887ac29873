//! What can go wrong with run files, as sentences with the remedy.

use std::io;
use std::path::PathBuf;

/// Why a run file could not be written or read. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system refused an operation on a file.
    #[error("cannot {action} {path}: {source}{}", remedy(.source))]
    Io {
        /// What was tried, such as `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The directory of the wanted file does not exist.
    #[error(
        "cannot create {path}: the directory {directory} does not exist; create it first or choose another place"
    )]
    NoDirectory {
        /// The wanted file.
        path: PathBuf,
        /// Its missing directory.
        directory: PathBuf,
    },
    /// The wanted file is there already; a measurement is never overwritten.
    #[error("{0} exists already: choose another name, or remove it if it is no longer needed")]
    Exists(PathBuf),
    /// A measurement stands where a result is to be written.
    #[error("{0} holds a measurement: choose another name, or replace it with --force")]
    HoldsRun(PathBuf),
    /// A result is to be written under the name that a run's file will get.
    #[error(
        "{path} is the name of the run that {journal} holds (`jitterlab recover {journal}` makes a run file of it once it is not being recorded any more): choose another name"
    )]
    NameOfRun {
        /// The wanted file.
        path: PathBuf,
        /// The journal beside it.
        journal: PathBuf,
    },
    /// A device, a socket or the like where only a file will do.
    #[error("{0} is not a file: choose another name")]
    NoFile(PathBuf),
    /// A link to something that does not exist.
    #[error("{0} is a link that leads nowhere: remove it, or choose another name")]
    LeadsNowhere(PathBuf),
    /// A run of the same name is being recorded.
    #[error("a run is being recorded into {0} right now: choose another name")]
    BeingRecorded(PathBuf),
    /// A journal of the same name is there already.
    #[error(
        "{0} holds what an unfinished run measured: recover it with `jitterlab recover {0}`, or remove it if it is no longer needed"
    )]
    JournalExists(PathBuf),
    /// A journal was given where a run file is needed.
    #[error("{0} is the journal of an unfinished run: turn it into a run file with `jitterlab recover {0}`")]
    Unfinished(PathBuf),
    /// The journal belongs to a process that still writes it.
    #[error("{0} is still being recorded: stop that run first, it closes its file itself")]
    StillRecording(PathBuf),
    /// Not something jitterlab wrote.
    #[error("{path} is not a run file of jitterlab: {why}")]
    NotARunFile {
        /// The file.
        path: PathBuf,
        /// What it is, or what is missing.
        why: String,
    },
    /// Written by a later jitterlab.
    #[error(
        "{path} has format version {found}, this jitterlab reads versions up to {known}: use a newer jitterlab"
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The highest version that is understood here.
        known: u32,
    },
    /// A run file whose content contradicts itself.
    #[error("{path} is damaged: {why}; copy it again from its source, or measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Recording ended because the disk is full, or will be when the file is closed.
    #[error(
        "the disk of {path} is full: recording ended after {rows} rows, which are kept; the run goes on with its statistics in memory"
    )]
    DiskFull {
        /// The journal.
        path: PathBuf,
        /// Rows kept.
        rows: u64,
    },
    /// Recording ended because the journal could not be written.
    #[error(
        "cannot write {path}: {source}; recording ended after {rows} rows, which are kept; the run goes on with its statistics in memory"
    )]
    RecordingEnded {
        /// The journal.
        path: PathBuf,
        /// Rows kept.
        rows: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// The journal could not be turned into the run file; it is kept.
    #[error(
        "{path} could not be written: {source}. Everything recorded is kept in {journal}: make room, then run `jitterlab recover {journal}`"
    )]
    NotClosed {
        /// The wanted run file.
        path: PathBuf,
        /// The journal that holds the run.
        journal: PathBuf,
        /// What went wrong.
        source: Box<TraceError>,
    },
    /// Not the output of a tool that is known here.
    #[error("{path} is not an output that jitterlab can import; known are {known}")]
    UnknownOutput {
        /// The file.
        path: PathBuf,
        /// The outputs that can be read.
        known: String,
    },
    /// Another tool's output that contradicts its own format.
    #[error("{path} looks like the output of {tool}, but cannot be read: {place}{why}")]
    UnreadableOutput {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        tool: &'static str,
        /// The line to blame, if one is.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Activations of a task that the run's description does not name.
    #[error("task number {task} is not in the run's description, which has {tasks} tasks")]
    UnknownTask {
        /// The number given.
        task: usize,
        /// How many there are.
        tasks: usize,
    },
}

impl TraceError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TraceError {
        let path = path.into();
        move |source| TraceError::Io { action, path, source }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the name",
        io::ErrorKind::PermissionDenied => "; choose a directory you may write to, or change the permissions",
        io::ErrorKind::ReadOnlyFilesystem => "; choose a directory on another disk",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room on that disk",
        io::ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    }
}
