//! What can go wrong with run files, as sentences with the remedy.

use std::io;
use std::path::{Path, PathBuf};

use jitterlab_model::bounds::Impossible;
use parquet::errors::ParquetError;

use crate::role::Role;

/// Why a run file could not be written or read. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system refused an operation on a file.
    #[error("{}", refused(action, path, source))]
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
    /// The system has no random numbers.
    #[error(
        "cannot write {0}: this system gives programs no random numbers, which writing a run file takes: make /dev/urandom (mknod /dev/urandom c 1 9), allow the system call getrandom, or measure without a file"
    )]
    NoEntropy(PathBuf),
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
        why: NotARun,
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
    /// Another program wrote it again with a compression that is not read here.
    #[error(
        "{path} is compressed by {codec}, which jitterlab does not read: write it again by zstd, snappy or gzip"
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// What it is compressed by.
        codec: &'static str,
    },
    /// A run file whose content contradicts itself.
    #[error("{path} is damaged: {why}; copy it again from its source, or measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: Damage,
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
    /// The run file is written, and its journal is still there.
    #[error("{path} is written, and whole; its journal {journal} could not be removed: {source}; remove it")]
    JournalLeft {
        /// The run file.
        path: PathBuf,
        /// The journal.
        journal: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Not the output of a tool that is known here.
    #[error(
        "{path} is not an output that jitterlab can import: it reads what cyclictest, rtla, oslat, jitterdebugger, LinuxCNC, \
         Xenomai, EVL and Zephyr print, captures (VCD, sigrok, Saleae, pcap) and tables; docs/formats/imports.md lists all. {}",
        mentioned(*mentions)
    )]
    UnknownOutput {
        /// The file.
        path: PathBuf,
        /// The tool that it names, if it names one.
        mentions: Option<&'static str>,
    },
    /// A file in which several tools left something.
    #[error("{path} looks like the output of several tools: {tools}; split it, so that each file is of one")]
    SeveralOutputs {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        tools: String,
    },
    /// An output that would fill the memory.
    #[error("{path} is longer than {} MiB: split it, or keep only a part of it", .most >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How long it may be, in bytes.
        most: u64,
    },
    /// Another tool's output that contradicts its own format.
    #[error("{path} looks like the output of {tool}, but cannot be read: {}{why}", place(*.line))]
    UnreadableOutput {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        tool: &'static str,
        /// The line to blame, counted from 1, if one is.
        line: Option<usize>,
        /// What is wrong.
        why: Box<Unreadable>,
    },
    /// Times in memory that cannot be those of a task.
    #[error("{path} cannot be made: {}{why}", row.map_or_else(String::new, |row| format!("row {row}: ")))]
    UnreadableColumns {
        /// The file.
        path: PathBuf,
        /// The row to blame, counted from 1, if one is.
        row: Option<usize>,
        /// What is wrong.
        why: Box<Unreadable>,
    },
    /// Times that are those of no single activations.
    #[error(
        "{0} cannot be made: the times do not lie on one grid, so which due time each is of is not known: say the due times, too"
    )]
    NoActivations(PathBuf),
    /// The thread that writes the journal ended by a panic.
    #[error("the thread that writes the journal died")]
    WriterDied,
    /// Activations of a task that the run's description does not name.
    #[error("task number {task} is not in the run's description, which has {tasks} tasks")]
    UnknownTask {
        /// The number given.
        task: usize,
        /// How many there are.
        tasks: usize,
    },
}

/// Why a file is no run file, or no journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotARun {
    /// Nothing is in it.
    #[error("it is empty")]
    Empty,
    /// It does not begin as Parquet files do.
    #[error("it is not a Parquet file")]
    NotParquet,
    /// Its end, where a Parquet file says what is in it, cannot be read; with what the Parquet library says.
    #[error("its end is missing or damaged, as of a copy that was cut short ({0})")]
    CutShort(String),
    /// A Parquet file of another program; with the metadata key that it lacks.
    #[error("it is a Parquet file, but has no description of a run ({0})")]
    NoDescription(&'static str),
    /// A description that is none of a run, with what it lacks.
    #[error("its description of a run is incomplete ({0}), as if another program had made it")]
    Incomplete(serde_json::Error),
    /// A table of other columns.
    #[error("its columns are {} instead of {}", .found.join(", "), .wanted.join(", "))]
    Columns {
        /// Its columns.
        found: Vec<String>,
        /// Those of a run file.
        wanted: Vec<String>,
    },
    /// A journal without a description.
    #[error("its description was never written, or is damaged; nothing can be recovered from it")]
    NeverDescribed,
    /// A journal of nothing but its beginning.
    #[error("it ends before its first line; nothing was recorded in it")]
    NothingRecorded,
    /// A Parquet file where a journal is needed.
    #[error("only journals (NAME.part) are recovered, and this is a Parquet file already")]
    ParquetAlready,
    /// It does not begin as journals do.
    #[error("it does not begin as a journal does")]
    NotAJournal,
}

