//! A file that is written for long inside a program that is not ours, and may close descriptors, or have them reused.

use std::fs::{File, Metadata, symlink_metadata};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::libc::EBADF;
use nix::sys::signal::{SigSet, Signal};

use crate::error::descriptor_closed;

/// Blocks SIGXFSZ on the calling thread, so that a file at its size limit is an error like a full disk. The signal
/// (setrlimit(2), RLIMIT_FSIZE) would end the program that is recorded.
pub fn outlive_file_limits() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // If the system refuses, nothing changes.
    let _ = signals.thread_block();
}

/// Identity of a file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn new(metadata: &Metadata) -> Self {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }

    fn matches(self, file: &File) -> io::Result<bool> {
        match file.metadata() {
            Ok(found) => Ok(Identity::new(&found) == self),
            Err(error) if error.raw_os_error() == Some(EBADF) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns true if the file of this name is that one.
    pub(crate) fn is_at(self, path: &Path) -> io::Result<bool> {
        match symlink_metadata(path) {
            Ok(found) => Ok(Identity::new(&found) == self),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A file whose identity is checked before each use.
pub(crate) struct OwnFile {
    /// Gone only while this is dropped.
    file: Option<File>,
    identity: Identity,
}

impl OwnFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let identity = Identity::new(&file.metadata()?);
        Ok(OwnFile { file: Some(file), identity })
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// A second descriptor of it.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Self::new(self.checked()?.try_clone()?)
    }

    /// Returns the file, once it is clear that the descriptor is still its own.
    ///
    /// # Errors
    /// Its descriptor was closed, or belongs to another file now.
    pub(crate) fn checked(&self) -> io::Result<&File> {
        let file = self.file.as_ref().ok_or_else(descriptor_closed)?;
        if self.identity.matches(file)? { Ok(file) } else { Err(descriptor_closed()) }
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let identity = self.identity;
        if let Some(file) = self.file.take_if(|file| !identity.matches(file).unwrap_or(true)) {
            // Closing it would close somebody else's.
            let _ = file.into_raw_fd();
        }
    }
}
