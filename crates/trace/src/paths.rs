//! Names of the files that belong to one run, and steps that make them last.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;

const JOURNAL: &str = ".part";

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Path of the journal of a run file while it is measured: its name with `.part` added.
pub fn journal_path(run_file: &Path) -> PathBuf {
    with_suffix(run_file, JOURNAL)
}

/// Path of the run file that a journal becomes: its name without `.part`, or with `.parquet` added if it has another ending.
pub(crate) fn run_file_path(journal: &Path) -> PathBuf {
    if is_journal_name(journal) { journal.with_extension("") } else { with_suffix(journal, ".parquet") }
}

/// The name with a number before its ending; the first has none.
pub(crate) fn numbered_path(path: &Path, number: u32) -> PathBuf {
    if number < 2 {
        return path.into();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Returns true for a name that a recorder gives its journal.
pub(crate) fn is_journal_name(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(&JOURNAL[1..]))
}

/// The folder a name is in.
pub(crate) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if p != Path::new("") => p.into(),
        _ => ".".into(),
    }
}

/// Makes the names in the file's directory last through a power loss.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = directory_of(path);
    File::open(&directory).and_then(|d| d.sync_all()).map_err(Error::file("sync the directory", directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_knows_its_run_file() {
        let run = Path::new("dir/night.parquet");
        assert_eq!(journal_path(run), Path::new("dir/night.parquet.part"));
        assert_eq!(run_file_path(&journal_path(run)), run);
        assert_eq!(run_file_path(Path::new("night.bak")), Path::new("night.bak.parquet"));
        assert_eq!(directory_of(Path::new("night.parquet")), Path::new("."));
    }
}
