//! The journal while it is written: rows gather in memory, an own thread writes and syncs them.
//!
//! The thread that drains the rings only encodes into memory under a lock that is never held during a system call,
//! so a stalling disk does not stall it. What is waiting for the disk is bounded: beyond [`WAITING_LIMIT`] rows
//! are dropped and counted, as in a full ring.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jitterlab_model::{Activation, Flags, Keep, RunInfo};

use crate::TraceError;
use crate::codec::RowEncoder;
use crate::frame::{self, FrameReader, Kind};
use crate::spikes::{Slicer, SpikeFilter};

/// How long rows wait in memory at most before they are written.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// How long written data waits at most before it is synced to the disk.
const SYNC_EVERY: Duration = Duration::from_millis(500);
/// Rows in one frame at most.
const FRAME_ROWS: u32 = 1 << 14;
/// The writing thread is woken early when this much is waiting.
const WAITING_MANY: usize = 1 << 20;
/// More than this never waits for the disk (about 100 s of a 25 us task).
const WAITING_LIMIT: usize = 16 << 20;

/// What goes on of one task.
struct Lane {
    encoder: RowEncoder,
    spikes: Option<(SpikeFilter, Slicer)>,
    /// Rows dropped because too much was waiting.
    lost: u64,
    /// The next row follows dropped ones.
    gap: bool,
}

struct State {
    lanes: Vec<Lane>,
    /// Finished frames that wait for the disk.
    waiting: Vec<u8>,
    stop: bool,
    /// Why recording ended, until it was told.
    failure: Option<TraceError>,
    ended: bool,
}

impl Lane {
    fn seal(&mut self, task: usize, waiting: &mut Vec<u8>) {
        if self.encoder.rows() > 0 {
            frame::put(waiting, Kind::Rows, task, |out| self.encoder.take(out));
        }
        if let Some(piece) = self.spikes.as_mut().and_then(|(_, slicer)| slicer.take()) {
            frame::put(waiting, Kind::Slice, task, |out| {
                piece.encode(out);
                0
            });
        }
    }

    fn push(&mut self, task: usize, a: &Activation, waiting: &mut Vec<u8>) {
        match &mut self.spikes {
            None => self.encoder.push(a),
            Some((filter, slicer)) => {
                if let Some(slice) = slicer.push(a) {
                    frame::put(waiting, Kind::Slice, task, |out| {
                        slice.encode(out);
                        0
                    });
                }
                filter.push(a, |row| self.encoder.push(row));
            }
        }
        if self.encoder.rows() >= FRAME_ROWS {
            frame::put(waiting, Kind::Rows, task, |out| self.encoder.take(out));
        }
    }
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal being written.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Journal>>,
}

/// What is left when recording is over.
pub(crate) struct Recorded {
    pub(crate) journal: Journal,
    /// Rows of each task that were dropped because the disk was too slow.
    pub(crate) lost: Vec<u64>,
}

impl Recorder {
    /// Starts recording into `file`, which holds the preamble and the description already. The writing thread
    /// inherits the caller's processors.
    pub(crate) fn start(journal: Journal, info: &RunInfo) -> Result<Self, TraceError> {
        let lanes = info.tasks.iter().enumerate().map(|(task, t)| Lane {
            encoder: RowEncoder::new(t.spec.period_ns),
            spikes: match info.keep {
                Keep::All => None,
                Keep::Spikes { above_ns } => {
                    Some((SpikeFilter::new(above_ns), Slicer::new(task, t.spec.period_ns)))
                }
            },
            lost: 0,
            gap: false,
        });
        let state =
            State { lanes: lanes.collect(), waiting: Vec::new(), stop: false, failure: None, ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new() });
        let path = journal.path.clone();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || write_until_stopped(&theirs, journal))
            .map_err(TraceError::io("start the thread that writes", path))?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// Takes rows of one task; never waits for the disk.
    pub(crate) fn append(&self, task: usize, rows: &[Activation]) -> Result<(), TraceError> {
        let mut guard = self.shared.lock();
        let State { lanes, waiting, failure, ended, .. } = &mut *guard;
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        let tasks = lanes.len();
        let lane = lanes.get_mut(task).ok_or(TraceError::UnknownTask { task, tasks })?;
        if *ended {
            return Ok(());
        }
        let before = waiting.len();
        for a in rows {
            if waiting.len() >= WAITING_LIMIT {
                lane.lost += 1;
                lane.gap = true;
            } else if std::mem::take(&mut lane.gap) {
                let row = Activation { flags: a.flags.with(Flags::AFTER_GAP), ..*a };
                lane.push(task, &row, waiting);
            } else {
                lane.push(task, a, waiting);
            }
        }
        let many = before < WAITING_MANY && waiting.len() >= WAITING_MANY;
        drop(guard);
        if many {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Writes what waits, ends the thread and hands back the journal.
    pub(crate) fn stop(mut self) -> Option<Recorded> {
        let journal = self.join()?;
        let lost = self.shared.lock().lanes.iter().map(|l| l.lost).collect();
        Some(Recorded { journal, lost })
    }

    fn join(&mut self) -> Option<Journal> {
        self.shared.lock().stop = true;
        self.shared.wake.notify_one();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.join();
    }
}

/// The journal's file and how much of it is good.
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Length up to the end of the last whole frame.
    good_bytes: u64,
    rows: u64,
    /// Why recording ended before its time, as a sentence.
    pub(crate) ended: Option<String>,
}

