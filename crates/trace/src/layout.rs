//! The layout of the Parquet file: its columns, its metadata, its encodings.
//!
//! Encodings were chosen by measuring a 25 us and a 1 ms task (docs/formats/run-file.md): times and indices as bit
//! packed differences (DELTA_BINARY_PACKED), everything that hardly changes by a dictionary, all of it compressed
//! by zstd.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::error::damage;

/// Metadata key of the run's description.
pub(crate) const RUN_KEY: &str = "jitterlab.run";
/// Metadata key of the format's version.
pub(crate) const FORMAT_KEY: &str = "jitterlab.format";
/// Metadata key of the list of embedded slice tables.
pub(crate) const SLICES_KEY: &str = "jitterlab.slices";

/// Writer of the file, as Parquet has it.
pub(crate) const CREATED_BY: &str = concat!("jitterlab-trace ", env!("CARGO_PKG_VERSION"));

/// Metadata key of the place of the causes of late activations.
pub(crate) const CAUSES_KEY: &str = "jitterlab.causes";

/// The columns. `index` is signed so that differences of columns stay integers in pandas and polars.
pub(crate) const SCHEMA: &str = "message run {
    required int32 task (INTEGER(16, false));
    required int64 index;
    required int64 due_ns;
    required int64 start_ns;
    required int64 end_ns;
    required int32 cpu (INTEGER(16, false));
    required int32 missed (INTEGER(32, false));
    required int32 flags (INTEGER(16, false));
}";

pub(crate) fn parse_schema(text: &str) -> Result<TypePtr, ParquetError> {
    parse_message_type(text).map(Arc::new)
}

/// Columns whose values differ little from one row to the next, in the main table or an embedded one.
const DIFFERENCES: [&str; 8] =
    ["index", "due_ns", "start_ns", "end_ns", "first_due_ns", "last_end_ns", "second", "count"];

/// Compression of columns with many rows.
pub(crate) fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::default())
}

/// Writer properties: bit-packed differences where rows differ little, dictionaries for values that hardly change.
pub(crate) fn writer_properties(compression: Compression) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(CREATED_BY.into())
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_data_page_row_count_limit(1 << 16)
        .set_write_batch_size(1 << 14);
    for column in DIFFERENCES {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Writes the next column of a row group.
pub(crate) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl std::io::Write + Send>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    write_optional_column::<T>(group, values, None)
}

/// Writes the next column, with the definition levels of its rows where it is optional.
pub(crate) fn write_optional_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl std::io::Write + Send>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(|| damage("too many columns"))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
