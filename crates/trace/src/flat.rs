//! Flat tables of texts and signed whole numbers as Parquet files that any engine reads alike: no lists, no decimals, no
//! unsigned numbers, no times.
//!
//! Whole numbers are bit-packed differences, texts are in dictionaries, all of it is compressed by zstd. The same rows
//! always give the same bytes of the same release.

use std::sync::Arc;

use bytes::Bytes;
use jitterlab_model::Error;
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;

use crate::column::{open_column, read_footer, without_panic};
use crate::error::damage;
use crate::layout::{parse_schema, write_column, write_optional_column, writer_properties, zstd};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// Kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text; one that is not known is empty.
    Text,
    /// Number from -128 to 127.
    Short,
    /// Whole number of 64 bits.
    Whole,
    /// Whole number of 64 bits, or no value where it is not known.
    MaybeWhole,
}

/// Values of a column. A number that is not known is `None`, in columns of [`ColumnKind::MaybeWhole`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Texts.
    Texts(Vec<String>),
    /// Numbers.
    Numbers(Vec<Option<i64>>),
}

impl Values {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Values::Texts(Vec::new()),
            _ => Values::Numbers(Vec::new()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Values::Texts(texts) => texts.len(),
            Values::Numbers(numbers) => numbers.len(),
        }
    }
}

/// Table in memory: names and kinds of its columns, and the values of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatTable {
    /// Columns in their order.
    pub columns: Vec<(&'static str, ColumnKind)>,
    /// Values of each column, of the same number of rows.
    pub values: Vec<Values>,
}

