//! What was changed, noted before it is changed, so that it can be undone by whoever comes later.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jitterlab_model::CpuSet;
use serde::{Deserialize, Serialize};

use super::thread::Thread;
use crate::host::facts::Root;

/// Where the journals are: gone after a restart, as what they tell of is.
const FOLDER: &str = "run/jitterlab";

/// One change, with what it takes to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
enum Change {
    /// The first line of a journal: whose changes they are.
    Owner { process: Thread },
    /// The change before this one was refused, so there is nothing of it to undo.
    Refused,
    /// A file that the kernel makes held this.
    Value { file: PathBuf, before: String },
    /// A thread could run on these CPUs.
    Affinity { thread: Thread, before: CpuSet },
    /// A process was in this control group, given by its file of processes.
    Member { process: Thread, group: PathBuf },
    /// A control group was made; its members go to the one given by `above`, its file of processes.
    Group { folder: PathBuf, above: PathBuf },
}

/// The changes of one process, on disk.
#[derive(Debug)]
pub(super) struct Journal {
    root: Root,
    path: PathBuf,
    file: File,
    changes: Vec<Change>,
}

impl Journal {
    pub(super) fn create(root: &Root) -> Result<Self, (PathBuf, io::Error)> {
        let folder = root.path(FOLDER);
        let path = folder.join(format!("isolation-{}.journal", std::process::id()));
        let file = fs::create_dir_all(&folder)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        let file = file.map_err(|error| (path.clone(), error))?;
        let mut journal = Journal { root: root.clone(), path: path.clone(), file, changes: Vec::new() };
        let process = Thread::own();
        journal.note(Change::Owner { process }).map_err(|error| (path, error))?;
        Ok(journal)
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        let line = serde_json::to_string(&change).map_err(io::Error::other)? + "\n";
        self.file.write_all(line.as_bytes())?;
        self.changes.push(change);
        Ok(())
    }

    /// Notes a change, makes it, and notes if that was refused.
    fn make(&mut self, change: Change, action: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.note(change)?;
        action().inspect_err(|_| {
            // If even this cannot be written, undoing what was not done does no harm.
            let _ = self.note(Change::Refused);
        })
    }

    /// Writes to a file of the kernel; says whether that changed anything.
    pub(super) fn set(&mut self, name: &str, value: &str) -> io::Result<bool> {
        let file = self.root.path(name);
        let before = fs::read_to_string(&file)?.trim().to_owned();
        if before == value {
            return Ok(false);
        }
        self.make(Change::Value { file: file.clone(), before }, || write(&file, value))?;
        Ok(true)
    }

    /// Binds a thread to CPUs.
    pub(super) fn bind(&mut self, thread: &Thread, before: CpuSet, cpus: &CpuSet) -> io::Result<()> {
        self.make(Change::Affinity { thread: thread.clone(), before }, || thread.bind(cpus))
    }

    /// Notes the CPUs of a thread that is about to lose some in another way.
    pub(super) fn note_cpus(&mut self, thread: Thread, before: CpuSet) -> io::Result<()> {
        self.note(Change::Affinity { thread, before })
    }

    /// Makes a control group below `parent`.
    pub(super) fn make_group(&mut self, parent: &str, name: &str) -> io::Result<PathBuf> {
        let (folder, above) =
            (self.root.path(parent).join(name), self.root.path(parent).join("cgroup.procs"));
        self.make(Change::Group { folder: folder.clone(), above }, || fs::create_dir(&folder))?;
        Ok(folder)
    }

    /// Moves a process from one control group to another; both are given by their files of processes.
    pub(super) fn move_process(&mut self, process: Thread, from: &Path, to: &Path) -> io::Result<()> {
        let id = process.id.to_string();
        self.make(Change::Member { process, group: from.into() }, || write(to, &id))
    }

