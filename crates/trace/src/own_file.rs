//! A file that is written for long inside a program that is not ours, and may close descriptors, or have them reused.

use std::fs::{File, Metadata, symlink_metadata};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::closed;

/// What makes a file itself, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn new(metadata: &Metadata) -> Self {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }

    fn is_of(self, file: &File) -> bool {
        file.metadata().is_ok_and(|found| Identity::new(&found) == self)
    }

    /// Whether the file of this name is that one.
    pub(crate) fn is_named(self, path: &Path) -> bool {
        symlink_metadata(path).is_ok_and(|found| Identity::new(&found) == self)
    }
}

/// A file that is asked who it is before it is used.
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
        Self::new(self.get()?.try_clone()?)
    }

    /// The file.
    ///
    /// # Errors
    /// Its descriptor was closed, or belongs to another file now.
    pub(crate) fn get(&self) -> io::Result<&File> {
        let file = self.file.as_ref().filter(|file| self.identity.is_of(file));
        file.ok_or_else(closed)
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let identity = self.identity;
        if let Some(file) = self.file.take_if(|file| !identity.is_of(file)) {
            // Closing it would close somebody else's.
            let _ = file.into_raw_fd();
        }
    }
}
