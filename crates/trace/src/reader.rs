//! Reading run files.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_model::bounds::{COUNT, INDEX, check_due_times, check_numbers, check_times};
use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{Activation, Error, Keep, RunCauses, RunInfo};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use crate::causes;
use crate::checksum::{self, ColumnChecksums};
use crate::column::{self, FileRange};
use crate::decoder::{BATCH, Columns, Decoder, RowGroupSource, constant_value};
use crate::description::{newer_format, parse_info};
use crate::error::{
    FileProblem, bad_causes, cause_of, checksum_mismatch, damage, damaged, not_a_file, not_a_run_file,
};
use crate::frame::is_journal;
use crate::layout::{CAUSES_KEY, FORMAT_KEY, RUN_KEY, SCHEMA, SLICES_KEY, parse_schema};
use crate::slice_table::{self, EmbeddedTable};
use crate::slices::Slice;

/// A part of a run file that is read at once: consecutive activations of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowGroup {
    /// Number of the task in the run's description.
    pub task: usize,
    /// Activations in it.
    pub rows: usize,
}

/// An open run file. Several threads may read row groups at once through a shared reference.
#[derive(Debug)]
pub struct RunReader {
    path: PathBuf,
    file: File,
    info: RunInfo,
    metadata: Arc<ParquetMetaData>,
    groups: Vec<RowGroup>,
    /// Range of the activations' numbers of each row group: the first one, and one above all of them.
    numbers: Vec<Range<u64>>,
    /// Checksums of each row group's columns; earlier files, and those rewritten by another program, have none.
    checksums: Option<Vec<ColumnChecksums>>,
    embedded: Vec<EmbeddedTable>,
    causes: Option<FileRange>,
}

