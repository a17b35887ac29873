//! Names made of content.

use sha2::{Digest, Sha256};

/// Hash of parts that are added one after the other; their borders count.
#[derive(Default)]
pub struct Parts(Sha256);

impl Parts {
    pub fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |hex, byte| format!("{hex}{byte:02x}"))
    }
}

/// Hash of these parts.
pub fn of_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut all = Parts::default();
    parts.into_iter().for_each(|part| all.add(part.as_ref()));
    all.finish()
}

/// The first sixteen hexadecimal digits of [`of_parts`].
pub fn short(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = of_parts(parts);
    hash.truncate(16);
    hash
}
