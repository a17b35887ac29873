//! Writing the run file: a row per activation, row groups of one task each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{Activation, Error, RunCauses, RunInfo};
use parquet::basic::Compression;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use tempfile::NamedTempFile;

use crate::atomic_file;
use crate::causes;
use crate::checksum::{self, CHUNKS_KEY, ChecksummedFile, ColumnChecksums, Writer};
use crate::column::FileRange;
use crate::error::{already_exists, unknown_task};
use crate::layout::{
    CAUSES_KEY, FORMAT_KEY, RUN_KEY, SCHEMA, SLICES_KEY, parse_schema, write_column, writer_properties, zstd,
};
use crate::paths::sync_directory;
use crate::salvage::Skipped;
use crate::slice_table::SliceTable;
use crate::slices::Slice;

/// Rows of a row group: 10 MiB decoded, some 900 KiB in the file.
const GROUP_ROWS: usize = 1 << 18;
/// Rows of all tasks that are held in memory at most (20 MiB).
const BUFFERED_ROWS: usize = 1 << 19;
/// A file whose tasks all have fewer rows is not compressed. Making a compressor for each column of each task costs
/// more than it saves: in a virtual machine a millisecond a task.
const COMPRESSED_ROWS: usize = 1 << 12;

/// A run file that is complete on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// The file.
    pub path: PathBuf,
    /// Activations in it.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Parts of the journal that could not be read, and are missing here.
    pub skipped: Vec<Skipped>,
    /// The journal, where it was kept: because parts of it could not be read, or because it is a copy under another
    /// name than that of a journal.
    pub journal: Option<PathBuf>,
    /// Reason for an early end of recording, if it had one: rows after it are missing.
    pub ended: Option<String>,
}

/// Writes a run file directly, for activations that are not being measured right now: imports, simulations,
/// recovery. The file appears under its name when it is complete.
pub struct RunFileWriter {
    path: PathBuf,
    temporary: NamedTempFile,
    /// Begun with the first rows that are written.
    file: Option<Writer>,
    buffers: Vec<Vec<Activation>>,
    buffered: usize,
    rows: u64,
    checksums: Vec<ColumnChecksums>,
    slices: SliceTable,
    causes: Option<Vec<u8>>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    long: Vec<i64>,
    short: Vec<i32>,
}

impl RunFileWriter {
    /// Begins a run file of this many tasks.
    ///
    /// # Errors
    /// The directory is missing or not writable, or `path` exists already.
    pub fn create(path: impl AsRef<Path>, tasks: usize) -> Result<Self, Error> {
        let path = path.as_ref();
        atomic_file::check_name_free(path)?;
        let temporary = atomic_file::create_temporary(path)?;
        Ok(RunFileWriter {
            file: None,
            path: path.into(),
            temporary,
            buffers: vec![Vec::new(); tasks],
            buffered: 0,
            rows: 0,
            checksums: Vec::new(),
            slices: SliceTable::default(),
            causes: None,
            scratch: Scratch::default(),
        })
    }

    /// Takes activations of one task, in their order.
    ///
    /// # Errors
    /// The file cannot be written, or there is no such task.
    pub fn append(&mut self, task: usize, rows: &[Activation]) -> Result<(), Error> {
        let tasks = self.buffers.len();
        for part in rows.chunks(GROUP_ROWS) {
            let buffer = self.buffers.get_mut(task).ok_or_else(|| unknown_task(task, tasks))?;
            let room = GROUP_ROWS - buffer.len();
            let (now, later) = part.split_at(room.min(part.len()));
            buffer.extend_from_slice(now);
            self.buffered += now.len();
            if buffer.len() == GROUP_ROWS {
                self.flush_task(task)?;
            } else if self.buffered >= BUFFERED_ROWS {
                let longest = (0..tasks).max_by_key(|t| self.buffers[*t].len());
                self.flush_task(longest.unwrap_or(task))?;
            }
            self.buffers[task].extend_from_slice(later);
            self.buffered += later.len();
        }
        Ok(())
    }

    /// Appends the slice of a second.
    pub(crate) fn append_slice(&mut self, slice: &Slice) -> Result<(), Error> {
        let mut file = self.take_writer(zstd())?;
        let pushed = self.slices.push(&mut file, slice).map_err(|e| write_error(&self.path, e));
        self.file = Some(file);
        pushed
    }

    /// Takes the writer, to be put back; opens it with this compression if there is none yet.
    fn take_writer(&mut self, compression: Compression) -> Result<Writer, Error> {
        if let Some(file) = self.file.take() {
            return Ok(file);
        }
        let file = self.temporary.as_file().try_clone().map_err(Error::file("write", &self.path))?;
        parse_schema(SCHEMA)
            .and_then(|schema| {
                Writer::new(ChecksummedFile::new(file), schema, Arc::new(writer_properties(compression)))
            })
            .map_err(|e| write_error(&self.path, e))
    }

    /// Sets the causes of late activations; the last ones count.
    ///
    /// # Errors
    /// They cannot be written as text.
    pub fn set_causes(&mut self, causes: &RunCauses) -> Result<(), Error> {
        let bytes = causes::encode(causes).map_err(Error::file("write the causes into", &self.path))?;
        self.set_encoded_causes(bytes);
        Ok(())
    }

