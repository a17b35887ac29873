//! Going through a journal part by part: to turn it into the run file, or to read it as it lies there.

use std::fs::{File, TryLockError};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use jitterlab_model::{Activation, RunInfo, StopReason};

use crate::TraceError;
use crate::codec;
use crate::convert::{check_preamble, parse_info};
use crate::frame::{Frame, FrameReader, Kind};
use crate::slices::Slice;
use crate::tally::Tally;

/// What a journal's frame holds.
pub(crate) enum Part<'a> {
    /// The description once more; [`Walk::info`] has it.
    Info,
    /// Activations of one task.
    Rows(usize, &'a [Activation]),
    /// A slice of one task.
    Slice(Slice),
}

/// Reads a journal from its begin to its end, or to where it is cut off or damaged.
pub(crate) struct Walk<'a> {
    path: &'a Path,
    frames: FrameReader<BufReader<&'a File>>,
    periods: Vec<i64>,
    rows: Vec<Activation>,
    /// The last description read.
    pub(crate) info: RunInfo,
    /// Bytes up to the end of the last part that was understood.
    pub(crate) good_bytes: u64,
}

impl<'a> Walk<'a> {
    /// Begins after the preamble, which has been checked, with the first description.
    pub(crate) fn begin(file: &'a File, path: &'a Path) -> Result<Self, TraceError> {
        let mut frames = FrameReader::new(BufReader::with_capacity(1 << 18, file));
        let info = match frames.next().map_err(TraceError::io("read", path))? {
            Some(Frame { kind: Kind::Info, payload, .. }) => parse_info(path, payload)?,
            _ => {
                let why = "its description was never written; nothing was recorded in it".into();
                return Err(TraceError::NotARunFile { path: path.into(), why });
            }
        };
        let periods = info.tasks.iter().map(|t| t.spec.period_ns).collect();
        let good_bytes = frames.good_bytes();
        Ok(Walk { path, frames, periods, rows: Vec::new(), info, good_bytes })
    }

    /// The next part; `None` at the end of what can be understood.
    pub(crate) fn next(&mut self) -> Result<Option<Part<'_>>, TraceError> {
        let Some(frame) = self.frames.next().map_err(TraceError::io("read", self.path))? else {
            return Ok(None);
        };
        let Some(&period_ns) = self.periods.get(frame.task) else { return Ok(None) };
        let part = match frame.kind {
            Kind::Info => {
                self.info = parse_info(self.path, frame.payload)?;
                Some(Part::Info)
            }
            Kind::Rows => {
                self.rows.clear();
                let limit = frame.rows.min(frame.payload.len());
                // What was decoded before the damage is kept all the same.
                let whole = codec::decode(frame.payload, period_ns, limit, &mut self.rows).is_some();
                let task = frame.task;
                if whole {
                    self.good_bytes = self.frames.good_bytes();
                } else {
                    self.periods.clear();
                }
                return Ok(Some(Part::Rows(task, &self.rows)));
            }
            Kind::Slice => Slice::decode(frame.task, frame.payload).map(Part::Slice),
        };
        if part.is_some() {
            self.good_bytes = self.frames.good_bytes();
        }
        Ok(part)
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
    /// Opens a journal and goes through it once: each task's counters are rebuilt from what was recorded.
    ///
    /// # Errors
    /// There is no such file, it is no journal, or it was written by a newer jitterlab.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(TraceError::io("open", path))?;
        let recording = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        if !recording {
            // Reading keeps nobody from recovering it; where locks are not supported there is none to give back.
            let _ = file.unlock();
        }
        check_preamble(&mut file, path)?;
        let mut walk = Walk::begin(&file, path)?;
        let mut tallies: Vec<Tally> = walk.periods.iter().map(|p| Tally::new(*p)).collect();
        let mut rows = vec![0; tallies.len()];
        let mut has_slices = false;
        while let Some(part) = walk.next()? {
            match part {
                Part::Info => {}
                Part::Rows(task, part) => {
                    rows[task] += part.len() as u64;
                    part.iter().for_each(|a| tallies[task].row(a));
                }
                Part::Slice(slice) => {
                    has_slices = true;
                    tallies[slice.task].slice(&slice);
                }
            }
        }
        let length = file.metadata().map_err(TraceError::io("read", path))?.len();
        let cut_bytes = if recording { 0 } else { length - walk.good_bytes };
        let mut info = walk.info;
        if !recording && info.stop.is_none() {
            info.stop = Some(StopReason::Crashed);
        }
        crate::convert::complete(&mut info, &tallies, cut_bytes);
        Ok(JournalReader { path: path.into(), info, rows, has_slices, recording })
    }

    /// The run's description as far as it is known.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Whether the run still goes on: what is read is what it has recorded until now.
    pub fn is_recording(&self) -> bool {
        self.recording
    }

    /// Activations of each task in it.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Whether it holds slices instead of all activations (see [`Keep::Spikes`](jitterlab_model::Keep)).
    pub fn has_slices(&self) -> bool {
        self.has_slices
    }

    /// Hands all activations to `visit`, batch by batch, with the number of their task.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_each_batch(&self, mut visit: impl FnMut(usize, &[Activation])) -> Result<(), TraceError> {
        self.walk(|part| {
            if let Part::Rows(task, rows) = part {
                visit(task, rows);
            }
        })
    }

    /// Hands all slices to `visit`, each task's in order of time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_each_slice(&self, mut visit: impl FnMut(&Slice)) -> Result<(), TraceError> {
        self.walk(|part| {
            if let Part::Slice(slice) = part {
                visit(&slice);
            }
        })
    }

    fn walk(&self, mut visit: impl FnMut(Part<'_>)) -> Result<(), TraceError> {
        let mut file = File::open(&self.path).map_err(TraceError::io("open", &self.path))?;
        check_preamble(&mut file, &self.path)?;
        let mut walk = Walk::begin(&file, &self.path)?;
        // A run that goes on has recorded more since it was opened; it stays what it was then.
        let mut left = self.rows.clone();
        while let Some(part) = walk.next()? {
            match part {
                Part::Rows(task, rows) => {
                    let now = rows.len().min(usize::try_from(left[task]).unwrap_or(usize::MAX));
                    left[task] -= now as u64;
                    visit(Part::Rows(task, &rows[..now]));
                }
                other => visit(other),
            }
        }
        Ok(())
    }
}
