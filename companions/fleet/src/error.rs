//! Reasons why files are not taken in, or no answer rests on them.

use std::path::Path;

use jitterlab_model::Error;

/// A bin without a value in it.
pub const EMPTY_BIN: &str = "a bin is empty";
/// Bins of another width than a run file's.
pub const OTHER_BINS: &str = "a bin has other edges than this format's";
/// Bins that are not as many values as their slice counts.
pub const OTHER_COUNT: &str = "the bins of a slice are not as many values as it counts";
/// Due times that are not the sum of their kinds.
pub const OTHER_DUE: &str = "the due times of a slice are not those that ran, were lost or missed";
/// Bins of a slice that is not there.
pub const BINS_ALONE: &str = "bins belong to no slice";

/// Remedy for an engine without room.
pub const MORE_ROOM: &str = "give it more room in memory or in TMPDIR, or ask for less with --since";
/// Remedy for a DuckDB that does not understand.
pub const OTHER_VERSION: &str = "use DuckDB 0.9 or later: pip install --upgrade duckdb-cli";
/// Remedy for SQL of the user's own.
pub const OTHER_QUERY: &str = "correct the query; `jitterlab fleet sql FOLDER` prints queries that work";
/// Remedies for Spark.
pub const LOOK_AT_LOG: &str = "look at its log; nothing of its answer was used";

/// A file that ends too early.
pub fn truncated_file(path: &Path) -> Error {
    Error::damaged(format!("{} is cut short", path.display())).remedy("copy it again")
}

/// A file that is none of a fleet.
pub fn foreign_file(path: &Path) -> Error {
    Error::damaged(format!("{} holds no slices of a fleet", path.display()))
}

/// Difference of two runs of one host's name that one machine cannot have.
#[derive(Debug)]
pub enum HostDifference {
    Processor(String, String),
    /// Memory in bytes.
    Memory(u64, u64),
}

/// A host's name that stands for several machines.
pub fn ambiguous_host(host: &str, one: &Path, other: &Path, differs: &HostDifference) -> Error {
    let files = format!("{} and {} both name the machine {host}", one.display(), other.display());
    let why = match differs {
        HostDifference::Processor(one, two) => format!("their processors differ ({one}, {two})"),
        HostDifference::Memory(one, two) => {
            format!("their memory differs ({:.1} and {:.1} GB)", *one as f64 / 1e9, *two as f64 / 1e9)
        }
    };
    Error::bad_use(format!("{files}, but {why}; nothing was taken in")).remedy(
        "--machine '{file}' or '{folder}' names machines by file or folder, '{host}' takes them for one",
    )
}

/// A file of a delivery whose table of slices is not there.
pub fn missing_slices_table(path: &Path) -> Error {
    Error::damaged(format!("{} came without its table of slices", path.display()))
        .remedy("copy all files of that day")
}

/// A file whose slices another one holds too.
pub fn repeated_slices(path: &Path) -> Error {
    Error::damaged(format!("{} repeats slices of another file", path.display()))
        .remedy("`jitterlab fleet check FOLDER --repair` puts it aside")
}

/// Sums of which some slices are here already.
pub fn sums_of_known_slices(path: &Path) -> Error {
    Error::damaged(format!("{} holds sums of slices of which some are here already", path.display()))
        .remedy("take in the deliveries that they were made of")
}

/// Slices that are here already with other figures.
pub fn contradicting_slices(machine: &str, aside: &Path) -> Error {
    Error::damaged(format!("slices of {machine} contradict those that are here, which stay as they are"))
        .remedy(format!("compare them with {}", aside.display()))
}

/// An engine that ended well, and left less than was asked for.
pub fn missing_answer(name: &str) -> Error {
    Error::refused(format!("the engine ended well, but left no answer to {name}"))
        .remedy("name another one with --engine")
}

/// Sums that cannot both be.
pub fn contradictory_sums(what: &str) -> Error {
    Error::damaged(format!("its sums contradict: {what}"))
}

/// A folder without slices, or without any of the time that is asked for.
pub fn no_slices(path: &Path, of_a_time: bool) -> Error {
    let folder = path.display();
    match of_a_time {
        true => Error::not_measured(format!("{folder} holds no slices of that time"))
            .remedy(format!("jitterlab fleet days {folder} lists the days")),
        false if !path.is_dir() => Error::bad_use(format!("no folder {folder} here"))
            .remedy("make one of run files: jitterlab fleet add plant FILE..."),
        false => Error::not_measured(format!("{folder} holds no slices of a fleet"))
            .remedy(format!("make them of run files first: jitterlab fleet add plant {folder}")),
    }
}
