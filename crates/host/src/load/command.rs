//! `stress-ng` and `exec`: programs of others.
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use jitterlab_model::Error;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};

use super::error::end_text;
use super::{Kind, Work, WorkShare};
use crate::child::{EndWithParent, end_descendants};
use crate::scratch::ScratchFolder;

pub(super) const STRESS_NG: Kind = Kind {
    name: "stress-ng",
    usage: "stress-ng:ARGS",
    unit: None,
    share: |arguments, _| match arguments.trim() {
        "" => Err(Error::bad_use("it needs arguments")),
        arguments => Ok(WorkShare { workers: 1, arguments: arguments.into() }),
    },
    begin: |arguments| {
        // Its own temporary files, which it leaves behind when it is killed, go to a folder that is removed;
        // on its usual disk, if that is permitted.
        let scratch = ScratchFolder::new_in(Path::new(".")).or_else(|_| ScratchFolder::new())?;
        let mut running =
            RunningCommand::new(&format!("exec stress-ng --temp-path \"$SCRATCH\" {arguments}"))?;
        running.command.env("SCRATCH", scratch.path().canonicalize()?);
        running.scratch = Some(scratch);
        Ok(Box::new(running))
    },
};

pub(super) const EXEC: Kind = Kind {
    name: "exec",
    usage: "exec:COMMAND",
    unit: None,
    share: |arguments, _| match arguments.trim() {
        "" => Err(Error::bad_use("it needs a command")),
        command => Ok(WorkShare { workers: 1, arguments: command.into() }),
    },
    begin: |arguments| Ok(Box::new(RunningCommand::new(arguments)?)),
};

/// Time that a program has to end when it is asked to.
const GRACE: Duration = Duration::from_millis(300);

/// A command line, and its process once it began.
struct RunningCommand {
    command: Command,
    stderr_file: File,
    child: Option<Child>,
    /// Folder for temporary files, removed at the end of the command.
    scratch: Option<ScratchFolder>,
}

impl RunningCommand {
    fn new(line: &str) -> io::Result<Self> {
        set_child_subreaper(true)?;
        let stderr_file = anonymous_file()?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(stderr_file.try_clone()?).process_group(0).end_with_parent(Signal::SIGKILL);
        Ok(RunningCommand { command, stderr_file, child: None, scratch: None })
    }

    /// Last line that the command wrote to standard error, as a clause.
    fn last_error_line(&mut self) -> String {
        let mut text = String::new();
        let _ = self.stderr_file.rewind();
        let _ = self.stderr_file.read_to_string(&mut text);
        text.lines().last().map(|line| format!(": {}", line.trim())).unwrap_or_default()
    }
}

/// A file in memory without a name.
fn anonymous_file() -> io::Result<File> {
    let flags = nix::sys::memfd::MFdFlags::MFD_CLOEXEC;
    Ok(File::from(nix::sys::memfd::memfd_create(c"jitterlab-load", flags)?))
}

impl Work for RunningCommand {
    fn step(&mut self) -> io::Result<u64> {
        let child = match &mut self.child {
            Some(child) => child,
            none => none.insert(self.command.spawn()?),
        };
        thread::sleep(Duration::from_millis(20));
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!(
                "the command {}{}",
                end_text(status),
                self.last_error_line()
            )));
        }
        Ok(0)
    }
}

impl Drop for RunningCommand {
    /// Ends the command and everything it started.
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        end_descendants(std::process::id(), GRACE);
        let _ = child.wait();
        while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some()) {}
    }
}
