//! Errors about run files, as sentences with the remedy.

use std::fmt::Display;
use std::io;
use std::path::Path;

use jitterlab_model::Error;
use parquet::errors::ParquetError;

/// Problem of a file, as far as callers decide by it ([`Error::is`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// The wanted file exists already; a measurement is never overwritten.
    Exists,
    /// A journal of the same name exists already.
    JournalExists,
    /// A run of the same name is being recorded.
    BeingRecorded,
    /// A device, a socket or the like where only a file will do.
    NoFile,
    /// A journal was given where a run file is needed.
    Unfinished,
    /// The journal belongs to a process that still writes it.
    StillRecording,
    /// Not something jitterlab wrote.
    NotARunFile,
    /// Written by a later jitterlab.
    NewerFormat,
    /// Recording ended because the disk is full, or will be when the file is closed.
    DiskFull,
    /// The run file is written, and its journal still exists.
    JournalLeft,
    /// The run file holds less than was recorded: another program cut the journal, or wrote into it.
    Lost,
    /// Not the output of a tool that is known here.
    UnknownOutput,
    /// A file in which several tools left something.
    SeveralOutputs,
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn no_directory(path: &Path, directory: &Path) -> Error {
    Error::bad_use(format!(
        "cannot create {}: the directory {} does not exist",
        path.display(),
        directory.display()
    ))
    .remedy("create it first or choose another place")
}

pub(crate) fn already_exists(path: &Path) -> Error {
    Error::bad_use(format!("{} exists already", path.display()))
        .remedy("choose another name, or remove it if it is no longer needed")
        .case(FileProblem::Exists)
}

pub(crate) fn being_recorded(path: &Path) -> Error {
    Error::refused(format!("a run is being recorded into {} right now", path.display()))
        .remedy("choose another name")
        .case(FileProblem::BeingRecorded)
}

pub(crate) fn still_recording(path: &Path) -> Error {
    Error::refused(format!("{} is still being recorded", path.display()))
        .remedy("stop that run first, it closes its file itself")
        .case(FileProblem::StillRecording)
}

pub(crate) fn not_a_file(path: &Path) -> Error {
    Error::bad_use(format!("{} is not a file", path.display()))
        .remedy("choose another name")
        .case(FileProblem::NoFile)
}

pub(crate) fn not_a_run_file(path: &Path, why: impl Into<Cause>) -> Error {
    Error::damaged(format!("{} is not a run file of jitterlab", path.display()))
        .because(why)
        .case(FileProblem::NotARunFile)
}

/// Error for a file without any content, as a redirected output is whose tool failed.
pub(crate) fn empty_output(path: &Path) -> Error {
    Error::damaged(format!("{} is empty", path.display()))
        .remedy("look at what its tool printed as an error, and measure again")
        .case(FileProblem::UnknownOutput)
}

/// Error for an output of no known tool; if it names a known one, a part of that tool's output is missing.
pub(crate) fn unknown_output(path: &Path, mentioned: Option<&str>) -> Error {
    let remedy = match mentioned {
        Some(tool) => format!("It names {tool}: give all that {tool} printed"),
        None => "Of a table, say which column is what: --columns latency=2:us".into(),
    };
    Error::damaged(format!(
        "{} is not an output that jitterlab can import: it reads what cyclictest, rtla, oslat, jitterdebugger, LinuxCNC, \
         Xenomai, EVL and Zephyr print, captures (VCD, sigrok, Saleae, pcap) and tables; docs/formats/imports.md lists all. \
         {remedy}",
        path.display()
    ))
    .case(FileProblem::UnknownOutput)
}

/// Error for a run file whose content contradicts itself.
pub(crate) fn damaged(path: &Path, why: impl Into<Cause>) -> Error {
    Error::damaged(format!("{} is damaged", path.display()))
        .because(why)
        .remedy("copy it again from its source, or measure again")
}

pub(crate) fn bad_causes(path: &Path, why: impl Display) -> Error {
    damaged(path, format!("the causes of late activations cannot be read ({why})"))
}

/// Error for a journal that could not be turned into the run file, and is kept.
pub(crate) fn run_not_closed(path: &Path, journal: &Path, why: impl Into<Cause>) -> Error {
    let journal = journal.display();
    Error::refused(format!("{} could not be written", path.display())).because(why).remedy(format!(
        "everything recorded is kept in {journal}: recover it with `jitterlab recover {journal}` once there is room, or into another directory with `-o FILE`"
    ))
}

/// Error for a run file that could not be made where it belongs, and is elsewhere.
pub(crate) fn saved_elsewhere(path: &Path, elsewhere: &Path, why: impl Into<Cause>) -> Error {
    Error::refused(format!("{} could not be written", path.display())).because(why).remedy(format!(
        "its journal is not there any more; everything recorded is in {}: move that to where it belongs",
        elsewhere.display()
    ))
}

