//! Changes that would lower a loop's cost, computed on the same run.

use jitterlab_model::{Activation, Error};
use serde::Serialize;

use super::along_trace::{AlongTrace, CovarianceAlongTrace, TimeBase};
use super::closed_loop::Loop;
use super::cycles::{CycleCollector, RegenerationCycle, cycle_distribution};
use super::evaluate::Evaluation;
use super::markov_chain::MarkovChain;
use super::overrun::OverrunPolicy;
use super::single_task_loop::SingleTaskLoop;
use super::timing::{Job, MomentGenerator};

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Design the controller for the mean delay from sampling to the output.
    DesignForDelay {
        delay_ns: i64,
    },
    MeasuredInterval,
    /// Wake early by this quantile of the latency and poll to the due time.
    WakeEarly {
        /// The quantile, as a share.
        quantile: f64,
        /// The latency at this quantile, in ns.
        margin_ns: i64,
    },
    /// Let as many jobs overrun, but not in bursts.
    SpreadMisses,
    MissNone,
}

/// The part of all latencies that a task that wakes early hides.
const HIDDEN: f64 = 0.999;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remedy {
    pub remedy: RemedyKind,
    /// The cost it would leave.
    #[serde(with = "crate::Infinite")]
    pub cost: f64,
    /// Cost now, for comparison on the same footing.
    #[serde(with = "crate::Infinite")]
    pub instead_of: f64,
}

impl SingleTaskLoop {
    /// Computes the gain from each remedy that applies. `window` holds consecutive activations of the run.
    pub(super) fn remedies(
        &self,
        cycles: &CycleCollector,
        window: &[Activation],
        now: &Evaluation,
    ) -> Result<Vec<Remedy>, Error> {
        let mut remedies = Vec::new();
        let mut closed = self.closed_loop()?;
        // Of the kept cycles in random order.
        let cost = |closed: &mut Loop, change: &dyn Fn(&RegenerationCycle) -> RegenerationCycle| {
            let changed: Vec<(RegenerationCycle, f64)> =
                cycles.weighted_cycles().map(|(cycle, w)| (change(cycle), w)).collect();
            let all = cycle_distribution(closed, changed.iter().map(|(cycle, weight)| (cycle, *weight)));
            MarkovChain::independent(&all, self.period_ns).stationary().cost
        };
        let delay_ns =
            self.output_delay_ns(now.timing.wait_ns.round() as i64, now.timing.execution_ns.round() as i64);
        if self.plant.design.can_design_for_delay()
            && delay_ns > self.design_delay_ns
            && delay_ns <= self.period_ns
        {
            let mut aware = SingleTaskLoop { design_delay_ns: delay_ns, ..self.clone() }.closed_loop()?;
            let cost = cost(&mut aware, &RegenerationCycle::clone);
            let remedy = RemedyKind::DesignForDelay { delay_ns };
            remedies.push(Remedy { remedy, cost, instead_of: now.independent.cost });
        }
        if closed.wirings().iter().all(|c| c.controller.can_measure_interval()) {
            let along = |interval| self.cost_along_window(&closed, window, interval, now).cost;
            remedies.push(Remedy {
                remedy: RemedyKind::MeasuredInterval,
                cost: along(TimeBase::Measured),
                instead_of: along(TimeBase::Nominal),
            });
        }
        let margin_ns = first_latency_quantile(cycles, HIDDEN);
        if margin_ns >= 1.0 {
            let remedy = RemedyKind::WakeEarly { quantile: HIDDEN, margin_ns: margin_ns as i64 };
            let cost = cost(&mut closed, &|cycle| self.with_earlier_wake_up(cycle, margin_ns));
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

    /// Cost along the activations of `window`, which the controller computes with this time base.
    fn cost_along_window(
        &self,
        closed: &Loop,
        window: &[Activation],
        interval: TimeBase,
        now: &Evaluation,
    ) -> AlongTrace {
        let mut walk = CovarianceAlongTrace::new(closed, interval, now.ideal.covariance.as_ref(), 0);
        let mut moments = MomentGenerator::new(self.timing, self.period_ns, 0);
        window.iter().for_each(|a| moments.add_job(&Job::from(a), |moment| walk.process(moment)));
        walk.finish()
    }

    /// A cycle whose task wakes earlier by `margin_ns`, and polls up to its due time.
    fn with_earlier_wake_up(&self, cycle: &RegenerationCycle, margin_ns: f64) -> RegenerationCycle {
        let Some(latency) = cycle.first_latency() else { return cycle.clone() };
        let sooner = latency.clamp(0.0, margin_ns);
        let events: Vec<_> = cycle.events.iter().map(|(t, e)| ((t - sooner).max(0.0), *e)).collect();
        let last = events.last().map_or(0.0, |e| e.0);
        let period = self.period_ns as f64;
        // A single job that skips is over with the first due time it leaves.
        let skips = cycle.job_count() == 1 && self.overrun.policy == OverrunPolicy::Skip;
        let length_ns = if skips { ((last / period).floor() + 1.0) * period } else { cycle.length_ns };
        RegenerationCycle { events, length_ns: length_ns.min(cycle.length_ns) }
    }
}

/// The latency of the first jobs of cycles that this share of them does not exceed.
fn first_latency_quantile(cycles: &CycleCollector, share: f64) -> f64 {
    let mut latencies: Vec<(f64, f64)> = cycles
        .weighted_cycles()
        .filter_map(|(cycle, weight)| Some((cycle.first_latency()?, weight)))
        .collect();
    latencies.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = latencies.iter().map(|l| l.1).sum();
    let mut below = 0.0;
    let found = latencies.iter().find(|(_, weight)| {
        below += weight;
        below >= share * total
    });
    found.map_or(0.0, |l| l.0)
}
