//! Finished parts of a measurement of several: after a kill at any moment, the same command goes on with it.
//!
//! Each finished part goes to a file that needs no other, as frames like a journal's: first the part's
//! activations, then its other data. The file's name is made from everything that decides the measurement, so
//! that the same command finds it, on the same day of the machine: after a restart its clock begins anew. When all is
//! measured and shown, the file goes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jitterlab_model::{Activation, Error};
use nix::libc::O_NOFOLLOW;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{self, RowEncoder};
use crate::error::{being_recorded, not_a_run_file};
use crate::frame::{FrameKind, PARTS_MAGIC, put_frame, whole_frames};

/// The largest file that is gone on with.
const LARGEST_BYTES: u64 = 4 << 30;

/// The parts of one measurement, in the order they are measured.
#[derive(Debug, Default)]
pub struct FinishedParts {
    /// Location of the kept parts; `None` if they are not wanted or not possible.
    kept: Option<Kept>,
    /// Parts that an earlier call measured, the next one last.
    before: Vec<Part>,
    found_count: usize,
    /// Number of parts on the disk.
    on_disk: usize,
}

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    file: File,
}

/// One part as it lies on the disk.
#[derive(Debug, Default)]
struct Part {
    value: Vec<u8>,
    rows: Vec<Activation>,
}

impl FinishedParts {
    /// Creates a collection without a file: no part is kept.
    pub fn without_file() -> Self {
        Self::default()
    }

    /// Opens the parts that the same command left in a folder, or begins with none. `request` is all that decides the
    /// measurement.
    ///
    /// # Errors
    /// The folder cannot be written, or the same command runs there right now.
    pub fn new(folder: &Path, command: &str, request: &impl Serialize) -> Result<Self, Error> {
        let path = folder.join(format!("jitterlab-{command}-{:016x}.parts", request_hash(request)));
        let failed = |action: &'static str| Error::file(action, &path);
        // A link of this name is not ours, whatever it leads to.
        let options = || File::options().read(true).append(true).custom_flags(O_NOFOLLOW).to_owned();
        let file = match options().create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options().open(&path),
            opened => opened,
        };
        let file = file.map_err(failed("create"))?;
        if file.try_lock().is_err() {
            return Err(being_recorded(&path));
        }
        let mut parts = FinishedParts::without_file();
        let mut bytes = Vec::new();
        (&file).take(LARGEST_BYTES).read_to_end(&mut bytes).map_err(failed("read"))?;
        let good_bytes = match bytes.strip_prefix(PARTS_MAGIC) {
            Some(frames) => parts.read_frames(frames),
            None if PARTS_MAGIC.starts_with(&bytes) => 0,
            None => return Err(not_a_run_file(&path, Error::damaged("it does not begin as a journal does"))),
        };
        // From here on it is ours: where the disk is full, the empty file is removed.
        let mut kept = Kept { path: path.clone(), file };
        // A part that was cut off in the middle is measured again.
        kept.file.set_len(good_bytes).map_err(failed("write"))?;
        if good_bytes == 0 {
            kept.file.write_all(PARTS_MAGIC).map_err(failed("write"))?;
        }
        parts.found_count = parts.before.len();
        parts.on_disk = parts.found_count;
        parts.before.reverse();
        parts.kept = Some(kept);
        Ok(parts)
    }

    /// Reads the whole parts after the beginning, and returns the position of their end.
    fn read_frames(&mut self, frames: &[u8]) -> u64 {
        let mut good_bytes = PARTS_MAGIC.len() as u64;
        let (mut at, mut part) = (good_bytes, Part::default());
        for frame in whole_frames(frames) {
            at += frame.byte_length();
            match frame.kind {
                FrameKind::Rows => {
                    if codec::decode(frame.payload, 0, frame.payload.len(), &mut part.rows).is_none() {
                        break;
                    }
                }
                FrameKind::Info => {
                    part.value = frame.payload.to_vec();
                    self.before.push(std::mem::take(&mut part));
                    good_bytes = at;
                }
                FrameKind::Slice | FrameKind::Causes => break,
            }
        }
        good_bytes
    }

    /// Returns the number of parts that an earlier call had measured.
    pub fn found_count(&self) -> usize {
        self.found_count
    }

    /// Returns the path of the kept parts.
    pub fn path(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Returns the next part, if an earlier call has measured it.
    pub fn next_kept<T: DeserializeOwned>(&mut self) -> Option<(T, Vec<Activation>)> {
        let part = self.before.pop()?;
        let read = serde_json::from_slice(&part.value).ok().map(|value| (value, part.rows));
        if read.is_none() {
            // Of another version: later parts do not fit either.
            self.before.clear();
        }
        read
    }

    /// Keeps a part that has just been measured.
    ///
    /// # Errors
    /// It cannot be written. Nothing more is kept then, and the measurement can go on.
    pub fn keep(&mut self, value: &impl Serialize, rows: &[Activation]) -> Result<(), Error> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let mut bytes = Vec::new();
        for rows in rows.chunks(1 << 16) {
            let mut encoder = RowEncoder::new(0);
            rows.iter().for_each(|row| encoder.push(row));
            put_frame(&mut bytes, FrameKind::Rows, 0, |out| encoder.take_bytes(out));
        }
        let value = serde_json::to_vec(value).map_err(io::Error::from);
        let written = value.and_then(|value| {
            put_frame(&mut bytes, FrameKind::Info, 0, |out| {
                out.extend(value);
                0
            });
            kept.file.write_all(&bytes)?;
            kept.file.sync_data()
        });
        let Err(error) = written else {
            self.on_disk += 1;
            return Ok(());
        };
        let failed = Error::file("write", &kept.path)(error);
        self.kept = None;
        Err(failed)
    }

    /// Removes the parts once all is measured and shown; otherwise returns the number of parts that stay on disk.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn close(self, complete: bool) -> Result<usize, Error> {
        match self.path() {
            Some(path) if complete => fs::remove_file(path).map_err(Error::file("remove", path)).map(|()| 0),
            Some(_) => Ok(self.on_disk),
            None => Ok(0),
        }
    }
}

