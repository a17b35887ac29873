//! Comparison of the University of Twente's report: durations of loops, plain, under two loads, and in real time.

use jitterlab_model::Distribution;
use serde::Serialize;

use crate::scan::TaskScan;

/// Width of the histogram's bins: the report's 0.1 ms.
pub const BIN_NS: i64 = 100_000;

/// One run as in the report. A loop's duration is the time from one start to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwenteRun {
    /// Name of the run.
    pub name: String,
    /// Loops.
    pub count: u64,
    /// Mean duration of a loop, in ns.
    pub mean_ns: Option<f64>,
    /// Standard deviation, in ns.
    pub sd_ns: Option<f64>,
    /// Shortest loop, in ns.
    pub min_ns: Option<i64>,
    /// Longest loop, in ns.
    pub max_ns: Option<i64>,
    /// Mean absolute difference of the duration from the period, called jitter in the report.
    pub mean_period_error_ns: Option<f64>,
    /// Loops by that difference: entry i counts those from i to i + 1 tenths of a millisecond. Ends at the largest.
    pub histogram: Vec<u64>,
}

/// Returns the figures of each run that the University of Twente's report has.
pub fn twente_runs(runs: &[(String, &TaskScan)]) -> Vec<TwenteRun> {
    runs.iter().map(|(name, scan)| twente_run(name, scan)).collect()
}

fn twente_run(name: &str, scan: &TaskScan) -> TwenteRun {
    let errors = &scan.timing.period_error;
    let period_ns = scan.timing.period_ns();
    TwenteRun {
        name: name.into(),
        count: errors.count(),
        mean_ns: errors.mean_ns().map(|ns| ns + period_ns as f64),
        sd_ns: errors.standard_deviation_ns(),
        min_ns: errors.min_ns().map(|ns| ns.saturating_add(period_ns)),
        max_ns: errors.max_ns().map(|ns| ns.saturating_add(period_ns)),
        mean_period_error_ns: mean_absolute_error(errors),
        histogram: error_histogram(errors),
    }
}

/// Returns the mean of |error|, from the middles of the bins.
fn mean_absolute_error(errors: &Distribution) -> Option<f64> {
    let size = |low: i64, high: i64| (low as f64 / 2.0 + high as f64 / 2.0).abs();
    let sum: f64 = errors.bins().map(|b| size(b.low_ns, b.high_ns) * b.count as f64).sum();
    (errors.count() > 0).then(|| sum / errors.count() as f64)
}

fn error_histogram(errors: &Distribution) -> Vec<u64> {
    // A stall of an hour would need 36 million bins: the last one holds all beyond 100 ms.
    const MOST: usize = 1_000;
    let mut counts = Vec::new();
    for bin in errors.bins() {
        let nearest = if bin.high_ns < 0 { bin.high_ns } else { bin.low_ns };
        let place = usize::try_from(nearest.unsigned_abs() / BIN_NS.unsigned_abs()).unwrap_or(MOST).min(MOST);
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] += bin.count;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::Activation;

    #[test]
    fn loops_are_counted_by_how_far_they_miss_the_period() {
        let mut scan = TaskScan::new(1_000_000, 5);
        let starts = [0, 1_000_000, 2_250_000, 3_000_000, 4_000_000];
        let rows: Vec<Activation> = (0..)
            .zip(starts)
            .map(|(index, start_ns)| Activation {
                index,
                due_ns: index as i64 * 1_000_000,
                start_ns,
                end_ns: start_ns,
                ..Activation::default()
            })
            .collect();
        scan.push_all(&rows);
        let found = &twente_runs(&[("plain".into(), &scan)])[0];
        assert_eq!((found.count, found.min_ns, found.max_ns), (4, Some(750_000), Some(1_250_000)));
        assert_eq!((found.mean_ns, found.histogram.as_slice()), (Some(1e6), &[2, 0, 2][..]));
        assert!((found.mean_period_error_ns.unwrap() / 125_000.0 - 1.0).abs() < 0.01);
    }
}
