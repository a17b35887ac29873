//! The threads of a target: those of a process, of a name, of a unit or container, or of a command that is
//! started.
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jitterlab_model::Error;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::Signal;

use super::error::{NotWatched, describe_target};
use super::target::Target;
use crate::child::{EndWithParent, process_and_descendants};
use crate::facts::thread_name;
use crate::processes;
use crate::programs::system_command;

/// A thread of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundThread {
    pub(super) process: i32,
    pub(super) thread: i32,
    pub(super) name: String,
    pub(super) program: String,
}

impl Target {
    pub(super) fn start_command(&self) -> Result<Option<Child>, Error> {
        let Target::Command(words) = self else { return Ok(None) };
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| Error::bad_use("no command to start").remedy("write it after --"))?;
        // Its output goes to standard error: standard output is for the result.
        let (nothing, notes) = (Stdio::null(), Stdio::from(io::stderr()));
        let mut command = Command::new(program);
        command.args(arguments).stdin(nothing).stdout(notes).end_with_parent(Signal::SIGTERM);
        // As a subreaper, this process finds and ends the command's descendants even if their own parent has
        // ended.
        let _ = set_child_subreaper(true);
        command
            .spawn()
            .map(Some)
            .map_err(|error| Error::refused(format!("{program} cannot be started")).because(error))
    }

    /// Finds the present threads of the target; `child` is the command's process.
    pub(super) fn find_threads(&self, child: Option<&Child>) -> Result<Vec<FoundThread>, Error> {
        let found = match self {
            Target::Process(process) => threads_of_process(*process),
            Target::Command(_) => {
                let family = child.map(|child| process_and_descendants(child.id())).unwrap_or_default();
                family.into_iter().flat_map(|process| threads_of_process(process.cast_signed())).collect()
            }
            Target::Thread(name) => {
                all_processes().flat_map(threads_of_process).filter(|thread| thread.name == *name).collect()
            }
            Target::Unit(unit) => {
                let named = if unit.contains('.') { unit.clone() } else { format!("{unit}.service") };
                threads_in_groups(|path| path.split('/').any(|part| part == named))
            }
            Target::Container(path) if path.contains('/') => {
                let wanted = group_path_without_mount(path);
                threads_in_groups(|path| Path::new(path).starts_with(&wanted))
            }
            Target::Container(container) => {
                let number = container_id(container).unwrap_or_else(|| container.clone());
                threads_in_groups(|path| {
                    number.len() >= 4 && path.split('/').any(|part| part.contains(&number))
                })
            }
        };
        // jitterlab's own threads are none of a control loop.
        let own = std::process::id() as i32;
        let found: Vec<FoundThread> = found.into_iter().filter(|thread| thread.process != own).collect();
        if found.is_empty() && child.is_none() {
            Err(Error::bad_use(format!("there is no {}", describe_target(self))).case(NotWatched::Absent))
        } else {
            Ok(found)
        }
    }
}

impl FoundThread {
    /// Reads the names of the thread and its program again.
    pub(super) fn read_names(&mut self) {
        for (known, number) in [(&mut self.name, self.thread), (&mut self.program, self.process)] {
            if let Ok(now) = thread_name(&thread_folder(self.process, number)) {
                *known = now;
            }
        }
    }
}

/// Numbers of calls that only 32-bit processors have, on each the same: those with times of 64 bits (asm-generic/unistd.h).
const CALLS_OF_32_BITS: RangeInclusive<i64> = 403..=423;

/// True if a call of this number is one of a 32-bit program on a 64-bit kernel.
pub(super) fn is_32_bit_call(call: i64) -> bool {
    cfg!(target_pointer_width = "64") && CALLS_OF_32_BITS.contains(&call)
}

/// True if a process runs a 32-bit program on a 64-bit kernel: byte 5 of an ELF file is its class.
pub(super) fn is_32_bit_program(process: i32) -> bool {
    let mut head = [0; 5];
    let read = File::open(format!("/proc/{process}/exe")).and_then(|mut file| file.read_exact(&mut head));
    cfg!(target_pointer_width = "64") && read.is_ok() && head == *b"\x7fELF\x01"
}

/// Numbers of all processes.
fn all_processes() -> impl Iterator<Item = i32> {
    processes::numeric_names("/proc").into_iter().map(u32::cast_signed)
}

fn threads_of_process(process: i32) -> Vec<FoundThread> {
    let program = thread_name(Path::new(&format!("/proc/{process}"))).unwrap_or_default();
    let thread = |thread: u32| {
        let thread = thread.cast_signed();
        let name = thread_name(&thread_folder(process, thread)).ok()?;
        Some(FoundThread { process, thread, name, program: program.clone() })
    };
    processes::threads_of(process.unsigned_abs()).into_iter().filter_map(thread).collect()
}

/// The threads of processes in the control groups with a `wanted` path.
fn threads_in_groups(wanted: impl Fn(&str) -> bool) -> Vec<FoundThread> {
    let is_wanted = |process: &i32| {
        let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).any(&wanted)
    };
    all_processes().filter(is_wanted).flat_map(threads_of_process).collect()
}

/// A control group's path as in `/proc/PID/cgroup`, also if it is given as a folder below a mount.
fn group_path_without_mount(path: &str) -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        words.next()?.starts_with("cgroup").then_some(place)
    });
    let below = places.filter_map(|place| Path::new(path).strip_prefix(place).ok());
    Path::new("/").join(below.min_by_key(|below| below.as_os_str().len()).unwrap_or(Path::new(path)))
}

/// Asks the usual container engines for the identifier of a container; `None` if none knows its name.
fn container_id(name: &str) -> Option<String> {
    ["docker", "podman", "nerdctl"].into_iter().find_map(|program| {
        let mut command = system_command(program);
        let asked = command.args(["inspect", "--format", "{{.Id}}", name]).stderr(Stdio::null()).output();
        let answer = String::from_utf8_lossy(&asked.ok()?.stdout).into_owned();
        let number = answer.lines().next()?.trim().to_owned();
        (!number.is_empty()).then_some(number)
    })
}

/// Folder of a thread's files in `/proc`.
pub(super) fn thread_folder(process: i32, thread: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/task/{thread}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_32_bit_programs_are_recognised() {
        let is_64 = cfg!(target_pointer_width = "64");
        // clock_nanosleep and futex with times of 64 bits; calls that all processors have.
        assert_eq!([407, 422, 230, 441].map(is_32_bit_call), [is_64, is_64, false, false]);
        assert!(!is_32_bit_program(std::process::id() as i32));
    }
}