    /// Undoes every change, latest first, and says what could not be undone.
    pub(super) fn undo(&mut self) -> Vec<String> {
        let problems = undo_all(std::mem::take(&mut self.changes));
        // Taken away even with problems, since trying again would not solve them.
        remove(&self.path);
        problems
    }
}

fn write(file: &Path, value: &str) -> io::Result<()> {
    // An empty write does not reach the kernel, so an empty value is a line of its own.
    let text = if value.is_empty() { "\n" } else { value };
    OpenOptions::new().write(true).truncate(true).open(file)?.write_all(text.as_bytes())
}

/// Takes a journal away, and the folder with the last one.
fn remove(journal: &Path) {
    let _ = fs::remove_file(journal);
    if let Some(folder) = journal.parent() {
        let _ = fs::remove_dir(folder);
    }
}

fn undo_all(changes: Vec<Change>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut latest_first = changes.into_iter().rev();
    while let Some(change) = latest_first.next() {
        if change == Change::Refused {
            latest_first.next();
        } else {
            problems.extend(undo(change).err());
        }
    }
    problems
}

/// A thread that has ended needs nothing undone.
fn undo(change: Change) -> Result<(), String> {
    match change {
        Change::Owner { .. } | Change::Refused => Ok(()),
        Change::Value { file, before } => write(&file, &before)
            .or_else(|error| lift_limit(&file, &before).unwrap_or(Err(error)))
            .map_err(|error| format!("{} to {before:?}: {error}", file.display())),
        Change::Affinity { thread, before } if thread.is_alive() => thread
            .bind(&before)
            .or_else(|error| if thread.is_alive() { Err(error) } else { Ok(()) })
            .map_err(|error| format!("CPUs {before} to {}: {error}", thread.name)),
        Change::Member { process, group } if process.is_alive() => write(&group, &process.id.to_string())
            .or_else(|error| if process.is_alive() { Err(error) } else { Ok(()) })
            .map_err(|error| format!("{} to {}: {error}", process.name, group.display())),
        Change::Affinity { .. } | Change::Member { .. } => Ok(()),
        Change::Group { folder, above } => {
            remove_group(&folder, &above).map_err(|error| format!("removal of {}: {error}", folder.display()))
        }
    }
}

/// Some kernels (6.1 among them) do not take the limit off a group that has members, though none is what it had: it gets
/// all that the group above has, which is the same. `None` where that is not the matter.
pub(super) fn lift_limit(file: &Path, before: &str) -> Option<io::Result<()>> {
    if !before.trim().is_empty() || file.file_name()? != "cpuset.cpus" {
        return None;
    }
    let above = file.parent()?.parent()?.join("cpuset.cpus.effective");
    let all = fs::read_to_string(above).ok()?;
    Some(write(file, all.trim()))
}

fn remove_group(folder: &Path, above: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    // What was started in it meanwhile goes to the group above; a process that just ends is busy for a moment.
    let mut result = Ok(());
    for _ in 0..50 {
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for member in members.split_whitespace() {
            let _ = write(above, member);
        }
        result = fs::remove_dir(folder);
        if result.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    result
}

/// What was put back after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The process that had changed it.
    pub process: u32,
    /// The number of changes undone.
    pub changes: usize,
    /// What could not be undone.
    pub problems: Vec<String>,
}

/// Undoes what processes that are gone had changed.
pub fn restore(root: &Root) -> Vec<Restored> {
    let folder = root.path(FOLDER);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let journals =
        entries.map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "journal"));
    let mut restored = Vec::new();
    for path in journals {
        // The last line may be half written; what it tells of was not done then.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut changes = text.lines().map_while(|line| serde_json::from_str(line).ok());
        let Some(Change::Owner { process }) = changes.next() else {
            remove(&path);
            continue;
        };
        if process.is_alive() {
            continue;
        }
        let changes: Vec<Change> = changes.collect();
        let count = changes.len();
        let problems = undo_all(changes);
        remove(&path);
        restored.push(Restored { process: process.id, changes: count, problems });
    }
    restored
}
