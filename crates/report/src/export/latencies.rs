//! The latencies of tasks, for the formats that hold histograms.

use jitterlab_analysis::Summary;
use jitterlab_model::{Distribution, Error, Quantity};
use jitterlab_runs::{Columns, Run};

use super::{ExportSummary, Loss};

const US_NS: i64 = 1_000;

pub(super) struct TaskLatencies {
    pub task: usize,
    pub summary: Summary,
    pub all: Distribution,
}

impl TaskLatencies {
    /// Collects the latencies of each of these tasks, as far as their histograms are known.
    pub(super) fn new(
        run: &Run,
        tasks: &[usize],
        exported: &mut ExportSummary,
    ) -> Result<Vec<TaskLatencies>, Error> {
        // The run's warnings are part of the export.
        let (stats, _) = run.timing()?.into_parts();
        let mut known = Vec::new();
        for &task in tasks {
            let of = &run.info().tasks[task];
            let summary = Summary::new(of, &stats[task]);
            let all = stats[task].latency.clone();
            let figures = &summary.latency;
            let whole = figures.min_ns.is_some() && figures.max_ns.is_some() && figures.mean_ns.is_some();
            if whole && all.has_percentiles() {
                exported.values += all.count();
                exported.record_loss(all.values_beyond_bins().map_or(0, |beyond| beyond.count), |count| {
                    Loss::Beyond { count }
                });
                known.push(TaskLatencies { task, summary, all });
            } else {
                exported.losses.push(Loss::LeftOut { task: of.spec.name.clone() });
            }
        }
        if known.is_empty() {
            Err(Error::not_measured(format!(
                "{}: no histogram of latencies is known, only extremes or a part",
                run.path().display()
            ))
            .remedy("take the output of a run with a histogram, or measure with `jitterlab run`"))
        } else {
            Ok(known)
        }
    }
}

/// A latency, its count, and its time in ns of the run's clock, if that is known to the second.
pub(super) struct LatencyCount {
    pub task: usize,
    pub at_ns: Option<i64>,
    pub latency_ns: i64,
    pub count: u64,
}

/// Hands every latency of these tasks to `call`, each task's in order of time. It is exact where activations are kept,
/// else the upper edge of its bin, as for percentiles.
pub(super) fn for_each_latency(
    run: &Run,
    of: &[TaskLatencies],
    mut call: impl FnMut(LatencyCount),
) -> Result<(), Error> {
    let wanted = |task: usize| of.iter().any(|one| one.task == task);
    let kept = |task: usize| wanted(task) && run.keeps_all_rows(task);
    run.for_each_batch(Columns::TIMING, |task, rows| {
        for a in rows.iter().filter(|_| kept(task)) {
            call(LatencyCount { task, at_ns: Some(a.due_ns), latency_ns: a.latency_ns(), count: 1 });
        }
    })?;
    let mut sliced = false;
    run.for_each_slice(|slice| {
        sliced = true;
        let (task, at_ns) = (slice.task, Some(slice.start_ns));
        let Some(stored) = slice.of(Quantity::Latency).filter(|_| wanted(task)) else { return };
        for &(high_ns, count) in &stored.bins {
            let latency_ns = high_ns.clamp(stored.moments.min_ns, stored.moments.max_ns);
            call(LatencyCount { task, at_ns, latency_ns, count });
        }
    })?;
    for TaskLatencies { task, summary, all } in
        of.iter().filter(|one| !sliced && !run.keeps_all_rows(one.task))
    {
        let (min_ns, max_ns) =
            (summary.latency.min_ns.unwrap_or(i64::MIN), summary.latency.max_ns.unwrap_or(i64::MAX));
        // Other tools count whole microseconds, each as up to the next: no value lies on the edge of a bin here.
        let is_whole = min_ns.rem_euclid(US_NS) == 0 && max_ns.rem_euclid(US_NS) == US_NS - 1;
        for bin in all.bins() {
            let high_ns =
                if is_whole { (bin.high_ns + 1).div_euclid(US_NS) * US_NS - 1 } else { bin.high_ns };
            let latency_ns = high_ns.clamp(min_ns, max_ns);
            call(LatencyCount { task: *task, at_ns: None, latency_ns, count: bin.count });
        }
    }
    Ok(())
}
