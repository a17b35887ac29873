//! Slices inside the run file: small complete Parquet files between its row groups.
//!
//! Readers without knowledge of them never look there; other readers find position and length of each in the
//! metadata, and any Parquet library can read the bytes. Two kinds of table: `slices`, a row per task, second and
//! quantity with the exact figures, and `bins`, a row per occupied bin of its histogram.
//!
//! Histograms take most of the room. Two things keep it small. Histograms of other quantities than latency and missed
//! ages are kept by the minute, with the last slice of the minute. Bins are sorted so that a bin's counts of successive
//! seconds lie side by side.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;

use jitterlab_model::distribution::Moments;
use jitterlab_model::{Quantity, TimingStats};
use parquet::basic::Type;
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::writer::SerializedFileWriter;
use serde::{Deserialize, Serialize};

use crate::checksum::Writer;
use crate::column::{FileRange, read_column, read_footer, without_panic};
use crate::error::{damage, impossible_values};
use crate::layout::{parse_schema, write_column, writer_properties, zstd};
use crate::slices::{SLICE_NS, Slice, StoredDistribution};

/// `quantity` counts as [`Quantity::COUNTED`] does. The sums have 38 decimal digits, more than a second can fill.
const SLICES: &str = "message slices {
    required int32 task (INTEGER(16, false));
    required int64 start_ns;
    required int64 first_due_ns;
    required int64 last_end_ns;
    required int64 missed;
    required int32 quantity (INTEGER(8, false));
    required int64 count;
    required int64 min_ns;
    required int64 max_ns;
    required fixed_len_byte_array(16) sum (DECIMAL(38, 0));
    required fixed_len_byte_array(16) sum_of_squares (DECIMAL(38, 0));
}";

/// Sorted by task, quantity, bin and second: `second` is the slice's `start_ns` in whole seconds.
const BINS: &str = "message bins {
    required int32 task (INTEGER(16, false));
    required int32 quantity (INTEGER(8, false));
    required int64 high_ns;
    required int64 second;
    required int64 count;
}";

/// Largest magnitude of a decimal of 38 digits.
const LARGEST: u128 = 10u128.pow(38) - 1;
/// Bins in one embedded table, roughly: some 20 MiB in memory while it is written.
const TABLE_BINS: usize = 1 << 18;
/// Memory of a slice itself, in bins: a task of a second has few in each.
const SLICE_AS_BINS: usize = 40;
/// Number of quantities at the beginning of [`Quantity::COUNTED`], latency and missed ages, with histograms by the
/// second; the others are kept by the minute.
const BY_THE_SECOND: usize = 2;
const MINUTE_NS: i64 = 60 * SLICE_NS;

/// Place of an embedded table in the run file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EmbeddedTable {
    /// `slices` or `bins`; they come in pairs, in this order.
    table: String,
    #[serde(flatten)]
    pub(crate) range: FileRange,
}

/// Gathers slices and writes them out in pairs of embedded tables.
#[derive(Default)]
pub(crate) struct SliceTable {
    tasks: Vec<Option<OpenSlice>>,
    closed: Vec<Slice>,
    bins: usize,
    scratch: Option<TimingStats>,
    written: Vec<EmbeddedTable>,
}

/// The last slice of a task, which a further piece may still extend.
struct OpenSlice {
    slice: Slice,
    /// Bins of this minute's slices before it.
    minute: [BTreeMap<i64, u64>; Quantity::COUNTED.len() - BY_THE_SECOND],
}

impl OpenSlice {
    /// Returns the complete slice and goes on to that of the next second (`None` at the end).
    fn advance(&mut self, next: Option<&Slice>) -> Slice {
        let minute = |slice: &Slice| slice.start_ns.div_euclid(MINUTE_NS);
        let goes_on = next.is_some_and(|next| minute(next) == minute(&self.slice));
        for (StoredDistribution { bins: own, .. }, bins) in
            self.slice.stored[BY_THE_SECOND..].iter_mut().zip(&mut self.minute)
        {
            for (high_ns, count) in own.drain(..) {
                *bins.entry(high_ns).or_default() += count;
            }
            if !goes_on {
                own.extend(std::mem::take(bins));
            }
        }
        match next {
            Some(next) => std::mem::replace(&mut self.slice, next.clone()),
            None => self.slice.clone(),
        }
    }
}

impl SliceTable {
    pub(crate) fn push(&mut self, file: &mut Writer, slice: &Slice) -> Result<(), ParquetError> {
        if self.tasks.len() <= slice.task {
            self.tasks.resize_with(slice.task + 1, || None);
        }
        match &mut self.tasks[slice.task] {
            Some(open) if open.slice.start_ns == slice.start_ns => {
                open.slice.merge_later(slice, self.scratch.get_or_insert_with(|| TimingStats::new(0)));
            }
            Some(open) => {
                let done = open.advance(Some(slice));
                self.bins += SLICE_AS_BINS + done.bin_count();
                self.closed.push(done);
            }
            none => *none = Some(OpenSlice { slice: slice.clone(), minute: Default::default() }),
        }
        if self.bins >= TABLE_BINS { self.write_tables(file) } else { Ok(()) }
    }

