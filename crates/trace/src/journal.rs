//! The journal's file: appending whole frames, and noticing in time that the disk is full.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jitterlab_model::{Error, RunInfo};

use crate::error::recording_ended;
use crate::frame::{self, FrameKind, whole_frames};
use crate::own_file::OwnFile;

/// Bytes that disks write, and lose, at once.
const BLOCK: usize = 4096;

/// The journal's file and the length of its good part.
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) file: OwnFile,
    /// Length up to the end of the last whole frame.
    pub(crate) good_bytes: u64,
    /// Rows in these.
    pub(crate) rows: u64,
}

impl Journal {
    /// Begins a journal: the preamble and the description, synced.
    pub(crate) fn begin(path: &Path, file: File, info: &RunInfo) -> Result<Self, Error> {
        let file = OwnFile::new(file).map_err(Error::file("write", path))?;
        let mut journal = Journal { path: path.into(), file, good_bytes: 0, rows: 0 };
        let mut bytes = frame::preamble();
        // Twice, in blocks of their own: without it the times of the rows are unknown, and one damaged block of a disk must
        // not cost the run.
        let mut first = bytes.clone();
        put_info(&mut first, info, 0);
        put_info(&mut bytes, info, first.len().next_multiple_of(BLOCK) - first.len());
        put_info(&mut bytes, info, 0);
        let written = journal.file.checked().and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(Error::file("write", path))?;
        journal.good_bytes = bytes.len() as u64;
        Ok(journal)
    }

    /// Appends the final description, so that nothing is missing if turning the journal into a run file fails.
    pub(crate) fn write_final_info(&mut self, info: &RunInfo) -> Result<(), Error> {
        let mut bytes = Vec::new();
        put_info(&mut bytes, info, 0);
        self.write_frames(&bytes)?;
        self.sync()
    }

    /// Makes the last writes survive a power loss.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let synced = self.file.checked().and_then(File::sync_data);
        synced.map_err(|e| recording_ended(&self.path, self.rows, e))
    }

    /// Appends frames. If the disk takes only a part of them, the whole frames in it are kept.
    pub(crate) fn write_frames(&mut self, frames: &[u8]) -> Result<(), Error> {
        let mut file = self.file.checked().map_err(|e| recording_ended(&self.path, self.rows, e))?;
        let mut written = 0;
        let mut failure = None;
        while written < frames.len() {
            match file.write(&frames[written..]) {
                Ok(0) => failure = Some(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => failure = Some(e),
            }
            if failure.is_some() {
                break;
            }
        }
        for frame in whole_frames(&frames[..written]) {
            self.rows += frame.rows as u64;
            self.good_bytes += frame.byte_length();
        }
        let Some(source) = failure else { return Ok(()) };
        // Without the cut frame at the end, nothing has to be skipped when the journal is read.
        let _ = file.set_len(self.good_bytes);
        Err(recording_ended(&self.path, self.rows, source))
    }

    /// Returns an error unless the disk has room for the run file: closing the run writes all of it once more.
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        let needed = self.good_bytes + self.good_bytes / 8 + (256 << 10);
        match free_bytes(&self.path) {
            Some(free) if free < needed => {
                Err(recording_ended(&self.path, self.rows, io::ErrorKind::StorageFull.into()))
            }
            _ => Ok(()),
        }
    }
}

/// Free bytes on the file's disk for this user; `None` if the system does not report them.
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(path).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "32-bit systems count in smaller types")]
    let (blocks, size, free) =
        (disk.blocks() as u64, disk.fragment_size() as u64, disk.blocks_available() as u64);
    (blocks > 0).then(|| free.saturating_mul(size))
}

/// Adds the description, with `spaces` spaces after it.
pub(crate) fn put_info(bytes: &mut Vec<u8>, info: &RunInfo, spaces: usize) {
    frame::put_frame(bytes, FrameKind::Info, 0, |out| {
        // Writing a description of plain numbers and strings into memory cannot fail.
        let _ = serde_json::to_writer(&mut *out, info);
        out.resize(out.len() + spaces, b' ');
        0
    });
}