impl Drop for Kept {
    /// A file without a part is of no use to anybody.
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|m| m.len() <= PARTS_MAGIC.len() as u64) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Hash of everything that decides the measurement, valid on this machine until its restart (FNV-1a).
fn request_hash(request: &impl Serialize) -> u64 {
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let request = serde_json::to_vec(request).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let all = request.iter().chain(&boot).chain(version);
    all.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(from: u64) -> Vec<Activation> {
        let row =
            |k: u64| Activation { index: k, due_ns: k as i64 * 1_000, start_ns: 5, ..Activation::default() };
        (from..from + 70_000).map(row).collect()
    }

    fn all(parts: &mut FinishedParts) -> Vec<(String, Vec<Activation>)> {
        std::iter::from_fn(|| parts.next_kept()).collect()
    }

    #[test]
    fn the_same_command_goes_on_wherever_it_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let open = || FinishedParts::new(folder.path(), "try", &("1ms", 5)).unwrap();
        let mut parts = open();
        for (n, value) in ["one", "two"].iter().enumerate() {
            parts.keep(value, &rows(n as u64)).unwrap();
        }
        let path = parts.path().unwrap().to_path_buf();
        let again = FinishedParts::new(folder.path(), "try", &("1ms", 5));
        assert!(again.is_err_and(|e| e.is(crate::FileProblem::BeingRecorded)));
        drop(parts);
        let bytes = fs::read(&path).unwrap();
        let first = {
            let mut parts = open();
            assert_eq!(parts.found_count(), 2);
            all(&mut parts)
        };
        assert_eq!(first, [("one".to_owned(), rows(0)), ("two".to_owned(), rows(1))]);
        for cut in [bytes.len() - 1, bytes.len() / 2 + 30, bytes.len() / 2 - 30, 20, 3] {
            fs::write(&path, &bytes[..cut]).unwrap();
            let mut parts = open();
            let whole = usize::from(cut > bytes.len() / 2);
            assert_eq!(all(&mut parts), first[..whole], "{cut}");
            parts.keep(&"again", &[]).unwrap();
            drop(parts);
            assert_eq!(open().found_count(), whole + 1);
        }
        assert_eq!(open().close(false).unwrap(), 1);
        assert_eq!(open().close(true).unwrap(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_command_is_another_file_and_none_is_left_empty() {
        let folder = tempfile::tempdir().unwrap();
        let open = |request: &str| FinishedParts::new(folder.path(), "try", &request).unwrap();
        let mut one = open("one");
        one.keep(&1, &[]).unwrap();
        assert_eq!(open("two").found_count(), 0);
        drop(one);
        assert_eq!((open("one").found_count(), open("two").found_count()), (1, 0));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(FinishedParts::without_file().next_kept::<u8>(), None);
    }
}
