//! Result of `stepper`: an axis, the effect of a run's timing on it, and the motor driven by that timing.

use jitterlab_model::units::{Exact, Human};
use jitterlab_model::{Activation, Error, Overrun, TimingStats};
use jitterlab_runs::OneTask;
use serde::Serialize;

use super::assessment::{AxisAssessment, SHORTEST_BASE_NS, StepTiming};
use super::axis::Axis;
use super::drive::Drive;
use super::motor::Motor;
use super::playback::{fastest_speed_without_loss, play_latencies};
use super::pulses::latencies_ns;
use super::recommended::StepperVerdict;
use super::simulate::RotorResponse;
use super::step_rate::IntervalErrors;
use crate::catalog::{self, Devices};
use crate::judged_run::JudgedRun;

#[derive(Debug, Clone)]
pub struct StepperQuestion {
    axis: Axis,
    base_period_ns: Option<i64>,
    speeds: Vec<f64>,
}

/// Effect of a run's timing, or of an assumed jitter, on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepperResult {
    /// Verdict on step pulses by software, with the fastest good rate.
    pub verdict: StepperVerdict,
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub axis: Axis,
    /// The run; `None` for an assumed jitter.
    pub run: Option<JudgedRun>,
    /// Assessment of the axis.
    pub assessment: AxisAssessment,
    /// The motor driven by the recorded timing.
    pub simulations: Option<Simulations>,
    /// Reasons to doubt the figures, in addition to the run's own caveats.
    pub caveats: Vec<StepperCaveat>,
}

/// Reason to doubt the figures of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "jitterlab_model::Identified"))]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum StepperCaveat {
    /// Only latencies are known, not their order: intervals are taken as if each latency were independent of the last.
    IndependentIntervals,
    /// Latencies of one period are taken for those of another.
    OtherPeriod {
        /// They are the second run's.
        beside: bool,
        period_ns: i64,
        base_period_ns: i64,
    },
    /// Nothing was simulated.
    NotSimulated { why: String },
}

/// Ticks that a simulation plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ticks {
    /// Punctual ticks.
    Punctual,
    /// Ticks of the run.
    Run,
    /// Ticks of the second run, for comparison.
    Beside,
}

/// One simulation of the motor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulated {
    /// Ticks that are played.
    pub ticks: Ticks,
    /// The overrun policy; `None` for punctual ticks, which it does not concern.
    pub policy: Option<Overrun>,
    /// Response of the motor.
    pub response: RotorResponse,
    /// The slowest of the table's speeds at which it lost steps, in full steps per second.
    pub loses_from_steps_per_s: Option<f64>,
}

/// Simulations of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulations {
    /// Full steps per second.
    pub steps_per_s: f64,
    /// Name of the second run, if there is one.
    pub beside: Option<String>,
    /// Each run under each policy.
    pub of: Vec<Simulated>,
}

/// A run's activations around its worst latency, to be simulated.
struct RecordedWindow {
    name: String,
    period_ns: i64,
    activations: Vec<Activation>,
}

impl RecordedWindow {
    fn around_worst(of: &OneTask, half: u64) -> Result<Self, Error> {
        let activations = of.activations(of.rows_around_worst(half, half)?)?;
        Ok(RecordedWindow { name: of.run().label(), period_ns: of.stats.period_ns(), activations })
    }
}

/// The policies a simulation is made under, in the order they are shown.
const POLICIES: [Overrun; 2] = [Overrun::Skip, Overrun::CatchUp];
/// A tick that is later stops the motor for certain, and playing it would take as long.
const LATEST_PLAYED_NS: i64 = 10_000_000_000;
/// About a swing of a rotor.
const SHORTEST_SIMULATION_NS: i64 = 10_000_000;

/// Returns the simulated time in ns if it is long enough to show anything.
pub fn checked_simulation_ns(simulate_ns: i64) -> Result<i64, Error> {
    if simulate_ns >= SHORTEST_SIMULATION_NS {
        return Ok(simulate_ns);
    }
    Err(Error::bad_use(format!(
        "{} of simulation show nothing: give --simulate at least {}",
        Exact(simulate_ns),
        Exact(SHORTEST_SIMULATION_NS)
    )))
}

impl StepperQuestion {
    /// A question about an axis. `speeds` as [`Axis::parse_speeds`] reads them, for the table; ten up to the fastest at
    /// which the motor carries its load by default. `base_period_ns` of the step generator: the run's by default where
    /// it is one of step generators, else StepConf's.
    pub fn new(axis: Axis, speeds: Option<&str>, base_period_ns: Option<i64>) -> Result<Self, Error> {
        if let Some(base) = base_period_ns.filter(|base| *base < SHORTEST_BASE_NS) {
            return Err(Error::bad_use(format!(
                "no computer makes step pulses on a base period of {}: give --base-period at least {}",
                Exact(base),
                Exact(SHORTEST_BASE_NS)
            )));
        }
        let mut speeds = match speeds {
            Some(text) => axis.parse_speeds(text)?,
            None => AxisAssessment::default_speeds(&axis)?,
        };
        speeds.sort_by(f64::total_cmp);
        speeds.dedup();
        Ok(StepperQuestion { axis, base_period_ns, speeds })
    }

    /// Judges the axis by latencies assumed to spread over a range.
    pub fn under_jitter(self, jitter_ns: i64) -> Result<StepperResult, Error> {
        self.assess(StepTiming::assumed(jitter_ns), None, None)
    }