impl RunReader {
    /// Opens a run file and reads its description.
    ///
    /// # Errors
    /// There is no such file, it is not a run file, it is the journal of an unfinished run, it was written by a
    /// newer jitterlab, or it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::file("open", path))?;
        match file.metadata().map(|m| m.file_type()) {
            Ok(kind) if kind.is_dir() => {
                return Err(Error::file("open", path)(io::ErrorKind::IsADirectory.into()));
            }
            // Parquet is read from its end.
            Ok(kind) if !kind.is_file() => return Err(not_a_file(path)),
            _ => {}
        }
        let not = |why: Error| not_a_run_file(path, why);
        let mut beginning = Vec::new();
        (&file).take(16).read_to_end(&mut beginning).map_err(Error::file("read", path))?;
        if is_journal(&beginning) {
            return Err(Error::refused(format!("{} is the journal of an unfinished run", path.display()))
                .remedy(format!("turn it into a run file with `jitterlab recover {}`", path.display()))
                .case(FileProblem::Unfinished));
        }
        if !beginning.starts_with(b"PAR1") {
            return Err(not(if beginning.is_empty() {
                Error::damaged("it is empty")
            } else {
                Error::damaged("it is not a Parquet file")
            }));
        }
        let size = file.metadata().map_err(Error::file("read", path))?.len();
        let cut_short = |e| {
            let why = cause_of(e);
            let cut = Error::damaged(format!(
                "its end is missing or damaged, as of a copy that was cut short ({why})"
            ));
            not_a_run_file(path, cut)
        };
        let footer = column::read_footer(&file, size).map_err(cut_short)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(cut_short)?;
        let value = |key: &str| {
            let pairs = metadata.file_metadata().key_value_metadata();
            pairs.into_iter().flatten().find(|kv| kv.key == key).and_then(|kv| kv.value.as_deref())
        };
        let described = value(RUN_KEY).ok_or_else(|| {
            not(Error::damaged(format!("it is a Parquet file, but has no description of a run ({RUN_KEY})")))
        })?;
        let format = value(FORMAT_KEY).and_then(|v| v.parse().ok()).unwrap_or(FORMAT_VERSION);
        if format > FORMAT_VERSION {
            return Err(newer_format(path, format, FORMAT_VERSION));
        }
        let info = parse_info(path, described.as_bytes())?;
        let bytes = |key| value(key).map(str::as_bytes);
        let embedded: Vec<EmbeddedTable> = match bytes(SLICES_KEY).map(serde_json::from_slice).transpose() {
            Ok(list) => list.unwrap_or_default(),
            Err(e) => {
                return Err(damaged(path, Error::damaged("its list of slices cannot be read").because(e)));
            }
        };
        let checksums = match footer.as_ref().and_then(|(_, bytes)| checksum::is_sealed(bytes)) {
            Some(whole) if checksum::is_ours(&metadata) => {
                let checksums = value(checksum::CHUNKS_KEY).filter(|_| whole).and_then(checksum::from_text);
                let of_groups = |found: &Vec<_>| found.len() == metadata.num_row_groups();
                Some(checksums.filter(of_groups).ok_or_else(|| damaged(path, checksum_mismatch()))?)
            }
            _ => None,
        };
        let causes = bytes(CAUSES_KEY).map(serde_json::from_slice).transpose();
        let causes = causes.map_err(|e| bad_causes(path, e))?;
        check_schema(path, &metadata)?;
        check_compression(path, &metadata)?;
        let others = embedded.iter().map(|table| &table.range).chain(&causes);
        let groups = check_ranges(size, &metadata, others).and_then(|()| row_groups(&metadata, &info));
        let groups = groups.map_err(|e| damaged(path, cause_of(e)))?;
        let (path, metadata) = (path.into(), Arc::new(metadata));
        let numbers = Vec::new();
        let mut reader =
            RunReader { path, file, info, metadata, groups, numbers, checksums, embedded, causes };
        reader.numbers = reader.activation_number_ranges()?;
        Ok(reader)
    }

    /// Possible activation numbers of each row group, up to the first number of its task's next row group.
    fn activation_number_ranges(&self) -> Result<Vec<Range<u64>>, Error> {
        let mut ends = vec![INDEX; self.info.tasks.len()];
        let mut numbers = vec![0..0; self.groups.len()];
        for (place, group) in self.groups.iter().enumerate().rev().filter(|(_, group)| group.rows > 0) {
            let first = match first_activation_number(self.metadata.row_group(place)) {
                Some(first) => first,
                // Whoever wrote it again left that out.
                None => {
                    let mut row = [Activation::default()];
                    let mut decoder = self.decoder(place, Columns::INDEX)?;
                    self.guard_parquet(|| decoder.fill(&mut row))?;
                    row[0].index
                }
            };
            let end = std::mem::replace(&mut ends[group.task], first);
            if first >= end {
                let why =
                    Error::damaged(format!("activation {end} comes after activation {first} or a later one"));
                return Err(self.impossible_values(why));
            }
            numbers[place] = first..end;
        }
        Ok(numbers)
    }

    fn impossible_values(&self, why: Error) -> Error {
        damaged(&self.path, why.within("it holds what cannot be"))
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of activations in the file.
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|g| g.rows as u64).sum()
    }

    /// The parts of the file, in the order they were written: parts of one task follow each other in time.
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.groups
    }

    /// Returns true if the file carries checksums, so that damage in it is noticed.
    pub fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    /// Returns true if the file holds slices instead of all activations (see [`Keep::Spikes`](jitterlab_model::Keep)).
    pub fn has_slices(&self) -> bool {
        !self.embedded.is_empty()
    }

    /// Hands the activations of a row group to `visit`, in several batches that stay in the processor's cache.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or there is no such row group.
    pub fn visit_row_group(
        &self,
        number: usize,
        columns: Columns,
        mut visit: impl FnMut(&[Activation]),
    ) -> Result<(), Error> {
        let mut decoder = self.decoder(number, columns)?;
        let mut left = self.groups[number].rows;
        let mut rows = vec![decoder.common; left.min(BATCH)];
        let mut last = None;
        while left > 0 {
            let batch = &mut rows[..left.min(BATCH)];
            self.guard_parquet(|| decoder.fill(batch))?;
            self.check_batch(number, batch, columns, &mut last)?;
            visit(batch);
            left -= batch.len();
        }
        Ok(())
    }

    /// Checks a batch of one row group against the bounds, as far as it was read; `last` is the activation before it.
    fn check_batch(
        &self,
        number: usize,
        rows: &[Activation],
        columns: Columns,
        last: &mut Option<Activation>,
    ) -> Result<(), Error> {
        let (before, numbered) = (last.as_ref(), columns.contains(Columns::INDEX));
        let own = self.info.tasks[self.groups[number].task].has_own_due_times();
        let due_times = || if own { check_due_times(rows, before) } else { Ok(()) };
        let times = || check_times(rows).and_then(|()| due_times());
        let timed = if columns.contains(Columns::TIMING) { times() } else { Ok(()) };
        let possible = timed.and_then(|()| if numbered { check_numbers(rows, before) } else { Ok(()) });
        possible.map_err(|e| self.impossible_values(e))?;
        let is_first = before.is_none();
        *last = rows.last().copied();
        let numbers = &self.numbers[number];
        match (rows.first(), rows.last()) {
            (Some(first), Some(last))
                if numbered && (is_first && first.index != numbers.start || last.index >= numbers.end) =>
            {
                let (from, to) = (numbers.start, numbers.end);
                Err(self.impossible_values(Error::damaged(format!(
                    "activations {} to {} stand where those from {from} to below {to} belong",
                    first.index, last.index
                ))))
            }
            _ => Ok(()),
        }
    }

    /// Hands all activations to `visit`, batch by batch, with the number of their task.
    ///
    /// # Errors
    /// As [`RunReader::visit_row_group`].
    pub fn for_each_batch(
        &self,
        columns: Columns,
        mut visit: impl FnMut(usize, &[Activation]),
    ) -> Result<(), Error> {
        let mut groups = self.groups.iter().enumerate();
        groups.try_for_each(|(i, group)| self.visit_row_group(i, columns, |rows| visit(group.task, rows)))
    }

    fn decoder(&self, number: usize, columns: Columns) -> Result<Decoder, Error> {
        match self.metadata.row_groups().get(number) {
            Some(group) => {
                let checksums = self.checksums.as_ref().map(|groups| &groups[number]);
                let part = RowGroupSource { file: &self.file, group, checksums };
                self.guard_parquet(|| Decoder::open(&part, columns))
            }
            None => Err(damaged(&self.path, Error::damaged(format!("it has no row group {number}")))),
        }
    }

    fn guard_parquet<T>(&self, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
        column::without_panic(work).map_err(|e| damaged(&self.path, cause_of(e)))
    }

    /// Returns the causes of late activations; `None` if the kernel's events were not recorded.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn causes(&self) -> Result<Option<RunCauses>, Error> {
        let read = self.causes.map(|place| causes::read(&self.file, place));
        read.transpose().map_err(|e| bad_causes(&self.path, e))
    }

    /// Hands all slices to `visit`, each task's in order of time. There are none if every activation was kept.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn for_each_slice(&self, mut visit: impl FnMut(&Slice)) -> Result<(), Error> {
        slice_table::read_slices(&self.file, &self.embedded, self.info.tasks.len(), &mut visit)
            .map_err(|e| damaged(&self.path, cause_of(e)))
    }
}

