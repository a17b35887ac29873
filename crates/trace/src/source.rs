//! Reading whole files that somebody named: a file without an end, or too large for memory, is refused.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use jitterlab_model::Error;

/// Reads a regular file or a pipe of at most `most` bytes.
///
/// # Errors
/// There is no such file, it may not be read, it is something else, or it is larger.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() && !kind.is_fifo() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            Error::refused("it is a device or a socket, which may never end"),
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            Error::refused(format!("it is larger than {} MiB", most >> 20)),
        ));
    }
    Ok(bytes)
}

/// Reads a file of text.
///
/// # Errors
/// As [`read`], and bytes that are no UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_or_is_too_large_is_refused() {
        assert!(read("/dev/zero", 10).unwrap_err().to_string().contains("never end"));
        assert_eq!(read("/", 10).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789").unwrap();
        assert_eq!(read_text(file.path(), 10).unwrap(), "0123456789");
        assert_eq!(read(file.path(), 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
