//! Folders that are needed only while a command runs: with unpredictable names, for this user alone, and
//! removed afterwards. Remains of a killed process are removed when the next folder is made next to them, or
//! by [`remove_abandoned_folders`].

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tempfile::{Builder, TempDir};

const PREFIX: &str = ".jitterlab-scratch-";

/// A folder that is removed at the end, with its content.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    /// Held as long as the folder is used: a process that can lock it knows that it is unused.
    _lock: File,
}

impl ScratchFolder {
    /// Makes a folder in `parent`, and removes those there that nobody uses any more.
    pub fn new_in(parent: &Path) -> io::Result<ScratchFolder> {
        remove_abandoned_in(parent);
        loop {
            let private = fs::Permissions::from_mode(0o700);
            let folder = Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
            // Until it is locked, another process that sweeps here may remove it.
            match File::open(folder.path()) {
                Ok(lock) if lock.try_lock().is_ok() && folder.path().exists() => {
                    return Ok(ScratchFolder { folder, _lock: lock });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }

    /// Makes a folder in the usual place of temporary files.
    pub fn new() -> io::Result<ScratchFolder> {
        Self::new_in(&env::temp_dir())
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Path of the cache of companions' Debian packages; `None` if neither it nor a home is named. It is
/// `$XDG_CACHE_HOME/jitterlab/debian`, by default below `~/.cache`.
pub fn package_cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let above = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    Some(above?.join("jitterlab/debian"))
}

/// Removes the folders that killed processes of this user left in the usual places; returns their paths.
pub fn remove_abandoned_folders() -> Vec<PathBuf> {
    let places = [Some(env::temp_dir()), Some(PathBuf::from(".")), package_cache()];
    places.iter().flatten().flat_map(|parent| remove_abandoned_in(parent)).collect()
}

/// Removes the folders below `parent` that nobody uses any more; returns their paths.
fn remove_abandoned_in(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let scratches = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let left = scratches.map(|entry| entry.path()).filter(|path| {
        let own = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == geteuid().as_raw());
        // The lock is held until the folder is gone, so that its maker cannot take it meanwhile.
        let unused = || File::open(path).ok().filter(|folder| folder.try_lock().is_ok());
        own && unused().is_some_and(|_lock| fs::remove_dir_all(path).is_ok())
    });
    left.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_begin_at_once_keep_their_folders() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let scratch = ScratchFolder::new_in(parent.path()).unwrap();
                        fs::write(scratch.path().join("file"), "1").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_taken_away_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let used = ScratchFolder::new_in(parent.path()).unwrap();
        let left = parent.path().join(format!("{PREFIX}left"));
        fs::create_dir_all(left.join("deep")).unwrap();
        fs::write(left.join("deep/file"), "1").unwrap();
        fs::create_dir(parent.path().join("precious")).unwrap();
        std::os::unix::fs::symlink(
            parent.path().join("precious"),
            parent.path().join(format!("{PREFIX}link")),
        )
        .unwrap();
        let mode = fs::metadata(used.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(remove_abandoned_in(parent.path()), [left]);
        assert!(used.path().exists() && parent.path().join("precious").exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
