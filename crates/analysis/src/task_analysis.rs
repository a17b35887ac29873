//! Analysis of a run and of each task: the result of `jitterlab analyze`, and its JSON.

use jitterlab_model::{RunInfo, TaskRun, words};
use serde::Serialize;

use crate::allan_and_mtie::{TimeErrorPoint, time_error};
use crate::least_squares::{LeastSquares, Line, least_squares, lower_envelope, theil_sen};
use crate::measured::MeasuredTask;
use crate::misses::Misses;
use crate::patterns::Patterns;
use crate::scan::{Span, TaskScan};
use crate::transitions::Transitions;
use crate::verdict::Verdict;

/// Fewest consecutive activations for figures of time error.
const SHORTEST: usize = 16;

/// Most parts of a run with extremes in the result.
const PARTS: usize = 512;

/// Analysis of the trace of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunAnalysis {
    /// The file.
    pub file: String,
    /// The requested parts of the analysis; empty for an overview.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub sections: Vec<AnalysisSection>,
    /// Its tasks.
    pub tasks: Vec<TaskAnalysis>,
    /// Verdict on the purposes it serves; `None` if the run says nothing about a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The run's description, with the same tasks.
    pub run: RunInfo,
}

words! {
    /// A part of the analysis that can be requested, in the order of display.
    AnalysisSection:
    /// Latency modes and how they follow each other.
    Clusters = "clusters",
    /// Periodic parts of the latency.
    Spectrum = "spectrum",
    /// Dependence of a latency on previous ones.
    Dependence = "dependence",
    /// The largest latencies, their periods and bursts.
    Spikes = "spikes",
    /// Missed due times.
    Misses = "misses",
    /// Drift and changes over the run.
    Change = "change",
    /// MTIE, TDEV, ADEV, MDEV.
    TimeError = "time-error",
}

/// Analysis of one task's trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskAnalysis {
    /// The main figures with their caveats, and the histogram.
    #[serde(flatten)]
    pub measured: MeasuredTask,
    /// The latency over time.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub over_time: OverTime,
    /// Missed due times; `None` if only distributions are known.
    pub misses: Option<Misses>,
    /// The patterns of the latency.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub patterns: Patterns,
    /// Sequence of latency modes; `None` if there is only one, if only distributions are known, or if it was
    /// not requested (it takes a second pass).
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub transitions: Option<Transitions>,
    /// The standards' figures of time error; `None` if only distributions are known.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub time_error: Option<TimeErrors>,
}

impl TaskAnalysis {
    /// Computes the analysis of a task of a run, except for [`TaskAnalysis::transitions`].
    pub fn new(scan: &TaskScan, task: &TaskRun, run: &RunInfo) -> Self {
        let across_clocks = task.result.as_ref().is_some_and(|r| r.clock_fit.is_some());
        let (part_due_times, parts) = scan.spans.at_most(PARTS);
        TaskAnalysis {
            measured: MeasuredTask::new(task, &scan.timing, run),
            over_time: OverTime { part_due_times, parts },
            misses: scan.misses(),
            patterns: Patterns::from_scan(scan),
            transitions: None,
            time_error: TimeErrors::new(scan, across_clocks),
        }
    }
}

/// The latency in parts of the run of equal length, which together contain every extreme.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverTime {
    /// Due times in a part.
    pub part_due_times: u64,
    /// The parts, from the first activation on; `None` for a part in which nothing ran.
    pub parts: Vec<Option<Span>>,
}

/// Time error (TIE): the latency as a series, over observation times of 1, 2, 4, ... periods.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeErrors {
    /// Number of activations in the figures: the longest kept stretch without a missed one.
    pub activations: u64,
    /// MTIE, TDEV, ADEV and MDEV by observation time.
    pub points: Vec<TimeErrorPoint>,
    /// Lines through the stretch, if starts and due times are on different clocks. On one clock the rate is
    /// known, and a fitted line would hide the mean latency.
    pub lines: Option<FittedLines>,
}

