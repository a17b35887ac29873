//! Journal of changes, written before each change, so that a later process can undo them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jitterlab_model::{CpuSet, Policy};
use serde::{Deserialize, Serialize};

use super::other_instances::{ChangeLock, instance_groups, journal_paths, journal_paths_in};
use super::thread::Thread;
use crate::facts::Root;

/// One change, with the data to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
enum Change {
    /// The first line of a journal: the owner of the changes, and the CPUs they isolate.
    Owner {
        process: Thread,
        #[serde(default)]
        cpus: CpuSet,
    },
    /// The change before this one was refused, so there is nothing of it to undo.
    Refused,
    /// A file that the kernel makes held this.
    Value { file: PathBuf, before: String },
    /// A thread could run on these CPUs.
    Affinity { thread: Thread, before: CpuSet },
    /// A thread was scheduled like this.
    Policy { thread: Thread, before: Policy },
    /// A process was in this control group, given by its file of processes.
    Member { process: Thread, group: PathBuf },
    /// A control group was made; its members go to the one given by `above`, its file of processes.
    Group { folder: PathBuf, above: PathBuf },
}

impl Change {
    /// True if both change the same thing of the machine.
    fn has_same_target(&self, other: &Change) -> bool {
        match (self, other) {
            (Change::Value { file, .. }, Change::Value { file: other, .. }) => file == other,
            (Change::Affinity { thread, .. }, Change::Affinity { thread: other, .. }) => thread == other,
            (Change::Policy { thread, .. }, Change::Policy { thread: other, .. }) => thread == other,
            (Change::Member { process, .. }, Change::Member { process: other, .. }) => process == other,
            _ => false,
        }
    }
}

/// The journal of another process.
#[derive(Debug)]
pub(crate) struct OtherJournal {
    pub(crate) process: Thread,
    /// The CPUs it isolates.
    pub(crate) cpus: CpuSet,
    changes: Vec<Change>,
}

impl OtherJournal {
    /// The control groups that it made.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Path> {
        self.changes.iter().filter_map(|change| match change {
            Change::Group { folder, .. } => Some(folder.as_path()),
            _ => None,
        })
    }
}

/// Journals of all living processes, this one included.
fn active_journals(root: &Root) -> Vec<OtherJournal> {
    let read = journal_paths(root).into_iter().filter_map(|path| read_journal(&path));
    read.filter(|journal| journal.process.is_alive()).collect()
}

/// Journals of other living processes.
pub(crate) fn other_active_journals(root: &Root) -> Vec<OtherJournal> {
    let own = Thread::own_first_thread();
    active_journals(root).into_iter().filter(|one| one.process != own).collect()
}

/// Reads a journal; `None` if it has no owner. Its last line may be half written; its change was not made
/// then.
fn read_journal(path: &Path) -> Option<OtherJournal> {
    let text = fs::read_to_string(path).ok()?;
    let mut changes = text.lines().map_while(|line| serde_json::from_slice(line.as_bytes()).ok());
    let Some(Change::Owner { process, cpus }) = changes.next() else { return None };
    Some(OtherJournal { process, cpus, changes: changes.collect() })
}

/// The changes of one process, on disk. A process that changes something again notes the original value of
/// the first journal: then the last to end restores that, in whichever order they end.
#[derive(Debug)]
pub(crate) struct Journal {
    root: Root,
    path: PathBuf,
    file: File,
    changes: Vec<Change>,
    others: Vec<OtherJournal>,
}

impl Journal {
    pub(crate) fn create(
        lock: &ChangeLock,
        root: &Root,
        cpus: &CpuSet,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let path = lock.folder().join(format!("isolation-{}.journal", std::process::id()));
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| (path.clone(), error))?;
        let others = other_active_journals(root);
        let mut journal =
            Journal { root: root.clone(), path: path.clone(), file, changes: Vec::new(), others };
        let owner = Change::Owner { process: Thread::own_first_thread(), cpus: cpus.clone() };
        journal.append_change(owner).map_err(|error| (path, error))?;
        Ok(journal)
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Journals of other processes that were active when this one began.
    pub(crate) fn other_journals(&self) -> &[OtherJournal] {
        &self.others
    }