/// What does not fit in a run file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The description of the run.
    #[error("the description of the run cannot be read ({0})")]
    Description(serde_json::Error),
    /// The list of the slices' tables.
    #[error("its list of slices cannot be read ({0})")]
    SliceList(serde_json::Error),
    /// Why activations were late.
    #[error("the causes of late activations cannot be read ({0})")]
    Causes(io::Error),
    /// The slices' tables do not fit each other.
    #[error("its slices contradict each other")]
    Slices,
    /// A row group that is not there.
    #[error("it has no row group {0}")]
    NoRowGroup(usize),
    /// A row group of several tasks, or of one that the description lacks.
    #[error("a row group is not of exactly one task of the run, as if another program had rewritten it")]
    TaskOfGroup,
    /// A row group that cannot be as long as it says.
    #[error("a row group claims more rows than its bytes can hold")]
    RowsOfGroup,
    /// A part beyond the end of the file.
    #[error("a part of it lies behind its end")]
    BehindEnd,
    /// A column beyond the beginning of the file.
    #[error("a column begins or ends before the file does")]
    BeforeBegin,
    /// A page that is not in its column.
    #[error("a page lies outside its column")]
    OutsideColumn,
    /// Where it says what is in it: something that is longer than the bytes that say it, or no Thrift.
    #[error("what it says is in it cannot be, or is damaged")]
    Claims,
    /// A column that is shorter than its row group.
    #[error("a column ends early")]
    EndsEarly,
    /// A row without a value.
    #[error("a row lacks a value")]
    Null,
    /// A column of another type than its name promises.
    #[error("column {0} has another type")]
    TypeOfColumn(String),
    /// Values that no measurement can have given.
    #[error("it holds what cannot be: {0}")]
    Impossible(Box<Impossible>),
    /// Bytes that the Parquet library panics on.
    #[error("its content cannot be decoded")]
    Undecodable,
    /// What the Parquet library says of it.
    #[error("{0}")]
    Parquet(String),
}

impl From<Impossible> for Damage {
    fn from(why: Impossible) -> Self {
        Damage::Impossible(Box::new(why))
    }
}

impl From<Impossible> for Unreadable {
    fn from(why: Impossible) -> Self {
        Unreadable::Impossible(Box::new(why))
    }
}

impl From<Damage> for ParquetError {
    /// So that it gets through the Parquet library.
    fn from(damage: Damage) -> Self {
        ParquetError::External(Box::new(damage))
    }
}

impl From<ParquetError> for Damage {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast() {
                Ok(damage) => *damage,
                Err(other) => Damage::Parquet(other.to_string()),
            },
            other => Damage::Parquet(other.to_string()),
        }
    }
}

