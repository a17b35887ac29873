//! Columns of integers as a page carries them: differences as variable-length integers, compressed, in base64.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use jitterlab_model::varint;
use serde::Serialize;

/// Code for "no value" in a packed column: no time is that far back (-52 days).
pub const NO_VALUE: i64 = -(1 << 52);
/// The script computes in doubles; values beyond 26 days of nanoseconds are damage, not time.
const MAX_VALUE: i64 = 1 << 51;

/// Position of a column in the packed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PackedColumn {
    /// First byte.
    pub at: usize,
    /// Number of values.
    pub count: usize,
    /// 1 for differences of successive values, 2 for differences of those.
    pub order: u8,
}

/// Columns that are packed together.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// Appends a column of any values, stored as differences of neighbours.
    pub fn push_column(&mut self, values: impl IntoIterator<Item = Option<i64>>) -> PackedColumn {
        self.push_differences(1, values)
    }

    /// Appends a column of values that advance evenly, such as due times, stored as second differences.
    pub fn push_advancing(&mut self, values: impl IntoIterator<Item = i64>) -> PackedColumn {
        self.push_differences(2, values.into_iter().map(Some))
    }

    fn push_differences(&mut self, order: u8, values: impl IntoIterator<Item = Option<i64>>) -> PackedColumn {
        let at = self.bytes.len();
        let (mut count, mut previous, mut slope) = (0, 0i64, 0i64);
        for value in values {
            let value = value.map_or(NO_VALUE, |v| v.clamp(-MAX_VALUE, MAX_VALUE));
            let difference = value - previous;
            varint::put_signed(&mut self.bytes, if order == 2 { difference - slope } else { difference });
            (previous, slope, count) = (value, difference, count + 1);
        }
        PackedColumn { at, count, order }
    }

    /// All columns, compressed and in base64.
    ///
    /// # Errors
    /// Never in practice: the bytes go to memory.
    pub fn compress(&self) -> io::Result<String> {
        gzip_base64(&self.bytes)
    }
}

/// Bytes, compressed and in base64.
///
/// # Errors
/// Never in practice: the bytes go to memory.
pub fn gzip_base64(bytes: &[u8]) -> io::Result<String> {
    let mut packed = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::default());
    packed.write_all(bytes)?;
    Ok(STANDARD.encode(packed.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read as _;

    /// The same decoding as in the page's script.
    fn unpack(bytes: &[u8], column: PackedColumn) -> Vec<Option<i64>> {
        let (mut rest, mut previous, mut slope) = (&bytes[column.at..], 0i64, 0i64);
        let values = (0..column.count).map(|_| {
            let step = varint::take_signed(&mut rest).unwrap();
            let difference = if column.order == 2 { slope + step } else { step };
            (previous, slope) = (previous + difference, difference);
            Some(previous).filter(|v| *v != NO_VALUE)
        });
        values.collect()
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_is_unpacked(
            wandering in prop::collection::vec(prop::option::of(-MAX_VALUE..MAX_VALUE), 0..50),
            advancing in prop::collection::vec(-MAX_VALUE..MAX_VALUE, 0..50),
        ) {
            let mut packer = Packer::default();
            let first = packer.push_column(wandering.iter().copied());
            let second = packer.push_advancing(advancing.iter().copied());
            let text = packer.compress().unwrap();
            let mut bytes = Vec::new();
            GzDecoder::new(&STANDARD.decode(text).unwrap()[..]).read_to_end(&mut bytes).unwrap();
            prop_assert_eq!(unpack(&bytes, first), wandering);
            let back: Vec<i64> = unpack(&bytes, second).into_iter().map(Option::unwrap).collect();
            prop_assert_eq!(back, advancing);
        }
    }
}
