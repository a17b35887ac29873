//! Other jitterlabs on this machine: the CPUs they isolate, those they measure on, and the lock for changes.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::CpuSet;

use super::thread::{Thread, processes, threads};
use crate::facts::Root;
use crate::processes::Stat;

/// Folder of the journals and the lock file: it vanishes at a restart, as the changes do.
const FOLDER: &str = "run/jitterlab";
const LOCK_FILE: &str = "turn";
/// Longest wait for the lock: nobody needs it for as long.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The right to change the machine: only one jitterlab at a time has it, for as long as that takes.
#[derive(Debug)]
pub(super) struct ChangeLock {
    file: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl ChangeLock {
    /// Waits for the lock, and makes the folder of journals.
    pub(super) fn take(root: &Root) -> io::Result<ChangeLock> {
        let folder = root.path(FOLDER);
        let file = folder.join(LOCK_FILE);
        loop {
            DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
            let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(&file);
            let lock = match opened {
                // The folder was taken away meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let begin = Instant::now();
            while let Err(TryLockError::WouldBlock) = lock.try_lock() {
                if begin.elapsed() > MAX_WAIT {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::sleep(Duration::from_millis(5));
            }
            // The process that held it before may have removed the file with the folder.
            let same = |there: fs::Metadata| lock.metadata().is_ok_and(|here| here.ino() == there.ino());
            if fs::metadata(&file).is_ok_and(same) {
                return Ok(ChangeLock { file, folder, _lock: lock });
            }
        }
    }

    /// True if the folder of journals exists, so that somebody has held the lock and left something.
    pub(super) fn journal_folder_exists(root: &Root) -> bool {
        root.path(FOLDER).exists()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ChangeLock {
    /// Leaves nothing where there is no journal.
    fn drop(&mut self) {
        if journals(&self.folder).is_empty() {
            let _ = fs::remove_file(&self.file);
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

pub(super) fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "journal") && path.is_file()).collect()
}

/// Paths of the journals on a machine, read without the lock.
pub(super) fn journals_of(root: &Root) -> Vec<PathBuf> {
    journals(&root.path(FOLDER))
}

/// Hierarchies of cpusets, by the version of control groups.
pub(super) const V1: &str = "sys/fs/cgroup/cpuset";
pub(super) const V2: &str = "sys/fs/cgroup";
/// Begins of the names of groups, before the number of who makes them: for the rest of the machine, and for ourselves.
pub(super) const REST: &str = "jitterlab-rest-";
pub(super) const OWN: &str = "jitterlab-";

/// A control group that carries the number of a process.
pub(super) struct Orphan {
    pub process: u32,
    pub folder: PathBuf,
    /// File of the processes of the group above.
    pub above: PathBuf,
}

/// Control groups that were made for isolation, whether or not who made them lives.
pub(super) fn orphans(root: &Root) -> Vec<Orphan> {
    let of = |parent: &'static str, prefix: &'static str| {
        root.names(parent).into_iter().filter_map(move |name| {
            let process = name.strip_prefix(prefix)?.parse().ok()?;
            let parent = root.path(parent);
            Some(Orphan { process, folder: parent.join(&name), above: parent.join("cgroup.procs") })
        })
    };
    of(V1, REST).chain(of(V2, OWN)).collect()
}

/// The programs that measure.
const MEASURERS: [&str; 6] = [
    "jitterlab",
    "jitterlab-fleet",
    "jitterlab-kernel",
    "jitterlab-mcu",
    "jitterlab-monitor",
    "jitterlab-papers",
];

/// Another jitterlab with a thread that is bound to some of these CPUs alone, and all such CPUs of it: moving it would spoil its
/// measurement.
pub(super) fn other_measurement_on(cpus: &CpuSet, wanted: &dyn Fn(u32) -> bool) -> Option<(u32, CpuSet)> {
    let is_jitterlab = |pid: &u32| {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
        exe.as_deref().and_then(Path::file_name).is_some_and(|name| MEASURERS.iter().any(|own| name == *own))
    };
    let others = processes(wanted)
        .into_iter()
        .filter(is_jitterlab)
        .filter(|pid| !descends_from(*pid, &[std::process::id()]));
    others.map(|process| (process, bound_cpus(process))).find(|(_, bound)| bound.overlaps(cpus))
}

/// The CPUs of a process's real-time threads, and of those that are bound to a single one which is not where its first
/// thread is: that one collects and shows, and its helpers stay with it.
fn bound_cpus(process: u32) -> CpuSet {
    let first = Thread::find(process).and_then(|thread| thread.cpus());
    let alone = |cpus: &CpuSet| cpus.len() == 1 && first.as_ref() != Some(cpus);
    let bound = |thread: &Thread| thread.cpus().filter(|cpus| thread.is_real_time() || alone(cpus));
    threads(process).iter().filter_map(bound).fold(CpuSet::new(), |all, cpus| all.or(&cpus))
}

/// True if a process is one of these, or was started by one of them.
pub(super) fn descends_from(process: u32, from: &[u32]) -> bool {
    /// No chain of parents is as long; where it seems so, it has changed while it was followed.
    const LONGEST: usize = 64;
    let parent = |pid: &u32| Stat::of(*pid)?.field(4)?.parse().ok();
    std::iter::successors(Some(process), parent).take(LONGEST).any(|pid| from.contains(&pid))
}
