//! How much worse can it get? What a run says about a longer one, and when it says nothing.
//!
//! Facts first that hold for any distribution; an upper bound only if every gate is passed, never a point estimate. What
//! the run did not meet (an interrupt once an hour, another load) no method can see: every bound is good only while the
//! mechanism and the load that were observed persist.

mod backtest;
mod bound;
mod by_cause;
mod facts;
mod gates;
mod tail;

pub use backtest::{Backtest, Reliability};
pub use bound::{Bound, TailFit};
pub use facts::{Facts, QuantileLimit};
pub use gates::{Condition, Gate};
pub use tail::{TAIL_SIZE, Tail};

use jitterlab_model::{Gap, RunInfo, TaskRun};
use serde::{Deserialize, Serialize};

use crate::Caveat;
use crate::caveats::machine_events;
use crate::scan::TaskScan;

/// How many times a run's length is looked ahead unless more is asked for. Beyond it slow causes that the run cannot have
/// met decide the maximum, and bounds proved wrong in tests (an interrupt every 10 minutes, a load every hour).
pub const DEFAULT_HORIZON: f64 = 10.0;

/// The confidence of every limit here.
pub const CONFIDENCE: f64 = 0.95;

/// How many of the largest latencies a prediction carries, to be drawn.
const SHOWN: usize = 300;

/// What a run says about the time after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// What holds whatever the distribution is.
    pub facts: Facts,
    /// The conditions of an extrapolation, with their outcomes.
    pub gates: Vec<Gate>,
    /// The upper bound of the largest latency within the horizon. `None` if a gate failed.
    pub bound: Option<Bound>,
    /// What a reader has to know.
    pub caveats: Vec<PredictionCaveat>,
    /// The largest latencies of the run, the largest first: at most 300.
    pub largest_ns: Vec<i64>,
}

/// What limits a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum PredictionCaveat {
    /// The bound holds if the observed mechanism and load persist.
    Persistence,
    /// What comes this rarely may not have come in the run, and nothing in it can show it.
    Unseen {
        /// Events that come so often or less often.
        every_ns: f64,
        /// So many such events may come within the horizon.
        expected: f64,
    },
    /// The horizon is more than [`DEFAULT_HORIZON`] times the run.
    FarHorizon {
        /// How many times.
        times: f64,
        /// The length of a run that could look ahead that far.
        needed_run_ns: f64,
    },
}

impl Prediction {
    /// What the scan of a task of a run says about the `horizon_ns` after it ([`DEFAULT_HORIZON`] times the run unless
    /// given); `None` where nothing was measured, or the source does not tell latencies of a periodic task, how many
    /// there were and how often they come.
    #[must_use]
    pub fn new(scan: &TaskScan, task: &TaskRun, run: &RunInfo, horizon_ns: Option<f64>) -> Option<Self> {
        let needed = [Gap::Grid, Gap::Latency, Gap::Period, Gap::Count];
        if needed.into_iter().chain(Gap::EVERYTHING).any(|gap| !task.knows(gap)) {
            return None;
        }
        let tail = scan.tail()?;
        let horizon_ns = horizon_ns.unwrap_or(DEFAULT_HORIZON * tail.run_ns());
        Some(predict(&tail, horizon_ns, &machine_events(run, task)))
    }
}

/// Predicts the largest latency of the `horizon_ns` after a run. `events` are things that happened to the machine
/// meanwhile and rule an extrapolation out (SMIs, throttling, a changed clock source).
#[must_use]
pub fn predict(tail: &Tail, horizon_ns: f64, events: &[Caveat]) -> Prediction {
    let facts = Facts::new(tail, horizon_ns);
    let prepared = gates::prepare(tail);
    let mut gates = gates::check(tail, prepared.as_ref());
    gates.push(gates::events(events));
    let bound = match &prepared {
        Some(prepared) if gates.iter().all(|g| g.passed) => bound::bound(tail, prepared, horizon_ns),
        _ => None,
    };
    let caveats = caveats(&facts, bound.is_some());
    let largest_ns = tail.peaks.iter().take(SHOWN).map(|peak| peak.latency_ns).collect();
    Prediction { facts, gates, bound, caveats, largest_ns }
}

fn caveats(facts: &Facts, bounded: bool) -> Vec<PredictionCaveat> {
    let times = facts.horizon_ns / facts.run_ns;
    let far = PredictionCaveat::FarHorizon { times, needed_run_ns: facts.horizon_ns / DEFAULT_HORIZON };
    let unseen = PredictionCaveat::Unseen {
        every_ns: 1e9 / facts.unseen_rate_per_s,
        expected: facts.unseen_rate_per_s * facts.horizon_ns / 1e9,
    };
    let all = [
        bounded.then_some(PredictionCaveat::Persistence),
        Some(unseen),
        (times > DEFAULT_HORIZON * 1.001).then_some(far),
    ];
    all.into_iter().flatten().collect()
}
