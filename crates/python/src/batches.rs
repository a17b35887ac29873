//! The activations of a run as record batches of Arrow: the columns and the description of the run file; fields that a
//! source leaves unknown are null.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader, UInt16Array, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use jitterlab_model::{Activation, Error};
use jitterlab_trace::metadata;

use jitterlab_runs::{Run, SourceFields};

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

/// The kept activations of a run as Arrow has them, read as they are asked for.
#[derive(Debug)]
pub struct Batches {
    run: Run,
    tasks: Vec<usize>,
    schema: SchemaRef,
    /// The next part of the run that is read.
    part: usize,
    ready: VecDeque<RecordBatch>,
}

impl Batches {
    /// Creates the batches of the tasks of these numbers.
    ///
    /// # Errors
    /// No activation of them is kept.
    pub fn new(run: &Run, tasks: &[usize]) -> Result<Self, Error> {
        if !tasks.iter().any(|task| run.row_count(*task) > 0 || run.keeps_all_rows(*task)) {
            return Err(run.needs_activations());
        }
        let fields: Vec<Field> =
            COLUMNS.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
        let described = metadata(run.path(), run.info())?.map(|(key, value)| (key.to_owned(), value));
        let schema = Arc::new(Schema::new_with_metadata(fields, described));
        Ok(Batches { run: run.clone(), tasks: tasks.to_vec(), schema, part: 0, ready: VecDeque::new() })
    }

    /// Reads the next part of the run into record batches.
    fn read_part(&mut self) -> Result<(), ArrowError> {
        let Batches { run, tasks, schema, part, ready } = self;
        let mut outcome = Ok(());
        let read = run.visit_part(*part, |task, rows| {
            if outcome.is_ok() && tasks.contains(&task) {
                let batch =
                    RecordBatch::try_new(schema.clone(), arrow_columns(task, rows, &run.source_fields(task)));
                outcome = batch.map(|batch| ready.push_back(batch));
            }
        });
        *part += 1;
        read.map_err(|error| ArrowError::ExternalError(error.into()))?;
        outcome
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.part < self.run.part_count() {
            if let Err(error) = self.read_part() {
                self.part = self.run.part_count();
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn arrow_columns(task: usize, rows: &[Activation], known: &SourceFields) -> Vec<ArrayRef> {
    let long = |known: bool, cell: fn(&Activation) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|a| known.then(|| cell(a))).collect::<Int64Array>())
    };
    let short = |known: bool, cell: fn(&Activation) -> u16| -> ArrayRef {
        Arc::new(rows.iter().map(|a| known.then(|| cell(a))).collect::<UInt16Array>())
    };
    vec![
        Arc::new(UInt16Array::from(vec![task as u16; rows.len()])),
        long(true, |a| a.index as i64),
        long(known.due, |a| a.due_ns),
        long(true, |a| a.start_ns),
        long(known.end, |a| a.end_ns),
        short(known.cpu, |a| a.cpu),
        Arc::new(rows.iter().map(|a| known.missed.then_some(a.missed)).collect::<UInt32Array>()),
        short(known.cpu, |a| a.flags.0),
    ]
}
