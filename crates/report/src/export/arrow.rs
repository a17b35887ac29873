//! An Arrow IPC file (Feather version 2): the columns and the description of the run file; what a source does not tell is
//! null.

use std::io::Write;

use arrow_array::RecordBatchReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use jitterlab_runs::{Batches, Run, RunsError};

use super::{ExportError, Exported, rows};

pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, ExportError> {
    let because = |why| ExportError::Refused { path: run.path().into(), format: "arrow", why };
    let refused = |error: ArrowError| match error {
        ArrowError::IoError(_, error) => ExportError::Write(error),
        ArrowError::ExternalError(error) => match error.downcast::<RunsError>() {
            Ok(error) => ExportError::Run(*error),
            Err(other) => because(other.to_string()),
        },
        other => because(other.to_string()),
    };
    let mut exported = rows::losses(run, tasks)?;
    let batches = Batches::of(run, tasks)?;
    let mut file = FileWriter::try_new(out, &batches.schema()).map_err(refused)?;
    for batch in batches {
        let batch = batch.map_err(refused)?;
        file.write(&batch).map_err(refused)?;
        exported.values += batch.num_rows() as u64;
    }
    file.finish().map_err(refused)?;
    Ok(exported)
}
