//! The archive format of the kernel's initial file system ("newc" cpio), written and read without a cpio program.
//!
//! The kernel reads it when it boots; a guest's results come back in the same format. Layout:
//! `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel.

use std::collections::BTreeSet;

use jitterlab_model::Error;

const MAGIC: &[u8; 6] = b"070701";
const HEADER: usize = 110;
const TRAILER: &str = "TRAILER!!!";

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

/// An archive being written. Paths are absolute; the directories above them are made.
#[derive(Debug, Default)]
pub struct CpioArchive {
    bytes: Vec<u8>,
    entries: u32,
    present: BTreeSet<String>,
}

impl CpioArchive {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.present.contains(path.trim_start_matches('/'))
    }

    pub fn add_directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.present.contains(path) {
            return;
        }
        self.write_entry(path, DIRECTORY | 0o755, &[], (0, 0));
    }

    pub fn add_file(&mut self, path: &str, permissions: u32, content: &[u8]) -> Result<(), Error> {
        if u32::try_from(content.len()).is_err() {
            return Err(Error::damaged(format!(
                "{path} is larger than the 4 GiB an initial file system can hold in one file"
            )));
        }
        self.write_entry(path.trim_start_matches('/'), REGULAR | permissions, content, (0, 0));
        Ok(())
    }

    pub fn add_symlink(&mut self, path: &str, target: &str) {
        self.write_entry(path.trim_start_matches('/'), SYMLINK | 0o777, target.as_bytes(), (0, 0));
    }

    pub fn add_character_device(&mut self, path: &str, permissions: u32, major: u32, minor: u32) {
        self.write_entry(path.trim_start_matches('/'), CHARACTER | permissions, &[], (major, minor));
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.write_entry(TRAILER, 0, &[], (0, 0));
        self.bytes
    }

    fn write_entry(&mut self, path: &str, mode: u32, content: &[u8], device: (u32, u32)) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent);
        }
        self.entries += 1;
        let links = if mode & DIRECTORY != 0 { 2 } else { 1 };
        let length = content.len() as u32;
        let name_length = path.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, links, 0, length, 0, 0, device.0, device.1, name_length, 0];
        self.bytes.extend_from_slice(MAGIC);
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad_to_four_bytes();
        self.bytes.extend_from_slice(content);
        self.pad_to_four_bytes();
        self.present.insert(path.into());
    }

    fn pad_to_four_bytes(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A file of an archive that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its path, without the leading slash.
    pub path: String,
    /// Its type and permission bits, as in stat(2).
    pub mode: u32,
    /// Content; for a symbolic link, its target.
    pub content: Vec<u8>,
}

impl ArchivedFile {
    pub fn is_regular(&self) -> bool {
        self.mode & 0o170_000 == REGULAR
    }
}

fn truncated_error(at: usize) -> Error {
    Error::damaged(format!("the archive ends too early, at byte {at}"))
}

fn not_an_entry_error(at: usize) -> Error {
    Error::damaged(format!("byte {at} of the archive does not begin an entry"))
}

/// Reads a whole archive, up to its trailer; bytes after that are ignored.
///
/// # Errors
/// An archive that stops before its trailer, or bytes that are no archive.
pub fn read(bytes: &[u8]) -> Result<Vec<ArchivedFile>, Error> {
    let mut files = Vec::new();
    let mut at = 0;
    loop {
        let header = bytes.get(at..at + HEADER).ok_or_else(|| truncated_error(at))?;
        if header.get(..6) != Some(MAGIC) {
            return Err(not_an_entry_error(at));
        }
        let field = |n: usize| -> Result<usize, Error> {
            let digits = header.get(6 + 8 * n..14 + 8 * n).ok_or_else(|| truncated_error(at))?;
            let text = std::str::from_utf8(digits).map_err(|_| not_an_entry_error(at))?;
            usize::from_str_radix(text, 16).map_err(|_| not_an_entry_error(at))
        };
        let (mode, length, name_length) = (field(1)?, field(6)?, field(11)?);
        let take = |from: usize, length: usize| {
            bytes.get(from..from.saturating_add(length)).ok_or_else(|| truncated_error(from))
        };
        let name_at = at + HEADER;
        let name = take(name_at, name_length.saturating_sub(1))?;
        let content_at = name_at.saturating_add(name_length).next_multiple_of(4);
        let path = String::from_utf8_lossy(name).into_owned();
        if path == TRAILER {
            return Ok(files);
        }
        let content = take(content_at, length)?.to_vec();
        files.push(ArchivedFile { path, mode: mode as u32, content });
        at = content_at.saturating_add(length).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut archive = CpioArchive::new();
        archive.add_file("/usr/bin/tool", 0o755, b"#!tool").unwrap();
        archive.add_symlink("/bin", "usr/bin");
        archive.add_directory("/usr/lib");
        archive.add_character_device("/dev/console", 0o600, 5, 1);
        archive.finish()
    }

    #[test]
    fn directories_above_a_file_come_first_and_once() {
        let paths: Vec<String> = read(&sample()).unwrap().into_iter().map(|f| f.path).collect();
        assert_eq!(
            paths,
            ["usr", "usr/bin", "usr/bin/tool", "bin", "usr/lib", "dev", "dev/console"].map(String::from)
        );
    }

    #[test]
    fn cpio_itself_lists_what_was_written() {
        let Ok(mut cpio) = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            println!("skipped: no cpio program here to compare with");
            return;
        };
        std::io::Write::write_all(&mut cpio.stdin.take().unwrap(), &sample()).unwrap();
        let listed = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        assert!(listed.contains("-rwxr-xr-x") && listed.contains("usr/bin/tool"), "{listed}");
        assert!(listed.contains("bin -> usr/bin"), "{listed}");
        assert!(listed.contains("5,   1") && listed.contains("dev/console"), "{listed}");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            files in prop::collection::btree_map("[a-z]{1,9}(/[a-z]{10,12}){0,2}", any::<Vec<u8>>(), 0..6)
        ) {
            let mut archive = CpioArchive::new();
            for (path, content) in &files {
                archive.add_file(path, 0o644, content).unwrap();
            }
            let read: std::collections::BTreeMap<String, Vec<u8>> =
                read(&archive.finish()).unwrap().into_iter().filter(ArchivedFile::is_regular).map(|f| (f.path, f.content)).collect();
            prop_assert_eq!(read, files);
        }

        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(bytes in any::<Vec<u8>>(), cut in 0usize..700, flip in any::<(usize, u8)>()) {
            let _ = read(&bytes);
            let mut whole = sample();
            let at = flip.0 % whole.len();
            whole[at] ^= flip.1;
            let _ = read(&whole);
            whole.truncate(cut);
            let _ = read(&whole);
        }

        #[test]
        fn a_cut_archive_is_noticed(cut in 0usize..700) {
            let whole = sample();
            prop_assume!(cut < whole.len() - 4);
            prop_assert!(read(&whole[..cut]).is_err());
        }
    }
}
