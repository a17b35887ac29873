//! Going through a journal part by part: to turn it into the run file, or to read it as it lies there.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use jitterlab_model::bounds::{check_due_times, check_numbers, check_times};
use jitterlab_model::{Activation, Error, Flags, Gap, RunCauses, RunInfo, StopReason, TaskRun};

use crate::causes;
use crate::codec;
use crate::description::{newer_format, parse_info};
use crate::error::{bad_causes, not_a_run_file};
use crate::frame::{self, Frame, FrameKind, MAGIC, PREAMBLE, VERSION, is_journal};
use crate::paths::is_journal_name;
use crate::salvage::{FrameSalvager, Skipped};
use crate::slices::Slice;
use crate::tally::Tally;

/// Content of a journal's frame.
pub(crate) enum JournalPart<'a> {
    /// The description once more; [`JournalParts::info`] has it.
    Info,
    /// Activations of one task.
    Rows(usize, &'a [Activation]),
    /// A slice of one task.
    Slice(Box<Slice>),
    /// Causes of late activations until then, as stored in files.
    Causes(&'a [u8]),
}

/// Reads a journal from its begin to its end, around its damage.
pub(crate) struct JournalParts<'a> {
    path: &'a Path,
    frames: FrameSalvager<'a>,
    tasks: Vec<TaskProgress>,
    rows: Vec<Activation>,
    causes: Vec<u8>,
    /// Damaged parts that the tasks know of.
    gaps: usize,
    /// The last description read.
    info: RunInfo,
}

/// State of one task while its journal is read.
struct TaskProgress {
    period_ns: i64,
    tally: Tally,
    last: Option<Activation>,
    /// Something could not be read since its last row.
    after_skip: bool,
}

impl TaskProgress {
    fn new(period_ns: i64) -> Self {
        TaskProgress { period_ns, tally: Tally::new(period_ns), last: None, after_skip: false }
    }

    /// Cuts off the rows from the first impossible one on; true if there was none.
    fn truncate_impossible(&self, rows: &mut Vec<Activation>, has_own_due_times: bool) -> bool {
        let possible = |rows: &[Activation], last: Option<&Activation>| {
            check_times(rows).is_ok()
                && check_numbers(rows, last).is_ok()
                && (!has_own_due_times || check_due_times(rows, last).is_ok())
        };
        if possible(rows, self.last.as_ref()) {
            return true;
        }
        let mut last = self.last;
        let next = |a: &&Activation| possible(std::slice::from_ref(*a), last.replace(**a).as_ref());
        let good = rows.iter().take_while(next).count();
        rows.truncate(good);
        false
    }

    /// Counts rows, and marks the first after a damaged part if rows are missing before it.
    fn add_rows(&mut self, rows: &mut [Activation]) {
        let Some(first) = rows.first_mut() else { return };
        let index = first.index;
        let follows = |last: &Activation| index.wrapping_sub(last.index) == 1 + u64::from(last.missed);
        let all_there = self.last.as_ref().map_or(index == 0, follows);
        if std::mem::take(&mut self.after_skip) && !all_there {
            first.flags = first.flags.with(Flags::AFTER_GAP);
        }
        rows.iter().for_each(|a| self.tally.add_row(a));
        self.last = rows.last().copied();
    }
}

