//! The outbox on a stick: what it has not, copied and read back.

use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, files_below, write_bytes};

/// Result of a copy to a stick.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct Packed {
    /// Where to.
    pub target: PathBuf,
    /// Files that were copied.
    pub copied: usize,
    /// Files that were there already.
    pub known: usize,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Files that are there under the same name with another content: they were left as they are.
    pub others: Vec<PathBuf>,
}

/// Copies the outbox.
///
/// # Errors
/// The target is missing or full, or does not give back what was written.
pub fn pack(folder: &Folder, target: &Path) -> Result<Packed, Error> {
    if !target.is_dir() {
        return Err(Error::bad_use(format!("there is no folder {}", target.display()))
            .remedy("mount the stick and name its folder"));
    }
    let mut packed = Packed { target: target.into(), copied: 0, known: 0, bytes: 0, others: Vec::new() };
    let mut files = files_below(folder.outbox());
    files.retain(|path| path.extension().is_some_and(|end| end == "parquet"));
    files.sort();
    for path in files {
        let Ok(name) = path.strip_prefix(folder.outbox()) else { continue };
        let to = target.join(name);
        let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
        let wanted = Sha256::digest(&bytes);
        match fs::read(&to) {
            Ok(there) if Sha256::digest(&there) == wanted => {
                packed.known += 1;
                continue;
            }
            Ok(_) => {
                packed.others.push(to);
                continue;
            }
            Err(_) => {}
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
        }
        write_bytes(&to, &bytes)?;
        let back = fs::read(&to).map_err(Error::file("read", &to))?;
        if Sha256::digest(&back) != wanted {
            return Err(Error::damaged(format!("{} does not give back what was written", to.display()))
                .remedy("take another stick"));
        }
        packed.copied += 1;
        packed.bytes += bytes.len() as u64;
    }
    Ok(packed)
}
