//! JUnit's XML: decisions on a run as test cases; failed if a requirement is broken or a purpose not served,
//! skipped if that cannot be decided.

use std::io::Write;

use jitterlab_model::Error;
use jitterlab_runs::Run;

use super::description::machine_labels;
use super::{ExportOptions, ExportSummary, verdicts};
use crate::junit;

pub(super) fn write(
    run: &Run,
    tasks: &[usize],
    asked: &ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportSummary, Error> {
    let cases = verdicts::test_cases(run, tasks, asked)?;
    out.write_all(junit::test_suite_xml(&run.label(), &machine_labels(run.info()), &cases).as_bytes())?;
    Ok(ExportSummary::from_cases(&cases, asked))
}
