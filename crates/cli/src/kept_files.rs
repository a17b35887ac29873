//! Files that keep settings over a restart: written with a mark, and only those with it are ever replaced or removed. Files
//! with results that a later call of a command goes on from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_report::json;
use jitterlab_report::tune::kept_files::{self as words, MARK, PLACES};
use jitterlab_trace::{atomic_file, source};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output;

/// Blocks of some hundred starts are smaller.
const LARGEST_BYTES: u64 = 16 << 20;

/// Error of a file with results that cannot be read.
pub fn unreadable_file(file: &str, why: &impl std::fmt::Display) -> Error {
    Error::damaged(format!("{file}: {why}")).remedy("remove it to begin anew")
}

/// Reads the results that an earlier call left in this directory; `None` if there is no such file.
pub fn read_earlier_results<T: DeserializeOwned>(file: &str) -> Result<Option<T>, Error> {
    match source::read_text(Path::new(file), LARGEST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable_file(file, &error)),
        Ok(text) => {
            serde_json::from_slice(text.as_bytes()).map(Some).map_err(|error| unreadable_file(file, &error))
        }
    }
}

/// Saves results for a later call.
pub fn save_results(path: &Path, results: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(results).map_err(json::json_error)?;
    atomic_file::write(path, text.as_bytes(), false)
}

/// True if a file begins with this program's mark; `None` without a file.
fn has_mark(path: &Path) -> io::Result<Option<bool>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(Some(fs::read(path)?.starts_with(MARK.as_bytes()))),
        Ok(_) => Ok(Some(false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn access_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.into();
    move |error| {
        Error::refused(path.display().to_string())
            .because(error)
            .remedy("what helped is kept as root, or below a directory of your own")
    }
}

/// Writes the files below a folder, each in one step, and prints the steps that are left to do.
pub fn keep_settings(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    if files.is_empty() {
        output::print_note(words::NOTHING_TO_KEEP);
    }
    write_settings(folder, files)?;
    for (place, _) in files {
        output::print_note(&words::kept_message(&folder.join(place), place));
    }
    Ok(())
}

/// Writes the files below a folder; refuses if one of them exists that is not from this program.
pub fn write_settings(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    for (place, _) in files {
        let path = folder.join(place);
        if has_mark(&path).map_err(access_error(&path))? == Some(false) {
            return Err(Error::refused(format!("{} is not from jitterlab", path.display()))
                .remedy("move it away, or keep below another directory"));
        }
    }
    for (place, text) in files {
        let path = folder.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(access_error(&path))?;
        }
        atomic_file::write(&path, text.as_bytes(), false)?;
    }
    Ok(())
}

/// Removes the files that [`keep_settings`] wrote below a folder, and prints a note on each.
pub fn remove_settings(folder: &Path) -> Result<(), Error> {
    let mut removed = 0;
    for (place, _, ended_by) in PLACES {
        let path = folder.join(place);
        if has_mark(&path).map_err(access_error(&path))? == Some(true) {
            fs::remove_file(&path).map_err(access_error(&path))?;
            output::print_note(&words::removed_message(&path, ended_by));
            removed += 1;
        }
    }
    if removed == 0 {
        output::print_note(words::NOTHING_KEPT);
    }
    Ok(())
}
