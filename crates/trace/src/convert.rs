//! Turning a journal into the run file: when a run is closed, and when a crash left the journal behind.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::warning::Warning;
use jitterlab_model::{Activation, Flags, RunInfo, StopReason};

use crate::codec;
use crate::frame::{self, HEADER, Kind, MAGIC, PREAMBLE, VERSION};
use crate::paths::{is_journal_name, sync_directory, target_of};
use crate::place::check_free;
use crate::salvage::{Salvage, Skipped};
use crate::slices::Slice;
use crate::table::RunFileWriter;
use crate::tally::Tally;
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
    /// Parts of the journal that could not be read, and are missing here.
    pub skipped: Vec<Skipped>,
    /// The journal, where it was kept: because parts of it could not be read, or because it is a copy under another
    /// name than that of a journal.
    pub journal: Option<PathBuf>,
}

/// Turns the journal of a run that was not closed into its run file, which gets the journal's name without
/// `.part`. The name of the run file itself will do too.
///
/// Parts that are damaged, such as a cut-off end, are left out and named in the result. The run is described as
/// crashed, and each task's counters are rebuilt from what was recorded. The journal is removed when the run file is
/// safe on the disk, but only if all of it was read.
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
    let file = File::open(journal).map_err(TraceError::io("open", journal))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(TraceError::StillRecording(journal.into()));
    }
    check_free(target)?;
    convert(&file, journal, target, None, progress)
}

