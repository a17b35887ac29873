//! Prediction of the worst case of a longer run from a measured one, and the conditions under which none is given.
//!
//! Facts that hold for any distribution come first; an upper bound only if every gate passes, never a point
//! estimate. No method can see what the run did not meet (an interrupt once an hour, another load): every
//! bound is valid only while the observed mechanism and load persist.

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
use serde::Serialize;

use crate::Caveat;
use crate::caveats::machine_events;
use crate::scan::TaskScan;

/// Default horizon as a multiple of the run's length. Beyond it slow causes that the run cannot have met
/// decide the maximum, and bounds proved wrong in tests (an interrupt every 10 minutes, a load every hour).
pub const DEFAULT_HORIZON: f64 = 10.0;

/// The confidence of every limit in this module.
pub const CONFIDENCE: f64 = 0.95;

/// Number of the largest latencies in a prediction, for drawing.
const SHOWN: usize = 300;

/// Prediction for the time after a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Facts that hold for any distribution.
    pub facts: Facts,
    /// The conditions of an extrapolation, with their outcomes.
    pub gates: Vec<Gate>,
    /// The upper bound of the largest latency within the horizon. `None` if a gate failed.
    pub bound: Option<Bound>,
    /// Caveats on the prediction.
    pub caveats: Vec<PredictionCaveat>,
    /// The largest latencies of the run, the largest first: at most 300.
    pub largest_ns: Vec<i64>,
}

/// Limit of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum PredictionCaveat {
    /// The bound is valid only while the observed mechanism and load persist.
    Persistence,
    /// Events as rare as this may not have occurred in the run, and nothing in it can show them.
    Unseen {
        /// Interval of such events, in ns: they occur this often or less often.
        every_ns: f64,
        /// Upper limit of their expected number within the horizon.
        expected: f64,
    },
    /// The horizon is more than [`DEFAULT_HORIZON`] times the run.
    FarHorizon {
        /// Ratio of the horizon to the run.
        times: f64,
        /// Length of a run that allows this horizon, in ns.
        needed_run_ns: f64,
    },
}

impl Prediction {
    /// Predicts the `horizon_ns` after a task's run from its scan; `None` if data for that are missing. The horizon is
    /// [`DEFAULT_HORIZON`] times the run unless given.
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

/// Predicts the largest latency of the `horizon_ns` after a run. `events` are events on the machine during
/// the run that rule out an extrapolation (SMIs, throttling, a changed clock source).
#[must_use]
pub fn predict(tail: &Tail, horizon_ns: f64, events: &[Caveat]) -> Prediction {
    let facts = Facts::new(tail, horizon_ns);
    let exceedances = gates::declustered_exceedances(tail);
    let mut gates = gates::gates_of_tail(tail, exceedances.as_ref());
    gates.push(gates::events_gate(events));
    let bound = match &exceedances {
        Some(exceedances) if gates.iter().all(|g| g.passed) => bound::bound(tail, exceedances, horizon_ns),
        _ => None,
    };
    let caveats = prediction_caveats(&facts, bound.is_some());
    let largest_ns = tail.peaks.iter().take(SHOWN).map(|peak| peak.latency_ns).collect();
    Prediction { facts, gates, bound, caveats, largest_ns }
}

fn prediction_caveats(facts: &Facts, bounded: bool) -> Vec<PredictionCaveat> {
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