/// Checks that all described byte ranges lie within a file of this size, and that none overlap.
fn check_ranges<'a>(
    size: u64,
    metadata: &ParquetMetaData,
    others: impl Iterator<Item = &'a FileRange>,
) -> Result<(), ParquetError> {
    let columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).map(column::chunk_range);
    let others = others.map(|range| Ok((range.offset, range.length)));
    let mut parts = columns.chain(others).collect::<Result<Vec<_>, _>>()?;
    parts.sort_unstable();
    let mut end = 0;
    for (offset, length) in parts {
        if offset < end {
            return Err(damage("two parts of it share bytes"));
        }
        end = offset.saturating_add(length);
    }
    if end > size { Err(damage("a part of it lies behind its end")) } else { Ok(()) }
}

/// Size and task of each row group; an error if a task has more rows than activations that ran.
fn row_groups(metadata: &ParquetMetaData, info: &RunInfo) -> Result<Vec<RowGroup>, ParquetError> {
    let groups = metadata.row_groups().iter().map(|group| row_group(group, info));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    // A killed run may have stored more spikes than seconds.
    if info.keep != Keep::All {
        return Ok(groups);
    }
    let mut rows = vec![0u64; info.tasks.len()];
    groups.iter().for_each(|group| rows[group.task] = rows[group.task].saturating_add(group.rows as u64));
    for (task, rows) in info.tasks.iter().zip(rows) {
        let executed = task.result.as_ref().map_or(COUNT, |result| result.executed);
        if rows > executed.min(COUNT) {
            let name = &task.spec.name;
            return Err(damage(format!(
                "it holds {rows} activations of task {name:?}, of which {executed} ran"
            )));
        }
    }
    Ok(groups)
}

