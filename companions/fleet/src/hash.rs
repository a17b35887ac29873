//! Names made of content.

use sha2::{Digest, Sha256};

/// Hash of parts; their borders count.
pub fn of_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.as_ref().len() as u64).to_le_bytes());
        hasher.update(part.as_ref());
    }
    hasher.finalize().iter().fold(String::with_capacity(64), |hex, byte| format!("{hex}{byte:02x}"))
}

/// The first sixteen hexadecimal digits of [`of_parts`].
pub fn short(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = of_parts(parts);
    hash.truncate(16);
    hash
}
