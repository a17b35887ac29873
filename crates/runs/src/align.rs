//! A run held against a witness: the capture of a pin that each activation moved, or another view of the same run.

use jitterlab_analysis::align::{ChannelAligned, Found, Own, RunAligned, align as align_times};
use jitterlab_model::{Error, PulseAt};
use jitterlab_trace::Columns;

use crate::Run;

/// Finds for each channel of a witness which task of the run gave its pulses, and how far the times of both differ. Without
/// a task's name each is tried.
///
/// # Errors
/// There is no such task, not every activation is kept, or a file cannot be read.
pub fn align(run: &Run, task: Option<&str>, witness: &Run) -> Result<RunAligned, Error> {
    let own = run.tasks(task)?.into_iter().map(|number| Ok((number, starts(run, number)?)));
    let own: Vec<(usize, Own)> = own.collect::<Result<_, Error>>()?;
    let name = |run: &Run, number: usize| run.info().tasks[number].spec.name.clone();
    let mut channels = Vec::new();
    for number in witness.tasks(None)? {
        let pulses = starts(witness, number)?.stamps_ns;
        let of_task = |(task, own): &(usize, Own)| ChannelAligned {
            channel: name(witness, number),
            task: name(run, *task),
            alignment: align_times(own, &pulses),
        };
        let mut each: Vec<ChannelAligned> = own.iter().map(of_task).collect();
        let is_matched = |of: &ChannelAligned| matches!(of.alignment.found, Found::Matched(_));
        let best = each.iter().position(is_matched).unwrap_or(0);
        if best < each.len() {
            channels.push(each.swap_remove(best));
        }
    }
    let ((), mut warnings) = run.warned(()).into_parts();
    warnings.extend(witness.warned(()).into_parts().1);
    let file = |run: &Run| run.path().display().to_string();
    Ok(RunAligned { file: file(run), witness: file(witness), channels, warnings })
}

/// Starts of a task's activations, or their ends where its pulses mark these.
fn starts(run: &Run, task: usize) -> Result<Own, Error> {
    if !run.keeps_all(task) {
        return Err(run.needs_activations());
    }
    let mut own = Own { period_ns: run.period_ns(task), ..Own::default() };
    let pulse = run.info().tasks[task].spec.pulse.as_ref();
    let at_end = pulse.is_some_and(|pulse| pulse.at == PulseAt::End);
    run.visit(task, Columns::ALL, |rows| {
        own.stamps_ns.extend(rows.iter().map(|a| if at_end { a.end_ns } else { a.start_ns }));
        own.indices.extend(rows.iter().map(|a| a.index));
    })?;
    Ok(own)
}
