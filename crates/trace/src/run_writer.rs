//! Recording a run while it is measured.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use jitterlab_model::warning::Warning;
use jitterlab_model::{Activation, Error, RunCauses, RunInfo};

use crate::atomic_file::{FileContent, check_name_free, detect_content};
use crate::causes;
use crate::error::{FileProblem, already_exists, being_recorded, run_not_closed};
use crate::journal::Journal;
use crate::paths::{journal_path, numbered_path, sync_directory};
use crate::recorder::Recorder;
use crate::recover::{close_journal, error_with_records_saved};
use crate::run_file_writer::FinishedRun;

/// Records one run into a file.
///
/// Activations go to the journal `NAME.part` first, which loses at most the last second to a killed process or a
/// power loss; [`RunWriter::finish`] turns it into the run file. A writer that is dropped instead leaves the
/// journal for [`recover`](crate::recover).
///
/// ```
/// # use jitterlab_model::{Activation, RunInfo, TaskSpec};
/// # use jitterlab_trace::{RunReader, RunWriter};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("run.parquet");
/// let info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
/// let mut writer = RunWriter::create(&path, &info)?;
/// writer.append(0, &[Activation { start_ns: 2_300, end_ns: 2_330, ..Activation::default() }])?;
/// let finished = writer.finish(info)?;
/// assert_eq!(finished.rows, 1);
/// assert_eq!(RunReader::open(&finished.path)?.rows(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct RunWriter {
    path: PathBuf,
    recorder: Recorder,
}