/// Lines of start times against the number of the activation: the rate between two clocks, and the residuals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedLines {
    /// By least squares.
    pub least_squares: LeastSquares,
    /// Largest minus smallest residual of least squares, called jitter in NIST's paper.
    pub nist_jitter_ns: f64,
    /// By Theil and Sen: outliers do not move it.
    pub theil_sen: Line,
    /// Below all values: residuals are latencies above the best case.
    pub lower_envelope: Line,
}

impl TimeErrors {
    fn new(scan: &TaskScan, across_clocks: bool) -> Option<Self> {
        let stretch_values = scan.windows.stretch_values();
        let stretches = stretch_values.iter().flat_map(|piece| piece.split(|v| v.is_nan()));
        let series = stretches.max_by_key(|s| s.len()).filter(|s| s.len() >= SHORTEST)?;
        let points: Vec<(f64, f64)> = series.iter().enumerate().map(|(k, v)| (k as f64, *v)).collect();
        Some(TimeErrors {
            activations: series.len() as u64,
            points: time_error(series, scan.timing.period_ns() as f64),
            lines: if across_clocks { FittedLines::from_points(&points) } else { None },
        })
    }
}

impl FittedLines {
    fn from_points(points: &[(f64, f64)]) -> Option<Self> {
        let least_squares = least_squares(points)?;
        Some(FittedLines {
            nist_jitter_ns: least_squares.residual.peak_to_peak(),
            least_squares,
            theil_sen: theil_sen(points)?,
            lower_envelope: lower_envelope(points)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::run::ClockFit;
    use jitterlab_model::{Activation, TaskResult, TaskSpec};

    fn scan(drift: f64) -> TaskScan {
        let mut scan = TaskScan::new(1_000, 3_000);
        let rows: Vec<Activation> = (0..3_000u64)
            .filter(|k| *k != 1_000)
            .map(|index| {
                let due_ns = index as i64 * 1_000;
                let start_ns = due_ns + 50 + (index * 7 % 13) as i64 + (index as f64 * drift) as i64;
                let missed = u32::from(index == 999);
                Activation { index, due_ns, start_ns, end_ns: start_ns, missed, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        scan
    }

    fn run(clock_fit: Option<ClockFit>) -> RunInfo {
        let mut run = RunInfo::new(jitterlab_model::Bench::Host, "monotonic", [TaskSpec::default()]);
        run.tasks[0].result = Some(TaskResult { clock_fit, ..TaskResult::default() });
        run
    }

    #[test]
    fn the_longest_stretch_without_a_miss_is_looked_at() {
        let run = run(None);
        let found = TaskAnalysis::new(&scan(0.0), &run.tasks[0], &run);
        let time_error = found.time_error.unwrap();
        assert_eq!(time_error.activations, 1_999);
        assert!(time_error.points[0].mtie_ns <= 12.0, "{:?}", time_error.points[0]);
        assert!(time_error.lines.is_none(), "one clock is not detrended");
        assert_eq!(found.misses.unwrap().missed, 1);
    }

    #[test]
    fn lines_are_for_two_clocks() {
        let run = run(Some(ClockFit::default()));
        let found = TaskAnalysis::new(&scan(0.5), &run.tasks[0], &run).time_error.unwrap().lines.unwrap();
        assert!((found.least_squares.line.slope - 0.5).abs() < 0.01, "{found:?}");
        assert!((found.lower_envelope.slope - 0.5).abs() < 0.01 && found.nist_jitter_ns < 15.0, "{found:?}");
    }

    #[test]
    fn distributions_alone_say_nothing_of_order() {
        let mut figures_only = TaskScan::new(1_000, 3_000);
        figures_only.push_figures(0, &scan(0.0).timing);
        let run = run(None);
        let found = TaskAnalysis::new(&figures_only, &run.tasks[0], &run);
        assert!(found.misses.is_none() && found.time_error.is_none());
        assert_eq!(found.measured.summary.executed, jitterlab_model::Known::Exactly(2_999));
    }
}