impl Journal {
    /// Begins a journal: the preamble and the description, synced.
    pub(crate) fn begin(path: &Path, file: File, info: &RunInfo) -> Result<Self, TraceError> {
        let mut journal = Journal { path: path.into(), file, good_bytes: 0, rows: 0, ended: None };
        let mut bytes = frame::preamble();
        put_info(&mut bytes, info);
        journal
            .file
            .write_all(&bytes)
            .and_then(|()| journal.file.sync_all())
            .map_err(TraceError::io("write", path))?;
        journal.good_bytes = bytes.len() as u64;
        Ok(journal)
    }

    /// Appends the final description, so that nothing is missing if turning the journal into a run file fails.
    pub(crate) fn end(&mut self, info: &RunInfo) -> Result<(), TraceError> {
        let mut bytes = Vec::new();
        put_info(&mut bytes, info);
        self.write(&bytes)?;
        self.file.sync_data().map_err(TraceError::io("sync", &self.path))
    }

    /// Appends frames. If the disk takes only a part of them, the whole frames in it are kept.
    fn write(&mut self, frames: &[u8]) -> Result<(), TraceError> {
        let mut written = 0;
        let mut failure = None;
        while written < frames.len() {
            match self.file.write(&frames[written..]) {
                Ok(0) => failure = Some(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => failure = Some(e),
            }
            if failure.is_some() {
                break;
            }
        }
        let mut whole = FrameReader::new(&frames[..written]);
        let begin = whole.good_bytes();
        while let Ok(Some(frame)) = whole.next() {
            self.rows += frame.rows as u64;
        }
        self.good_bytes += whole.good_bytes() - begin;
        let Some(source) = failure else { return Ok(()) };
        // A cut frame at the end would hide what is appended after it. If this fails too, reading stops there.
        let _ = self.file.set_len(self.good_bytes);
        Err(self.failed(source))
    }

    fn failed(&self, source: io::Error) -> TraceError {
        let (path, rows) = (self.path.clone(), self.rows);
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => TraceError::DiskFull { path, rows },
            _ => TraceError::RecordingEnded { path, rows, source },
        }
    }

    /// Closing the run writes all of it once more: recording has to end while the disk still holds that.
    fn check_room(&self) -> Result<(), TraceError> {
        let needed = self.good_bytes + self.good_bytes / 8 + (256 << 10);
        match free_bytes(&self.path) {
            Some(free) if free < needed => Err(self.failed(io::ErrorKind::StorageFull.into())),
            _ => Ok(()),
        }
    }
}

/// What is free on the file's disk for this user; `None` if the system does not tell.
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(path).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "32-bit systems count in smaller types")]
    let (blocks, size, free) =
        (disk.blocks() as u64, disk.fragment_size() as u64, disk.blocks_available() as u64);
    (blocks > 0).then(|| free.saturating_mul(size))
}

fn put_info(bytes: &mut Vec<u8>, info: &RunInfo) {
    frame::put(bytes, Kind::Info, 0, |out| {
        // Writing a description of plain numbers and strings into memory cannot fail.
        let _ = serde_json::to_writer(out, info);
        0
    });
}

fn write_until_stopped(shared: &Shared, mut journal: Journal) -> Journal {
    let mut synced = Instant::now();
    let mut spare = Vec::new();
    loop {
        let mut guard = shared.lock();
        if !guard.stop && guard.waiting.len() < WAITING_MANY {
            guard = shared.wake.wait_timeout(guard, WRITE_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        let State { lanes, waiting, stop, .. } = &mut *guard;
        let stop = *stop;
        for (task, lane) in lanes.iter_mut().enumerate() {
            lane.seal(task, waiting);
        }
        let frames = std::mem::replace(waiting, std::mem::take(&mut spare));
        drop(guard);

        let mut outcome = journal.write(&frames);
        if outcome.is_ok() && (stop || synced.elapsed() >= SYNC_EVERY) {
            synced = Instant::now();
            outcome = journal.file.sync_data().map_err(|e| journal.failed(e));
            if !stop {
                outcome = outcome.and_then(|()| journal.check_room());
            }
        }
        if let Err(failure) = outcome {
            journal.ended = Some(failure.to_string());
            let mut state = shared.lock();
            state.failure = Some(failure);
            state.ended = true;
            return journal;
        }
        if stop {
            return journal;
        }
        spare = frames;
        spare.clear();
    }
}
