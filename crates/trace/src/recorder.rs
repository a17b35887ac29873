//! Recording: rows gather in memory, one thread writes them to the journal, another syncs that to the disk.
//!
//! The thread that drains the rings only encodes into memory under a lock that is never held during a system call,
//! so a stalling disk does not stall it. A slow sync does not stall the writing either, so that a killed process
//! loses little even then. The data waiting for the disk are bounded: beyond [`WAITING_LIMIT`] rows are dropped and
//! counted, as in a full ring.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jitterlab_model::{Activation, Error, Flags, Keep, RunInfo};

use crate::codec::RowEncoder;
use crate::error::{recording_ended, unknown_task};
use crate::frame::{self, FrameKind};
use crate::journal::{Journal, put_info};
use crate::own_file::{self, OwnFile};
use crate::spikes::{Slicer, SpikeFilter};

/// Longest time that rows wait in memory before they are written.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// Longest time that written data wait before they are synced to the disk.
const SYNC_EVERY: Duration = Duration::from_millis(300);
/// Longest time that rows wait in recordings of months: they wake the machine seldom, and wear its flash memory little.
const WRITE_SELDOM: Duration = Duration::from_millis(500);
/// Longest time that written data wait in recordings of months.
const SYNC_SELDOM: Duration = Duration::from_secs(10);
/// Interval between checks that the threads have ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Rows in one frame at most.
const FRAME_ROWS: u32 = 1 << 14;
/// The writing thread is woken early when this much is waiting.
const WAITING_MANY: usize = 1 << 20;
/// More than this never waits for the disk (about 100 s of a 25 us task).
const WAITING_LIMIT: usize = 16 << 20;

/// State of the recording of one task.
struct TaskRecording {
    encoder: RowEncoder,
    spikes: Option<(SpikeFilter, Slicer)>,
    /// Rows dropped because too much was waiting.
    lost: u64,
    /// The next row follows dropped ones.
    gap: bool,
}

struct RecorderState {
    tasks: Vec<TaskRecording>,
    /// Finished frames that wait for the disk.
    waiting: Vec<u8>,
    /// Rows in the journal.
    written_rows: u64,
    /// Causes that there was no room for.
    held_causes: Option<Vec<u8>>,
    /// Times after which is written and synced.
    every: (Duration, Duration),
    stop: bool,
    /// Failure that ended recording early, until the caller got it.
    failure: Option<Error>,
    /// The failure as a sentence, permanently.
    ended: Option<String>,
}

impl RecorderState {
    fn put_causes(&mut self, bytes: &[u8]) {
        if self.ended.is_none() {
            frame::put_frame(&mut self.waiting, FrameKind::Causes, 0, |out| {
                out.extend(bytes);
                0
            });
        }
    }
}

impl TaskRecording {
    /// Appends the gathered rows to `waiting`; a slice only every other time, unless it is the `last` time.
    fn flush_rows(&mut self, task: usize, last: bool, waiting: &mut Vec<u8>) {
        if self.encoder.row_count() > 0 {
            frame::put_frame(waiting, FrameKind::Rows, task, |out| self.encoder.take_bytes(out));
        }
        if let Some(piece) =
            self.spikes.as_mut().and_then(|(_, s)| if last { s.take() } else { s.take_piece() })
        {
            frame::put_frame(waiting, FrameKind::Slice, task, |out| {
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
                    frame::put_frame(waiting, FrameKind::Slice, task, |out| {
                        slice.encode(out);
                        0
                    });
                }
                filter.push(a, |row| self.encoder.push(row));
            }
        }
        if self.encoder.row_count() >= FRAME_ROWS {
            frame::put_frame(waiting, FrameKind::Rows, task, |out| self.encoder.take_bytes(out));
        }
    }
}

struct Shared {
    state: Mutex<RecorderState>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `awake` holds or the time is over.
    fn wait_until(
        &self,
        time: Duration,
        awake: impl Fn(&RecorderState) -> bool,
    ) -> MutexGuard<'_, RecorderState> {
        let waited = self.wake.wait_timeout_while(self.lock(), time, |state| !awake(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Ends recording with a failure, which the caller gets at its next call.
    fn fail(&self, failure: Error) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(failure.to_string());
            state.failure = Some(failure);
        }
    }
}

/// The journal being written.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    writing: Option<JoinHandle<Journal>>,
    syncing: Option<JoinHandle<()>>,
}

/// Result of a recording.
pub(crate) struct Recorded {
    pub(crate) journal: Journal,
    /// Rows of each task that were dropped because the disk was too slow.
    pub(crate) lost: Vec<u64>,
    /// Reason for an early end of recording, as a sentence.
    pub(crate) ended: Option<String>,
}

