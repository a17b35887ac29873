//! How much worse can it get? What a run says about a longer one, and when it says nothing.
//!
//! Facts first that hold for any distribution; an upper bound only if every gate is passed, never a point estimate. What
//! the run did not meet (an interrupt once an hour, another load) no method can see: every bound is good only while the
//! mechanism and the load that were observed persist.

mod backtest;
mod bound;
mod facts;
mod gates;
mod tail;

pub(crate) use gates::INDEPENDENT_INDEX;

pub use backtest::{Backtest, Reliability};
pub use bound::{Bound, TailFit};
pub use facts::{Facts, QuantileLimit};
pub use gates::Gate;
pub use tail::{TAIL_SIZE, Tail};

use jitterlab_model::units::Human;
use jitterlab_model::{RunInfo, TaskRun};
use serde::{Deserialize, Serialize};

use crate::scan::TaskScan;
use crate::verdict::grouped;

/// Version of the JSON layout of [`Prediction`].
pub const PREDICTION_SCHEMA: u32 = 1;

/// How many times a run's length is looked ahead unless more is asked for.
pub const DEFAULT_HORIZON: f64 = 10.0;

/// The confidence of every limit here.
pub const CONFIDENCE: f64 = 0.95;

/// What a run says about the time after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// [`PREDICTION_SCHEMA`] of the writer.
    pub schema: u32,
    /// The task's name.
    pub task: String,
    /// What holds whatever the distribution is.
    pub facts: Facts,
    /// The conditions of an extrapolation, with their outcomes.
    pub gates: Vec<Gate>,
    /// The upper bound of the largest latency within the horizon. `None` if a gate failed.
    pub bound: Option<Bound>,
    /// What a reader has to know, as sentences.
    pub caveats: Vec<String>,
}

impl Prediction {
    /// What a run says of the time after it, as far as `horizon_ns` (without it [`DEFAULT_HORIZON`] times the run), with
    /// what happened to its machine meanwhile. `None` if nothing ran.
    pub fn of(scan: &TaskScan, task: &TaskRun, run: &RunInfo, horizon_ns: Option<f64>) -> Option<Self> {
        let tail = scan.tail()?;
        let horizon_ns = horizon_ns.unwrap_or(DEFAULT_HORIZON * tail.run_ns());
        Some(predict(&task.spec.name, &tail, horizon_ns, &machine_events(run, task)))
    }
}

/// Predicts the largest latency of the `horizon_ns` after a run. `events` are things that happened to the machine
/// meanwhile and rule an extrapolation out (SMIs, throttling, a changed clock source), as sentences.
pub fn predict(task: &str, tail: &Tail, horizon_ns: f64, events: &[String]) -> Prediction {
    let facts = Facts::of(tail, horizon_ns);
    let prepared = gates::prepare(tail);
    let mut gates = gates::check(tail, prepared.as_ref());
    gates.push(gates::events(events));
    let bound = match &prepared {
        Some(prepared) if gates.iter().all(|g| g.passed) => bound::bound(tail, prepared, horizon_ns),
        _ => None,
    };
    let caveats = caveats(&facts, bound.is_some());
    Prediction { schema: PREDICTION_SCHEMA, task: task.into(), facts, gates, bound, caveats }
}

/// What happened to the machine meanwhile that rules an extrapolation out, as sentences: what [`predict`] wants to know.
pub fn machine_events(run: &RunInfo, task: &TaskRun) -> Vec<String> {
    let lost = task.result.as_ref().map_or(0, |r| r.dropped);
    let records = (lost > 0).then(|| format!("{} records were lost", grouped(lost)));
    crate::verdict::concerns(run, task).map(|change| change.text).chain(records).collect()
}

fn caveats(facts: &Facts, bounded: bool) -> Vec<String> {
    let mut caveats = Vec::new();
    if bounded {
        caveats.push("It holds if the observed mechanism and load persist.".into());
    }
    caveats.push(format!(
        "Anything that comes every {} or less often may not have come in {}, and nothing here can know it: up to {:.0} \
         such events may come within the horizon.",
        Human(1e9 / facts.unseen_rate_per_s),
        Human(facts.run_ns),
        facts.unseen_rate_per_s * facts.horizon_ns / 1e9,
    ));
    let ahead = facts.horizon_ns / facts.run_ns;
    if ahead > DEFAULT_HORIZON * 1.001 {
        caveats.push(format!(
            "The horizon is {ahead:.0} times the run; beyond {DEFAULT_HORIZON:.0} times, slow causes that the run cannot \
             have met decide the maximum, and bounds have proved wrong in tests (an interrupt every 10 minutes, a \
             load every hour). Measure for {} to look ahead that far.",
            Human(facts.horizon_ns / DEFAULT_HORIZON),
        ));
    }
    caveats
}
