//! Turning a journal into the run file: when a run is closed, and when a crash left the journal behind.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use jitterlab_model::warning::Warning;
use jitterlab_model::{Error, RunCauses, RunInfo, StopReason};

use crate::atomic_file::{FileContent, check_name_free, detect_content};
use crate::error::{
    FileProblem, journal_gone, records_lost, run_not_closed, saved_elsewhere, still_recording,
};
use crate::journal::Journal;
use crate::journal_path;
use crate::journal_reader::{JournalPart, JournalParts};
use crate::own_file::{Identity, OwnFile};
use crate::paths::{directory_of, is_journal_name, numbered_path, run_file_path, sync_directory};
use crate::run_file_writer::{FinishedRun, RunFileWriter};

/// Turns the journal of a run that was not closed into its run file. The file gets the journal's name without `.part`;
/// the name of the run file itself will do too.
///
/// Damaged parts, such as a cut-off end, are left out and named in the result. The run is described as crashed, and
/// each task's counters are rebuilt from the recorded rows. The journal is removed when the run file is safe on the
/// disk, but only if all of it was read.
///
/// # Errors
/// There is no such journal, it is still being recorded, it is not a journal, another file has the name of its run file, or
/// that cannot be written.
pub fn recover(path: impl AsRef<Path>) -> Result<FinishedRun, Error> {
    recover_to(path, None, |_, _| ())
}

/// Like [`recover`], into `target` if there is one, on another disk for instance. Reports now and then the bytes done
/// and the bytes in all.
///
/// # Errors
/// As [`recover`].
pub fn recover_to(
    path: impl AsRef<Path>,
    target: Option<&Path>,
    progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, Error> {
    let path = path.as_ref();
    let beside = journal_path(path);
    let journal = if target.is_none() && beside.exists() { &beside } else { path };
    let target = &target.map_or_else(|| run_file_path(journal), Path::to_path_buf);
    let file = File::open(journal).map_err(Error::file("open", journal))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(still_recording(journal));
    }
    let file = OwnFile::new(file).map_err(Error::file("read", journal))?;
    let mut finished = match check_name_free(target) {
        Ok(()) => convert_journal(&file, journal, target, None, progress)?,
        Err(taken) => existing_run_file(&file, journal, target, progress)?.ok_or(taken)?,
    };
    match remove_journal(&mut finished, journal, file.identity()) {
        // A journal on a read-only file system stays; a person who recovers from it knows this.
        Err(kept) if kept.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(finished),
        removed => removed.map_err(|why| journal_left(&finished, journal, why)).map(|()| finished),
    }
}

/// Writes journals that follow one another, of the same tasks, as one run file; the journals stay.
///
/// # Errors
/// One of them cannot be read or has other tasks, or the run file cannot be written.
pub fn join_journals(
    journals: &[PathBuf],
    target: impl AsRef<Path>,
    mut info: RunInfo,
    causes: Option<&RunCauses>,
) -> Result<FinishedRun, Error> {
    let mut output = RunFileWriter::create(target, info.tasks.len())?;
    let mut skipped = Vec::new();
    for path in journals {
        let file = File::open(path).map_err(Error::file("open", path))?;
        let mut walk = JournalParts::begin(&file, path)?;
        while let Some(part) = walk.next()? {
            match part {
                JournalPart::Rows(task, rows) => output.append(task, rows)?,
                JournalPart::Slice(slice) => output.append_slice(&slice)?,
                JournalPart::Info | JournalPart::Causes(_) => {}
            }
        }
        skipped.extend_from_slice(walk.skipped());
    }
    if let Some(causes) = causes {
        output.set_causes(causes)?;
    }
    info.warnings.extend(skipped.iter().map(|skipped| skipped.warning()));
    Ok(FinishedRun { skipped, ..output.finish(&info)? })
}