impl Recorder {
    /// Starts recording into `journal`, which holds the preamble and the description already. The writing thread
    /// inherits the caller's processors.
    pub(crate) fn start(journal: Journal, info: &RunInfo) -> Result<Self, Error> {
        let tasks = info.tasks.iter().enumerate().map(|(task, t)| TaskRecording {
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
        let state = RecorderState {
            tasks: tasks.collect(),
            waiting: Vec::new(),
            written_rows: 0,
            held_causes: None,
            every: (WRITE_EVERY, SYNC_EVERY),
            stop: false,
            failure: None,
            ended: None,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new() });
        let path = journal.path.clone();
        let file = journal.file.try_clone().map_err(Error::file("sync", &path))?;
        let mut recorder = Recorder { shared, writing: None, syncing: None };
        let shared = Arc::clone(&recorder.shared);
        recorder.writing = Some(spawn("journal", &path, move || write_until_stopped(&shared, journal))?);
        let shared = Arc::clone(&recorder.shared);
        let name = path.clone();
        recorder.syncing =
            Some(spawn("journal sync", &path, move || sync_until_stopped(&shared, &file, &name))?);
        Ok(recorder)
    }

    /// Takes rows of one task; never waits for the disk.
    pub(crate) fn append(&self, task: usize, rows: &[Activation]) -> Result<(), Error> {
        let mut guard = self.shared.lock();
        let RecorderState { tasks, waiting, failure, ended, .. } = &mut *guard;
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        let count = tasks.len();
        let task_state = tasks.get_mut(task).ok_or_else(|| unknown_task(task, count))?;
        if ended.is_some() {
            return Ok(());
        }
        let before = waiting.len();
        for a in rows {
            if waiting.len() >= WAITING_LIMIT {
                task_state.lost += 1;
                task_state.gap = true;
            } else if std::mem::take(&mut task_state.gap) {
                let row = Activation { flags: a.flags.with(Flags::AFTER_GAP), ..*a };
                task_state.push(task, &row, waiting);
            } else {
                task_state.push(task, a, waiting);
            }
        }
        let many = before < WAITING_MANY && waiting.len() >= WAITING_MANY;
        drop(guard);
        if many {
            self.shared.wake.notify_all();
        }
        Ok(())
    }

    /// Appends the description as it is known now.
    pub(crate) fn put_description(&self, info: &RunInfo) {
        let mut state = self.shared.lock();
        if state.ended.is_none() && state.waiting.len() < WAITING_LIMIT {
            put_info(&mut state.waiting, info, 0);
        }
    }

    /// Appends the causes of late activations until now, as stored in a journal. Where too much waits for the disk, the
    /// last are written at the end.
    pub(crate) fn put_causes(&self, bytes: Vec<u8>) {
        let mut state = self.shared.lock();
        match state.waiting.len() < WAITING_LIMIT {
            true => {
                state.held_causes = None;
                state.put_causes(&bytes);
            }
            false => state.held_causes = Some(bytes),
        }
    }

    /// Writes twice a second and syncs every ten seconds from now on.
    pub(crate) fn write_seldom(&self) {
        self.shared.lock().every = (WRITE_SELDOM, SYNC_SELDOM);
    }

    /// Bytes that wait for the disk.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Writes the waiting data, ends the threads, and returns the journal and the losses; `None` if the writer died.
    /// `waiting` is called now and then with the number of waiting bytes.
    pub(crate) fn stop(mut self, mut waiting: impl FnMut(u64)) -> Option<Recorded> {
        {
            let mut state = self.shared.lock();
            if let Some(bytes) = state.held_causes.take() {
                state.put_causes(&bytes);
            }
        }
        self.end_threads();
        let run_on = |recorder: &Self| {
            let writes = recorder.writing.as_ref().is_some_and(|thread| !thread.is_finished());
            writes || recorder.syncing.as_ref().is_some_and(|thread| !thread.is_finished())
        };
        // A disk that stalls, or a thread that somebody stopped, may hold them up for long.
        while run_on(&self) {
            std::thread::sleep(LOOK_EVERY);
            waiting(self.waiting_bytes() as u64);
        }
        let journal = self.join_threads()?;
        let mut state = self.shared.lock();
        let lost = state.tasks.iter().map(|l| l.lost).collect();
        Some(Recorded { journal, lost, ended: state.ended.take() })
    }

    fn end_threads(&self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
    }

    fn join_threads(&mut self) -> Option<Journal> {
        self.end_threads();
        let journal = self.writing.take().and_then(|thread| thread.join().ok());
        self.syncing.take().map(JoinHandle::join);
        journal
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.join_threads();
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    path: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let thread = std::thread::Builder::new().name(name.into());
    let work = move || {
        own_file::outlive_file_limits();
        work()
    };
    thread.spawn(work).map_err(Error::file("start the writer of", path))
}

fn write_until_stopped(shared: &Shared, mut journal: Journal) -> Journal {
    let mut spare = Vec::new();
    loop {
        let (every, _) = shared.lock().every;
        let mut guard = shared.wait_until(every, |s| s.stop || s.waiting.len() >= WAITING_MANY);
        let RecorderState { tasks, waiting, stop, ended, .. } = &mut *guard;
        if ended.is_some() {
            return journal;
        }
        let stop = *stop;
        for (task, task_state) in tasks.iter_mut().enumerate() {
            task_state.flush_rows(task, stop, waiting);
        }
        let frames = std::mem::replace(waiting, std::mem::take(&mut spare));
        drop(guard);

        let mut outcome = journal.write_frames(&frames);
        shared.lock().written_rows = journal.rows;
        if stop {
            outcome = outcome.and_then(|()| journal.sync());
        } else {
            outcome = outcome.and_then(|()| journal.check_room());
        }
        if let Err(failure) = outcome {
            shared.fail(failure);
            return journal;
        }
        if stop {
            return journal;
        }
        spare = frames;
        spare.clear();
    }
}

fn sync_until_stopped(shared: &Shared, file: &OwnFile, path: &Path) {
    loop {
        let (_, every) = shared.lock().every;
        if shared.wait_until(every, |s| s.stop).stop {
            return;
        }
        if let Err(source) = file.checked().and_then(File::sync_data) {
            let rows = shared.lock().written_rows;
            shared.fail(recording_ended(path, rows, source));
            return;
        }
    }
}
