//! Reading run files.

use std::fs::File;
use std::io::{self, Read};
use std::ops::BitOr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{Activation, Flags, RunInfo};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use crate::TraceError;
use crate::column;
use crate::convert::{is_journal, newer, parse_info};
use crate::slice_table::Embedded;
use crate::slices::Slice;
use crate::table::{FORMAT_KEY, RUN_KEY, SCHEMA, SLICES_KEY, schema};

/// Which columns to read. Fields of activations that are not read are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns(u8);

impl Columns {
    /// [`Activation::index`].
    pub const INDEX: Columns = Columns(1);
    /// [`Activation::due_ns`].
    pub const DUE: Columns = Columns(1 << 1);
    /// [`Activation::start_ns`].
    pub const START: Columns = Columns(1 << 2);
    /// [`Activation::end_ns`].
    pub const END: Columns = Columns(1 << 3);
    /// [`Activation::cpu`].
    pub const CPU: Columns = Columns(1 << 4);
    /// [`Activation::missed`].
    pub const MISSED: Columns = Columns(1 << 5);
    /// [`Activation::flags`].
    pub const FLAGS: Columns = Columns(1 << 6);
    /// Everything.
    pub const ALL: Columns = Columns(0x7f);
    /// What latency needs: due and start.
    pub const LATENCY: Columns = Columns(Self::DUE.0 | Self::START.0);
    /// What [`TimingStats`](jitterlab_model::TimingStats) needs: due, start, end, missed and flags.
    pub const TIMING: Columns = Columns(Self::LATENCY.0 | Self::END.0 | Self::MISSED.0 | Self::FLAGS.0);

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Columns) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Columns {
    type Output = Columns;

    fn bitor(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }
}

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
    embedded: Vec<Embedded>,
}

impl RunReader {
    /// Opens a run file and reads its description.
    ///
    /// # Errors
    /// There is no such file, it is not a run file, it is the journal of an unfinished run, it was written by a
    /// newer jitterlab, or it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(TraceError::io("open", path))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(TraceError::io("open", path)(io::ErrorKind::IsADirectory.into()));
        }
        let not = |why: String| TraceError::NotARunFile { path: path.into(), why };
        let mut beginning = Vec::new();
        (&file).take(16).read_to_end(&mut beginning).map_err(TraceError::io("read", path))?;
        if is_journal(&beginning) {
            return Err(TraceError::Unfinished(path.into()));
        }
        if !beginning.starts_with(b"PAR1") {
            return Err(not(if beginning.is_empty() {
                "it is empty".into()
            } else {
                "it is not a Parquet file".into()
            }));
        }
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(|e| {
            not(format!("its end is missing or damaged, as of a copy that was cut short ({e})"))
        })?;
        let value = |key: &str| {
            let pairs = metadata.file_metadata().key_value_metadata();
            pairs.into_iter().flatten().find(|kv| kv.key == key).and_then(|kv| kv.value.as_deref())
        };
        let described = value(RUN_KEY).ok_or_else(|| {
            not(format!("it is a Parquet file, but has no description of a run ({RUN_KEY})"))
        })?;
        let format = value(FORMAT_KEY).and_then(|v| v.parse().ok()).unwrap_or(FORMAT_VERSION);
        if format > FORMAT_VERSION {
            return Err(newer(path, format, FORMAT_VERSION));
        }
        let info = parse_info(path, described.as_bytes())?;
        let embedded = match value(SLICES_KEY).map(serde_json::from_str).transpose() {
            Ok(list) => list.unwrap_or_default(),
            Err(e) => return Err(damaged(path, format!("its list of slices cannot be read ({e})"))),
        };
        check_schema(path, &metadata)?;
        let groups = metadata.row_groups().iter().map(|group| row_group(path, group, &info));
        let groups = groups.collect::<Result<_, _>>()?;
        Ok(RunReader { path: path.into(), file, info, metadata: Arc::new(metadata), groups, embedded })
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Activations in the file.
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|g| g.rows as u64).sum()
    }

    /// The parts of the file, in the order they were written: those of one task follow each other in time.
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.groups
    }

    /// Whether the file holds slices instead of all activations (see [`Keep::Spikes`](jitterlab_model::Keep)).
    pub fn has_slices(&self) -> bool {
        !self.embedded.is_empty()
    }

    /// Reads a row group into `rows`, whose former content is replaced.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or there is no such row group.
    pub fn read_row_group(
        &self,
        number: usize,
        columns: Columns,
        rows: &mut Vec<Activation>,
    ) -> Result<(), TraceError> {
        let Some(group) = self.metadata.row_groups().get(number) else {
            return Err(damaged(&self.path, format!("it has no row group {number}")));
        };
        rows.clear();
        rows.resize(self.groups[number].rows, Activation::default());
        column::guarded(|| fill(&self.file, group, columns, rows))
            .map_err(|e| damaged(&self.path, e.to_string()))
    }

    /// Hands all activations to `visit`, row group by row group, with the number of their task.
    ///
    /// # Errors
    /// As [`RunReader::read_row_group`].
    pub fn for_each_batch(
        &self,
        columns: Columns,
        mut visit: impl FnMut(usize, &[Activation]),
    ) -> Result<(), TraceError> {
        let mut rows = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            self.read_row_group(number, columns, &mut rows)?;
            visit(group.task, &rows);
        }
        Ok(())
    }

    /// Hands all slices to `visit`, each task's in order of time. There are none if every activation was kept.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn for_each_slice(&self, mut visit: impl FnMut(&Slice)) -> Result<(), TraceError> {
        crate::slice_table::read(&self.file, &self.embedded, self.info.tasks.len(), &mut visit)
            .map_err(|e| damaged(&self.path, e.to_string()))
    }
}

