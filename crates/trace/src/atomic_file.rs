//! Writing files so that nothing is destroyed by it.
//!
//! A file is built under a name of its own, which nobody can foresee and no link can have, in the folder of
//! its target, and gets the target's name in one step when it is whole. A measurement is never replaced unasked.
use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jitterlab_model::Error;
use tempfile::{Builder, NamedTempFile};

use crate::entropy;
use crate::error::{already_exists, no_directory, not_a_file, still_recording};
use crate::frame::{PARTS_MAGIC, is_journal};
use crate::paths::{directory_of, journal_path};

/// Writes a result that can be made again from measurements: a page, a figure, a table.
///
/// - An existing regular file is replaced in one step and keeps its permissions; a file that may not be written is not
///   replaced either. A link stays a link: the file it leads to is the one that is replaced.
/// - A terminal, another character device or a FIFO is written to.
/// - A measurement (a Parquet file or a journal) is replaced only by `force`, and never while it is being recorded. A
///   name that a journal next to it will need is refused.
///
/// # Errors
/// As above; a link that leads nowhere, a block device, a socket or a directory; a place that cannot be written.
pub fn write(path: impl AsRef<Path>, content: &[u8], force: bool) -> Result<(), Error> {
    let path = path.as_ref();
    write_with(path, force, |out| out.write_all(content).map_err(Error::file("write", path)))
}

/// Writes the content that `fill` makes; where it fails, nothing is replaced.
///
/// # Errors
/// As [`write`], or the error of `fill`.
pub fn write_with<T>(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
) -> Result<T, Error> {
    let (target, permissions) = match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            check_replaceable(path, force)?;
            // The system decides whether this file may be changed, and whether this link may be followed.
            File::options().write(true).open(path).map_err(Error::file("write", path))?;
            let target = fs::canonicalize(path).map_err(Error::file("find", path))?;
            (target, Some(found.permissions()))
        }
        Ok(found) if found.is_dir() => {
            return Err(Error::file("write", path)(io::ErrorKind::IsADirectory.into()));
        }
        Ok(_) => return fill(&mut open_stream(path)?),
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::file("write", path)(e)),
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            return Err(Error::bad_use(format!("{} is a link that leads nowhere", path.display()))
                .remedy("remove it, or choose another name"));
        }
        Err(_) => (path.into(), None),
    };
    check_no_journal(path)?;
    check_no_journal(&target)?;
    let mut file = create_temporary(&target)?;
    let filled = fill(file.as_file_mut())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions).map_err(Error::file("write", path))?;
    }
    file.as_file().sync_all().map_err(Error::file("write", path))?;
    file.persist(&target).map_err(|e| Error::file("write", path)(e.error))?;
    Ok(filled)
}

/// Opens a device or FIFO, which takes the bytes as they come.
fn open_stream(path: &Path) -> Result<File, Error> {
    let stream = |of: fs::FileType| of.is_char_device() || of.is_fifo();
    let kind = fs::metadata(path).map_err(Error::file("write", path))?.file_type();
    if !stream(kind) {
        return Err(not_a_file(path));
    }
    let file = File::options().write(true).open(path).map_err(Error::file("write", path))?;
    // It may have become something else since it was looked at.
    if !file.metadata().is_ok_and(|opened| stream(opened.file_type())) {
        return Err(not_a_file(path));
    }
    Ok(file)
}

/// The names of files that are not whole yet.
const PREFIX: &str = ".jitterlab-";
const SUFFIX: &str = ".tmp";

/// Creates a temporary file in the target's folder, and removes what killed processes left there. It is removed again
/// unless it gets the target's name.
pub(crate) fn create_temporary(target: &Path) -> Result<NamedTempFile, Error> {
    let directory = existing_directory(target)?;
    remove_leftovers(&directory);
    loop {
        let file = Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            // The usual mode of a program's new file, reduced by the user's umask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&directory)
            .map_err(Error::file("create", target))?;
        // Held as long as it is written. A shared lock: under whatever name it is looked at, it is no run that is being
        // recorded.
        // A file system without locks has none, and nothing is swept.
        let swept = matches!(file.as_file().try_lock_shared(), Err(TryLockError::WouldBlock));
        if !swept && file.path().exists() {
            let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            unfinished.retain(|path| path.exists());
            unfinished.push(file.path().into());
            return Ok(file);
        }
    }
}