/// Turns a journal that was closed properly into the run file.
pub(crate) fn close_journal(
    file: &File,
    journal: &Path,
    target: &Path,
    info: RunInfo,
    progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, TraceError> {
    convert(file, journal, target, Some(info), progress)
}

/// Whether these are the first bytes of a journal.
pub(crate) fn is_journal(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// Why a file without a description is no journal that can be read.
fn no_journal(preamble: &[u8]) -> &'static str {
    match preamble.strip_prefix(&MAGIC[..]) {
        Some([_, _]) => "its description was never written, or is damaged; nothing can be recovered from it",
        Some(_) => "it ends before its first line; nothing was recorded in it",
        None if preamble.starts_with(b"PAR1") => {
            "only journals (NAME.part) are recovered, and this is a Parquet file already"
        }
        None => "it does not begin as a journal does",
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
    serde_json::from_slice(json).map_err(damaged)
}

/// The first bytes of a file.
fn beginning(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; PREAMBLE];
    let length = file.read_at(&mut bytes, 0)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn convert(
    file: &File,
    path: &Path,
    target: &Path,
    final_info: Option<RunInfo>,
    mut progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, TraceError> {
    let read_error = |e: io::Error| TraceError::io("read", path)(e);
    let preamble = beginning(file).map_err(read_error)?;
    if let Some(&[low, high]) = preamble.strip_prefix(&MAGIC[..]) {
        let found = u16::from_le_bytes([low, high]);
        if found > VERSION {
            return Err(newer(path, u32::from(found), u32::from(VERSION)));
        }
    }
    let mut last_info = description(file, path, &preamble)?;
    let periods: Vec<i64> = last_info.tasks.iter().map(|t| t.spec.period_ns).collect();
    let mut lanes: Vec<Lane> = periods.iter().map(|p| Lane::new(*p)).collect();
    let mut output = RunFileWriter::create(target, periods.len())?;
    let mut rows = Vec::new();
    let mut frames = Salvage::new(file).map_err(read_error)?;
    if preamble != frame::preamble() {
        frames.skip(Skipped { at: 0, bytes: PREAMBLE as u64, rows: None });
    }
    let mut gaps = frames.skipped().len();
    while let Some((at, frame)) = frames.next().map_err(read_error)? {
        let (kind, task, count) = (frame.kind, frame.task, frame.rows);
        let bytes = HEADER as u64 + frame.payload.len() as u64;
        rows.clear();
        let understood = match (kind, lanes.get_mut(task)) {
            (Kind::Info, _) => {
                last_info = parse_info(path, frame.payload)?;
                true
            }
            (_, None) => false,
            (Kind::Rows, Some(lane)) => {
                let limit = count.min(frame.payload.len());
                codec::decode(frame.payload, lane.period_ns, limit, &mut rows).is_some()
            }
            (Kind::Slice, Some(lane)) => match Slice::decode(task, frame.payload) {
                Some(slice) => {
                    lane.tally.slice(&slice);
                    output.slice(&slice)?;
                    true
                }
                None => false,
            },
        };
        if !understood {
            let lost = (kind == Kind::Rows).then(|| (count - rows.len().min(count)) as u64);
            frames.skip(Skipped { at, bytes, rows: lost });
        }
        if frames.skipped().len() > gaps {
            gaps = frames.skipped().len();
            lanes.iter_mut().for_each(|lane| lane.after_skip = true);
        }
        if let (Some(first), Some(lane)) = (rows.first_mut(), lanes.get_mut(task)) {
            lane.mark(first);
            rows.iter().for_each(|a| lane.tally.row(a));
            lane.last = rows.last().copied();
            output.append(task, &rows)?;
        }
        let (done, of) = frames.progress();
        progress(done, of);
    }
    let skipped = frames.skipped().to_vec();
    let mut info = final_info.unwrap_or_else(|| crashed(last_info, &lanes));
    info.warnings.extend(skipped.iter().map(|s| Warning::JournalDamaged {
        at: s.at,
        bytes: s.bytes,
        rows: s.rows,
    }));
    let finished = output.finish(&info)?;
    if skipped.is_empty() && is_journal_name(path) {
        std::fs::remove_file(path).map_err(TraceError::io("remove", path))?;
        sync_directory(path)?;
        return Ok(finished);
    }
    Ok(FinishedRun { skipped, journal: Some(path.into()), ..finished })
}

/// The description that a journal begins with: the first that is whole.
fn description(file: &File, path: &Path, preamble: &[u8]) -> Result<RunInfo, TraceError> {
    let read_error = |e: io::Error| TraceError::io("read", path)(e);
    let why = no_journal(preamble);
    let not = || TraceError::NotARunFile { path: path.into(), why: why.into() };
    let mut frames = Salvage::new(file).map_err(read_error)?;
    // What does not begin as a journal is one only if it goes on as one.
    if !is_journal(preamble) && !frames.begins_whole().map_err(read_error)? {
        return Err(not());
    }
    while let Some((_, frame)) = frames.next().map_err(read_error)? {
        if frame.kind == Kind::Info {
            return parse_info(path, frame.payload);
        }
    }
    Err(not())
}

/// What is known of one task while its journal is read.
struct Lane {
    period_ns: i64,
    tally: Tally,
    last: Option<Activation>,
    /// Something could not be read since its last row.
    after_skip: bool,
}

impl Lane {
    fn new(period_ns: i64) -> Self {
        Lane { period_ns, tally: Tally::new(period_ns), last: None, after_skip: false }
    }

    /// Says of the first row after a damaged part that rows are missing before it, if they are.
    fn mark(&mut self, row: &mut Activation) {
        if !std::mem::take(&mut self.after_skip) {
            return;
        }
        let follows = self
            .last
            .is_some_and(|last| row.index == last.index.wrapping_add(1).wrapping_add(u64::from(last.missed)));
        if !follows {
            row.flags = row.flags.with(Flags::AFTER_GAP);
        }
    }
}

/// The description of a run that was not closed.
fn crashed(mut info: RunInfo, lanes: &[Lane]) -> RunInfo {
    if info.stop.is_none() {
        info.stop = Some(StopReason::Crashed);
        info.warnings.push(Warning::Recovered);
    }
    for (task, lane) in info.tasks.iter_mut().zip(lanes) {
        if task.result.is_none() {
            task.result = lane.tally.result();
        }
    }
    info
}
