//! Activations one by one, for the formats that hold each.

use jitterlab_model::{Activation, Error};
use jitterlab_runs::{Columns, Run};

use super::{ExportSummary, Loss};

/// Summary that names activations the run does not keep; fails if it keeps none of these tasks.
pub(super) fn summary_of_unkept(run: &Run, tasks: &[usize]) -> Result<ExportSummary, Error> {
    let mut exported = ExportSummary::default();
    let name = |task: usize| run.info().tasks[task].spec.name.clone();
    let bare: Vec<usize> = tasks
        .iter()
        .copied()
        .filter(|task| run.row_count(*task) == 0 && !run.keeps_all_rows(*task))
        .collect();
    if bare.len() == tasks.len() {
        return Err(run.needs_activations());
    }
    exported.losses.extend(bare.into_iter().map(|task| Loss::LeftOut { task: name(task) }));
    if tasks.iter().any(|task| run.row_count(*task) > 0 && !run.keeps_all_rows(*task)) {
        exported.losses.push(Loss::OnlySpikes);
    }
    Ok(exported)
}

/// Hands the kept activations of these tasks to `write`, batch by batch; returns their summary. Their
/// [`summary_of_unkept`] is made before anything is written, so that a refused export leaves nothing behind.
pub(super) fn for_each_batch(
    run: &Run,
    tasks: &[usize],
    mut exported: ExportSummary,
    mut write: impl FnMut(usize, &[Activation]) -> Result<(), Error>,
) -> Result<ExportSummary, Error> {
    let mut outcome = Ok(());
    run.for_each_batch(Columns::ALL, |task, rows| {
        if outcome.is_ok() && tasks.contains(&task) {
            outcome = write(task, rows);
            exported.values += rows.len() as u64;
        }
    })?;
    outcome.map(|()| exported)
}