    fn append_change(&mut self, change: Change) -> io::Result<()> {
        let line = serde_json::to_string(&change).map_err(io::Error::other)? + "\n";
        self.file.write_all(line.as_bytes())?;
        self.changes.push(change);
        Ok(())
    }

    /// Notes a change, makes it, and notes if that was refused.
    fn make_change(&mut self, change: Change, action: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.append_change(change)?;
        action().inspect_err(|_| {
            // If even this cannot be written, undoing a change that was not made does no harm.
            let _ = self.append_change(Change::Refused);
        })
    }

    /// Another active isolation's change of the same target, which has the original value, if there is one.
    fn change_of_other(&self, change: &Change) -> Option<&Change> {
        self.others.iter().flat_map(|other| &other.changes).find(|other| other.has_same_target(change))
    }

    /// This change, or another isolation's of the same target, which has the original value.
    fn with_original_value(&self, change: Change) -> Change {
        self.change_of_other(&change).cloned().unwrap_or(change)
    }

    /// Chosen value in a file of the kernel before any isolation; `None` if it cannot be read.
    pub(crate) fn original_text(&self, name: &str) -> Option<String> {
        let file = self.root.path(name);
        match self.change_of_other(&Change::Value { file: file.clone(), before: String::new() }) {
            Some(Change::Value { before, .. }) => Some(before.clone()),
            _ => fs::read_to_string(&file).ok().map(|text| bracketed_choice(text.trim()).to_owned()),
        }
    }

    /// The CPUs that a thread could run on before any isolation.
    pub(crate) fn original_cpus(&self, thread: &Thread) -> Option<CpuSet> {
        match self.change_of_other(&Change::Affinity { thread: thread.clone(), before: CpuSet::new() }) {
            Some(Change::Affinity { before, .. }) => Some(before.clone()),
            _ => thread.cpus(),
        }
    }

    /// Writes to a file of the kernel; returns true if that changed anything.
    pub(crate) fn set_value(&mut self, name: &str, value: &str) -> io::Result<bool> {
        let file = self.root.path(name);
        let now = bracketed_choice(fs::read_to_string(&file)?.trim()).to_owned();
        let before = self.original_text(name).unwrap_or_else(|| now.clone());
        if now == value && before == value {
            return Ok(false);
        }
        self.make_change(Change::Value { file: file.clone(), before }, || write_file(&file, value))?;
        Ok(true)
    }

    pub(crate) fn bind_thread(&mut self, thread: &Thread, before: CpuSet, cpus: &CpuSet) -> io::Result<()> {
        self.make_change(Change::Affinity { thread: thread.clone(), before }, || thread.bind(cpus))
    }

    /// Notes and sets the scheduling policy of a thread.
    pub(crate) fn set_policy(&mut self, thread: &Thread, policy: Policy) -> io::Result<()> {
        let Some(now) = thread.policy() else { return Ok(()) };
        let change = self.with_original_value(Change::Policy { thread: thread.clone(), before: now });
        self.make_change(change, || thread.set_policy(policy))
    }

    /// Notes the CPUs of a thread that is about to lose some in another way.
    pub(crate) fn note_cpus(&mut self, thread: Thread, before: CpuSet) -> io::Result<()> {
        self.append_change(Change::Affinity { thread, before })
    }