impl<'a> JournalParts<'a> {
    /// Opens a journal, to be read from behind its first whole description.
    pub(crate) fn begin(file: &'a File, path: &'a Path) -> Result<Self, Error> {
        let read_error = |e: io::Error| Error::file("read", path)(e);
        let mut preamble = vec![0; PREAMBLE];
        let length = file.read_at(&mut preamble, 0).map_err(read_error)?;
        preamble.truncate(length);
        if let Some(&[low, high]) = preamble.strip_prefix(&MAGIC[..]) {
            let found = u16::from_le_bytes([low, high]);
            if found > VERSION {
                return Err(newer_format(path, u32::from(found), u32::from(VERSION)));
            }
        }
        let not = || not_a_run_file(path, why_no_journal(&preamble));
        let mut frames = FrameSalvager::new(file).map_err(read_error)?;
        // A file with neither the beginning nor the name of a journal is one only if it goes on as one.
        if !is_journal(&preamble)
            && !is_journal_name(path)
            && !frames.has_whole_first_frame().map_err(read_error)?
        {
            return Err(not());
        }
        if preamble != frame::preamble() {
            frames.note_skipped(Skipped { at: 0, bytes: PREAMBLE as u64, rows: None });
        }
        loop {
            let (at, bytes, rows) = match frames.next().map_err(read_error)? {
                Some((_, Frame { kind: FrameKind::Info, payload, .. })) => {
                    let info = parse_info(path, payload)?;
                    let tasks = info.tasks.iter().map(|t| TaskProgress::new(t.spec.period_ns)).collect();
                    return Ok(JournalParts {
                        path,
                        frames,
                        tasks,
                        rows: Vec::new(),
                        causes: Vec::new(),
                        gaps: 0,
                        info,
                    });
                }
                Some((at, frame)) => (at, frame.byte_length(), frame.rows as u64),
                None => return Err(not()),
            };
            // Without a description its times are unknown.
            frames.note_skipped(Skipped { at, bytes, rows: Some(rows) });
        }
    }

    /// The next part; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<JournalPart<'_>>, Error> {
        let (task, slice) = loop {
            let Some((at, frame)) = self.frames.next().map_err(Error::file("read", self.path))? else {
                return Ok(None);
            };
            let (kind, task, count) = (frame.kind, frame.task, frame.rows);
            let bytes = frame.byte_length();
            let (mut whole, mut slice) = (false, None);
            self.rows.clear();
            match (kind, self.tasks.get(task)) {
                (FrameKind::Info, _) => {
                    self.info = parse_info(self.path, frame.payload)?;
                    return Ok(Some(JournalPart::Info));
                }
                (FrameKind::Causes, _) => {
                    self.causes = frame.payload.to_vec();
                    return Ok(Some(JournalPart::Causes(&self.causes)));
                }
                (_, None) => {}
                (FrameKind::Rows, Some(task_state)) => {
                    let limit = count.min(frame.payload.len());
                    // Rows decoded before an impossible one are kept.
                    whole =
                        codec::decode(frame.payload, task_state.period_ns, limit, &mut self.rows).is_some();
                    let own = self.info.tasks.get(task).is_some_and(TaskRun::has_own_due_times);
                    whole &= task_state.truncate_impossible(&mut self.rows, own);
                }
                (FrameKind::Slice, Some(_)) => {
                    slice = Slice::decode(task, frame.payload).filter(|slice| slice.check_bounds().is_ok());
                    whole = slice.is_some();
                }
            }
            if !whole {
                let rows = (kind == FrameKind::Rows).then(|| count.saturating_sub(self.rows.len()) as u64);
                self.frames.note_skipped(Skipped { at, bytes, rows });
            }
            if self.frames.skipped().len() > self.gaps {
                self.gaps = self.frames.skipped().len();
                self.tasks.iter_mut().for_each(|task_state| task_state.after_skip = true);
            }
            if let Some(task_state) = self.tasks.get_mut(task) {
                task_state.add_rows(&mut self.rows);
                slice.iter().for_each(|slice| task_state.tally.add_slice(slice));
            }
            if slice.is_some() || !self.rows.is_empty() {
                break (task, slice);
            }
        };
        Ok(Some(match slice {
            Some(slice) => JournalPart::Slice(Box::new(slice)),
            None => JournalPart::Rows(task, &self.rows),
        }))
    }

    /// The number of tasks.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the position of reading, and the length.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.frames.progress()
    }

    /// Returns the ranges that could not be read so far.
    pub(crate) fn skipped(&self) -> &[Skipped] {
        self.frames.skipped()
    }

    /// Returns the description; if the run did not end, missing counters are rebuilt from the records. These lack the
    /// losses at the end.
    pub(crate) fn completed_info(&self) -> RunInfo {
        let mut info = self.info.clone();
        if info.stop.is_some() {
            return info;
        }
        for (task, task_state) in info.tasks.iter_mut().zip(&self.tasks) {
            if task.result.is_none() {
                task.result = task_state.tally.result();
                task.add_gap(Gap::Lost);
                task.add_gaps_of_lost_records();
            }
        }
        info
    }
}

