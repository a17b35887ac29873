//! What would lower a loop's cost, computed on the same run.

use jitterlab_model::Activation;
use serde::Serialize;

use super::along_trace::{AlongTrace, TimeBase, Walk};
use super::chain::{Chain, Stationary, Stretches};
use super::cycles::Pattern;
use super::evaluate::Evaluation;
use super::looped::{Act, Loop};
use super::overrun::Late;
use super::question::Question;
use super::timing::{Job, Moments};
use crate::error::MotionError;

/// What would lower a loop's cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Design the controller for the mean delay from sampling to the output.
    DesignForDelay {
        /// That delay.
        delay_ns: i64,
    },
    /// Compute with the measured interval, not the nominal period.
    MeasuredInterval,
    /// Wake early by this quantile of the latency and poll to the due time.
    WakeEarly {
        /// The quantile, as a share.
        quantile: f64,
        /// The latency there.
        margin_ns: i64,
    },
    /// Let as many jobs overrun, but not in bursts.
    SpreadMisses,
    /// Let no job overrun.
    MissNone,
}

/// The part of all latencies that a task that wakes early hides.
const HIDDEN: f64 = 0.999;

/// What something would bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remedy {
    /// What to do.
    pub remedy: RemedyKind,
    /// The cost it would leave.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// Cost now, for comparison on the same footing.
    #[serde(with = "crate::Infinite")]
    pub instead_of: f64,
}

/// The loop under patterns in random order.
pub(super) fn under_patterns(closed: &mut Loop, patterns: &[Pattern], period_ns: i64) -> Stationary {
    let mut all = Stretches::new(closed.lasting());
    for pattern in patterns {
        let passage = closed.passage(&pattern.events, pattern.length_ns);
        all.add(&passage, pattern.length_ns * 1e-9, pattern.count as f64);
    }
    Chain::independent(&all, period_ns).stationary()
}

impl Question {
    /// What each remedy would bring. Those that do not apply are left out. `window` are some of the run's activations in a
    /// row.
    ///
    /// # Errors
    /// As [`super::Design::controller`].
    pub(super) fn remedies(
        &self,
        patterns: &[Pattern],
        window: &[Activation],
        now: &Evaluation,
    ) -> Result<Vec<Remedy>, MotionError> {
        let mut remedies = Vec::new();
        let mut closed = self.closed()?;
        let delay_ns =
            self.output_delay_ns(now.timing.wait_ns.round() as i64, now.timing.execution_ns.round() as i64);
        if self.plant.design.knows_delay() && delay_ns > self.design_delay_ns && delay_ns <= self.period_ns {
            let mut aware = Question { design_delay_ns: delay_ns, ..self.clone() }.closed()?;
            let cost = under_patterns(&mut aware, patterns, self.period_ns).cost;
            let remedy = RemedyKind::DesignForDelay { delay_ns };
            remedies.push(Remedy { remedy, cost, instead_of: now.independent.cost });
        }
        if closed.closings().iter().all(|c| c.controller.can_measure_interval()) {
            let along = |interval| self.along(&closed, window, interval, now).cost;
            remedies.push(Remedy {
                remedy: RemedyKind::MeasuredInterval,
                cost: along(TimeBase::Measured),
                instead_of: along(TimeBase::Nominal),
            });
        }
        let margin_ns = latency_at(patterns, HIDDEN);
        if margin_ns >= 1.0 {
            let early: Vec<Pattern> = patterns.iter().map(|p| self.earlier(p, margin_ns)).collect();
            let remedy = RemedyKind::WakeEarly { quantile: HIDDEN, margin_ns: margin_ns as i64 };
            let cost = under_patterns(&mut closed, &early, self.period_ns).cost;
            remedies.push(Remedy { remedy, cost, instead_of: now.independent.cost });
        }
        if now.timing.missed > 0 {
            for (remedy, cost) in
                [(RemedyKind::SpreadMisses, now.independent.cost), (RemedyKind::MissNone, now.jitter.cost)]
            {
                remedies.push(Remedy { remedy, cost, instead_of: now.clustered.cost });
            }
        }
        Ok(remedies)
    }

    fn along(
        &self,
        closed: &Loop,
        window: &[Activation],
        interval: TimeBase,
        now: &Evaluation,
    ) -> AlongTrace {
        let mut walk = Walk::new(closed, interval, now.ideal.covariance.as_ref(), 0);
        let mut moments = Moments::new(self.timing, self.period_ns, 0);
        window.iter().for_each(|a| moments.job(&Job::from(a), |moment| walk.pass(moment)));
        walk.finish()
    }

    /// A cycle whose task had been awake by so much earlier, and had polled up to its due time.
    fn earlier(&self, pattern: &Pattern, margin_ns: f64) -> Pattern {
        let Some(latency) = first_latency(pattern) else { return pattern.clone() };
        let sooner = latency.clamp(0.0, margin_ns);
        let events: Vec<_> = pattern.events.iter().map(|(t, e)| ((t - sooner).max(0.0), *e)).collect();
        let last = events.last().map_or(0.0, |e| e.0);
        let period = self.period_ns as f64;
        // A single job that skips is over with the first due time it leaves.
        let skips = pattern.jobs() == 1 && self.overrun.late == Late::Skip;
        let length_ns = if skips { ((last / period).floor() + 1.0) * period } else { pattern.length_ns };
        Pattern { events, length_ns: length_ns.min(pattern.length_ns), count: pattern.count }
    }
}

/// When the first job of a cycle sampled.
fn first_latency(pattern: &Pattern) -> Option<f64> {
    pattern.events.iter().find(|(_, event)| event.act == Act::Sample).map(|(time, _)| *time)
}

/// The latency of the first jobs of cycles that this share of them does not exceed.
fn latency_at(patterns: &[Pattern], share: f64) -> f64 {
    let mut latencies: Vec<(f64, u64)> =
        patterns.iter().filter_map(|p| Some((first_latency(p)?, p.count))).collect();
    latencies.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u64 = latencies.iter().map(|l| l.1).sum();
    let mut below = 0;
    let found = latencies.iter().find(|(_, count)| {
        below += count;
        below as f64 >= share * total as f64
    });
    found.map_or(0.0, |l| l.0)
}
