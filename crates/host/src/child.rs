//! Programs that this one starts, and their ends.
#![expect(unsafe_code, reason = "what runs between fork and exec is unsafe by its nature")]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid};

use crate::processes::{Stat, threads_of};

/// A program that does not outlive this one.
pub trait EndWithParent {
    /// Has the kernel send it a signal when the thread that starts it ends, or this process is killed. So
    /// that thread has to wait for it.
    fn end_with_parent(&mut self, signal: Signal) -> &mut Self;
}

impl EndWithParent for Command {
    fn end_with_parent(&mut self, signal: Signal) -> &mut Self {
        let parent = getpid();
        let tell_the_kernel = move || {
            set_pdeathsig(signal)?;
            // A parent that ended before prctl() took effect sends no signal any more.
            if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        };
        // SAFETY: between fork and exec it makes system calls only, and allocates nothing.
        unsafe { self.pre_exec(tell_the_kernel) }
    }
}

/// Kills all descendants of a program when this process is gone, however it ends: for a script the kernel
/// signals only the shell. Dropped when the program has ended.
#[derive(Debug)]
pub struct DescendantKiller(Child);

/// Environment variable that marks descendants.
const MARK_VARIABLE: &str = "JITTERLAB_ENDS_WITH";

/// Script that kills all marked processes at the end of its input, which this process holds open.
const GUARD_SCRIPT: &str = r#"read -r line
while marked=$(grep -lsxz "$0" /proc/[0-9]*/environ); [ -n "$marked" ]; do
    for p in $marked; do p=${p#/proc/}; kill -9 "${p%/environ}"; done
done"#;

impl DescendantKiller {
    /// Marks what a command will start, and starts a guard that kills it when this process ends.
    pub fn new(command: &mut Command) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", GUARD_SCRIPT, &format!("{MARK_VARIABLE}={mark}")]);
        guard.env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env(MARK_VARIABLE, mark);
        // In a process group of its own, so that Ctrl-C does not end it first.
        guard.process_group(0).spawn().map(DescendantKiller)
    }
}

impl Drop for DescendantKiller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child_processes(process: u32) -> Vec<u32> {
    let path = |thread| format!("/proc/{process}/task/{thread}/children");
    let lists = threads_of(process).into_iter().filter_map(|thread| fs::read_to_string(path(thread)).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// A process and all its descendants, each before those that it started.
pub fn process_and_descendants(first: u32) -> Vec<u32> {
    let mut family = vec![first];
    let mut next = 0;
    while let Some(process) = family.get(next) {
        family.extend(child_processes(*process));
        next += 1;
    }
    family
}

/// Descendants of a process that have not ended.
fn living_descendants(of: u32) -> Vec<u32> {
    process_and_descendants(of).into_iter().skip(1).filter(|process| !has_ended(*process)).collect()
}

fn send_signal(processes: &[u32], signal: Signal) {
    for process in processes {
        let _ = kill(Pid::from_raw(process.cast_signed()), signal);
    }
}

/// Asks all descendants of a process to end, and kills the remaining ones after a while. A descendant whose
/// parent ends first is found only if the process is its subreaper (prctl(2)).
pub fn end_descendants(of: u32, grace: Duration) {
    let asked = Instant::now();
    send_signal(&living_descendants(of), Signal::SIGTERM);
    while asked.elapsed() < grace && !living_descendants(of).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    kill_descendants(of);
}

/// Kills all descendants of a process, including those started meanwhile, but not the process itself.
pub fn kill_descendants(of: u32) {
    /// Number of rounds, in each of which all living ones are killed: only a fork bomb needs more.
    const TIMES: u32 = 100;
    for _ in 0..TIMES {
        let living = living_descendants(of);
        if living.is_empty() {
            return;
        }
        send_signal(&living, Signal::SIGKILL);
        thread::sleep(Duration::from_millis(2));
    }
}

/// True for a process that is gone, or waits for its parent to read its status.
fn has_ended(process: u32) -> bool {
    Stat::from_number(process).is_none_or(|stat| stat.field(3) == Some("Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_there(process: u32) -> bool {
        !has_ended(process)
    }

    fn wait_for(what: impl Fn() -> bool) {
        let begin = Instant::now();
        while !what() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || Command::new("sleep").arg("600").end_with_parent(Signal::SIGKILL).spawn().unwrap();
        let mut child = thread::spawn(start).join().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_a_script_started_ends_with_who_started_the_script() {
        let mut script = Command::new("sh");
        script.args(["-c", "sleep 600 & setsid sleep 601 & wait"]);
        let mut guard = DescendantKiller::new(&mut script).unwrap();
        let mut script = script.spawn().unwrap();
        wait_for(|| process_and_descendants(script.id()).len() == 3);
        let started = process_and_descendants(script.id()).split_off(1);
        // As the kernel does with a process that is killed: the shell first, and its files.
        script.kill().unwrap();
        script.wait().unwrap();
        drop(guard.0.stdin.take());
        wait_for(|| started.iter().all(|process| !is_there(*process)));
    }

    #[test]
    fn all_that_come_from_a_process_are_killed_and_it_is_not() {
        let script = "sleep 600 & sleep 601 & setsid sleep 602 & read line; exit 7";
        let mut shell = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        wait_for(|| process_and_descendants(shell.id()).len() == 4);
        let all = process_and_descendants(shell.id());
        kill_descendants(shell.id());
        assert!(is_there(all[0]) && all[1..].iter().all(|process| !is_there(*process)), "{all:?}");
        drop(shell.stdin.take());
        assert_eq!(shell.wait().unwrap().code(), Some(7));
    }
}