/// The number of a row group's first activation, as its statistics have it.
fn first_activation_number(group: &RowGroupMetaData) -> Option<u64> {
    match group.column(1).statistics() {
        Some(Statistics::Int64(s)) => s.min_opt().and_then(|first| u64::try_from(*first).ok()),
        _ => None,
    }
}

fn check_schema(path: &Path, metadata: &ParquetMetaData) -> Result<(), Error> {
    let wanted = parse_schema(SCHEMA).map_err(|e| damaged(path, cause_of(e)))?;
    let found = metadata.file_metadata().schema();
    let names = |t: &parquet::schema::types::Type| -> Vec<String> {
        t.get_fields()
            .iter()
            .map(|f| format!("{} {:?}", f.name(), f.is_primitive().then(|| f.get_physical_type())))
            .collect()
    };
    let (wanted, found) = (names(&wanted), names(found));
    if wanted != found {
        return Err(not_a_run_file(
            path,
            Error::damaged(format!("its columns are {} instead of {}", found.join(", "), wanted.join(", "))),
        ));
    }
    Ok(())
}

/// Refuses a compression without a built-in decoder.
fn check_compression(path: &Path, metadata: &ParquetMetaData) -> Result<(), Error> {
    let codecs = metadata.row_groups().iter().flat_map(|group| group.columns()).map(|c| c.compression());
    let mut unread = codecs.filter_map(|codec| match codec {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => None,
        Compression::LZO => Some("LZO"),
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
    });
    match unread.next() {
        None => Ok(()),
        Some(codec) => Err(Error::damaged(format!(
            "{} is compressed by {codec}, which jitterlab does not read",
            path.display()
        ))
        .remedy("write it again by zstd, snappy or gzip")),
    }
}

/// A row group's size, and its one task from the statistics of the task column.
fn row_group(group: &RowGroupMetaData, info: &RunInfo) -> Result<RowGroup, ParquetError> {
    let task =
        constant_value(group, 0).and_then(|t| usize::try_from(t).ok()).filter(|t| *t < info.tasks.len());
    let task = task.ok_or_else(|| {
        damage("a row group is not of exactly one task of the run, as if another program had rewritten it")
    })?;
    // Few bytes can hold many equal rows; but columns that state a number twice must agree.
    let held: i64 =
        group.columns().iter().fold(0, |sum, column| sum.saturating_add(column.uncompressed_size()));
    let alike = group.columns().iter().all(|column| column.num_values() == group.num_rows());
    match usize::try_from(group.num_rows()) {
        Ok(rows) if alike && group.total_byte_size() <= held => Ok(RowGroup { task, rows }),
        _ => Err(damage("a row group claims more than its columns hold")),
    }
}
