//! Other jitterlabs on this machine: the CPUs they isolate, those they measure on, and the lock for changes.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::CpuSet;

use super::thread::{Thread, other_processes, threads_of_process};
use crate::facts::Root;
use crate::processes::Stat;

/// Folder of the journals and the lock file: it vanishes at a restart, as the changes do.
const FOLDER: &str = "run/jitterlab";
const LOCK_FILE: &str = "turn";
/// Longest wait for the lock: nobody needs it for as long.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The right to change the machine: only one jitterlab at a time has it, for as long as that takes.
#[derive(Debug)]
pub(crate) struct ChangeLock {
    file: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl ChangeLock {
    /// Waits for the lock, 20 s at most, and makes the folder of journals.
    pub(crate) fn take(root: &Root) -> io::Result<ChangeLock> {
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
    pub(crate) fn journal_folder_exists(root: &Root) -> bool {
        root.path(FOLDER).exists()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ChangeLock {
    /// Removes the folder and the lock file if there is no journal.
    fn drop(&mut self) {
        if journal_paths_in(&self.folder).is_empty() {
            let _ = fs::remove_file(&self.file);
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

pub(crate) fn journal_paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "journal") && path.is_file()).collect()
}

/// Paths of the journals on a machine, read without the lock.
pub(crate) fn journal_paths(root: &Root) -> Vec<PathBuf> {
    journal_paths_in(&root.path(FOLDER))
}

/// Hierarchies of cpusets, by the version of control groups.
pub(crate) const CPUSETS_V1: &str = "sys/fs/cgroup/cpuset";
pub(crate) const CPUSETS_V2: &str = "sys/fs/cgroup";
/// Begins of the names of groups, before the number of who makes them: for the rest of the machine, and for ourselves.
pub(crate) const REST_GROUP_PREFIX: &str = "jitterlab-rest-";
pub(crate) const OWN_GROUP_PREFIX: &str = "jitterlab-";

/// A control group that carries the number of a process.
pub(crate) struct InstanceGroup {
    pub process: u32,
    pub folder: PathBuf,
    /// File of the processes of the group above.
    pub above: PathBuf,
}

/// Control groups that jitterlabs made for isolation, living or ended.
pub(crate) fn instance_groups(root: &Root) -> Vec<InstanceGroup> {
    let of = |parent: &'static str, prefix: &'static str| {
        root.names(parent).into_iter().filter_map(move |name| {
            let process = name.strip_prefix(prefix)?.parse().ok()?;
            let parent = root.path(parent);
            Some(InstanceGroup { process, folder: parent.join(&name), above: parent.join("cgroup.procs") })
        })
    };
    of(CPUSETS_V1, REST_GROUP_PREFIX).chain(of(CPUSETS_V2, OWN_GROUP_PREFIX)).collect()
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

/// Another jitterlab's process that measures on these CPUs, and all CPUs it measures on; `None` if none does.
pub(crate) fn other_measurement_on(cpus: &CpuSet, wanted: &dyn Fn(u32) -> bool) -> Option<(u32, CpuSet)> {
    let is_jitterlab = |pid: &u32| {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
        exe.as_deref().and_then(Path::file_name).is_some_and(|name| MEASURERS.iter().any(|own| name == *own))
    };
    let others = other_processes(wanted)
        .into_iter()
        .filter(is_jitterlab)
        .filter(|pid| !descends_from(*pid, &[std::process::id()]));
    others.map(|process| (process, bound_cpus(process))).find(|(_, bound)| bound.overlaps(cpus))
}

/// CPUs of a process's real-time threads, and of those bound to one CPU other than its first thread's.
fn bound_cpus(process: u32) -> CpuSet {
    let first = Thread::find(process).and_then(|thread| thread.cpus());
    let alone = |cpus: &CpuSet| cpus.len() == 1 && first.as_ref() != Some(cpus);
    let bound = |thread: &Thread| thread.cpus().filter(|cpus| thread.is_real_time() || alone(cpus));
    threads_of_process(process).iter().filter_map(bound).fold(CpuSet::new(), |all, cpus| all.or(&cpus))
}

/// True if a process is one of these, or was started by one of them.
pub(crate) fn descends_from(process: u32, from: &[u32]) -> bool {
    /// No chain of parents is as long; where it seems so, it has changed while it was followed.
    const LONGEST: usize = 64;
    let parent = |pid: &u32| Stat::from_number(*pid)?.field(4)?.parse().ok();
    std::iter::successors(Some(process), parent).take(LONGEST).any(|pid| from.contains(&pid))
}
