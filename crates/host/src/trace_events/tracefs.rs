//! Location of tracefs: mounted by the system, or mounted here, where no other process sees it.
#![expect(unsafe_code, reason = "the system calls of detached mounts have no wrappers")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::libc;

use super::error::no_tracefs_error;
use jitterlab_model::Error;

/// Path of a tracefs.
#[derive(Debug)]
pub(super) struct TraceFs {
    path: PathBuf,
    /// Keeps a mount of our own; it goes with this.
    _mount: Option<OwnedFd>,
}

impl TraceFs {
    /// Finds the tracefs that the system has mounted, else mounts one without a path in the file system.
    pub(super) fn find() -> Result<Self, Error> {
        let usual = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(PathBuf::from);
        if let Some(path) = usual.into_iter().find(|path| path.join("trace_clock").exists()) {
            return Ok(TraceFs { path, _mount: None });
        }
        let mount = mount_detached(c"tracefs").map_err(no_tracefs_error)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(TraceFs { path, _mount: Some(mount) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Mounts a file system without a path (fsopen(2), fsmount(2); Linux 5.2).
fn mount_detached(kind: &CStr) -> io::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    const FSMOUNT_CLOEXEC: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the name is a C string that outlives the call.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) };
    let context = owned_descriptor(context)?;
    // SAFETY: the command takes no key and no value.
    let made =
        unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes numbers only.
    let mount = unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0) };
    owned_descriptor(mount)
}

fn owned_descriptor(descriptor: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(descriptor) {
        // SAFETY: the kernel has just made it for us.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}
