//! Attempts in a child process, for calls that may end the process.
#![expect(unsafe_code, reason = "fork")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};

use jitterlab_model::Error;

use super::error::Status;

/// Runs `attempt` in a forked child; `Ok` if it returned 0, else an error of its output or exit status.
/// Output is that to standard error. The low byte of its answer counts.
pub(super) fn try_in_child(attempt: impl FnOnce() -> i32) -> Result<(), Error> {
    let (reading, writing) = pipe()?;
    // SAFETY: the process has no other threads that matter yet (see `prepare`); the child only makes the attempt
    // and leaves by _exit, without running anything of this program's end.
    let child = unsafe { libc::fork() };
    if child == -1 {
        return Err(io::Error::last_os_error().into());
    }
    if child == 0 {
        use std::os::fd::AsRawFd;
        // SAFETY: both are open; standard error becomes the pipe.
        unsafe { libc::dup2(writing.as_raw_fd(), libc::STDERR_FILENO) };
        // SAFETY: as above; the library's standard output goes the same way.
        unsafe { libc::dup2(writing.as_raw_fd(), libc::STDOUT_FILENO) };
        let status = attempt();
        // SAFETY: takes a number.
        unsafe { libc::_exit(status) };
    }
    drop(writing);
    let mut said = Vec::new();
    let read = File::from(reading).read_to_end(&mut said);
    let mut status = 0;
    // SAFETY: `status` outlives the call; the child is ours and waited for once.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    read?;
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said).trim().replace('\n', "; ");
    let status = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)).ok_or(libc::WTERMSIG(status));
    Err(match (said.as_str(), status) {
        ("", Ok(status)) => {
            Error::refused(format!("it ends the process with status {status}")).case(Status(status))
        }
        ("", Err(signal)) => Error::refused(format!("it is ended by signal {signal}")),
        (_, status) => {
            let error = Error::refused(said);
            match status {
                Ok(status) => error.case(Status(status)),
                Err(_) => error,
            }
        }
    })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let [reading, writing] = ends;
    // SAFETY: just made, owned by nobody else.
    let reading = unsafe { OwnedFd::from_raw_fd(reading) };
    // SAFETY: just made, owned by nobody else.
    let writing = unsafe { OwnedFd::from_raw_fd(writing) };
    Ok((reading, writing))
}
