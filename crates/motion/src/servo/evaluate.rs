//! What a run's timing costs a loop, and which part of it what share.

use jitterlab_model::{Activation, Flags};
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::along_trace::{AlongTrace, TimeBase, Walk};
use super::classes::Classes;
use super::controller::Controller;
use super::design::Design;
use super::jump_linear::{JumpLinear, PeriodClass, Stationary};
use super::looped::{Event, Loop, Pattern};
use super::plant::Plant;
use super::timing::{PeriodPatterns, TaskTiming};
use crate::error::MotionError;

/// A loop to be judged.
#[derive(Debug, Clone)]
pub struct Question {
    /// The plant; its design is the controller's.
    pub plant: Plant,
    /// The period the controller is designed for: the task's.
    pub period_ns: i64,
    /// Where in the task sampling and actuation happen.
    pub timing: TaskTiming,
    /// Constant delay the controller's design takes into account.
    pub design_delay_ns: i64,
}

/// The timing of a run in the figures a loop knows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeanTiming {
    /// Periods of the grid.
    pub periods: u64,
    /// Activations that ran.
    pub executed: u64,
    /// Periods without any event: the loop was left alone.
    pub empty: u64,
    /// Longest row of such periods.
    pub longest_empty: u64,
    /// Mean of start - due.
    pub latency_ns: f64,
    /// Mean of end - start.
    pub execution_ns: f64,
}

/// What the timing costs. All costs are means of the plant's cost rate; infinite where the loop is not mean-square
/// stable.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Every activation punctual, with no work to do.
    pub ideal: Stationary,
    /// Every activation late by the mean latency and working the mean execution time.
    pub mean_delay: Stationary,
    /// The run's periods in random order, those without an event left out.
    pub jitter: Stationary,
    /// The run's periods in random order.
    pub independent: Stationary,
    /// The run's periods with their memory: served, late and missed ones follow each other as they did.
    pub clustered: Stationary,
    /// The run itself, from event to event.
    pub along: AlongTrace,
    /// The timing in short.
    pub timing: MeanTiming,
    /// Times were told apart this finely for the stationary costs.
    pub resolution_ns: i64,
}

/// How the loss against ideal timing divides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// (cost - ideal) / ideal of the run's stationary cost with its memory.
    pub total: f64,
    /// Part due to mean latency and execution time.
    pub mean_delay: f64,
    /// Part due to the variation around the mean; negative where jitter happens to help.
    pub jitter: f64,
    /// Part due to missed activations at random.
    pub missed: f64,
    /// Part due to their coming in clusters.
    pub clusters: f64,
}

impl Evaluation {
    /// The loss and its parts, each as a share of the ideal cost; infinite from the first unstable step on.
    pub fn loss(&self) -> Loss {
        let ideal = self.ideal.cost;
        let part = |now: &Stationary, before: &Stationary| match (now.is_stable(), before.is_stable()) {
            (true, _) => (now.cost - before.cost) / ideal,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
        Loss {
            total: part(&self.clustered, &self.ideal),
            mean_delay: part(&self.mean_delay, &self.ideal),
            jitter: part(&self.jitter, &self.mean_delay),
            missed: part(&self.independent, &self.jitter),
            clusters: part(&self.clustered, &self.independent),
        }
    }
}

/// What would lower a loop's cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Design the controller for the mean delay from sampling to actuation.
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
    /// Miss the same number of activations, but not in bursts.
    SpreadMisses,
    /// Miss no activation.
    MissNone,
}

/// The part of all latencies that a task that wakes early hides.
const HIDDEN: f64 = 0.999;

/// What something would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// What to do.
    pub remedy: RemedyKind,
    /// The cost it would leave.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub cost: f64,
    /// Cost now, for comparison on the same footing.
    #[serde(with = "crate::infinite")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub instead_of: f64,
}

impl Question {
    /// The controller of the question.
    ///
    /// # Errors
    /// As [`Design::controller`].
    pub fn controller(&self) -> Result<Controller, MotionError> {
        self.plant.design.controller(&self.plant, self.period_ns, self.design_delay_ns)
    }

    /// The stationary loop under one constant timing.
    ///
    /// # Errors
    /// As [`Design::controller`].
    pub fn constant(&self, latency_ns: i64, execution_ns: i64) -> Result<Stationary, MotionError> {
        let mut closed = Loop::new(&self.plant, &self.controller()?);
        let pattern = self.timing.constant_pattern(latency_ns, execution_ns, self.period_ns);
        Ok(self.independent(&mut closed, [(pattern.as_slice(), 1.0)]))
    }

