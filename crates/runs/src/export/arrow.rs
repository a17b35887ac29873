//! An Arrow IPC file (Feather version 2): the columns and the description of the run file; what a source does not tell is
//! null.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use jitterlab_model::Activation;
use jitterlab_trace::metadata;

use super::rows::{self, Told};
use super::{ExportError, Exported};
use crate::Run;

const COLUMNS: [(&str, DataType); 8] = [
    ("task", DataType::UInt16),
    ("index", DataType::Int64),
    ("due_ns", DataType::Int64),
    ("start_ns", DataType::Int64),
    ("end_ns", DataType::Int64),
    ("cpu", DataType::UInt16),
    ("missed", DataType::UInt32),
    ("flags", DataType::UInt16),
];

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, ExportError> {
    let refused = |error: ArrowError| match error {
        ArrowError::IoError(_, error) => ExportError::Write(error),
        other => ExportError::Refused { path: run.path().into(), format: "arrow", why: other.to_string() },
    };
    let fields: Vec<Field> = COLUMNS.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
    let described = metadata(run.path(), run.info())?.map(|(key, value)| (key.to_owned(), value));
    let schema = Arc::new(Schema::new_with_metadata(fields, described));
    let mut file = FileWriter::try_new(out, &schema).map_err(refused)?;
    let exported = rows::each(run, tasks, |task, rows| {
        let columns = columns(task, rows, &Told::of(run, task));
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(refused)?;
        file.write(&batch).map_err(refused)
    })?;
    file.finish().map_err(refused)?;
    Ok(exported)
}

fn columns(task: usize, rows: &[Activation], told: &Told) -> Vec<ArrayRef> {
    let long = |told: bool, cell: fn(&Activation) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|a| told.then(|| cell(a))).collect::<Int64Array>())
    };
    let short = |told: bool, cell: fn(&Activation) -> u16| -> ArrayRef {
        Arc::new(rows.iter().map(|a| told.then(|| cell(a))).collect::<UInt16Array>())
    };
    vec![
        Arc::new(UInt16Array::from(vec![task as u16; rows.len()])),
        long(true, |a| a.index as i64),
        long(told.due, |a| a.due_ns),
        long(true, |a| a.start_ns),
        long(told.end, |a| a.end_ns),
        short(told.cpu, |a| a.cpu),
        Arc::new(rows.iter().map(|a| told.missed.then_some(a.missed)).collect::<UInt32Array>()),
        short(told.cpu, |a| a.flags.0),
    ]
}
