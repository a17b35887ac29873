//! Names made of content.

use sha2::{Digest, Sha256};

/// SHA-256 of parts as hexadecimal digits; the borders of parts count.
pub fn hash_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = PartsHash::default();
    parts.into_iter().for_each(|part| hash.add(part));
    hash.finish()
}

/// Hash of parts that come one after the other.
#[derive(Default)]
pub struct PartsHash(Sha256);

impl PartsHash {
    /// Adds the next part.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        self.0.update((part.as_ref().len() as u64).to_le_bytes());
        self.0.update(part.as_ref());
    }

    /// The hash as hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |hex, byte| format!("{hex}{byte:02x}"))
    }
}

/// The first sixteen hexadecimal digits of [`hash_parts`].
pub fn short_hash(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = hash_parts(parts);
    hash.truncate(16);
    hash
}