    /// Writes the rest; returns the places of all tables.
    pub(crate) fn finish(&mut self, file: &mut Writer) -> Result<Vec<EmbeddedTable>, ParquetError> {
        self.closed.extend(self.tasks.drain(..).flatten().map(|mut open| open.advance(None)));
        self.write_tables(file)?;
        Ok(std::mem::take(&mut self.written))
    }

    fn write_tables(&mut self, file: &mut Writer) -> Result<(), ParquetError> {
        if self.closed.is_empty() {
            return Ok(());
        }
        for (table, bytes) in [("slices", slices_table(&self.closed)?), ("bins", bins_table(&self.closed)?)] {
            let range = FileRange::new(file.bytes_written(), &bytes);
            file.write_all(&bytes)?;
            self.written.push(EmbeddedTable { table: table.into(), range });
        }
        self.closed.clear();
        self.bins = 0;
        Ok(())
    }
}

/// A slice's distributions that hold anything.
fn occupied_distributions(slice: &Slice) -> impl Iterator<Item = (&Slice, Quantity, &StoredDistribution)> {
    let all = Quantity::COUNTED.into_iter().zip(&slice.stored).map(move |(q, stored)| (slice, q, stored));
    all.filter(|(_, _, stored)| stored.moments.count > 0)
}

fn slices_table(slices: &[Slice]) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<_> = slices.iter().flat_map(occupied_distributions).collect();
    let long = |of: fn(&Slice, &Moments) -> i64| -> Vec<i64> {
        rows.iter().map(|(slice, _, stored)| of(slice, &stored.moments)).collect()
    };
    let decimal = |of: fn(&Moments) -> i128| -> Vec<FixedLenByteArray> {
        rows.iter().map(|(_, _, s)| of(&s.moments).to_be_bytes().to_vec().into()).collect()
    };
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, parse_schema(SLICES)?, Arc::new(writer_properties(zstd())))?;
    let mut group = file.next_row_group()?;
    write_column::<Int32Type>(&mut group, &rows.iter().map(|r| r.0.task as i32).collect::<Vec<_>>())?;
    write_column::<Int64Type>(&mut group, &long(|s, _| s.start_ns))?;
    write_column::<Int64Type>(&mut group, &long(|s, _| s.first_due_ns))?;
    write_column::<Int64Type>(&mut group, &long(|s, _| s.last_end_ns))?;
    write_column::<Int64Type>(&mut group, &long(|s, _| s.missed as i64))?;
    write_column::<Int32Type>(&mut group, &rows.iter().map(|r| r.1 as i32).collect::<Vec<_>>())?;
    write_column::<Int64Type>(&mut group, &long(|_, m| m.count as i64))?;
    write_column::<Int64Type>(&mut group, &long(|_, m| m.min_ns))?;
    write_column::<Int64Type>(&mut group, &long(|_, m| m.max_ns))?;
    write_column::<FixedLenByteArrayType>(&mut group, &decimal(|m| m.sum))?;
    write_column::<FixedLenByteArrayType>(&mut group, &decimal(|m| m.sum_of_squares.min(LARGEST) as i128))?;
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn bins_table(slices: &[Slice]) -> Result<Vec<u8>, ParquetError> {
    let bins = slices.iter().flat_map(occupied_distributions).flat_map(|(slice, quantity, stored)| {
        let second = slice.start_ns / SLICE_NS;
        stored
            .bins
            .iter()
            .map(move |(high_ns, n)| (slice.task as i32, quantity as i32, *high_ns, second, *n as i64))
    });
    let mut bins: Vec<_> = bins.collect();
    bins.sort_unstable();
    let short = |of: fn(&(i32, i32, i64, i64, i64)) -> i32| bins.iter().map(of).collect::<Vec<_>>();
    let long = |of: fn(&(i32, i32, i64, i64, i64)) -> i64| bins.iter().map(of).collect::<Vec<_>>();
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, parse_schema(BINS)?, Arc::new(writer_properties(zstd())))?;
    let mut group = file.next_row_group()?;
    write_column::<Int32Type>(&mut group, &short(|b| b.0))?;
    write_column::<Int32Type>(&mut group, &short(|b| b.1))?;
    write_column::<Int64Type>(&mut group, &long(|b| b.2))?;
    write_column::<Int64Type>(&mut group, &long(|b| b.3))?;
    write_column::<Int64Type>(&mut group, &long(|b| b.4))?;
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Reads all slices back; `visit` gets each once.
pub(crate) fn read_slices(
    file: &File,
    tables: &[EmbeddedTable],
    tasks: usize,
    visit: &mut impl FnMut(&Slice),
) -> Result<(), ParquetError> {
    for pair in tables.chunks(2) {
        let [figures, bins] = pair else { return Err(contradicting_slices()) };
        let figures = without_panic(|| TableColumns::open(file, figures))?;
        let bins = without_panic(|| TableColumns::open(file, bins))?;
        visit_pair(&figures, &bins, tasks, visit)?;
    }
    Ok(())
}