/// Files of this process that have no name of their own yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the unfinished files of this process, unless another thread begins a file right now. For a process that ends
/// without a way back.
pub fn remove_unfinished() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Removes the files in a folder that killed processes were writing; returns their paths.
pub fn remove_leftovers(folder: &Path) -> Vec<PathBuf> {
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    };
    let left = |path: &PathBuf| {
        let found = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        let file = File::options().read(true).write(true).open(path).ok()?;
        let same = file.metadata().is_ok_and(|opened| opened.ino() == found.ino());
        (same && file.try_lock().is_ok() && fs::remove_file(path).is_ok()).then_some(())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(named).filter(|path| left(path).is_some()).collect()
}

/// Kind of file, as far as its beginning shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// Something else, or nothing that can be read.
    Other,
    /// A Parquet file.
    Parquet,
    /// Journal of a run that was not closed.
    Journal,
    /// Journal of a run that is being recorded.
    LiveJournal,
}

/// Kind of a regular file by its first bytes and lock; never waits for a file of another kind.
pub(crate) fn detect_content(path: &Path) -> FileContent {
    if !fs::metadata(path).is_ok_and(|m| m.is_file()) {
        return FileContent::Other;
    }
    let Ok(file) = File::open(path) else { return FileContent::Other };
    let mut beginning = Vec::new();
    if (&file).take(16).read_to_end(&mut beginning).is_err() {
        return FileContent::Other;
    }
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => FileContent::LiveJournal,
        _ if is_journal(&beginning) || beginning == PARTS_MAGIC => FileContent::Journal,
        _ if beginning.starts_with(b"PAR1") => FileContent::Parquet,
        _ => FileContent::Other,
    }
}

fn check_replaceable(path: &Path, force: bool) -> Result<(), Error> {
    match detect_content(path) {
        FileContent::LiveJournal => Err(still_recording(path)),
        FileContent::Journal | FileContent::Parquet if !force => {
            Err(Error::bad_use(format!("{} holds a measurement", path.display()))
                .remedy("choose another name, or replace it with --force"))
        }
        _ => Ok(()),
    }
}

/// Refuses a name that belongs to the run of a journal next to it.
fn check_no_journal(path: &Path) -> Result<(), Error> {
    let journal = journal_path(path);
    match detect_content(&journal) {
        FileContent::Journal | FileContent::LiveJournal => Err(Error::bad_use(format!(
            "{} is the name of the run that {} holds (`jitterlab recover {}` makes a run \
             file of it once it is not being recorded any more)",
            path.display(),
            journal.display(),
            journal.display()
        ))
        .remedy("choose another name")),
        _ => Ok(()),
    }
}

/// Returns the directory that a file is to be created in; an error if it does not exist.
fn existing_directory(path: &Path) -> Result<PathBuf, Error> {
    let directory = directory_of(path);
    match directory.try_exists() {
        Ok(true) => Ok(directory),
        Ok(false) => Err(no_directory(path, &directory)),
        Err(refused) => Err(Error::file("look into", directory)(refused)),
    }
}

/// Refuses to begin a run under a name that is taken, where its directory is missing, or where no run file can be written.
pub(crate) fn check_name_free(path: &Path) -> Result<(), Error> {
    existing_directory(path)?;
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() || found.is_symlink() => Err(already_exists(path)),
        Ok(_) => Err(not_a_file(path)),
        Err(_) if !entropy::has_random_bytes() => Err(Error::refused(format!(
            "cannot write {}: this system gives programs no random numbers, which writing a \
             run file takes",
            path.display()
        ))
        .remedy(
            "make /dev/urandom (mknod /dev/urandom c 1 9), allow the system call getrandom, \
             or measure without a file",
        )),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_was_writing_is_taken_away_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let written = create_temporary(&at("one.html")).unwrap();
        fs::write(at(".jitterlab-left.tmp"), "half a page").unwrap();
        fs::write(at("precious"), "1").unwrap();
        std::os::unix::fs::symlink(at("precious"), at(".jitterlab-link.tmp")).unwrap();
        fs::create_dir(at(".jitterlab-folder.tmp")).unwrap();
        write(at("two.html"), b"a page", false).unwrap();
        assert!(!at(".jitterlab-left.tmp").exists(), "left");
        for name in ["precious", ".jitterlab-link.tmp", ".jitterlab-folder.tmp", "two.html"] {
            assert!(at(name).exists(), "{name}");
        }
        assert!(written.path().exists() && remove_leftovers(folder.path()).is_empty());
        // A file that has its name is none that is being recorded.
        let kept = written.persist(at("one.html")).unwrap();
        assert_eq!(detect_content(&at("one.html")), FileContent::Other);
        drop(kept);
        let left = create_temporary(&at("one.html")).unwrap().into_temp_path().keep().unwrap();
        assert_eq!(remove_leftovers(folder.path()), [left]);
    }
}