impl FlatTable {
    /// Table without rows.
    #[must_use]
    pub fn new(columns: &[(&'static str, ColumnKind)]) -> Self {
        let values = columns.iter().map(|(_, kind)| Values::new(*kind)).collect();
        FlatTable { columns: columns.to_vec(), values }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.first().map_or(0, Values::len)
    }

    /// Bytes of a Parquet file with these rows, and names and values in its metadata.
    ///
    /// # Errors
    /// A value that its column cannot hold.
    pub fn to_parquet(&self, metadata: &[(&str, String)]) -> Result<Vec<u8>, Error> {
        self.write_parquet(metadata)
            .map_err(|error| Error::defect("a table could not be written").because(error))
    }

    fn write_parquet(&self, metadata: &[(&str, String)]) -> Result<Vec<u8>, ParquetError> {
        let mut message = String::from("message rows {\n");
        for (name, kind) in &self.columns {
            message += &match kind {
                ColumnKind::Text => format!("required binary {name} (STRING);\n"),
                ColumnKind::Short => format!("required int32 {name} (INTEGER(8, true));\n"),
                ColumnKind::Whole => format!("required int64 {name};\n"),
                ColumnKind::MaybeWhole => format!("optional int64 {name};\n"),
            };
        }
        let metadata = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let mut options: WriterProperties = writer_properties(zstd());
        let mut builder = options.into_builder().set_key_value_metadata(Some(metadata.collect()));
        for (name, kind) in &self.columns {
            let column = ColumnPath::from(*name);
            if matches!(kind, ColumnKind::Whole | ColumnKind::MaybeWhole) {
                builder = builder
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
            }
        }
        options = builder.build();
        let mut bytes = Vec::new();
        let mut file =
            SerializedFileWriter::new(&mut bytes, parse_schema(&(message + "}"))?, Arc::new(options))?;
        for begin in (0..self.rows()).step_by(GROUP_ROWS) {
            let rows = begin..self.rows().min(begin + GROUP_ROWS);
            let mut group = file.next_row_group()?;
            for ((_, kind), values) in self.columns.iter().zip(&self.values) {
                match values {
                    Values::Texts(texts) => {
                        let texts = texts[rows.clone()].iter().map(|text| ByteArray::from(text.as_str()));
                        write_column::<ByteArrayType>(&mut group, &texts.collect::<Vec<_>>())?;
                    }
                    Values::Numbers(numbers) => write_numbers(&mut group, *kind, &numbers[rows.clone()])?,
                }
            }
            group.close()?;
        }
        file.close()?;
        Ok(bytes)
    }
}

fn write_numbers(
    group: &mut SerializedRowGroupWriter<'_, impl std::io::Write + Send>,
    kind: ColumnKind,
    numbers: &[Option<i64>],
) -> Result<(), ParquetError> {
    let known: Vec<i64> = numbers.iter().flatten().copied().collect();
    if kind != ColumnKind::MaybeWhole && known.len() < numbers.len() {
        return Err(damage("a value that is always known is not"));
    }
    match kind {
        ColumnKind::Short => {
            let short = known.iter().map(|number| i8::try_from(*number).map(i32::from));
            let short = short.collect::<Result<Vec<_>, _>>().map_err(|_| damage("a number is too large"))?;
            write_column::<Int32Type>(group, &short)
        }
        ColumnKind::MaybeWhole => {
            let levels: Vec<i16> = numbers.iter().map(|number| i16::from(number.is_some())).collect();
            write_optional_column::<Int64Type>(group, &known, Some(&levels))
        }
        _ => write_column::<Int64Type>(group, &known),
    }
}

/// Parquet file that may hold a flat table.
pub struct FlatFile {
    bytes: Bytes,
    metadata: ParquetMetaData,
}

impl FlatFile {
    /// Opens the bytes of a file.
    ///
    /// # Errors
    /// They are no Parquet file, or are damaged.
    pub fn open(bytes: Vec<u8>) -> Result<Self, Error> {
        let bytes = Bytes::from(bytes);
        let metadata = without_panic(|| {
            if read_footer(&bytes, bytes.len() as u64)?.is_none() {
                return Err(damage("it is no Parquet file, or is cut short"));
            }
            ParquetMetaDataReader::new().parse_and_finish(&bytes)
        });
        Ok(FlatFile { metadata: metadata.map_err(not_a_table)?, bytes })
    }

    /// Value of a key in the metadata of the file.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let all = self.metadata.file_metadata().key_value_metadata()?;
        all.iter().find(|entry| entry.key == key)?.value.as_deref()
    }

    /// Reads these columns. One of [`ColumnKind::MaybeWhole`] that the file lacks is not known in any row.
    ///
    /// # Errors
    /// The file lacks another of them, has it of another type, or is damaged.
    pub fn read(&self, columns: &[(&'static str, ColumnKind)]) -> Result<FlatTable, Error> {
        without_panic(|| self.read_columns(columns)).map_err(not_a_table)
    }

    fn read_columns(&self, columns: &[(&'static str, ColumnKind)]) -> Result<FlatTable, ParquetError> {
        let mut table = FlatTable::new(columns);
        for group in self.metadata.row_groups() {
            let rows =
                usize::try_from(group.num_rows()).map_err(|_| damage("its number of rows cannot be"))?;
            for ((name, kind), values) in columns.iter().zip(&mut table.values) {
                let place = group.columns().iter().position(|column| column.column_path().string() == *name);
                match (place, kind, values) {
                    (Some(place), _, Values::Texts(texts)) => self.read_texts(group, place, rows, texts)?,
                    (Some(place), kind, Values::Numbers(numbers)) => {
                        self.read_numbers(group, place, rows, *kind, numbers)?;
                    }
                    (None, ColumnKind::MaybeWhole, Values::Numbers(numbers)) => {
                        // A claim of rows without a byte behind it takes no memory here.
                        if rows > self.bytes.len().saturating_mul(1 << 12) {
                            return Err(damage("its number of rows cannot be"));
                        }
                        numbers.extend(std::iter::repeat_n(None, rows));
                    }
                    (None, ..) => return Err(damage(format!("it has no column {name}"))),
                }
            }
        }
        Ok(table)
    }

    fn read_texts(
        &self,
        group: &RowGroupMetaData,
        place: usize,
        rows: usize,
        texts: &mut Vec<String>,
    ) -> Result<(), ParquetError> {
        for text in self.read_values::<ByteArrayType>(group, place, rows)? {
            let text = text.ok_or_else(|| damage("a row lacks a text"))?;
            texts.push(text.as_utf8().map_err(|_| damage("a text is not UTF-8"))?.to_owned());
        }
        Ok(())
    }

    fn read_numbers(
        &self,
        group: &RowGroupMetaData,
        place: usize,
        rows: usize,
        kind: ColumnKind,
        numbers: &mut Vec<Option<i64>>,
    ) -> Result<(), ParquetError> {
        let from = numbers.len();
        match group.column(place).column_type() {
            Physical::INT32 => {
                let short = self.read_values::<Int32Type>(group, place, rows)?;
                numbers.extend(short.into_iter().map(|number| number.map(i64::from)));
            }
            _ => numbers.extend(self.read_values::<Int64Type>(group, place, rows)?),
        }
        match kind != ColumnKind::MaybeWhole && numbers[from..].contains(&None) {
            true => Err(damage("a row lacks a number")),
            false => Ok(()),
        }
    }

    fn read_values<T: DataType>(
        &self,
        group: &RowGroupMetaData,
        place: usize,
        rows: usize,
    ) -> Result<Vec<Option<T::T>>, ParquetError> {
        let optional = group.column(place).column_descr().self_type().get_basic_info().repetition()
            != Repetition::REQUIRED;
        let mut reader: ColumnReaderImpl<T> = open_column::<T>(&self.bytes, group, place, None)?;
        let (mut levels, mut known) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let (records, ..) =
                reader.read_records(rows - read, optional.then_some(&mut levels), None, &mut known)?;
            if records == 0 {
                return Err(damage("a column ends early"));
            }
            read += records;
        }
        let mut known = known.into_iter();
        Ok(match optional {
            true => levels.iter().map(|level| if *level > 0 { known.next() } else { None }).collect(),
            false => known.map(Some).collect(),
        })
    }
}

fn not_a_table(error: ParquetError) -> Error {
    Error::damaged("it cannot be read as a table").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COLUMNS: [(&str, ColumnKind); 4] = [
        ("name", ColumnKind::Text),
        ("quantity", ColumnKind::Short),
        ("n", ColumnKind::Whole),
        ("at", ColumnKind::MaybeWhole),
    ];

    fn table(rows: &[(String, i8, i64, Option<i64>)]) -> FlatTable {
        let mut table = FlatTable::new(&COLUMNS);
        table.values = vec![
            Values::Texts(rows.iter().map(|row| row.0.clone()).collect()),
            Values::Numbers(rows.iter().map(|row| Some(i64::from(row.1))).collect()),
            Values::Numbers(rows.iter().map(|row| Some(row.2)).collect()),
            Values::Numbers(rows.iter().map(|row| row.3).collect()),
        ];
        table
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec(any::<(String, i8, i64, Option<i64>)>(), 0..40)) {
            let written = table(&rows);
            let bytes = written.to_parquet(&[("key", "value".into())]).unwrap();
            let file = FlatFile::open(bytes).unwrap();
            prop_assert_eq!(file.read(&COLUMNS).unwrap(), written);
            prop_assert_eq!((file.metadata("key"), file.metadata("other")), (Some("value"), None));
        }

        #[test]
        fn damaged_bytes_give_an_answer(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let mut bytes = table(&vec![("a".into(), 1, 2, None); 9]).to_parquet(&[]).unwrap();
            let place = place.index(bytes.len());
            if cut { bytes.truncate(place) } else { bytes[place] = byte }
            let _ = FlatFile::open(bytes).and_then(|file| file.read(&COLUMNS));
        }
    }

    #[test]
    fn a_column_that_a_file_lacks_is_unknown_or_refused() {
        let bytes = table(&[("a".into(), 1, 2, Some(3))]).to_parquet(&[]).unwrap();
        let file = FlatFile::open(bytes).unwrap();
        let newer = file.read(&[("newer", ColumnKind::MaybeWhole)]).unwrap();
        assert_eq!(newer.values, [Values::Numbers(vec![None])]);
        assert!(
            file.read(&[("newer", ColumnKind::Whole)]).is_err()
                && file.read(&[("name", ColumnKind::Whole)]).is_err()
        );
    }
}