impl RunWriter {
    /// Begins recording: creates the journal next to `path` and writes the description as it is known now.
    ///
    /// The thread that writes the journal inherits the processors of the caller: call this from a thread that is
    /// kept off the measured ones.
    ///
    /// # Errors
    /// The directory is missing or not writable, or `path` or its journal exists already: a measurement is never
    /// overwritten.
    pub fn create(path: impl AsRef<Path>, info: &RunInfo) -> Result<Self, Error> {
        let path = path.as_ref();
        check_name_free(path)?;
        let journal = journal_path(path);
        // The lock shows `recover` that the run is not over, and decides between two that begin at once. A file system
        // without locks has none.
        let file = match File::options().read(true).write(true).create_new(true).open(&journal) {
            Ok(file) => match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(being_recorded(path)),
                _ => file,
            },
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                take_over_empty_journal(&journal).ok_or_else(|| name_taken(path, &journal))?
            }
            Err(e) => return Err(Error::file("create", &journal)(e)),
        };
        // A run of the same name may have ended between the first look and the journal.
        let recorder = check_name_free(path)
            .and_then(|()| Journal::begin(&journal, file, info))
            .and_then(|journal| Recorder::start(journal, info))
            .and_then(|recorder| sync_directory(&journal).map(|()| recorder));
        if recorder.is_err() {
            let _ = std::fs::remove_file(&journal);
        }
        let recorder = recorder?;
        Ok(RunWriter { path: path.into(), recorder })
    }

    /// Begins recording under this name or, where it is taken, the next free one: `NAME-2.parquet` and so on.
    ///
    /// # Errors
    /// As [`RunWriter::create`].
    pub fn create_numbered(path: impl AsRef<Path>, info: &RunInfo) -> Result<Self, Error> {
        let path = path.as_ref();
        let mut number = 1;
        loop {
            match Self::create(numbered_path(path, number), info) {
                Err(error) if number < 1000 && is_taken(&error) => number += 1,
                begun => return begun,
            }
        }
    }

    /// Writes twice a second and syncs every ten seconds, for recordings of months. A killed process may lose its last
    /// second, a power loss the last ten.
    pub fn write_seldom(&mut self) {
        self.recorder.write_seldom();
    }

    /// Takes activations of one task, in their order. Never waits for the disk: if that falls behind by more than
    /// 16 MiB, activations are dropped, counted, and the next one carries `AFTER_GAP`.
    ///
    /// # Errors
    /// Returns an error once when recording ended, because the disk is full or failed. Its records are kept; later
    /// calls do nothing, and [`RunWriter::finish`] closes the file as usual. A number of no task is an error every
    /// time.
    pub fn append(&mut self, task: usize, rows: &[Activation]) -> Result<(), Error> {
        self.recorder.append(task, rows)
    }

    /// Records the description as it is known now, for a run that is not closed; the last one counts. Never waits for the disk.
    pub fn describe(&mut self, info: &RunInfo) {
        self.recorder.put_description(info);
    }

    /// Sets the causes of late activations until now; the last ones count. Never waits for the disk.
    ///
    /// # Errors
    /// They cannot be written as text.
    pub fn set_causes(&mut self, causes: &RunCauses) -> Result<(), Error> {
        let bytes = causes::encode(causes).map_err(Error::file("write the causes into", &self.path))?;
        self.recorder.put_causes(bytes);
        Ok(())
    }

    /// Returns the number of bytes that wait for the disk right now.
    pub fn waiting_bytes(&self) -> usize {
        self.recorder.waiting_bytes()
    }

    /// Ends recording and leaves the journal, with its final description, for [`join_journals`](crate::join_journals).
    pub fn leave_journal(self, info: &RunInfo) {
        self.recorder.put_description(info);
    }

    /// Ends recording and turns the journal into the run file, with the final description. The recorder's own losses
    /// are added to its warnings.
    ///
    /// # Errors
    /// The run file could not be written, for want of room for instance: then the journal stays and
    /// [`recover`](crate::recover) can do it later.
    pub fn finish(self, info: RunInfo) -> Result<FinishedRun, Error> {
        self.finish_with(info, |_, _| ())
    }

    /// Like [`RunWriter::finish`], telling now and then how many bytes of how many are done.
    ///
    /// # Errors
    /// As [`RunWriter::finish`].
    pub fn finish_with(
        self,
        mut info: RunInfo,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<FinishedRun, Error> {
        let RunWriter { path, recorder } = self;
        let journal_name = journal_path(&path);
        let Some(recorded) = recorder.stop(|waiting| progress(0, waiting)) else {
            return Err(run_not_closed(
                &path,
                &journal_name,
                Error::not_measured("the thread that writes the journal died"),
            ));
        };
        let mut journal = recorded.journal;
        let is_said = info.warnings.iter().any(|w| matches!(w, Warning::RecordingEnded { .. }));
        let ended = recorded.ended.filter(|_| !is_said);
        info.warnings.extend(ended.clone().map(|reason| Warning::RecordingEnded { reason }));
        for (task, lost) in info.tasks.iter().zip(&recorded.lost).filter(|(_, lost)| **lost > 0) {
            info.warnings.push(Warning::RecordsLost { task: task.spec.name.clone(), records: *lost });
        }
        // The file gets the description from here. The journal gets it too, for `recover` if the file cannot be
        // written; where the disk is too full even for that, recovery describes the run as crashed.
        let _ = journal.write_final_info(&info);
        let closed = close_journal(&journal, &path, info.clone(), progress);
        closed.map(|closed| FinishedRun { ended, ..closed }).map_err(|error| {
            match error.is(FileProblem::JournalLeft) || error.is(FileProblem::Lost) {
                true => error,
                false => error_with_records_saved(&journal, &path, &info, error),
            }
        })
    }
}

/// Returns true if the error is that the name is taken, so that another may be free.
fn is_taken(error: &Error) -> bool {
    let taken = [FileProblem::Exists, FileProblem::JournalExists, FileProblem::BeingRecorded];
    taken.into_iter().any(|problem| error.is(problem))
}

/// Opens and locks the empty journal of a run that was killed before its first byte; only one process gets it.
fn take_over_empty_journal(journal: &Path) -> Option<File> {
    let is_empty = |found: &Metadata| found.is_file() && found.len() == 0;
    std::fs::symlink_metadata(journal).ok().filter(is_empty)?;
    let file = File::options().read(true).write(true).open(journal).ok()?;
    file.try_lock().ok()?;
    // Whoever made it may have begun meanwhile.
    file.metadata().is_ok_and(|found| is_empty(&found)).then_some(file)
}

/// Error for a file in place of the new journal of `path`.
fn name_taken(path: &Path, journal: &Path) -> Error {
    match detect_content(journal) {
        FileContent::LiveJournal => being_recorded(path),
        FileContent::Journal => {
            Error::refused(format!("{} holds what an unfinished run measured", journal.display()))
                .remedy(format!(
                    "recover it with `jitterlab recover {}`, or remove it if it is no longer needed",
                    journal.display()
                ))
                .case(FileProblem::JournalExists)
        }
        _ => already_exists(journal),
    }
}