/// Error for a run file that could not be made, and whose journal has lost its name.
pub(crate) fn journal_gone(path: &Path, journal: &Path, why: impl Into<Cause>) -> Error {
    let what = format!("{} could not be written, and its journal is not there any more", path.display());
    Error::refused(what).because(why).remedy(format!(
        "look for {} where its directory was moved to",
        journal.file_name().unwrap_or_default().display()
    ))
}

/// Error for a run file that holds less than was recorded.
pub(crate) fn records_lost(path: &Path, journal: &Path, recorded: u64, read: u64) -> Error {
    let (path, journal) = (path.display(), journal.display());
    Error::refused(format!(
        "{path} holds {read} of the {recorded} activations that were recorded: another program changed the journal meanwhile. \
         Nothing was removed; the journal is {journal}"
    ))
    .case(FileProblem::Lost)
}

/// Error for bytes that do not match their checksum.
pub(crate) fn checksum_mismatch() -> ParquetError {
    damage("its bytes have changed since it was written, as their checksum shows")
}

/// Error for a file whose descriptor was closed, or is another file's now.
pub(crate) fn descriptor_closed() -> io::Error {
    io::Error::other("the program closed its descriptor")
}

/// Error for a recording that ended before the run.
pub(crate) fn recording_ended(path: &Path, rows: u64, cause: io::Error) -> Error {
    let path = path.display();
    let kept = format!(
        "recording ended after {rows} rows, which are kept; the run goes on with its statistics in memory"
    );
    match cause.kind() {
        io::ErrorKind::FileTooLarge => {
            Error::refused(format!("{path} may not grow any more (ulimit -f): {kept}"))
                .case(FileProblem::DiskFull)
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::refused(format!("the disk of {path} is full: {kept}")).case(FileProblem::DiskFull)
        }
        _ => Error::refused(format!("cannot write {path}")).because(cause).remedy(kept),
    }
}

/// Error for an output of another tool that would fill the memory.
pub(crate) fn output_too_long(path: &Path, most: u64) -> Error {
    Error::damaged(format!("{} is longer than {} MiB", path.display(), most >> 20))
        .remedy("split it, or keep only a part of it")
}

pub(crate) fn unknown_task(task: usize, tasks: usize) -> Error {
    Error::bad_use(format!("task number {task} is not in the run's description, which has {tasks} tasks"))
}

/// Damage in a run file, in the form that passes through the Parquet library.
pub(crate) fn damage(what: impl Into<String>) -> ParquetError {
    ParquetError::External(Box::new(Error::damaged(what)))
}

/// Values that no measurement can give, in the form that passes through the Parquet library.
pub(crate) fn impossible_values(why: Error) -> ParquetError {
    ParquetError::External(Box::new(why.within("it holds what cannot be")))
}

/// Cause of an error that passed through the Parquet library, without its words.
pub(crate) fn cause_of(error: ParquetError) -> Cause {
    match error {
        ParquetError::External(inner) => inner,
        other => other.to_string().into(),
    }
}

/// Reason why an output that was recognised cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("it holds no measurement")]
    Nothing,
    #[error("a second measurement begins; split the file before it, and read each part for itself")]
    SecondMeasurement,
    #[error("it is cut short: its last figures are missing")]
    Cut,
    #[error("{} have a period each: say them in this order, such as --period 25us --period 1ms", .tasks.join(" and "))]
    PeriodOfEach { tasks: Vec<String> },
    #[error("{text:?} is not {wanted}")]
    Not { text: String, wanted: &'static str },
    #[error("a row has {counts} counts for {columns} columns; header and index are needed")]
    CountsOfRow { counts: usize, columns: usize },
    #[error("it holds something that is no sample")]
    Samples,
    #[error(
        "none of its columns is known to hold times: name one, such as --columns latency=2:us or start=1:ns"
    )]
    NoTimes,
    #[error("the period cannot be told from it: say it with --period")]
    NoPeriod,
    #[error("time goes back: a second measurement begins here, or the column is not what it is taken for")]
    Backwards,
    #[error("a line RTD| has other than seven figures")]
    ConsoleLine,
    #[error("it does not say the unit of its times: say it with --unit")]
    NoTimeUnit,
    #[error("it does not say its sample rate")]
    NoSampleRate,
    #[error("it holds more than {most} {what}: save a shorter part of it")]
    TooMany { what: &'static str, most: usize },
    #[error("it is damaged: {what}")]
    Damaged { what: String },
    #[error("{0}")]
    Json(serde_json::Error),
    #[error(transparent)]
    Other(#[from] Error),
}