    /// The stationary loop of a task that is always so late and works so long, and skips the due times that pass before
    /// its end: beyond a period it serves one in so many. (An end on a due time has missed it.)
    fn skipping(&self, latency_ns: i64, execution_ns: i64) -> Result<Stationary, MotionError> {
        let periods = (latency_ns + execution_ns).max(0) / self.period_ns + 1;
        let mut closed = Loop::new(&self.plant, &self.controller()?);
        let pattern = self.timing.constant_cycle(latency_ns, execution_ns, self.period_ns, periods);
        let cycle_ns = periods * self.period_ns;
        let class = PeriodClass::new(&mut closed, cycle_ns, [(pattern.as_slice(), 1.0)]);
        let found = JumpLinear::independent(class, cycle_ns).stationary();
        Ok(Stationary { spectral_radius: found.spectral_radius.powf(1.0 / periods as f64), ..found })
    }

    /// The stationary loop with every activation punctual and no work to do.
    ///
    /// # Errors
    /// As [`Design::controller`], and a loop that is not even stable then.
    pub fn ideal(&self) -> Result<Stationary, MotionError> {
        let ideal = self.constant(0, 0)?;
        if ideal.is_stable() {
            return Ok(ideal);
        }
        Err(MotionError::Unstable {
            plant: self.plant.name.clone(),
            period_ns: self.period_ns,
            radius: ideal.spectral_radius,
        })
    }

    fn independent<'a>(
        &self,
        closed: &mut Loop,
        patterns: impl IntoIterator<Item = (&'a [(i64, Event)], f64)>,
    ) -> Stationary {
        let class = PeriodClass::new(closed, self.period_ns, patterns);
        JumpLinear::independent(class, self.period_ns).stationary()
    }

    /// Judges a run's activations of the task that closes the loop.
    ///
    /// # Errors
    /// A controller that cannot be designed, a loop that is unstable even with ideal timing, or too few activations.
    pub fn evaluate(&self, trace: &[Activation]) -> Result<Evaluation, MotionError> {
        if trace.len() < 10 {
            return Err(MotionError::TooFewActivations(trace.len()));
        }
        let closed = Loop::new(&self.plant, &self.controller()?);
        let ideal = self.ideal()?;
        let patterns = PeriodPatterns::of(self.timing, trace.iter().copied(), self.period_ns);
        let timing = mean_timing(trace, &patterns);
        let mean = (timing.latency_ns.round() as i64, timing.execution_ns.round() as i64);
        let mean_delay = if trace.iter().any(|a| a.flags.contains(Flags::CAUGHT_UP)) {
            self.constant(mean.0, mean.1)?
        } else {
            self.skipping(mean.0, mean.1)?
        };
        let classes = Classes::of(&patterns, &mut closed.clone(), self.period_ns);
        let stationary =
            |class: &PeriodClass| JumpLinear::independent(class.clone(), self.period_ns).stationary();
        let served = classes.served();
        let jitter = stationary(&served);
        let independent = stationary(&served.with(classes.empty()));
        let clustered = classes.chain(self.period_ns).stationary();
        let along = self.along(&closed, trace, TimeBase::Nominal, ideal.covariance.as_ref());
        let resolution_ns = patterns.resolution_ns;
        Ok(Evaluation { ideal, mean_delay, jitter, independent, clustered, along, timing, resolution_ns })
    }

    fn along(
        &self,
        closed: &Loop,
        trace: &[Activation],
        interval: TimeBase,
        begin: Option<&DMatrix<f64>>,
    ) -> AlongTrace {
        const STRETCHES: i64 = 500;
        let length = trace.len() as i64 * self.period_ns;
        let mut walk = Walk::new(closed, interval, begin, (length / STRETCHES).max(1));
        self.timing.moments(trace.iter().copied(), self.period_ns, |moment| walk.pass(moment));
        walk.finish()
    }

