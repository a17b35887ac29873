//! Turning a journal into the run file: when a run is closed, and when a crash left the journal behind.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{RunInfo, StopReason};

use crate::frame::{MAGIC, PREAMBLE, VERSION};
use crate::paths::{sync_directory, target_of};
use crate::place::check_free;
use crate::table::RunFileWriter;
use crate::tally::Tally;
use crate::walk::{Part, Walk};
use crate::{TraceError, journal_path};

/// A run file that is complete on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// The file.
    pub path: PathBuf,
    /// Activations in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

/// Turns the journal of a run that was not closed into its run file, which gets the journal's name without
/// `.part`. The name of the run file itself will do too.
///
/// An incomplete end is left out. The run is described as crashed, and each task's counters are rebuilt from what
/// was recorded. The journal is removed when the run file is safe on the disk.
///
/// # Errors
/// There is no such journal, it is still being recorded, it is not a journal, its run file exists already, or
/// that cannot be written.
pub fn recover(path: impl AsRef<Path>) -> Result<FinishedRun, TraceError> {
    let path = path.as_ref();
    let beside = journal_path(path);
    let journal = if beside.exists() { &beside } else { path };
    recover_to(journal, target_of(journal), |_, _| ())
}

/// Like [`recover`], into a file of any name, on another disk for instance; tells now and then how many bytes of
/// how many are done.
///
/// # Errors
/// As [`recover`].
pub fn recover_to(
    journal: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, TraceError> {
    let (journal, target) = (journal.as_ref(), target.as_ref());
    let mut file = File::open(journal).map_err(TraceError::io("open", journal))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(TraceError::StillRecording(journal.into()));
    }
    check_preamble(&mut file, journal)?;
    check_free(target)?;
    convert(&file, journal, target, None, progress)
}

/// Turns a journal that was closed properly into the run file.
pub(crate) fn close_journal(
    mut file: File,
    journal: &Path,
    target: &Path,
    info: RunInfo,
    progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, TraceError> {
    check_preamble(&mut file, journal)?;
    convert(&file, journal, target, Some(info), progress)
}

/// Whether these are the first bytes of a journal.
pub(crate) fn is_journal(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

pub(crate) fn check_preamble(file: &mut File, path: &Path) -> Result<(), TraceError> {
    let mut preamble = Vec::new();
    file.rewind().map_err(TraceError::io("read", path))?;
    file.take(PREAMBLE as u64).read_to_end(&mut preamble).map_err(TraceError::io("read", path))?;
    let not = |why: &str| TraceError::NotARunFile { path: path.into(), why: why.into() };
    match preamble.strip_prefix(&MAGIC[..]) {
        Some(&[low, high]) => {
            let found = u16::from_le_bytes([low, high]);
            if found > VERSION {
                return Err(newer(path, u32::from(found), u32::from(VERSION)));
            }
            Ok(())
        }
        Some(_) => Err(not("it ends before its first line; nothing was recorded in it")),
        None if preamble.starts_with(b"PAR1") => {
            Err(not("only journals (NAME.part) are recovered, and this is a Parquet file already"))
        }
        None => Err(not("it does not begin as a journal does")),
    }
}

pub(crate) fn newer(path: &Path, found: u32, known: u32) -> TraceError {
    TraceError::NewerFormat { path: path.into(), found, known }
}

/// Reads the description of a run.
pub(crate) fn parse_info(path: &Path, json: &[u8]) -> Result<RunInfo, TraceError> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }
    let damaged = |e: serde_json::Error| TraceError::Damaged {
        path: path.into(),
        why: format!("the description of the run cannot be read ({e})"),
    };
    // A newer description may not even parse; its version is looked at first.
    let version: Version = serde_json::from_slice(json).map_err(damaged)?;
    if version.format > FORMAT_VERSION {
        return Err(newer(path, version.format, FORMAT_VERSION));
    }
    if version.format == 1 {
        let mut described: serde_json::Value = serde_json::from_slice(json).map_err(damaged)?;
        from_format_1(&mut described);
        return serde_json::from_value(described).map_err(damaged);
    }
    serde_json::from_slice(json).map_err(damaged)
}

/// Format 1 gave the reason of an overload as a sentence: it is kept as a warning. (Its other sentences are read as they
/// are.)
fn from_format_1(described: &mut serde_json::Value) {
    let Some(explanation) = described.pointer("/stop/explanation").cloned() else { return };
    described["stop"] = serde_json::json!({ "reason": "interrupted" });
    if let Some(warnings) = described["warnings"].as_array_mut() {
        warnings.push(explanation);
    }
}

fn convert(
    file: &File,
    path: &Path,
    target: &Path,
    final_info: Option<RunInfo>,
    mut progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, TraceError> {
    let length = file.metadata().map_err(TraceError::io("read", path))?.len();
    let mut walk = Walk::begin(file, path)?;
    let mut tallies: Vec<Tally> = walk.info.tasks.iter().map(|t| Tally::new(t.spec.period_ns)).collect();
    let mut output = RunFileWriter::create(target, tallies.len())?;
    while let Some(part) = walk.next()? {
        match part {
            Part::Info => {}
            Part::Rows(task, rows) => {
                rows.iter().for_each(|a| tallies[task].row(a));
                output.append(task, rows)?;
            }
            Part::Slice(slice) => {
                tallies[slice.task].slice(&slice);
                output.slice(&slice)?;
            }
        }
        progress(walk.good_bytes, length);
    }
    let info = final_info.unwrap_or_else(|| crashed(walk.info, &tallies, length - walk.good_bytes));
    let finished = output.finish(&info)?;
    std::fs::remove_file(path).map_err(TraceError::io("remove", path))?;
    sync_directory(path)?;
    Ok(finished)
}

/// The description of a run that was not closed.
fn crashed(mut info: RunInfo, tallies: &[Tally], cut_bytes: u64) -> RunInfo {
    if info.stop.is_none() {
        info.stop = Some(StopReason::Crashed);
        info.warnings.push("the run was not closed; it was recovered from its journal".into());
    }
    complete(&mut info, tallies, cut_bytes);
    info
}

/// Adds what the journal itself tells to the description of a run that was not closed.
pub(crate) fn complete(info: &mut RunInfo, tallies: &[Tally], cut_bytes: u64) {
    if cut_bytes > 0 {
        info.warnings.push(
            format!("the last {cut_bytes} bytes of the journal were incomplete and are left out").into(),
        );
    }
    for (task, tally) in info.tasks.iter_mut().zip(tallies) {
        if task.result.is_none() {
            task.result = tally.result();
        }
    }
}