fn contradicting_slices() -> ParquetError {
    damage("its slices contradict each other")
}

/// An embedded table with all its columns in memory.
struct TableColumns {
    rows: usize,
    long: Vec<Vec<i64>>,
    decimal: Vec<Vec<FixedLenByteArray>>,
}

impl TableColumns {
    fn open(file: &File, place: &EmbeddedTable) -> Result<Self, ParquetError> {
        let bytes = place.range.read(file)?;
        read_footer(&bytes, bytes.len() as u64)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
        let [group] = metadata.row_groups() else { return Err(contradicting_slices()) };
        let rows = usize::try_from(group.num_rows()).map_err(|_| contradicting_slices())?;
        let mut columns = TableColumns { rows, long: Vec::new(), decimal: Vec::new() };
        for (i, column) in group.columns().iter().enumerate() {
            match column.column_type() {
                Type::INT64 => columns.long.push(read_column::<Int64Type>(&bytes, group, i, rows)?),
                Type::INT32 => {
                    let short = read_column::<Int32Type>(&bytes, group, i, rows)?;
                    columns.long.push(short.into_iter().map(i64::from).collect());
                }
                Type::FIXED_LEN_BYTE_ARRAY => {
                    columns.decimal.push(read_column::<FixedLenByteArrayType>(&bytes, group, i, rows)?);
                }
                _ => return Err(contradicting_slices()),
            }
        }
        Ok(columns)
    }

    fn long_values<const N: usize>(&self, row: usize) -> Option<[i64; N]> {
        let mut values = [0; N];
        for (value, column) in values.iter_mut().zip(&self.long) {
            *value = *column.get(row)?;
        }
        (self.long.len() == N).then_some(values)
    }

    fn decimal_value(&self, column: usize, row: usize) -> Option<i128> {
        let bytes = self.decimal.get(column)?.get(row)?.data();
        bytes.try_into().ok().map(i128::from_be_bytes)
    }
}

/// Hands each slice to `visit`, put together from a table of figures and one of bins.
fn visit_pair(
    figures: &TableColumns,
    bins: &TableColumns,
    tasks: usize,
    visit: &mut impl FnMut(&Slice),
) -> Result<(), ParquetError> {
    let mut slices: Vec<Slice> = Vec::new();
    let mut places = HashMap::new();
    for row in 0..figures.rows {
        let [task, start_ns, first_due_ns, last_end_ns, missed, quantity, count, min_ns, max_ns] =
            figures.long_values(row).ok_or_else(contradicting_slices)?;
        let sum = figures.decimal_value(0, row).ok_or_else(contradicting_slices)?;
        let sum_of_squares = figures.decimal_value(1, row).ok_or_else(contradicting_slices)?.unsigned_abs();
        let index = usize::try_from(task).ok().filter(|t| *t < tasks).ok_or_else(contradicting_slices)?;
        if slices.last().is_none_or(|s| (s.task, s.start_ns) != (index, start_ns)) {
            let missed = missed as u64;
            let stored = Default::default();
            slices.push(Slice { task: index, start_ns, first_due_ns, last_end_ns, missed, stored });
            places.insert((task, start_ns / SLICE_NS), slices.len() - 1);
        }
        let stored = slices.last_mut().and_then(|s| s.stored.get_mut(usize::try_from(quantity).ok()?));
        let moments = Moments { count: count as u64, min_ns, max_ns, sum, sum_of_squares };
        stored.ok_or_else(contradicting_slices)?.moments = moments;
    }
    for row in 0..bins.rows {
        let [task, quantity, high_ns, second, count] =
            bins.long_values(row).ok_or_else(contradicting_slices)?;
        let slice = places.get(&(task, second)).and_then(|place| slices.get_mut(*place));
        let stored = slice.and_then(|s| s.stored.get_mut(usize::try_from(quantity).ok()?));
        stored.ok_or_else(contradicting_slices)?.bins.push((high_ns, count as u64));
    }
    for slice in &slices {
        slice.check_bounds().map_err(impossible_values)?;
        visit(slice);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jitterlab_model::Activation;

    use super::*;
    use crate::checksum::ChecksummedFile;

    #[test]
    fn slices_with_few_bins_do_not_pile_up() {
        let file = ChecksummedFile::new(tempfile::tempfile().unwrap());
        let mut file =
            Writer::new(file, parse_schema(SLICES).unwrap(), Arc::new(writer_properties(zstd()))).unwrap();
        let mut table = SliceTable::default();
        let mut largest = 0;
        for second in 0..20_000 {
            let due_ns = second * SLICE_NS;
            let mut stats = TimingStats::new(SLICE_NS);
            stats.push(&Activation {
                due_ns,
                start_ns: due_ns + 5_000,
                end_ns: due_ns + 6_000,
                ..Activation::default()
            });
            table.push(&mut file, &Slice::new(0, due_ns, due_ns, due_ns + 6_000, &stats)).unwrap();
            largest = largest.max(table.closed.len());
        }
        assert!(largest < 10_000, "{largest}");
    }
}
