//! Reading one column of one row group, from a file that several threads read at once.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Once};

use bytes::{Buf, Bytes};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use serde::{Deserialize, Serialize};

use crate::error::{checksum_mismatch, damage};
use crate::thrift;

thread_local! {
    /// True if a panic of this thread is expected and becomes an error that the user need not see.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Something that holds a Parquet file.
pub(crate) trait Source {
    /// Reads `length` bytes at `offset`; an error if it does not reach that far.
    fn read_part(&self, offset: u64, length: u64) -> Result<Bytes>;
}

impl Source for File {
    /// Reads by position: clones of a file share one position, so that threads would disturb each other.
    fn read_part(&self, offset: u64, length: u64) -> Result<Bytes> {
        let size = self.metadata()?.len();
        if offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(damage("a part of it lies behind its end"));
        }
        let mut bytes = vec![0; length as usize];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.into())
    }
}

impl Source for Bytes {
    fn read_part(&self, offset: u64, length: u64) -> Result<Bytes> {
        match offset.checked_add(length) {
            Some(end) if end <= self.len() as u64 => Ok(self.slice(offset as usize..end as usize)),
            _ => Err(damage("a part of it lies behind its end")),
        }
    }
}

/// Bytes in a run file besides its columns.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct FileRange {
    /// First byte.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) length: u64,
    /// CRC-32 of these bytes; files of before have none.
    #[serde(default)]
    crc32: Option<u32>,
}

impl FileRange {
    /// Range of bytes that are to be written at `offset`.
    pub(crate) fn new(offset: usize, bytes: &[u8]) -> Self {
        let (length, crc32) = (bytes.len() as u64, Some(crc32fast::hash(bytes)));
        FileRange { offset: offset as u64, length, crc32 }
    }

    pub(crate) fn read(self, file: &File) -> Result<Bytes> {
        let bytes = file.read_part(self.offset, self.length)?;
        check_crc(&bytes, self.crc32)?;
        Ok(bytes)
    }
}

/// A column chunk in memory, addressed as in the file.
struct Chunk {
    offset: u64,
    bytes: Bytes,
}

impl Chunk {
    fn slice(&self, start: u64, length: Option<usize>) -> Result<Bytes> {
        let from = start.checked_sub(self.offset).and_then(|f| usize::try_from(f).ok());
        let to = length.map_or(Some(self.bytes.len()), |l| from?.checked_add(l));
        match (from, to) {
            (Some(from), Some(to)) if from <= to && to <= self.bytes.len() => Ok(self.bytes.slice(from..to)),
            _ => Err(damage("a page lies outside its column")),
        }
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.slice(start, None)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.slice(start, Some(length))
    }
}

/// Returns position and bytes of the footer of a file of `size` bytes; `None` if it has none. The Parquet library
/// reports that.
///
/// # Errors
/// The described length is more than its bytes, or it cannot be read.
pub(crate) fn read_footer(source: &impl Source, size: u64) -> Result<Option<(u64, Bytes)>> {
    // Behind it are its length and the letters of a Parquet file.
    let Some(end) = size.checked_sub(8) else { return Ok(None) };
    let last = source.read_part(end, 8)?;
    let [a, b, c, d, b'P', b'A', b'R', b'1'] = last[..] else { return Ok(None) };
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(begin) = end.checked_sub(length) else { return Ok(None) };
    let footer = source.read_part(begin, length)?;
    thrift::check_structure(&footer)?;
    Ok(Some((begin, footer)))
}

/// Runs work of the Parquet library on a file; its panics on damaged ones become errors.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    done.unwrap_or_else(|_| Err(damage("its content cannot be decoded")))
}

/// Checks bytes against their checksum; a file without one passes.
fn check_crc(bytes: &[u8], expected: Option<u32>) -> Result<()> {
    match expected {
        Some(crc) if crc != crc32fast::hash(bytes) => Err(checksum_mismatch()),
        _ => Ok(()),
    }
}

/// Position and length of a column chunk in the file.
pub(crate) fn chunk_range(meta: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    let begin = meta.dictionary_page_offset().unwrap_or(meta.data_page_offset());
    match (u64::try_from(begin), u64::try_from(meta.compressed_size())) {
        (Ok(offset), Ok(length)) => Ok((offset, length)),
        _ => Err(damage("a column begins or ends before the file does")),
    }
}

/// Opens a column of a row group, and compares its bytes with their checksum.
pub(crate) fn open_column<T: DataType>(
    source: &impl Source,
    group: &RowGroupMetaData,
    column: usize,
    checksum: Option<u32>,
) -> Result<ColumnReaderImpl<T>> {
    let meta = group.column(column);
    if meta.column_type() != T::get_physical_type() {
        return Err(damage(format!("column {} has another type", meta.column_path().string())));
    }
    let (offset, length) = chunk_range(meta)?;
    let bytes = source.read_part(offset, length)?;
    check_crc(&bytes, checksum)?;
    thrift::check_pages(&bytes)?;
    let rows = usize::try_from(group.num_rows())
        .map_err(|_| damage("a row group claims more rows than its bytes can hold"))?;
    let chunk = Arc::new(Chunk { offset, bytes });
    let pages: Box<dyn PageReader> = Box::new(SerializedPageReader::new(chunk, meta, rows, None)?);
    Ok(ColumnReaderImpl::new(meta.column_descr_ptr(), pages))
}

/// Reads a whole column of an embedded table.
pub(crate) fn read_column<T: DataType>(
    source: &impl Source,
    group: &RowGroupMetaData,
    column: usize,
    rows: usize,
) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    read_until(&mut open_column::<T>(source, group, column, None)?, rows, &mut values)?;
    Ok(values)
}

/// Reads values until there are `rows` of them; a missing one is an error.
pub(crate) fn read_until<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<()> {
    // Other programs make columns optional when they write a run file again; nothing may be missing all the same.
    let mut levels = Vec::new();
    while values.len() < rows {
        let (records, found, _) =
            reader.read_records(rows - values.len(), Some(&mut levels), None, values)?;
        if records == 0 {
            return Err(damage("a column ends early"));
        }
        if found < records {
            return Err(damage("a row lacks a value"));
        }
    }
    Ok(())
}
