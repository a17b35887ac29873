//! Checksums of a run file: one of each column chunk, embedded table and block of causes, and one of its footer.
//!
//! Parquet has a checksum for each page, which the library checks and does not write. Ours are CRC-32 in the metadata:
//! [`CHUNKS_KEY`] lists those of the column chunks, and the value of [`FOOTER_KEY`] is that of the footer's bytes,
//! where
//! the value itself counts as [`BLANK`]. A file that another program has written again carries the keys on, perhaps,
//! but
//! not the bytes: [`is_ours`].

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};
use parquet::file::writer::SerializedFileWriter;

use crate::column::{Source, read_footer};
use crate::error::{checksum_mismatch, damage};
use crate::layout::CREATED_BY;

/// Metadata key of the checksums of column chunks: for each row group one for each column.
pub(crate) const CHUNKS_KEY: &str = "jitterlab.crc32";
/// Metadata key of the footer's checksum.
pub(crate) const FOOTER_KEY: &str = "jitterlab.footer";
/// The footer's checksum as long as it is not known.
const BLANK: &str = "crc32:00000000";
/// Thrift's encoding of that value after its key: the field's head and the length.
const BEFORE_VALUE: [u8; 2] = [0x18, BLANK.len() as u8];

/// The checksums of a row group's columns.
pub(crate) type ColumnChecksums = [u32; 8];

/// A Parquet file being written, whose bytes are counted as they pass.
pub(crate) type Writer = SerializedFileWriter<ChecksummedFile>;

/// A file and the checksum of the bytes written since [`ChecksummedFile::take_checksum`].
pub(crate) struct ChecksummedFile {
    file: File,
    hasher: crc32fast::Hasher,
}

impl ChecksummedFile {
    pub(crate) fn new(file: File) -> Self {
        ChecksummedFile { file, hasher: crc32fast::Hasher::new() }
    }

    fn take_checksum(&mut self) -> u32 {
        std::mem::take(&mut self.hasher).finalize()
    }
}

impl Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Restarts the checksum for the next part of the file.
pub(crate) fn restart_checksum(file: &mut Writer) -> Result<()> {
    file.flush()?;
    file.inner_mut().take_checksum();
    Ok(())
}

/// Reads the row group just written back, and compares its bytes; returns the checksums of its columns.
///
/// # Errors
/// It cannot be read, or differs from the written bytes.
pub(crate) fn check_last_group(file: &mut Writer) -> Result<ColumnChecksums> {
    file.flush()?;
    let group = file.flushed_row_groups().last().cloned();
    let passing = file.inner_mut();
    let (mut found, mut all) = (ColumnChecksums::default(), crc32fast::Hasher::new());
    for (column, crc) in group.iter().flat_map(RowGroupMetaData::columns).zip(&mut found) {
        let (offset, length) = column.byte_range();
        let bytes = passing.file.read_part(offset, length)?;
        *crc = crc32fast::hash(&bytes);
        all.update(&bytes);
    }
    match passing.take_checksum() == all.finalize() {
        true => Ok(found),
        false => Err(damage("what was read back is not what was written")),
    }
}

/// Metadata entry for the footer's checksum, still blank until [`seal`] writes it.
pub(crate) fn unsealed_entry() -> KeyValue {
    KeyValue::new(FOOTER_KEY.into(), BLANK.to_owned())
}

/// Writes the footer's checksum into a complete file.
pub(crate) fn seal(file: &File) -> Result<()> {
    let (begin, bytes) = read_footer(file, file.metadata()?.len())?.ok_or_else(checksum_mismatch)?;
    let at = checksum_position(&bytes).ok_or_else(checksum_mismatch)?;
    let value = format!("crc32:{:08x}", crc32fast::hash(&bytes));
    file.write_all_at(value.as_bytes(), begin + at as u64)?;
    Ok(())
}

/// Returns true if a footer matches its seal; `None` if it was not sealed.
pub(crate) fn is_sealed(footer: &Bytes) -> Option<bool> {
    let at = checksum_position(footer)?;
    let (before, rest) = footer.split_at(at);
    let (value, after) = rest.split_at(BLANK.len());
    let mut crc = crc32fast::Hasher::new();
    [before, BLANK.as_bytes(), after].iter().for_each(|part| crc.update(part));
    Some(value == format!("crc32:{:08x}", crc.finalize()).as_bytes())
}

/// Position of the footer's checksum in it.
fn checksum_position(footer: &[u8]) -> Option<usize> {
    let before = [FOOTER_KEY.as_bytes(), &BEFORE_VALUE].concat();
    let at = footer.windows(before.len()).position(|bytes| bytes == before)? + before.len();
    (at + BLANK.len() <= footer.len()).then_some(at)
}

/// Returns true if jitterlab wrote the bytes, and not another program that carried our metadata on.
pub(crate) fn is_ours(metadata: &ParquetMetaData) -> bool {
    metadata.file_metadata().created_by() == Some(CREATED_BY)
}

/// Formats the checksums of column chunks as the text in the metadata.
pub(crate) fn to_text(groups: &[ColumnChecksums]) -> String {
    groups.iter().flatten().map(|crc| format!("{crc:08x}")).collect()
}

/// Reads the text of [`to_text`]; `None` if it is not such.
pub(crate) fn from_text(text: &str) -> Option<Vec<ColumnChecksums>> {
    let (numbers, rest) = text.as_bytes().as_chunks::<8>();
    let number = |hex: &[u8; 8]| u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok();
    let numbers: Vec<u32> = numbers.iter().map(number).collect::<Option<_>>()?;
    let (groups, odd) = numbers.as_chunks::<8>();
    (rest.is_empty() && odd.is_empty()).then(|| groups.to_vec())
}