    pub fn under_run(self, run: JudgedRun, stats: &TimingStats) -> Result<StepperResult, Error> {
        let timing = StepTiming::from_stats(stats).ok_or_else(|| {
            Error::not_measured(
                "how late its latest tick was is unknown from this run's source, and a motor is judged by that: take an output that \
                 holds the largest latency, or measure with `jitterlab run`",
            )
        })?;
        self.assess(timing, Some(IntervalErrors::from_stats(stats)), Some(run))
    }

    fn assess(
        self,
        timing: StepTiming,
        errors: Option<IntervalErrors>,
        run: Option<JudgedRun>,
    ) -> Result<StepperResult, Error> {
        let assessment = AxisAssessment::new(&self.axis, timing, errors, self.base_period_ns, &self.speeds)?;
        let verdict = StepperVerdict::new(&self.axis, &assessment, self.base_period_ns);
        let verdict = verdict.limited_by_test(&timing, run.as_ref());
        let independent = matches!(errors, Some(IntervalErrors::FromLatency(_)));
        let mut result = StepperResult {
            verdict,
            axis: self.axis,
            run,
            assessment,
            simulations: None,
            caveats: independent.then_some(StepperCaveat::IndependentIntervals).into_iter().collect(),
        };
        if let Some(period_ns) = timing.period_ns {
            result.warn_of_other_period(period_ns, false);
        }
        Ok(result)
    }
}

impl StepperResult {
    /// Simulates the motor with the activations around the worst latency, under each policy and at each speed. They
    /// last `simulate_ns` in all; the speeds are those of the table. If that is impossible, as for a run that keeps
    /// only a histogram, a caveat gives the reason. `begun` is called before each run with its name, the time to play
    /// and the number of speeds.
    pub fn simulate(
        &mut self,
        run: &OneTask,
        beside: Option<&OneTask>,
        simulate_ns: i64,
        begun: &mut dyn FnMut(&str, i64, usize),
    ) {
        match self.run_simulations(run, beside, simulate_ns, begun) {
            Ok(simulations) => self.simulations = Some(simulations),
            Err(error) => self.caveats.push(StepperCaveat::NotSimulated { why: error.to_string() }),
        }
    }

    /// Adds a caveat if latencies of one period are taken for those of another.
    fn warn_of_other_period(&mut self, period_ns: i64, beside: bool) {
        let base_period_ns = self.assessment.base_period_ns;
        if period_ns != base_period_ns {
            self.caveats.push(StepperCaveat::OtherPeriod { beside, period_ns, base_period_ns });
        }
    }

    fn run_simulations(
        &mut self,
        run: &OneTask,
        beside: Option<&OneTask>,
        simulate_ns: i64,
        begun: &mut dyn FnMut(&str, i64, usize),
    ) -> Result<Simulations, Error> {
        let base_period_ns = self.assessment.base_period_ns;
        let half = (simulate_ns / base_period_ns).max(1) as u64 / 2;
        let run = RecordedWindow::around_worst(run, half)?;
        let beside = beside.map(|beside| RecordedWindow::around_worst(beside, half)).transpose()?;
        if let Some(beside) = &beside {
            self.warn_of_other_period(beside.period_ns, true);
        }
        let axis = &self.axis;
        let most = self.assessment.most_pulses_per_s();
        let speeds = self.assessment.rows.iter().map(|row| row.steps_per_s);
        let (within, beyond): (Vec<f64>, Vec<f64>) = speeds.partition(|f| axis.pulses_per_s(*f) <= most);
        let steps_per_s = fastest_speed_without_loss(axis, base_period_ns, &within).ok_or_else(|| {
            Error::bad_use(format!(
                "none of the speeds can be made on a base period of {} at {} microsteps, even by punctual steps; name a slower one \
                 with --speed or a shorter --base-period",
                Human(base_period_ns as f64),
                axis.microsteps
            ))
        })?;
        let (made, lost): (Vec<f64>, Vec<f64>) = within
            .into_iter()
            .partition(|f| fastest_speed_without_loss(axis, base_period_ns, &[*f]).is_some());
        let second = vec![0; (1_000_000_000 / base_period_ns) as usize];
        let mut of = vec![Simulated {
            ticks: Ticks::Punctual,
            policy: None,
            response: play_latencies(axis, steps_per_s, base_period_ns, &second, Overrun::Skip)?,
            loses_from_steps_per_s: lost.into_iter().chain(beyond).next(),
        }];
        for (ticks, recorded) in [(Ticks::Run, Some(&run)), (Ticks::Beside, beside.as_ref())] {
            let Some(recorded) = recorded else { continue };
            let latencies: Vec<i64> = latencies_ns(&recorded.activations).collect();
            if let Some(late_ns) = latencies.iter().find(|late_ns| late_ns.abs() > LATEST_PLAYED_NS) {
                let late = Human(*late_ns as f64);
                return Err(Error::not_measured(format!(
                    "a tick came {late} late, so the motor stood still for all that time"
                )));
            }
            begun(&recorded.name, latencies.len() as i64 * base_period_ns, made.len());
            for policy in POLICIES {
                let played = |f: f64| play_latencies(axis, f, base_period_ns, &latencies, policy);
                let lost = |f: &f64| played(*f).is_ok_and(|response| !response.lost_no_step());
                of.push(Simulated {
                    ticks,
                    policy: Some(policy),
                    response: played(steps_per_s)?,
                    loses_from_steps_per_s: made.iter().copied().find(lost),
                });
            }
        }
        Ok(Simulations { steps_per_s, beside: beside.map(|b| b.name), of })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepperDevices {
    pub motors: Devices<Motor>,
    pub drives: Devices<Drive>,
}

impl StepperDevices {
    pub fn from_catalog() -> StepperDevices {
        StepperDevices {
            motors: catalog::devices_with_example("as1050"),
            drives: catalog::devices_with_example("gecko203v"),
        }
    }
}
