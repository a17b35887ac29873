//! Runs as a page or a figure shows them: every figure and the whole series, read in one pass.

use std::path::{Path, PathBuf};

use anyhow::Result;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_bench::host::check::{check, cpus_to_check};
use jitterlab_model::check::CheckReport;
use jitterlab_model::{CpuSet, RunInfo};
use jitterlab_report::page::series::{Extent, SeriesBuilder, Share, Step};
use jitterlab_report::page::{PageRun, PageTask};
use jitterlab_trace::{Columns, Quantity, RunReader, Slice};

use crate::result::RunResult;

/// Reads run files.
pub fn read(files: &[PathBuf]) -> Result<Vec<PageRun>> {
    let opened = files.iter().map(|file| Ok((file.as_path(), RunReader::open(file)?)));
    of(&opened.collect::<Result<Vec<_>>>()?)
}

/// What is in opened run files, each under the name of the file that was asked for; their series share the room of one
/// page.
pub fn of(readers: &[(&Path, RunReader)]) -> Result<Vec<PageRun>> {
    let total = readers.iter().map(|(_, reader)| sizes(reader).map(|sizes| sizes.iter().sum::<u64>()));
    let total = total.sum::<Result<u64>>()?;
    readers.iter().map(|(path, reader)| page_run(path, reader, total)).collect()
}

/// What each task's series is made of: its activations, or its slices where only spikes were kept.
fn sizes(reader: &RunReader) -> Result<Vec<u64>> {
    let mut sizes = vec![0; reader.info().tasks.len()];
    if reader.has_slices() {
        reader.for_each_slice(|slice| sizes[slice.task] += 1)?;
    } else {
        reader.row_groups().iter().for_each(|group| sizes[group.task] += group.rows as u64);
    }
    Ok(sizes)
}

fn page_run(path: &Path, reader: &RunReader, total: u64) -> Result<PageRun> {
    let info = reader.info().clone();
    let sizes = sizes(reader)?;
    let mut scans: Vec<TaskScan> = info
        .tasks
        .iter()
        .zip(&sizes)
        .map(|(task, rows)| {
            let due_times = task.result.as_ref().map_or(*rows, |r| r.executed + r.missed);
            TaskScan::new(task.spec.period_ns, due_times)
        })
        .collect();
    let spikes = reader.has_slices();
    let make = if spikes { SeriesBuilder::for_spikes } else { SeriesBuilder::new };
    let series =
        info.tasks.iter().zip(sizes).map(|(t, expected)| make(t.spec.period_ns, Share { expected, total }));
    let mut series: Vec<SeriesBuilder> = series.collect();
    let columns = Columns::ALL;
    if spikes {
        reader.for_each_slice(|slice| {
            slice.add_to(&mut scans[slice.task].timing);
            series[slice.task].push_step(&step(slice));
        })?;
        reader.for_each_batch(columns, |task, rows| series[task].push_spikes(rows))?;
    } else {
        reader.for_each_batch(columns, |task, rows| {
            scans[task].push_all(rows);
            series[task].push_all(rows);
        })?;
    }
    let stats = scans.iter().map(|scan| scan.timing.clone()).collect();
    let result = RunResult::new(info, stats, Some(path.to_path_buf()));
    let document = result.to_json()?;
    let label = path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    let RunResult { info, tasks, .. } = result;
    let tasks =
        tasks.into_iter().zip(&info.tasks).zip(series).zip(scans).map(|(((figures, task), series), scan)| {
            PageTask::new(figures, series.finish(), (!spikes).then_some(scan), task, &info)
        });
    let tasks = tasks.collect();
    let checks = checks(&info);
    Ok(PageRun { label, info, document, checks, tasks })
}

/// What `check` says of the run's machine, for the processors its tasks ran on.
fn checks(info: &RunInfo) -> Option<CheckReport> {
    let facts = info.facts_before.as_ref()?;
    let granted = info.tasks.iter().filter_map(|task| task.granted.as_ref());
    let used: CpuSet = granted.flat_map(|granted| granted.cpus.iter().copied()).collect();
    Some(check(facts, &if used.is_empty() { cpus_to_check(facts) } else { used }))
}

/// A slice as a step of a series.
fn step(slice: &Slice) -> Step {
    let extent = |quantity| {
        let moments = &slice.of(quantity).moments;
        Extent { count: moments.count, min_ns: moments.min_ns, max_ns: moments.max_ns, sum_ns: moments.sum }
    };
    Step {
        due_ns: slice.first_due_ns,
        executed: slice.executed(),
        missed: slice.missed,
        extents: [Quantity::Latency, Quantity::Execution, Quantity::PeriodError].map(extent),
    }
}