/// The run file that is there already; `None` if it is not exactly what this journal gives. The process that made it
/// was killed before the journal was removed.
fn existing_run_file(
    file: &OwnFile,
    journal: &Path,
    target: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<Option<FinishedRun>, Error> {
    if detect_content(target) != FileContent::Parquet {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix(".jitterlab-").tempdir_in(directory_of(target));
    let folder = folder.map_err(Error::file("create a directory beside", target))?;
    let again = convert_journal(file, journal, &folder.path().join("again.parquet"), None, progress)?;
    let is_same = have_same_bytes(&again.path, target).map_err(Error::file("read", target))?;
    // A journal with a damaged part is kept, and is converted again only under another name.
    let is_whole = again.skipped.is_empty();
    Ok((is_same && is_whole).then(|| FinishedRun { path: target.into(), ..again }))
}

fn have_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let open = |path| Ok::<_, io::Error>(BufReader::new(File::open(path)?));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 || left[..length] != right[..length] {
            return Ok(left.is_empty() && right.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Error for a run that could not be closed, with the place of its records, which it saves if need be. They are in its
/// journal or, where that lost its name with its directory, in a run file in the folder for temporary files.
pub(crate) fn error_with_records_saved(
    journal: &Journal,
    target: &Path,
    info: &RunInfo,
    why: Error,
) -> Error {
    let Journal { path, file, .. } = journal;
    if file.identity().is_at(path).unwrap_or(true) {
        return run_not_closed(target, path, why);
    }
    let name = std::env::temp_dir().join(target.file_name().unwrap_or_default());
    let free = (1..100).map(|number| numbered_path(&name, number)).find(|path| check_name_free(path).is_ok());
    let saved = free.and_then(|free| convert_journal(file, path, &free, Some(info.clone()), |_, _| ()).ok());
    match saved {
        Some(saved) => saved_elsewhere(target, &saved.path, why),
        None => journal_gone(target, path, why),
    }
}

/// Turns a journal that was closed properly into the run file, and removes it.
pub(crate) fn close_journal(
    journal: &Journal,
    target: &Path,
    info: RunInfo,
    progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, Error> {
    let Journal { path, file, rows, .. } = journal;
    let mut closed = match file.checked() {
        Ok(_) => convert_journal(file, path, target, Some(info), progress),
        // The program around us closed the descriptor; the journal may still be there by its name.
        Err(closed) => match File::open(path).and_then(OwnFile::new) {
            Ok(found) if found.identity() == file.identity() => {
                convert_journal(&found, path, target, Some(info), progress)
            }
            _ => Err(Error::file("read", path)(closed)),
        },
    }?;
    // Invalid rows are left out and reported; otherwise another program cut the journal, or wrote into it.
    let left_out: u64 = closed.skipped.iter().filter_map(|skipped| skipped.rows).sum();
    if closed.rows + left_out < *rows {
        return Err(records_lost(target, path, *rows, closed.rows));
    }
    remove_journal(&mut closed, path, file.identity()).map_err(|why| journal_left(&closed, path, why))?;
    Ok(closed)
}

/// Removes the journal of a run file that holds all of it, unless the name is another file's by now.
fn remove_journal(finished: &mut FinishedRun, path: &Path, identity: Identity) -> io::Result<()> {
    if !finished.skipped.is_empty() || !is_journal_name(path) {
        return Ok(());
    }
    if identity.is_at(path)? {
        std::fs::remove_file(path)?;
        // Should the name come back after a power loss, nothing is lost by that.
        let _ = sync_directory(path);
    }
    finished.journal = None;
    Ok(())
}

/// Error for a run file that is written, and whose journal could not be removed.
fn journal_left(finished: &FinishedRun, path: &Path, why: io::Error) -> Error {
    Error::refused(format!(
        "{} is written, and whole; its journal {} could not be removed",
        finished.path.display(),
        path.display()
    ))
    .because(why)
    .remedy("remove it")
    .case(FileProblem::JournalLeft)
}

/// Writes a journal's content as the run file `target`; the journal stays.
fn convert_journal(
    file: &OwnFile,
    path: &Path,
    target: &Path,
    final_info: Option<RunInfo>,
    mut progress: impl FnMut(u64, u64),
) -> Result<FinishedRun, Error> {
    let mut walk = JournalParts::begin(file.checked().map_err(Error::file("read", path))?, path)?;
    let mut output = RunFileWriter::create(target, walk.task_count())?;
    while let Some(part) = walk.next()? {
        match part {
            JournalPart::Info => {}
            JournalPart::Rows(task, rows) => output.append(task, rows)?,
            JournalPart::Slice(slice) => output.append_slice(&slice)?,
            JournalPart::Causes(bytes) => output.set_encoded_causes(bytes.to_vec()),
        }
        let (done, of) = walk.progress();
        progress(done, of);
    }
    let skipped = walk.skipped().to_vec();
    let mut info = final_info.unwrap_or_else(|| {
        let mut info = walk.completed_info();
        if info.stop.is_none() {
            info.stop = Some(StopReason::Crashed);
            info.warnings.push(Warning::NotClosed);
        }
        info
    });
    info.warnings.extend(skipped.iter().map(|s| s.warning()));
    Ok(FinishedRun { skipped, journal: Some(path.into()), ..output.finish(&info)? })
}