    /// Notes and makes a control group below `parent`; returns its folder.
    pub(crate) fn make_group(&mut self, parent: &str, name: &str) -> io::Result<PathBuf> {
        let (folder, above) =
            (self.root.path(parent).join(name), self.root.path(parent).join("cgroup.procs"));
        self.make_change(Change::Group { folder: folder.clone(), above }, || {
            match fs::create_dir(&folder) {
                // Our own group, which the kernel could not remove while an earlier process kept it busy.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            }
        })?;
        Ok(folder)
    }

    /// Moves a process from one control group to another; both are given by their files of processes.
    pub(crate) fn move_process(&mut self, process: Thread, from: &Path, to: &Path) -> io::Result<()> {
        let id = process.id.to_string();
        let change = self.with_original_value(Change::Member { process, group: from.into() });
        self.make_change(change, || write_file(to, &id))
    }

    /// Undoes every change that no other isolation needs, removes the journal, and returns the failures.
    pub(crate) fn undo(&mut self) -> Vec<String> {
        if self.changes.is_empty() {
            return Vec::new();
        }
        let lock = ChangeLock::take(&self.root);
        let problems = undo_changes(std::mem::take(&mut self.changes), &other_active_journals(&self.root));
        // Taken away even with problems, since trying again would not solve them.
        let _ = fs::remove_file(&self.path);
        drop(lock);
        problems
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.undo();
    }
}

/// The choice in a file such as `always [madvise] never` or `none (full)`, or its whole text.
pub(crate) fn bracketed_choice(text: &str) -> &str {
    let between = |open, close| Some(text.split_once(open)?.1.split_once(close)?.0);
    between('[', ']').or_else(|| between('(', ')')).unwrap_or(text)
}

fn write_file(file: &Path, value: &str) -> io::Result<()> {
    // An empty write does not reach the kernel, so an empty value is a line of its own.
    let text = if value.is_empty() { "\n" } else { value };
    OpenOptions::new().write(true).truncate(true).open(file)?.write_all(text.as_bytes())
}

/// Undoes changes, latest first, but refused ones and those that `others` need; returns the failures.
fn undo_changes(changes: Vec<Change>, others: &[OtherJournal]) -> Vec<String> {
    let needed = |change: &Change| {
        others.iter().flat_map(|other| &other.changes).any(|other| other.has_same_target(change))
    };
    let mut problems = Vec::new();
    let mut latest_first = changes.into_iter().rev();
    while let Some(change) = latest_first.next() {
        if change == Change::Refused {
            latest_first.next();
        } else if !needed(&change) {
            problems.extend(undo_change(change).err());
        }
    }
    problems
}

/// Undoes one change; one of a thread that has ended needs nothing.
fn undo_change(change: Change) -> Result<(), String> {
    match change {
        Change::Owner { .. } | Change::Refused => Ok(()),
        // A value of a device or a group that is gone needs nothing undone either.
        Change::Value { file, .. } if !file.exists() => Ok(()),
        Change::Value { file, before } => write_file(&file, &before)
            .or_else(|error| lift_limit(&file, &before).unwrap_or(Err(error)))
            .map_err(|error| format!("{} to {before:?}: {error}", file.display())),
        // For a thread that the kernel binds, the change was refused and a kill left no time to note that; or
        // it was made while the kernel was still creating the thread.
        Change::Affinity { thread, before } if thread.is_alive() => thread
            .bind(&before)
            .or_else(|error| if thread.is_alive() && !thread.is_bound() { Err(error) } else { Ok(()) })
            .map_err(|error| format!("CPUs {before} to {}: {error}", thread.name)),
        Change::Policy { thread, before } if thread.is_alive() => {
            thread.set_policy(before).map_err(|error| format!("{before} of {}: {error}", thread.name))
        }
        Change::Member { process, group } if process.is_alive() => {
            write_file(&group, &process.id.to_string())
                .or_else(|error| if process.is_alive() { Err(error) } else { Ok(()) })
                .map_err(|error| format!("{} to {}: {error}", process.name, group.display()))
        }
        Change::Affinity { .. } | Change::Policy { .. } | Change::Member { .. } => Ok(()),
        Change::Group { folder, above } => empty_and_remove_group(&folder, &above)
            .map_err(|error| format!("removal of {}: {error}", folder.display())),
    }
}

/// Gives a group without a CPU limit all CPUs of the group above; `None` for other files. Some kernels (6.1
/// among them) do not remove the limit of a group that has members.
pub(crate) fn lift_limit(file: &Path, before: &str) -> Option<io::Result<()>> {
    if !before.trim().is_empty() || file.file_name()? != "cpuset.cpus" {
        return None;
    }
    let above = file.parent()?.parent()?.join("cpuset.cpus.effective");
    let all = fs::read_to_string(above).ok()?;
    Some(write_file(file, all.trim()))
}

/// A process that ends has ended by then.
const MAX_WAIT: Duration = Duration::from_secs(10);

fn empty_and_remove_group(folder: &Path, above: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    // Processes started in it meanwhile go to the group above. A process that just ends is busy for a moment,
    // which is long if others keep it from its processor.
    let mut result = Ok(());
    let begin = Instant::now();
    while begin.elapsed() < MAX_WAIT {
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for member in members.split_whitespace() {
            let _ = write_file(above, member);
        }
        result = fs::remove_dir(folder);
        if result.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    result
}

/// Result of undoing a dead process's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredProcess {
    /// The process that had changed it.
    pub process: u32,
    /// The number of changes undone.
    pub changes: usize,
    /// Changes that could not be undone.
    pub problems: Vec<String>,
}

/// Undoes the changes of ended processes, and lists what was undone: nothing without permission for it.
pub fn restore(root: &Root) -> Vec<RestoredProcess> {
    // Who was killed before its first change has left no journal, but perhaps the folder for it.
    if !ChangeLock::journal_folder_exists(root) && unrestored_processes(root).is_empty() {
        return Vec::new();
    }
    ChangeLock::take(root).map_or(Vec::new(), |lock| restore_in(&lock, root))
}

/// Undoes the changes of ended processes, for the holder of the lock.
pub(crate) fn restore_in(lock: &ChangeLock, root: &Root) -> Vec<RestoredProcess> {
    let mut restored = Vec::new();
    for path in journal_paths_in(lock.folder()) {
        let found = read_journal(&path);
        if found.as_ref().is_some_and(|journal| journal.process.is_alive()) {
            continue;
        }
        if let Some(OtherJournal { process, changes, .. }) = found {
            let count = changes.len();
            let problems = undo_changes(changes, &active_journals(root));
            restored.push(RestoredProcess { process: process.id, changes: count, problems });
        }
        let _ = fs::remove_file(&path);
    }
    for group in instance_groups(root).into_iter().filter(|group| is_dead(root, group.process)) {
        let removed = undo_change(Change::Group { folder: group.folder, above: group.above });
        restored.push(RestoredProcess {
            process: group.process,
            changes: 1,
            problems: removed.err().into_iter().collect(),
        });
    }
    restored
}

/// True if no living jitterlab has this number and could own a control group; false for this process.
fn is_dead(root: &Root, process: u32) -> bool {
    let lives = || Thread::find(process).is_some_and(|thread| thread.name.starts_with("jitterlab"));
    process != std::process::id()
        && !lives()
        && active_journals(root).iter().all(|one| one.process.id != process)
}

/// Numbers of ended processes whose changes are not undone; any user may ask.
pub fn unrestored_processes(root: &Root) -> Vec<u32> {
    let journals = journal_paths(root).into_iter().filter_map(|path| read_journal(&path));
    let gone = journals.filter(|journal| !journal.process.is_alive()).map(|journal| journal.process.id);
    let groups = instance_groups(root).into_iter().map(|group| group.process);
    let mut left: Vec<u32> = gone.chain(groups.filter(|process| is_dead(root, *process))).collect();
    left.sort_unstable();
    left.dedup();
    left
}
