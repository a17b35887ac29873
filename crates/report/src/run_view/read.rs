//! Runs as a page or a figure shows them: every question answered from one pass over each file.

use jitterlab_analysis::causes::ListedEvents;
use jitterlab_model::Error;
use jitterlab_runs::{Missing, Run};

use super::{PageRun, PageTask};

/// Reads of runs what the page shows, of one task or of all; their series share the page's size.
pub fn read_page_runs(runs: &[Run], task: Option<&str>) -> Result<Vec<PageRun>, Error> {
    let sizes = runs.iter().map(Run::series_rows).collect::<Result<Vec<_>, _>>()?;
    let total = sizes.iter().flatten().sum();
    runs.iter().map(|run| read_page_run(run, total, task)).collect()
}

fn read_page_run(run: &Run, total: u64, task: Option<&str>) -> Result<PageRun, Error> {
    let wanted = run.task_numbers(task)?;
    let (seen, warnings) = run.scan_with_series(total)?.into_parts();
    let mut info = run.info().clone();
    info.warnings = warnings;
    let tasks = seen.into_iter().enumerate().filter(|(number, _)| wanted.contains(number));
    let causes = run.causes().ok();
    let tasks = tasks.map(|(number, (scan, series))| {
        let mut task = PageTask::new(number, series, scan, &info);
        let known = causes.as_ref().and_then(|causes| causes.tasks.get(number)).zip(task.scan.tail());
        if let Some((causes, tail)) = known {
            task.prediction = task.prediction.map(|found| found.with_causes(&tail, causes));
        }
        task
    });
    let tasks = tasks.collect();
    let why = match run.why(task, ListedEvents::Worst(usize::MAX)) {
        Ok(why) => Some(why),
        Err(error) if error.is(Missing::Causes) => None,
        Err(error) => return Err(error),
    };
    Ok(PageRun { label: run.label(), file: run.path().into(), info, checks: None, tasks, why })
}
