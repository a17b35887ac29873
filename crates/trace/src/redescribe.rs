//! Copying a run file with another description.

use std::path::Path;

use jitterlab_model::{Error, RunInfo};

use crate::{Columns, FinishedRun, RunFileWriter, RunReader};

/// Copies a run file, its description changed by `change`: for facts that only the bench around a measurement knows.
///
/// # Errors
/// A file that cannot be read, or a place that cannot be written or is taken.
pub fn redescribe(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    change: impl FnOnce(&mut RunInfo),
) -> Result<FinishedRun, Error> {
    let reader = RunReader::open(from)?;
    let mut info = reader.info().clone();
    let mut writer = RunFileWriter::create(to, info.tasks.len())?;
    let mut result = Ok(());
    reader.for_each_batch(Columns::ALL, |task, rows| {
        if result.is_ok() {
            result = writer.append(task, rows);
        }
    })?;
    result?;
    let mut result = Ok(());
    reader.for_each_slice(|slice| {
        if result.is_ok() {
            result = writer.append_slice(slice);
        }
    })?;
    result?;
    if let Some(causes) = reader.causes()? {
        writer.set_causes(&causes)?;
    }
    change(&mut info);
    writer.finish(&info)
}
