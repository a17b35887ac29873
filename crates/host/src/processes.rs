//! Processes, their threads and control groups, as `/proc` shows them.

use std::fs;
use std::path::Path;

use jitterlab_model::CpuSet;
use nix::sched::{CpuSet as Mask, sched_getaffinity};
use nix::unistd::Pid;

/// The kernel's mark of its own threads, in the flags of a [`Stat`].
const PF_KTHREAD: u64 = 0x0020_0000;

/// Entries of a folder of `/proc` that are numbers: of all processes, or of the threads of one.
pub(crate) fn numeric_names(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub(crate) fn threads_of(process: u32) -> Vec<u32> {
    numeric_names(&format!("/proc/{process}/task"))
}

/// The line `stat` of a process or thread (proc_pid_stat(5)).
pub(crate) struct Stat {
    pub(crate) pid: u32,
    /// Name of the program, which may hold spaces and parentheses.
    pub(crate) name: String,
    fields: String,
}

impl Stat {
    /// Reads the line of the process or thread with this number.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        Self::from_folder(Path::new(&format!("/proc/{number}")))
    }

    /// Reads the line in a folder of `/proc`.
    pub(crate) fn from_folder(folder: &Path) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&fs::read(folder.join("stat")).ok()?))
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (pid, rest) = line.split_once(" (")?;
        let (name, fields) = rest.rsplit_once(')')?;
        Some(Stat { pid: pid.parse().ok()?, name: name.into(), fields: fields.into() })
    }

    /// A field after the name, by its number in the manual (3 is the state); `None` if there is none.
    pub(crate) fn field(&self, number: usize) -> Option<&str> {
        self.fields.split_whitespace().nth(number.checked_sub(3)?)
    }

    pub(crate) fn number_field(&self, field: usize) -> Option<u64> {
        self.field(field)?.parse().ok()
    }

    /// True for a thread of the kernel's own.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.number_field(9).is_some_and(|flags| flags & PF_KTHREAD != 0)
    }
}

/// The processors that a thread may use.
pub(crate) fn allowed_cpus(thread: i32) -> Option<CpuSet> {
    let mask = sched_getaffinity(Pid::from_raw(thread)).ok()?;
    let most = u16::try_from(Mask::count()).unwrap_or(u16::MAX);
    Some((0..most).filter(|cpu| mask.is_set(usize::from(*cpu)) == Ok(true)).collect())
}

/// The control group's path in `/proc/PID/cgroup` for `controller` (version 2: empty); `None` without one.
pub(crate) fn control_group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}