    /// What each remedy would bring, from the same run. Those that do not apply are left out.
    ///
    /// # Errors
    /// As [`Design::controller`].
    pub fn remedies(&self, trace: &[Activation], now: &Evaluation) -> Result<Vec<Remedy>, MotionError> {
        let mut remedies = Vec::new();
        let mut closed = Loop::new(&self.plant, &self.controller()?);
        let clustered = now.clustered.cost;
        // A controller that knows the mean delay from sampling to actuation.
        let pattern = self.timing.constant_pattern(
            now.timing.latency_ns.round() as i64,
            now.timing.execution_ns.round() as i64,
            self.period_ns,
        );
        let delay_ns = input_output_delay_ns(&pattern, self.period_ns);
        let knows_delay = self.plant.design.knows_delay();
        if knows_delay && delay_ns > self.design_delay_ns && delay_ns <= self.period_ns {
            let aware = Question { design_delay_ns: delay_ns, ..self.clone() };
            let mut closed = Loop::new(&self.plant, &aware.controller()?);
            let patterns = PeriodPatterns::of(self.timing, trace.iter().copied(), self.period_ns);
            let cost =
                Classes::of(&patterns, &mut closed, self.period_ns).chain(self.period_ns).stationary().cost;
            let remedy = RemedyKind::DesignForDelay { delay_ns };
            remedies.push(Remedy { remedy, cost, instead_of: clustered });
        }
        if closed.controller.can_measure_interval()
            && matches!(self.plant.design, Design::Pd { .. } | Design::Pid { .. })
        {
            let along = self.along(&closed, trace, TimeBase::Measured, now.ideal.covariance.as_ref());
            let remedy = RemedyKind::MeasuredInterval;
            remedies.push(Remedy { remedy, cost: along.cost, instead_of: now.along.cost });
        }
        let margin_ns = quantile(trace, HIDDEN);
        if margin_ns > 0 {
            let early = trace.iter().map(|a| {
                let latency = (a.latency_ns() - margin_ns).max(0);
                let start_ns = a.due_ns + latency;
                Activation { start_ns, end_ns: start_ns + a.execution_ns(), ..*a }
            });
            let patterns = PeriodPatterns::of(self.timing, early, self.period_ns);
            let cost =
                Classes::of(&patterns, &mut closed, self.period_ns).chain(self.period_ns).stationary().cost;
            let remedy = RemedyKind::WakeEarly { quantile: HIDDEN, margin_ns };
            remedies.push(Remedy { remedy, cost, instead_of: clustered });
        }
        if now.timing.empty > 0 {
            for (remedy, cost) in
                [(RemedyKind::SpreadMisses, now.independent.cost), (RemedyKind::MissNone, now.jitter.cost)]
            {
                remedies.push(Remedy { remedy, cost, instead_of: clustered });
            }
        }
        Ok(remedies)
    }
}

/// Time from a sample to the actuation of its result in a steady pattern.
pub fn input_output_delay_ns(pattern: &Pattern, period_ns: i64) -> i64 {
    let of = |wanted| pattern.iter().position(|(_, e)| *e == wanted);
    match (of(Event::Sample), of(Event::Actuate)) {
        (Some(s), Some(a)) if a > s => pattern[a].0 - pattern[s].0,
        (Some(s), Some(a)) => period_ns + pattern[a].0 - pattern[s].0,
        _ => 0,
    }
}

fn quantile(trace: &[Activation], p: f64) -> i64 {
    let mut latencies: Vec<i64> = trace.iter().map(Activation::latency_ns).collect();
    let rank = ((p * latencies.len() as f64).ceil() as usize).clamp(1, latencies.len()) - 1;
    *latencies.select_nth_unstable(rank).1
}

