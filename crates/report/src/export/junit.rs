//! JUnit's XML: decisions on a run as test cases; failed if a requirement is broken or a purpose not served,
//! skipped if that cannot be decided.

use std::io::Write;

use jitterlab_model::Error;
use jitterlab_runs::Run;

use super::description::machine;
use super::{Asked, Exported, verdicts};
use crate::junit;

pub(super) fn write(
    run: &Run,
    tasks: &[usize],
    asked: &Asked,
    out: &mut dyn Write,
) -> Result<Exported, Error> {
    let cases = verdicts::cases(run, tasks, asked)?;
    out.write_all(junit::suite(&run.label(), &machine(run.info()), &cases).as_bytes())?;
    Ok(Exported::decided(&cases, asked))
}
