//! Result of `servo --live`: the tracking errors with each way to wait and under each load.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::units::Human;
use jitterlab_model::{Compensation, Error, StopReason, WakeMethod};
use serde::{Deserialize, Serialize};

use super::design_margins::Margins;
use super::live::{LiveLoop, TrackingError};
use super::reference_tracking::default_references;
use super::response::Reference;
use super::result::LoopDescription;
use super::single_task_loop::SingleTaskLoop;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServoLive {
    #[serde(rename = "loop")]
    pub closed: LoopDescription,
    /// Reference of each output; the last one holds for all further outputs.
    pub references: Vec<Reference>,
    pub each_ns: i64,
    /// Errors of each output with punctual activations that take no time.
    pub punctual: Vec<TrackingError>,
    /// All ways to wait; those under the same load follow each other.
    pub ways: Vec<LiveTrial>,
}

/// A wake-up method tried under a load, and the tracking errors with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveTrial {
    pub wake: WakeMethod,
    pub compensation: Compensation,
    /// The loads that were asked for, as they were written.
    pub asked_loads: Vec<String>,
    /// The load with its throughput.
    pub load: String,
    pub mean_latency_ns: Option<f64>,
    pub max_latency_ns: Option<i64>,
    /// Activations that ran; `None` where it could not be run at all.
    pub executed: Option<u64>,
    /// Activations that were missed; `None` where it could not be run at all.
    pub missed: Option<u64>,
    /// Tracking error of each output; none where it could not be run.
    pub errors: Vec<TrackingError>,
    /// Reason why the figures are not those of the request, if so.
    pub trouble: Option<LiveTrouble>,
    pub caveats: Vec<Caveat>,
}

/// Reason for which a way to wait was not run as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LiveTrouble {
    /// This machine cannot have it.
    Impossible { why: String },
    /// The system refused it, and another took its place.
    Refused { why: String, remedy: String },
    /// The task could not keep up and was stopped.
    Stopped { why: String },
}

/// A tracking error this many times that of punctual activations is no longer tracking.
const RAN_AWAY: f64 = 10.0;

impl LiveTrial {
    /// Trial without results yet, under loads as they were written.
    pub fn not_run(wake: WakeMethod, compensation: Compensation, asked_loads: &[String]) -> LiveTrial {
        LiveTrial {
            wake,
            compensation,
            asked_loads: asked_loads.to_vec(),
            load: if asked_loads.is_empty() { "none".into() } else { asked_loads.join(", ") },
            mean_latency_ns: None,
            max_latency_ns: None,
            executed: None,
            missed: None,
            errors: Vec::new(),
            trouble: None,
            caveats: Vec::new(),
        }
    }

    /// Trial with the tracking errors of its loop, and the figures of its run.
    #[must_use]
    pub fn with_run(mut self, errors: Vec<TrackingError>, measured: &MeasuredRun) -> LiveTrial {
        let MeasuredRun { run, tasks, .. } = measured;
        self.errors = errors;
        let refused = run.refused.iter().find(|r| r.what.starts_with("wake="));
        self.trouble = match (refused, &run.stop) {
            (Some(r), _) => Some(LiveTrouble::Refused { why: r.why.clone(), remedy: r.remedy.clone() }),
            (None, Some(StopReason::Overloaded { overload, .. })) => {
                Some(LiveTrouble::Stopped { why: overload.to_string() })
            }
            (None, Some(StopReason::WaitFailed { why, .. })) => {
                Some(LiveTrouble::Stopped { why: why.clone() })
            }
            _ => None,
        };
        if let Some(task) = tasks.first() {
            let latency = &task.summary.latency;
            (self.mean_latency_ns, self.max_latency_ns) = (latency.mean_ns, latency.max_ns);
            (self.executed, self.missed) = (Some(latency.count), task.summary.missed.at_least());
            let speaks = |caveat: &&Caveat| !matches!(caveat, Caveat::NoLoad { .. });
            self.caveats = task.caveats.iter().filter(speaks).cloned().collect();
        }
        if !run.loads.is_empty() {
            let ran: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
            self.load = ran.join(", ");
        }
        self
    }

    /// The wake-up method and its compensation, as options write them.
    pub fn name(&self) -> String {
        match self.compensation {
            Compensation::None => self.wake.to_string(),
            compensation => format!("{} {compensation}", self.wake),
        }
    }
}

const FEWEST_PERIODS: i64 = 20;

impl ServoLive {
    /// Result without trials yet, and the loop at rest; without references it follows a slow sine.
    pub fn prepare(
        question: &SingleTaskLoop,
        references: &[Reference],
        each_ns: i64,
    ) -> Result<(ServoLive, LiveLoop), Error> {
        let SingleTaskLoop { plant, period_ns, .. } = question;
        if each_ns < FEWEST_PERIODS.saturating_mul(*period_ns) {
            return Err(Error::bad_use(format!(
                "{} are too few for a loop with a period of {}: give --duration at least twenty periods",
                Human(each_ns as f64),
                Human(*period_ns as f64)
            )));
        }
        let references = match references {
            [] => {
                let crossover = Margins::new(question, 0, 0)?.crossover_rad_per_s(question.period_ns);
                default_references(crossover)[1..].to_vec()
            }
            given => given.to_vec(),
        };
        let closed = LiveLoop::new(plant, &question.controller()?, *period_ns, &references);
        let punctual = closed.clone().punctual_errors(*period_ns, each_ns);
        Ok((ServoLive { closed: question.into(), references, each_ns, punctual, ways: Vec::new() }, closed))
    }

    /// Increase of the worst output's rms error over punctual activations; infinite for a loop that ran away.
    pub fn rms_excess(&self, trial: &LiveTrial) -> f64 {
        let of = |(e, ideal): (&TrackingError, &TrackingError)| e.rms / ideal.rms - 1.0;
        // Not a number where the loop left all numbers behind.
        let followed = |excess: f64| if excess < RAN_AWAY { excess } else { f64::INFINITY };
        trial.errors.iter().zip(&self.punctual).map(of).map(followed).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Trials that ran as requested, the best first.
    pub fn ranked_trials(&self) -> Vec<&LiveTrial> {
        let mut ways: Vec<&LiveTrial> = self.ways.iter().filter(|w| w.trouble.is_none()).collect();
        ways.sort_by(|a, b| self.rms_excess(a).total_cmp(&self.rms_excess(b)));
        ways
    }

    /// Reasons to doubt the figures: those that all trials share, then those of the worst trial alone.
    pub fn caveats(&self) -> (Vec<&Caveat>, Vec<&Caveat>) {
        let ways = self.ranked_trials();
        let Some(worst) = ways.last() else { return (Vec::new(), Vec::new()) };
        worst.caveats.iter().partition(|caveat| ways.iter().all(|w| w.caveats.contains(caveat)))
    }

    /// Largest latency, if it is below a tenth of the period, which no loop can feel.
    pub fn negligible_latency_ns(&self) -> Option<i64> {
        let worst = self.ways.iter().filter_map(|w| w.max_latency_ns).max()?;
        (worst < self.closed.period_ns / 10).then_some(worst)
    }
}