/// Why an output that was recognised cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// No measurement is in it.
    #[error("it holds no measurement")]
    Nothing,
    /// More than one measurement is in it.
    #[error("a second measurement begins; split the file before it, and read each part for itself")]
    Second,
    /// It ends before its figures do.
    #[error("it is cut short: its last figures are missing")]
    Cut,
    /// Tasks of different periods, of which one was said.
    #[error("{} have a period each: say them in this order, such as --period 25us --period 1ms", .tasks.join(" and "))]
    PeriodOfEach {
        /// Their names.
        tasks: Vec<String>,
    },
    /// Periods that were said are not those of the tasks.
    #[error(
        "these are not the periods of {}: --period is given once, or once for each of them in this order where they have \
         different ones and the output does not say them", .tasks.join(", ")
    )]
    OtherPeriods {
        /// Their names.
        tasks: Vec<String>,
    },
    /// Figures of an unknown number of samples.
    #[error("it does not say how many samples it is of")]
    NoSampleCount,
    /// A histogram without bins.
    #[error("it has no bins")]
    NoBins,
    /// A histogram whose bins have no width.
    #[error("the width of its bins is missing")]
    NoWidth,
    /// A text that is not what its place asks for.
    #[error("{text:?} is not {}", .wanted)]
    Not {
        /// What stands there.
        text: String,
        /// What belongs there.
        wanted: Wanted,
    },
    /// The whole file should be one number.
    #[error("it is not a number")]
    NotANumber,
    /// A row with too few columns.
    #[error("a row has fewer columns than the {threads} threads")]
    FewColumns {
        /// Threads that its head names.
        threads: usize,
    },
    /// A row that does not fit its header.
    #[error("a row has {counts} counts for {columns} columns; header and index are needed")]
    CountsOfRow {
        /// Counts in the row.
        counts: usize,
        /// Columns in the header.
        columns: usize,
    },
    /// A binary file of samples that is damaged.
    #[error("it holds something that is no sample")]
    Samples,
    /// A table whose column has no unit; with its number, counted from 1, and what it holds.
    #[error(
        "the unit of column {column} ({role}) is not in its name: say it with --unit, or as in --columns {role}={column}:us"
    )]
    NoUnit {
        /// Its number.
        column: usize,
        /// What it holds.
        role: Role,
    },
    /// A column that is not there.
    #[error("there is no column {wanted}: the head line names {names}")]
    NoColumn {
        /// The column that was asked for.
        wanted: String,
        /// Those that there are.
        names: String,
    },
    /// A table of something else.
    #[error(
        "none of its columns is known to hold times: name one, such as --columns latency=2:us or start=1:ns"
    )]
    NoTimes,
    /// Columns of different lengths.
    #[error(
        "{values} values of {role}, and {length} of the first column: every activation needs one of each"
    )]
    Uneven {
        /// What it holds.
        role: Role,
        /// How many.
        values: usize,
        /// How many there should be.
        length: usize,
    },
    /// Times that do not tell how far they should be from each other.
    #[error("the period cannot be told from it: say it with --period")]
    NoPeriod,
    /// A row that is earlier than the one before it.
    #[error("time goes back: a second measurement begins here, or the column is not what it is taken for")]
    Backwards,
    /// A row that does not begin as rttest's do.
    #[error("a line has less than iteration, timestamp and latency")]
    ShortLine,
    /// A line of Xenomai's console that has other columns.
    #[error("a line RTD| has other than seven figures")]
    ConsoleLine,
    /// Values that no measurement can have given.
    #[error("it holds what cannot be: {0}")]
    Impossible(Box<Impossible>),
    /// A channel that a capture does not have.
    #[error("there is no channel {wanted}: it has {names}")]
    NoChannel {
        /// The channel that was asked for.
        wanted: String,
        /// Those that there are.
        names: String,
    },
    /// A channel that tells no period.
    #[error(
        "channel {channel} shows {activations} activations, and 3 are the fewest that tell a period: name another edge (--edge)"
    )]
    Quiet {
        /// Its name.
        channel: String,
        /// How many.
        activations: usize,
    },
    /// A capture in which nothing happens.
    #[error(
        "none of its channels shows 3 activations: name the level of a voltage (--threshold), or another edge (--edge)"
    )]
    AllQuiet,
    /// A capture that says no unit of its times.
    #[error("it does not say the unit of its times: say it with --unit")]
    NoTimeUnit,
    /// A capture that says not how often it was sampled.
    #[error("it does not say its sample rate")]
    NoSampleRate,
    /// A format's version that is not known here.
    #[error("it is of version {version} of its format, of which only version 0 is read: export it as CSV")]
    Version {
        /// The version.
        version: i64,
    },
    /// An archive that would fill the memory.
    #[error("it is more than 1 GiB unpacked: save a shorter part of it")]
    TooMuch,
    /// A capture of a network without Ethernet's addresses.
    #[error("its packets are of link type {link}, not Ethernet's: capture at one interface, not at \"any\"")]
    NotEthernet {
        /// As the format numbers it.
        link: i32,
    },
    /// A capture in which several kinds of packets could be meant.
    #[error("which packets are meant? Name them with --packets; most are {found}")]
    WhichPackets {
        /// What there is.
        found: String,
    },
    /// A file that its library cannot read.
    #[error("it is damaged: {what}")]
    Damaged {
        /// The library's words.
        what: String,
    },
    /// A file of JSON that its tool would not write.
    #[error("{0}")]
    Json(serde_json::Error),
}

/// What belongs in a place of another tool's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wanted {
    /// Numbers with blanks between them.
    Numbers,
    /// How often something was counted.
    Count,
    /// A value of a histogram.
    Bin,
    /// A value of a histogram, and how often it was counted.
    BinAndCount,
    /// A line of jittersamples.
    Sample,
    /// A row of a table.
    Row,
    /// A cell of a table.
    Time,
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Wanted::Numbers => "a row of numbers",
            Wanted::Count => "a count",
            Wanted::Bin => "a bin",
            Wanted::BinAndCount => "a bin and its count",
            Wanted::Sample => "thread, time and latency",
            Wanted::Row => "a row with all columns",
            Wanted::Time => "a number",
        })
    }
}

fn mentioned(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("It names {tool}: give all that {tool} printed"),
        None => "Of a table, say which column is what: --columns latency=2:us".into(),
    }
}

fn place(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

impl TraceError {
    /// Whether a name is at fault that the user wrote: there is no such file, or it is none.
    #[must_use]
    pub fn is_bad_use(&self) -> bool {
        use io::ErrorKind::{InvalidFilename, IsADirectory, NotFound};
        let TraceError::Io { action: "open" | "read", source, .. } = self else { return false };
        matches!(source.kind(), NotFound | InvalidFilename | IsADirectory)
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TraceError {
        let path = path.into();
        move |source| TraceError::Io { action, path, source }
    }
}

/// A refused operation as a sentence, without the error number of the system.
fn refused(action: &str, path: &Path, error: &io::Error) -> String {
    const LONG: usize = 40;
    let name = path.display().to_string();
    match (action, error.kind()) {
        ("open" | "read", io::ErrorKind::NotFound) => format!("no file {name} here"),
        (_, io::ErrorKind::InvalidFilename) => {
            let beginning: String = name.chars().take(LONG).collect();
            format!("{beginning}... is too long for the name of a file")
        }
        _ => {
            let said = error.to_string();
            let said = said.split(" (os error").next().unwrap_or_default();
            format!("cannot {action} {name}: {said}{}", remedy(error))
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; choose a directory you may write to, or change the permissions",
        io::ErrorKind::ReadOnlyFilesystem => "; choose a directory on another disk",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room on that disk",
        io::ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    }
}