    /// Sets the causes as stored in a journal.
    pub(crate) fn set_encoded_causes(&mut self, bytes: Vec<u8>) {
        self.causes = Some(bytes);
    }

    fn flush_task(&mut self, task: usize) -> Result<(), Error> {
        if self.buffers[task].is_empty() {
            return Ok(());
        }
        let mut file = self.take_writer(zstd())?;
        let rows = &mut self.buffers[task];
        let written =
            write_group(&mut file, task, rows, &mut self.scratch).map_err(|e| write_error(&self.path, e));
        let written = written.map(|checksums| self.checksums.push(checksums));
        self.rows += rows.len() as u64;
        self.buffered -= rows.len();
        rows.clear();
        self.file = Some(file);
        written
    }

    /// Writes the rest and the description, makes it last, and gives the file its name.
    ///
    /// # Errors
    /// The file cannot be written, or its name was taken meanwhile.
    pub fn finish(mut self, info: &RunInfo) -> Result<FinishedRun, Error> {
        let few = self.buffers.iter().all(|rows| rows.len() < COMPRESSED_ROWS);
        self.file = Some(self.take_writer(if few { Compression::UNCOMPRESSED } else { zstd() })?);
        for task in 0..self.buffers.len() {
            self.flush_task(task)?;
        }
        let mut file = self.take_writer(zstd())?;
        let tables = self.slices.finish(&mut file).map_err(|e| write_error(&self.path, e))?;
        let mut place = None;
        if let Some(bytes) = self.causes.take() {
            place = Some(FileRange::new(file.bytes_written(), &bytes));
            file.write_all(&bytes).map_err(Error::file("write", &self.path))?;
        }
        let mut describe = |key: &str, value: String| {
            file.append_key_value_metadata(KeyValue::new(key.into(), value));
        };
        metadata(&self.path, info)?.into_iter().for_each(|(key, value)| describe(key, value));
        if !tables.is_empty() {
            describe(SLICES_KEY, to_json(&self.path, &tables)?);
        }
        if let Some(place) = place {
            describe(CAUSES_KEY, to_json(&self.path, &place)?);
        }
        describe(CHUNKS_KEY, checksum::to_text(&self.checksums));
        file.append_key_value_metadata(checksum::unsealed_entry());
        file.into_inner().map_err(|e| write_error(&self.path, e))?;
        let file = self.temporary.as_file();
        checksum::seal(file).map_err(|e| write_error(&self.path, e))?;
        file.sync_all().map_err(Error::file("sync", &self.path))?;
        let bytes = file.metadata().map_err(Error::file("read the size of", &self.path))?.len();
        self.temporary.persist_noclobber(&self.path).map_err(|e| match e.error.kind() {
            std::io::ErrorKind::AlreadyExists => already_exists(&self.path),
            _ => Error::file("write", &self.path)(e.error),
        })?;
        if let Err(error) = sync_directory(&self.path) {
            // A name that a power loss may remove is none: the source of the file stays instead.
            let _ = std::fs::remove_file(&self.path);
            return Err(error);
        }
        Ok(FinishedRun {
            path: self.path,
            rows: self.rows,
            bytes,
            skipped: Vec::new(),
            journal: None,
            ended: None,
        })
    }
}

/// Returns the metadata of a run in the run file at `path`, by key: the format's version and the description as JSON.
///
/// # Errors
/// The description cannot be written as JSON.
pub fn metadata(path: &Path, info: &RunInfo) -> Result<[(&'static str, String); 2], Error> {
    Ok([(FORMAT_KEY, FORMAT_VERSION.to_string()), (RUN_KEY, to_json(path, info)?)])
}

fn to_json(path: &Path, value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|e| Error::file("describe the run in", path)(e.into()))
}

/// Error of writing `path`, from one of the Parquet library; the system's error is kept where there is one.
pub(crate) fn write_error(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => *io,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    Error::file("write", path)(source)
}

/// Writes rows as a row group, and checks it; returns the checksums of its columns.
fn write_group(
    file: &mut Writer,
    task: usize,
    rows: &[Activation],
    scratch: &mut Scratch,
) -> Result<ColumnChecksums, ParquetError> {
    checksum::restart_checksum(file)?;
    let mut group = file.next_row_group()?;
    let Scratch { long, short } = scratch;
    let mut short_column = |group: &mut _, of: &dyn Fn(&Activation) -> i32| {
        short.clear();
        short.extend(rows.iter().map(of));
        write_column::<Int32Type>(group, short)
    };
    let mut long_column = |group: &mut _, of: fn(&Activation) -> i64| {
        long.clear();
        long.extend(rows.iter().map(of));
        write_column::<Int64Type>(group, long)
    };
    short_column(&mut group, &|_| task as i32)?;
    long_column(&mut group, |a| a.index as i64)?;
    long_column(&mut group, |a| a.due_ns)?;
    long_column(&mut group, |a| a.start_ns)?;
    long_column(&mut group, |a| a.end_ns)?;
    short_column(&mut group, &|a| i32::from(a.cpu))?;
    short_column(&mut group, &|a| a.missed as i32)?;
    short_column(&mut group, &|a| i32::from(a.flags.0))?;
    group.close()?;
    checksum::check_last_group(file)
}
