//! Thrift's compact protocol, in which a Parquet file describes its contents: as far as it takes to see that nothing
//! described is longer than the bytes of its description. The Parquet library skips unknown fields element by element,
//! and takes the booleans of a list to have no bytes, so that six bytes would keep it busy for seconds.
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>; Parquet's own structures, at a
//! file's end or before a page, have no list of booleans.)

use crate::error::damage;
use jitterlab_model::varint;
use parquet::errors::Result;

/// Structures within structures: Parquet's own have less than ten.
const DEEPEST: usize = 32;
/// Field of a page's header with the number of bytes after it (`PageHeader.compressed_page_size` in `parquet.thrift`).
const LENGTH_OF_PAGE: i16 = 3;

/// Checks a structure that describes the contents of a file.
///
/// # Errors
/// It is longer than its bytes, or cannot be read.
pub(crate) fn check_structure(structure: &[u8]) -> Result<()> {
    ByteCursor(structure)
        .skip_structure(0)
        .map(|_| ())
        .ok_or_else(|| damage("what it says is in it cannot be, or is damaged"))
}

/// Checks the headers of all pages of a column chunk.
///
/// # Errors
/// One is longer than its bytes, cannot be read, or its page ends behind the chunk.
pub(crate) fn check_pages(chunk: &[u8]) -> Result<()> {
    let mut walk = ByteCursor(chunk);
    while !walk.0.is_empty() {
        let length =
            walk.skip_structure(0).ok_or_else(|| damage("what it says is in it cannot be, or is damaged"))?;
        let length = length.and_then(|length| usize::try_from(length).ok());
        length
            .and_then(|length| walk.skip_bytes(length))
            .ok_or_else(|| damage("a page lies outside its column"))?;
    }
    Ok(())
}

/// The bytes that are not passed yet. Each step is `None` if the structure is longer than the bytes.
struct ByteCursor<'a>(&'a [u8]);

impl ByteCursor<'_> {
    fn skip_bytes(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    fn take_byte(&mut self) -> Option<u8> {
        let byte = *self.0.first()?;
        self.skip_bytes(1)?;
        Some(byte)
    }

    fn take_varint(&mut self) -> Option<u64> {
        varint::take(&mut self.0)
    }

    fn take_integer(&mut self) -> Option<i64> {
        varint::take_signed(&mut self.0)
    }

    /// Takes a length, which the bytes left can hold.
    fn take_length(&mut self) -> Option<usize> {
        usize::try_from(self.take_varint()?).ok().filter(|length| *length <= self.0.len())
    }

    /// Skips a structure; returns its field [`LENGTH_OF_PAGE`], if it has one that is a number.
    fn skip_structure(&mut self, depth: usize) -> Option<Option<i64>> {
        let (mut field, mut length) = (0i16, None);
        loop {
            let header = self.take_byte()?;
            if header == 0 {
                return Some(length);
            }
            field = match header >> 4 {
                0 => i16::try_from(self.take_integer()?).ok()?,
                further => field.checked_add(i16::from(further))?,
            };
            match header & 0xf {
                // A boolean is its own type.
                1 | 2 => {}
                4..=6 if field == LENGTH_OF_PAGE => length = Some(self.take_integer()?),
                kind => self.skip_value(kind, depth)?,
            }
        }
    }

    /// Skips a value that has bytes.
    fn skip_value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            3 => self.skip_bytes(1),
            4..=6 => self.take_varint().map(|_| ()),
            7 => self.skip_bytes(8),
            8 => self.take_length().and_then(|length| self.skip_bytes(length)),
            9 | 10 => {
                let header = self.take_byte()?;
                let count = match header >> 4 {
                    15 => self.take_length()?,
                    few => usize::from(few),
                };
                self.skip_values(count, &[header & 0xf], depth)
            }
            11 => match self.take_length()? {
                0 => Some(()),
                count => {
                    let kinds = self.take_byte()?;
                    self.skip_values(count, &[kinds >> 4, kinds & 0xf], depth)
                }
            },
            12 if depth < DEEPEST => self.skip_structure(depth + 1).map(|_| ()),
            13 => self.skip_bytes(16),
            _ => None,
        }
    }

    /// Skips the elements of a list, or the keys and values of a map.
    fn skip_values(&mut self, count: usize, kinds: &[u8], depth: usize) -> Option<()> {
        (0..count)
            .flat_map(|_| kinds)
            .try_for_each(|kind| (depth < DEEPEST).then(|| self.skip_value(*kind, depth + 1))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(bytes: &[u8]) -> bool {
        ByteCursor(bytes).skip_structure(0).is_some()
    }

    #[test]
    fn what_is_longer_than_its_bytes_is_refused() {
        // Field 1: a list of three bytes; field 2: true; field 3: the number -3.
        assert_eq!(ByteCursor(&[0x19, 0x33, 7, 8, 9, 0x11, 0x15, 5, 0]).skip_structure(0), Some(Some(-3)));
        assert!(!passes(&[0x19, 0x33, 7, 8]), "a list that ends early");
        assert!(!passes(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), "2^31 booleans");
        assert!(!passes(&[0x19, 0x21, 0]), "two booleans: no list of Parquet's");
        assert!(!passes(&[0x19, 0x90, 0]), "nine ends of structures");
        assert!(!passes(&[0x18, 0x90, 0x4e, 0]), "a text of 10 000 bytes");
        assert!(passes(&[0x1b, 1, 0x35, 7, 2, 0]), "a map of a byte and a number");
        let deep = |levels| [vec![0x1c; levels], vec![0; levels + 1]].concat();
        assert!(passes(&deep(DEEPEST)) && !passes(&deep(DEEPEST + 1)));
    }

    #[test]
    fn every_page_is_looked_at() {
        let page = [0x35, 4, 0, b'a', b'b'];
        check_pages(&[page, page].concat()).unwrap();
        assert!(
            check_pages(&[&page[..], &page[..4]].concat()).is_err(),
            "a page that ends behind its column"
        );
        assert!(check_pages(&[0x15, 4, 0]).is_err(), "a page without a length");
    }
}
