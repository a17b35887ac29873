//! A run held against a witness: the capture of a pin that each activation moved, or another view of the same run.

use jitterlab_analysis::align::{
    AlignmentOutcome, ChannelAlignment, RunAlignment, TaskTimes, align as align_times,
};
use jitterlab_model::{Error, PulseAt};
use jitterlab_trace::Columns;

use crate::Run;

/// Finds for each channel of a witness the task of the run that gave its pulses, and how far both differ.
/// Without a task's name each is tried.
///
/// # Errors
/// There is no such task, not every activation is kept, or a file cannot be read.
pub fn align(run: &Run, task: Option<&str>, witness: &Run) -> Result<RunAlignment, Error> {
    let own = run.task_numbers(task)?.into_iter().map(|number| Ok((number, task_times(run, number)?)));
    let own: Vec<(usize, TaskTimes)> = own.collect::<Result<_, Error>>()?;
    let name = |run: &Run, number: usize| run.info().tasks[number].spec.name.clone();
    let mut channels = Vec::new();
    for number in witness.task_numbers(None)? {
        let pulses = task_times(witness, number)?.stamps_ns;
        let of_task = |(task, own): &(usize, TaskTimes)| ChannelAlignment {
            channel: name(witness, number),
            task: name(run, *task),
            alignment: align_times(own, &pulses),
        };
        let mut each: Vec<ChannelAlignment> = own.iter().map(of_task).collect();
        let is_matched = |of: &ChannelAlignment| matches!(of.alignment.found, AlignmentOutcome::Matched(_));
        let best = each.iter().position(is_matched).unwrap_or(0);
        if best < each.len() {
            channels.push(each.swap_remove(best));
        }
    }
    let ((), mut warnings) = run.warned(()).into_parts();
    warnings.extend(witness.warned(()).into_parts().1);
    let file = |run: &Run| run.path().display().to_string();
    Ok(RunAlignment { file: file(run), witness: file(witness), channels, warnings })
}

/// Starts of a task's activations, or their ends where its pulses mark these.
fn task_times(run: &Run, task: usize) -> Result<TaskTimes, Error> {
    if !run.keeps_all_rows(task) {
        return Err(run.needs_activations());
    }
    let mut own = TaskTimes { period_ns: run.period_ns(task), ..TaskTimes::default() };
    let pulse = run.info().tasks[task].spec.pulse.as_ref();
    let at_end = pulse.is_some_and(|pulse| pulse.at == PulseAt::End);
    run.visit(task, Columns::ALL, |rows| {
        own.stamps_ns.extend(rows.iter().map(|a| if at_end { a.end_ns } else { a.start_ns }));
        own.indices.extend(rows.iter().map(|a| a.index));
    })?;
    Ok(own)
}