/// Reason why a file without a description is no journal that can be read.
fn why_no_journal(preamble: &[u8]) -> Error {
    match preamble.strip_prefix(&MAGIC[..]) {
        Some([_, _]) => Error::damaged(
            "its description was never written, or is damaged; nothing can be recovered \
             from it",
        ),
        Some(_) => Error::damaged("it ends before its first line; nothing was recorded in it"),
        None if preamble.starts_with(b"PAR1") => {
            Error::damaged("only journals (NAME.part) are recovered, and this is a Parquet file already")
        }
        None => Error::damaged("it does not begin as a journal does"),
    }
}

/// The journal of a run that is not closed, opened to be read as it lies there; it stays as it is.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    info: RunInfo,
    rows: Vec<u64>,
    has_slices: bool,
    recording: bool,
}

impl JournalReader {
    /// Opens a journal and reads it once: each task's counters are rebuilt from the records.
    ///
    /// # Errors
    /// There is no such file, it is no journal, or it was written by a newer jitterlab.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::file("open", path))?;
        let recording = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        if !recording {
            // Reading keeps nobody from recovering it; where locks are not supported there is none to give back.
            let _ = file.unlock();
        }
        let mut walk = JournalParts::begin(&file, path)?;
        let mut rows = vec![0; walk.task_count()];
        let mut has_slices = false;
        while let Some(part) = walk.next()? {
            match part {
                JournalPart::Info | JournalPart::Causes(_) => {}
                JournalPart::Rows(task, part) => rows[task] += part.len() as u64,
                JournalPart::Slice(_) => has_slices = true,
            }
        }
        let mut info = walk.completed_info();
        if !recording && info.stop.is_none() {
            info.stop = Some(StopReason::Crashed);
        }
        // Data that is being written at this moment is not whole yet.
        let (_, length) = walk.progress();
        let damaged = walk.skipped().iter().filter(|s| !recording || s.at + s.bytes < length);
        info.warnings.extend(damaged.map(|s| s.warning()));
        Ok(JournalReader { path: path.into(), info, rows, has_slices, recording })
    }

    /// The run's description as far as it is known.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Returns true if the run still goes on: only its records until now are read.
    pub fn is_recording(&self) -> bool {
        self.recording
    }

    /// Activations of each task in it.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Returns true if it holds slices instead of all activations (see [`Keep::Spikes`](jitterlab_model::Keep)).
    pub fn has_slices(&self) -> bool {
        self.has_slices
    }

    /// Hands all activations to `visit`, batch by batch, with the number of their task.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_each_batch(&self, mut visit: impl FnMut(usize, &[Activation])) -> Result<(), Error> {
        self.for_each_part(|part| {
            if let JournalPart::Rows(task, rows) = part {
                visit(task, rows);
            }
        })
    }

    /// Hands all slices to `visit`, each task's in order of time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_each_slice(&self, mut visit: impl FnMut(&Slice)) -> Result<(), Error> {
        self.for_each_part(|part| {
            if let JournalPart::Slice(slice) = part {
                visit(&slice);
            }
        })
    }

    /// Returns the causes of late activations as written last; `None` if the kernel's events were not recorded.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn causes(&self) -> Result<Option<RunCauses>, Error> {
        let mut last = None;
        self.for_each_part(|part| {
            if let JournalPart::Causes(bytes) = part {
                last = Some(bytes.to_vec());
            }
        })?;
        last.map(|bytes| causes::decode(&bytes)).transpose().map_err(|e| bad_causes(&self.path, e))
    }

    fn for_each_part(&self, mut visit: impl FnMut(JournalPart<'_>)) -> Result<(), Error> {
        let file = File::open(&self.path).map_err(Error::file("open", &self.path))?;
        let mut walk = JournalParts::begin(&file, &self.path)?;
        // A run that goes on has recorded more since it was opened; this reader ends where it was then.
        let mut left = self.rows.clone();
        while let Some(part) = walk.next()? {
            match part {
                JournalPart::Rows(task, rows) => {
                    let now = rows.len().min(usize::try_from(left[task]).unwrap_or(usize::MAX));
                    left[task] -= now as u64;
                    visit(JournalPart::Rows(task, &rows[..now]));
                }
                other => visit(other),
            }
        }
        Ok(())
    }
}