fn damaged(path: &Path, why: String) -> TraceError {
    TraceError::Damaged { path: path.into(), why }
}

fn check_schema(path: &Path, metadata: &ParquetMetaData) -> Result<(), TraceError> {
    let wanted = schema(SCHEMA).map_err(|e| damaged(path, e.to_string()))?;
    let found = metadata.file_metadata().schema();
    let names = |t: &parquet::schema::types::Type| -> Vec<String> {
        t.get_fields()
            .iter()
            .map(|f| format!("{} {:?}", f.name(), f.is_primitive().then(|| f.get_physical_type())))
            .collect()
    };
    let (wanted, found) = (names(&wanted), names(found));
    if wanted != found {
        let why = format!("its columns are {} instead of {}", found.join(", "), wanted.join(", "));
        return Err(TraceError::NotARunFile { path: path.into(), why });
    }
    Ok(())
}

/// A row group's size, and its one task from the statistics of the task column.
fn row_group(path: &Path, group: &RowGroupMetaData, info: &RunInfo) -> Result<RowGroup, TraceError> {
    let task = match group.column(0).statistics() {
        Some(Statistics::Int32(s)) if s.min_opt() == s.max_opt() => s.min_opt().copied(),
        _ => None,
    };
    let Some(task) = task.and_then(|t| usize::try_from(t).ok()).filter(|t| *t < info.tasks.len()) else {
        let why = "a row group is not of exactly one task of the run, as if another program had rewritten it";
        return Err(damaged(path, why.into()));
    };
    // No encoding packs more than a few thousand rows into a byte; a larger claim would only take memory.
    let largest = u64::try_from(group.total_byte_size()).unwrap_or(0).saturating_mul(1 << 16);
    match usize::try_from(group.num_rows()) {
        Ok(rows) if rows as u64 <= largest => Ok(RowGroup { task, rows }),
        _ => Err(damaged(path, "a row group claims more rows than its bytes can hold".into())),
    }
}

/// Values that are decoded before they are put into the activations: few enough to stay in the cache.
const BATCH: usize = 4096;

fn fill(
    file: &File,
    group: &RowGroupMetaData,
    columns: Columns,
    rows: &mut [Activation],
) -> Result<(), ParquetError> {
    let mut long = |column, wanted, set: fn(&mut Activation, i64)| match columns.contains(wanted) {
        true => fill_column::<Int64Type>(file, group, column, rows, set),
        false => Ok(()),
    };
    long(1, Columns::INDEX, |a, v| a.index = v as u64)?;
    long(2, Columns::DUE, |a, v| a.due_ns = v)?;
    long(3, Columns::START, |a, v| a.start_ns = v)?;
    long(4, Columns::END, |a, v| a.end_ns = v)?;
    let mut short = |column, wanted, set: fn(&mut Activation, i32)| match columns.contains(wanted) {
        true => fill_column::<Int32Type>(file, group, column, rows, set),
        false => Ok(()),
    };
    short(5, Columns::CPU, |a, v| a.cpu = v as u16)?;
    short(6, Columns::MISSED, |a, v| a.missed = v as u32)?;
    short(7, Columns::FLAGS, |a, v| a.flags = Flags(v as u16))
}

fn fill_column<T: DataType<T: Copy>>(
    file: &File,
    group: &RowGroupMetaData,
    column: usize,
    rows: &mut [Activation],
    set: impl Fn(&mut Activation, T::T),
) -> Result<(), ParquetError> {
    let mut reader = column::open::<T>(file, group, column)?;
    let mut values = Vec::with_capacity(BATCH);
    for batch in rows.chunks_mut(BATCH) {
        values.clear();
        column::read_on(&mut reader, batch.len(), &mut values)?;
        batch.iter_mut().zip(&values).for_each(|(a, v)| set(a, *v));
    }
    Ok(())
}