fn mean_timing(trace: &[Activation], patterns: &PeriodPatterns) -> MeanTiming {
    let mean = |value: fn(&Activation) -> i64| {
        trace.iter().map(|a| i128::from(value(a))).sum::<i128>() as f64 / trace.len() as f64
    };
    let (mut empty, mut longest) = (0, 0);
    for sequence in &patterns.sequences {
        let mut row = 0;
        for number in sequence {
            row = if patterns.patterns[*number as usize].is_empty() { row + 1 } else { 0 };
            empty += u64::from(row > 0);
            longest = longest.max(row);
        }
    }
    MeanTiming {
        periods: patterns.periods(),
        executed: trace.len() as u64,
        empty,
        longest_empty: longest,
        latency_ns: mean(Activation::latency_ns),
        execution_ns: mean(Activation::execution_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    const H: i64 = 6_000_000;

    fn question() -> Question {
        Question {
            plant: catalog::find("dc-servo", None).unwrap(),
            period_ns: H,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        }
    }

    fn at(index: i64, latency: i64, execution: i64) -> Activation {
        let due_ns = index * H;
        let start_ns = due_ns + latency;
        Activation {
            index: index as u64,
            due_ns,
            start_ns,
            end_ns: start_ns + execution,
            ..Activation::default()
        }
    }

    /// Exact costs of constant execution times from an independent solver, each with the spectral radius of a period.
    #[test]
    fn a_mean_delay_beyond_a_period_skips_the_due_times_it_passes() {
        const MS: f64 = 1e6;
        for (plant, period_ms, execution, cost, radius) in [
            ("dc-servo", 4, 0.5, 66.87215694, 0.7496028307),
            ("dc-servo", 4, 1.0, 501.225991, 0.9292076112),
            ("dc-servo", 4, 1.2, 871.5877074, 0.9613033074),
            ("ball-screw", 1, 0.99, 40.5322017, 0.9702931701),
            ("ball-screw", 1, 1.0 + 1e-6, 29.23451058, 0.9849016035),
            ("ball-screw", 1, 1.9, f64::INFINITY, 1.0408154100),
        ] {
            let plant = catalog::find(plant, None).unwrap();
            let question = Question { plant, period_ns: period_ms * 1_000_000, ..question() };
            let execution_ns = (execution * period_ms as f64 * MS).round() as i64;
            let found = question.skipping(0, execution_ns).unwrap();
            assert!(cost == found.cost || (found.cost / cost - 1.0).abs() < 1e-6, "{execution}: {found:?}");
            assert!((found.spectral_radius - radius).abs() < 1e-6, "{execution}: {found:?}");
        }
    }

    #[test]
    fn a_punctual_run_costs_its_execution_time_alone() {
        let trace: Vec<_> = (0..200).map(|k| at(k, 0, 1_200_000)).collect();
        let found = question().evaluate(&trace).unwrap();
        let loss = found.loss();
        assert!((found.ideal.cost - 65.523441).abs() < 1e-6);
        assert!((found.clustered.cost - 72.662933).abs() < 1e-6);
        assert!((loss.total - loss.mean_delay).abs() < 1e-12 && loss.jitter.abs() < 1e-12);
        assert_eq!((found.timing.periods, found.timing.empty), (200, 0));
    }

    #[test]
    fn the_parts_add_up_to_the_loss() {
        // Every 50th activation is missed, in pairs; latencies alternate.
        let trace: Vec<_> = (0..5_000)
            .filter(|k| k % 100 > 1)
            .map(|k| at(k, 100_000 + (k * 7_919) % 500_000, 500_000))
            .collect();
        let found = question().evaluate(&trace).unwrap();
        let loss = found.loss();
        let sum = loss.mean_delay + loss.jitter + loss.missed + loss.clusters;
        assert!((sum - loss.total).abs() < 1e-9);
        assert!(loss.missed > 0.0 && loss.clusters > 0.0 && loss.mean_delay > 0.0, "{loss:?}");
        assert_eq!(found.timing.longest_empty, 2);
        let (along, clustered) = (found.along.cost, found.clustered.cost);
        assert!((along / clustered - 1.0).abs() < 0.01, "{along} {clustered}");
        let remedies = question().remedies(&trace, &found).unwrap();
        let best = |is: fn(&RemedyKind) -> bool| remedies.iter().find(|r| is(&r.remedy)).unwrap().clone();
        let spread = best(|r| matches!(r, RemedyKind::SpreadMisses));
        let early = best(|r| matches!(r, RemedyKind::WakeEarly { .. }));
        assert!(spread.cost < spread.instead_of && early.cost < early.instead_of);
        assert!(best(|r| matches!(r, RemedyKind::MissNone)).cost < spread.cost);
    }

    #[test]
    fn a_design_that_knows_the_delay_does_better() {
        let exercise = "name = 'x'\n[state_space]\na = [[0, 1], [0, -1]]\nb = [[0], [1]]\nc = [[1, 0]]\n[noise]\n\
                        input = 1.0\nmeasurement = 0.001\n[cost]\noutput = 1.0\ninput = 0.001\n[controller]\n\
                        kind = 'lqg'";
        use crate::catalog::Device;
        let question = Question {
            plant: Plant::from_toml("x", exercise).unwrap(),
            period_ns: 100_000_000,
            ..question()
        };
        let trace: Vec<_> = (0..500)
            .map(|k| at(k, 0, 0))
            .map(|a| Activation {
                due_ns: a.index as i64 * 100_000_000,
                start_ns: a.index as i64 * 100_000_000,
                end_ns: a.index as i64 * 100_000_000 + 50_000_000,
                ..a
            })
            .collect();
        let found = question.evaluate(&trace).unwrap();
        let remedies = question.remedies(&trace, &found).unwrap();
        assert!((remedies[0].cost - 0.02593819).abs() < 1e-7, "{remedies:?}");
    }

    #[test]
    fn an_unstable_design_and_an_empty_run_are_refused() {
        let message = question().evaluate(&[at(0, 0, 0)]).unwrap_err().to_string();
        assert!(message.contains("longer run"));
        let slow = Question { period_ns: 60_000_000, ..question() };
        let trace: Vec<_> = (0..20).map(|k| at(k, 0, 0)).collect();
        assert!(slow.evaluate(&trace).unwrap_err().to_string().contains("shorter period"));
    }
}
