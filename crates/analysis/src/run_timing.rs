//! What was measured of a run: what `jitterlab run` shows, and what its JSON holds.

use jitterlab_model::histogram::Bin;
use jitterlab_model::run::LimitReached;
use jitterlab_model::{RunInfo, TaskRun, TimingStats};
use serde::{Deserialize, Serialize};

use crate::{Caveat, Summary};

/// A run and the timing of its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunTiming {
    /// The run file; `None` if none was written.
    pub file: Option<String>,
    /// Its tasks, in the order of the description.
    pub tasks: Vec<TaskTiming>,
    /// The same tasks measured without isolation; empty if nothing was isolated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_isolation: Vec<Summary>,
    /// What ended the run, if that was a latency that reached the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<LimitReached>,
    /// What a firmware sent over its serial port.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The run's description.
    pub run: RunInfo,
}

impl RunTiming {
    /// The timing of the tasks of a run, given what was counted of each.
    #[must_use]
    pub fn of(run: RunInfo, stats: &[TimingStats], file: Option<String>) -> Self {
        let tasks = run.tasks.iter().zip(stats).map(|(task, stats)| TaskTiming::of(task, stats, &run));
        let tasks = tasks.collect();
        RunTiming { file, tasks, without_isolation: Vec::new(), above: None, sent: String::new(), run }
    }
}

/// The timing of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskTiming {
    /// The few numbers.
    pub summary: Summary,
    /// What speaks against them; the gravest first.
    pub caveats: Vec<Caveat>,
    /// The histogram of the latency per wake-up: its occupied bins, in order. Values of which a source only tells bounds are
    /// in no bin.
    pub latencies: Vec<Bin>,
}

impl TaskTiming {
    /// The timing of a task of a run, given what was counted of it.
    #[must_use]
    pub fn of(task: &TaskRun, stats: &TimingStats, run: &RunInfo) -> Self {
        let summary = Summary::of(task, stats);
        let caveats = Caveat::on(&summary, task, run);
        TaskTiming { summary, caveats, latencies: stats.latency.bins().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::{Activation, Bench, TaskSpec};

    #[test]
    fn the_histogram_holds_every_latency() {
        let info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let mut stats = TimingStats::new(1_000_000);
        for k in 0..1_000 {
            stats.push(&Activation { start_ns: 3_000 + k % 17, ..Activation::default() });
        }
        let timing = RunTiming::of(info, &[stats], None);
        let counted: u64 = timing.tasks[0].latencies.iter().map(|bin| bin.count).sum();
        assert_eq!(counted, 1_000);
        let json = serde_json::to_string(&timing).unwrap();
        assert_eq!(serde_json::from_str::<RunTiming>(&json).unwrap(), timing);
    }
}
