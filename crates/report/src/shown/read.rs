//! Runs as a page or a figure shows them: every question answered from one scan, and the whole series.

use std::thread::{self, ScopedJoinHandle};

use jitterlab_analysis::causes::Told;
use jitterlab_runs::{Columns, Run, RunsError, Slice};

use super::series::{Extent, QUANTITIES, Series, SeriesBuilder, Share, Step};
use super::{PageRun, PageTask};

/// What the page shows of runs; their series share its room. With a name only the task of this name is shown.
///
/// # Errors
/// A file cannot be read, or a run has no task of this name.
pub fn read(runs: &[Run], task: Option<&str>) -> Result<Vec<PageRun>, RunsError> {
    let sizes = runs.iter().map(sizes).collect::<Result<Vec<_>, _>>()?;
    let total = sizes.iter().flatten().sum();
    runs.iter().zip(&sizes).map(|(run, sizes)| page_run(run, sizes, total, task)).collect()
}

/// What each task's series is made of: its activations, or its slices where only spikes were kept.
fn sizes(run: &Run) -> Result<Vec<u64>, RunsError> {
    let mut sizes: Vec<u64> = (0..run.info().tasks.len()).map(|task| run.rows(task)).collect();
    let mut slices = vec![0; sizes.len()];
    run.for_each_slice(|slice| slices[slice.task] += 1)?;
    for (task, size) in sizes.iter_mut().enumerate().filter(|(task, _)| !run.keeps_all(*task)) {
        *size = slices[task];
    }
    Ok(sizes)
}

fn page_run(run: &Run, sizes: &[u64], total: u64, task: Option<&str>) -> Result<PageRun, RunsError> {
    let wanted = run.tasks(task)?;
    let (scans, series) = thread::scope(|scope| {
        let scans = thread::Builder::new().spawn_scoped(scope, || run.scan());
        let series = series(run, sizes, total);
        // Without a thread, one after the other.
        (scans.map_or_else(|_| Ok(run.scan()), ScopedJoinHandle::join), series)
    });
    let (scans, warnings) =
        scans.map_err(|_| RunsError::NotReadWhole(run.path().to_path_buf()))??.into_parts();
    let series = series?;
    let mut info = run.info().clone();
    info.warnings = warnings;
    let tasks = scans.into_iter().zip(series).enumerate().filter(|(number, _)| wanted.contains(number));
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
    let why = match run.why(task, Told::Latest(usize::MAX)) {
        Ok(why) => Some(why),
        Err(RunsError::NoCauses(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(PageRun { label: run.label(), file: run.path().into(), info, checks: None, tasks, why })
}

/// The whole series of every task, in a pass of its own.
fn series(run: &Run, sizes: &[u64], total: u64) -> Result<Vec<Series>, RunsError> {
    let tasks = run.info().tasks.iter().zip(sizes).enumerate();
    let mut series: Vec<SeriesBuilder> = tasks
        .map(|(number, (task, &expected))| {
            let make = if run.keeps_all(number) { SeriesBuilder::new } else { SeriesBuilder::for_spikes };
            make(task.spec.period_ns, Share { expected, total })
        })
        .collect();
    run.for_each_slice(|slice| series[slice.task].push_step(&step(slice)))?;
    run.for_each_batch(Columns::ALL, |task, rows| {
        if run.keeps_all(task) {
            series[task].push_all(rows);
        } else {
            series[task].push_spikes(rows);
        }
    })?;
    Ok(series.into_iter().map(SeriesBuilder::finish).collect())
}

/// A slice as a step of a series.
fn step(slice: &Slice) -> Step {
    let extent = |quantity| {
        let moments = slice.of(quantity).map(|stored| stored.moments).unwrap_or_default();
        Extent { count: moments.count, min_ns: moments.min_ns, max_ns: moments.max_ns, sum_ns: moments.sum }
    };
    Step {
        due_ns: slice.first_due_ns,
        executed: slice.executed(),
        missed: slice.missed,
        extents: QUANTITIES.map(extent),
    }
}
