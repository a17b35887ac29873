//! The folder of a monitor: journals of hours that are measured, hours, run files of days, the outbox.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jitterlab_model::Error;
use jitterlab_trace::atomic_file;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hour::{Hour, Totals};

/// Subfolders, from the finest to what is kept longest.
const FOLDERS: [&str; 4] = ["journal", "days", "hours", "outbox"];

/// A monitor's folder.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    outbox: PathBuf,
}

/// Right to write into a folder, which one monitor at a time has.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Folder {
    /// The folder at `path`, whose outbox may be elsewhere.
    pub fn new(path: &Path, outbox: Option<&Path>) -> Self {
        Folder { path: path.into(), outbox: outbox.map_or_else(|| path.join("outbox"), Into::into) }
    }

    /// Creates the folder and its subfolders, and locks it for this monitor.
    pub fn lock(&self) -> Result<Lock, Error> {
        for folder in FOLDERS.map(|name| self.path.join(name)).iter().chain([&self.outbox]) {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            made.map_err(Error::file("create", folder))?;
        }
        let path = self.path.join("lock");
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let file = opened.map_err(Error::file("open", &path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                Err(Error::refused(format!("another monitor writes into {}", self.path.display()))
                    .remedy("name another place with --folder"))
            }
            _ => Ok(Lock { _file: file }),
        }
    }

    /// True if a monitor writes into the folder now.
    pub fn is_locked(&self) -> bool {
        let lock = File::open(self.path.join("lock"));
        lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder of the files that leave the machine.
    pub fn outbox(&self) -> &Path {
        &self.outbox
    }

    /// Path of the run file of an hour, beside which its journal is.
    pub fn run_path(&self, stream: &str, seq: u64) -> PathBuf {
        self.path.join("journal").join(format!("{stream}.{seq:06}.parquet"))
    }

    /// Path of the facts known at the beginning of an hour.
    pub fn beginning_path(&self, stream: &str, seq: u64) -> PathBuf {
        self.path.join("journal").join(format!("{stream}.{seq:06}.json"))
    }

    /// Path of the figures of an hour.
    pub fn hour_path(&self, stream: &str, seq: u64) -> PathBuf {
        self.path.join("hours").join(format!("{stream}.{seq:06}.json"))
    }

    /// Path of the run file of a stretch of a day, such as `2026-11-28.STREAM.000000-000023.parquet`.
    pub fn day_path(&self, day: &str, stream: &str, first: u64, last: u64) -> PathBuf {
        self.path.join("days").join(format!("{day}.{stream}.{first:06}-{last:06}.parquet"))
    }

    /// Path of the run file of a day that an hour is in; `None` where there is none.
    pub fn find_day(&self, stream: &str, seq: u64) -> Option<PathBuf> {
        let has = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?;
            let (_, rest) = name.split_once('.')?;
            let range = rest.strip_prefix(stream)?.strip_prefix('.')?.strip_suffix(".parquet")?;
            let (first, last) = range.split_once('-')?;
            Some((first.parse().ok()?..=last.parse::<u64>().ok()?).contains(&seq))
        };
        self.files_with_ending("days", ".parquet").into_iter().find(|path| has(path) == Some(true))
    }

    /// Path of the figures of all hours whose files are gone.
    pub fn totals_path(&self) -> PathBuf {
        self.path.join("totals.json")
    }

    /// Files in a subfolder whose names have this ending, in the order of their names.
    pub fn files_with_ending(&self, folder: &str, end: &str) -> Vec<PathBuf> {
        let folder = if folder == "outbox" { self.outbox.clone() } else { self.path.join(folder) };
        let mut found = files_below(&folder);
        found.retain(|path| path.to_string_lossy().ends_with(end));
        found.sort();
        found
    }

    /// Figures of all hours, those that wait for their day included.
    pub fn read_totals(&self) -> Result<Totals, Error> {
        let path = self.totals_path();
        let mut totals = if path.exists() { read_json(&path)? } else { Totals::default() };
        for hour in self.read_hours() {
            totals.add(&hour);
        }
        Ok(totals)
    }

    /// Hours that wait for their day, in the order of their streams; one that is damaged is left out.
    pub fn read_hours(&self) -> Vec<Hour> {
        let mut hours: Vec<Hour> =
            self.files_with_ending("hours", ".json").iter().filter_map(|path| read_json(path).ok()).collect();
        // Not by the time of day: that may have been set back between two of them.
        hours.sort_by(|a, b| (&a.stream, a.seq).cmp(&(&b.stream, b.seq)));
        hours
    }

    /// Size of all files in the folder and the outbox.
    pub fn size_bytes(&self) -> u64 {
        let own = files_below(&self.path);
        let outbox = if self.outbox.starts_with(&self.path) { Vec::new() } else { files_below(&self.outbox) };
        own.iter().chain(&outbox).filter_map(|path| fs::metadata(path).ok()).map(|found| found.len()).sum()
    }
}

/// All files in a folder and its folders.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&path)),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    found
}

/// Time at which a file was written last.
pub fn modified_time(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Reads a value from a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = fs::read(path).map_err(Error::file("read", path))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::damaged(format!("{} cannot be read", path.display())).because(error))
}

/// Writes a value as JSON atomically: the file is the old one or the new one whatever happens.
///
/// # Errors
/// The disk is full or read-only.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| Error::defect(format!("{} is no JSON", path.display())).because(error))?;
    write_durably(path, &bytes)
}

/// Writes bytes atomically, and syncs the folder's entry to the disk.
///
/// # Errors
/// The disk is full or read-only.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    atomic_file::write(path, bytes, true)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file("write", path))
}
