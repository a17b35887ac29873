//! `disk`: writing, syncing, reading back and deleting files.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_model::load::{LoadSpec, LoadUnit};
use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

use super::{Kind, Work, WorkShare, parse_worker_count};

pub(super) const KIND: Kind = Kind {
    name: "disk",
    usage: "disk[:N[,DIR]]",
    unit: Some(LoadUnit::Bytes),
    share: |arguments, _| {
        let (n, folder) = split_arguments(arguments);
        let workers = parse_worker_count(n, 1)?;
        if !Path::new(folder).is_dir() {
            return Err(Error::bad_use(format!("{folder:?} is not a folder")));
        }
        Ok(WorkShare { workers, arguments: folder.into() })
    },
    begin: |arguments| {
        let folder = PathBuf::from(arguments);
        let file = unlinked_file(&folder)?;
        Ok(Box::new(DiskLoad { folder, file, block: vec![0xA5; BLOCK], state: State::Writing(0) }))
    },
};

/// Splits arguments into the number of workers and the folder.
fn split_arguments(arguments: &str) -> (&str, &str) {
    arguments.split_once(',').unwrap_or((arguments, "."))
}

/// True if the folder of a disk load is on a file system in memory.
pub(super) fn is_in_memory(spec: &LoadSpec) -> bool {
    let (_, folder) = split_arguments(&spec.arguments);
    // In the initial file system of a guest no other is mounted.
    const RAMFS_MAGIC: FsType = FsType(0x8584_58f6_u32 as _);
    let kinds = [TMPFS_MAGIC, RAMFS_MAGIC];
    statfs(folder).is_ok_and(|found| kinds.contains(&found.filesystem_type()))
}

const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 16;

/// A file that vanishes when it is closed, however the process ends.
fn unlinked_file(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let direct = options.clone().custom_flags(OFlag::O_TMPFILE.bits()).open(folder);
    direct.or_else(|_| {
        // File systems without O_TMPFILE: the name is there for an instant only.
        let path = folder.join(format!(".jitterlab-load-{}", std::process::id()));
        let file = options.create_new(true).open(&path)?;
        remove_file(&path)?;
        Ok(file)
    })
}

struct DiskLoad {
    folder: PathBuf,
    file: File,
    block: Vec<u8>,
    state: State,
}

/// Blocks written or read so far.
enum State {
    Writing(usize),
    Reading(usize),
}

impl Work for DiskLoad {
    fn step(&mut self) -> io::Result<u64> {
        match self.state {
            State::Writing(BLOCKS) => {
                self.file.sync_all()?;
                // Out of the page cache, so that reading asks the disk.
                posix_fadvise(&self.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
                self.file.rewind()?;
                self.state = State::Reading(0);
                Ok(0)
            }
            State::Writing(n) => {
                self.file.write_all(&self.block)?;
                self.state = State::Writing(n + 1);
                Ok(BLOCK as u64)
            }
            State::Reading(BLOCKS) => {
                self.file = unlinked_file(&self.folder)?;
                self.state = State::Writing(0);
                Ok(0)
            }
            State::Reading(n) => {
                self.file.read_exact(&mut self.block)?;
                self.state = State::Reading(n + 1);
                Ok(BLOCK as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_memory_is_told_from_one_on_a_disk() {
        let of = |load: &str| is_in_memory(&load.parse().unwrap());
        assert!(!of("disk:1,/proc") && !of("disk:1,/no/such/folder"));
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        if mounts.contains(" /dev/shm tmpfs ") {
            assert!(of("disk:2,/dev/shm"));
        }
    }
}
