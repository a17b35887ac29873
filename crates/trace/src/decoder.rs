//! Decoding a row group into activations, column after column, batch by batch.

use std::fs::File;
use std::ops::BitOr;

use jitterlab_model::{Activation, Flags};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use crate::checksum::ColumnChecksums;
use crate::column;

/// Columns to read. Fields of activations that are not read are 0.
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
    /// Columns for latency: due and start.
    pub const LATENCY: Columns = Columns(Self::DUE.0 | Self::START.0);
    /// Columns for [`TimingStats`](jitterlab_model::TimingStats): due, start, end, missed and flags.
    pub const TIMING: Columns = Columns(Self::LATENCY.0 | Self::END.0 | Self::MISSED.0 | Self::FLAGS.0);

    /// Returns true if all of `other` are among these.
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

/// Activations that are decoded at once: few enough to stay in the cache while column after column is put in.
pub(crate) const BATCH: usize = 2048;

/// A row group being decoded.
pub(crate) struct Decoder {
    long: Vec<Column<Int64Type>>,
    short: Vec<Column<Int32Type>>,
    /// Values common to all rows: columns with one value only, by their statistics.
    pub(crate) common: Activation,
}

/// A row group of a file, to be decoded.
pub(crate) struct RowGroupSource<'a> {
    pub(crate) file: &'a File,
    pub(crate) group: &'a RowGroupMetaData,
    /// The checksums of its columns, if the file has any.
    pub(crate) checksums: Option<&'a ColumnChecksums>,
}

/// A column and the field it goes into.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    put: SetField<T::T>,
    values: Vec<T::T>,
}

/// Puts values into the same field of as many activations.
type SetField<T> = fn(&mut [Activation], &[T]);

/// Sets a field of each row to its value: a loop of its own for each field.
fn set_fields<T: Copy>(rows: &mut [Activation], values: &[T], set: impl Fn(&mut Activation, T)) {
    rows.iter_mut().zip(values).for_each(|(a, v)| set(a, *v));
}

impl<T: DataType<T: Copy>> Column<T> {
    fn open(part: &RowGroupSource<'_>, number: usize, put: SetField<T::T>) -> Result<Self> {
        let checksum = part.checksums.map(|columns| columns[number]);
        let reader = column::open_column(part.file, part.group, number, checksum)?;
        Ok(Column { reader, put, values: Vec::with_capacity(BATCH) })
    }

    fn fill(&mut self, rows: &mut [Activation]) -> Result<()> {
        self.values.clear();
        column::read_until(&mut self.reader, rows.len(), &mut self.values)?;
        (self.put)(rows, &self.values);
        Ok(())
    }
}

impl Decoder {
    pub(crate) fn open(part: &RowGroupSource<'_>, columns: Columns) -> Result<Self> {
        let mut decoder = Decoder { long: Vec::new(), short: Vec::new(), common: Activation::default() };
        let mut long = |number, name, put| -> Result<()> {
            if columns.contains(name) {
                decoder.long.push(Column::open(part, number, put)?);
            }
            Ok(())
        };
        long(1, Columns::INDEX, |rows, values| set_fields(rows, values, |a, v| a.index = v as u64))?;
        long(2, Columns::DUE, |rows, values| set_fields(rows, values, |a, v| a.due_ns = v))?;
        long(3, Columns::START, |rows, values| set_fields(rows, values, |a, v| a.start_ns = v))?;
        long(4, Columns::END, |rows, values| set_fields(rows, values, |a, v| a.end_ns = v))?;
        let common = &mut decoder.common;
        let mut short = |number, name, put: SetField<i32>| -> Result<()> {
            match constant_value(part.group, number).filter(|_| columns.contains(name)) {
                Some(value) => put(std::slice::from_mut(common), &[value]),
                None if columns.contains(name) => decoder.short.push(Column::open(part, number, put)?),
                None => {}
            }
            Ok(())
        };
        short(5, Columns::CPU, |rows, values| set_fields(rows, values, |a, v| a.cpu = v as u16))?;
        short(6, Columns::MISSED, |rows, values| set_fields(rows, values, |a, v| a.missed = v as u32))?;
        short(7, Columns::FLAGS, |rows, values| set_fields(rows, values, |a, v| a.flags = Flags(v as u16)))?;
        Ok(decoder)
    }

    /// Decodes the columns that differ between the rows, which are copies of [`Decoder::common`].
    pub(crate) fn fill(&mut self, rows: &mut [Activation]) -> Result<()> {
        self.long.iter_mut().try_for_each(|column| column.fill(rows))?;
        self.short.iter_mut().try_for_each(|column| column.fill(rows))
    }
}

/// Value that all rows of a column have, if its statistics show a single one.
pub(crate) fn constant_value(group: &RowGroupMetaData, column: usize) -> Option<i32> {
    match group.column(column).statistics() {
        Some(Statistics::Int32(s)) if s.min_opt() == s.max_opt() => s.min_opt().copied(),
        _ => None,
    }
}
