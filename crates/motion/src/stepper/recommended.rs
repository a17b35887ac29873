//! The step rate to set up, and its limit.
//!
//! A tick may come late by the worst that the run showed, missed ones and bursts behind a stall included, and the drive must
//! still have its time before the next: that is StepConf's formula with the largest lateness for its jitter. Beyond the
//! ticks it is the motor that limits: by the load it carries, and by the worst event that costs it steps.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::purposes::activations_needed;
use jitterlab_model::Fitness;
use jitterlab_runs::OneTask;
use serde::Serialize;

use super::assessment::{AxisAssessment, LONGEST_BASE_NS, SHORTEST_BASE_NS, StepTiming};
use super::axis::Axis;
use super::drive::Drive;
use super::step_rate::{StepConf, StepMode, stepconf_limits};
use crate::judged_run::JudgedRun;

/// Jitter beyond which LinuxCNC's manual (Latency Test) advises against step pulses by software, in ns.
pub(crate) const TOO_LATE_NS: i64 = 100_000;

/// A share of the motor's own limit from which on a rate is as good as that: an ideal bound that no motor is known to so well.
const AS_GOOD: f64 = 0.95;

/// Limit of a step rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepLimit {
    /// The motor itself: it carries its load no faster.
    Motor,
    /// The base period: no shorter one leaves the drive its time before the tick that follows the latest one.
    Ticks,
    /// The latest tick: faster, the motor would lose steps by it.
    LostSteps,
}

/// The step rate to set up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecommendedRate {
    /// Step pulses (microsteps) per second.
    pub pulses_per_s: f64,
    /// The same in full steps per second.
    pub steps_per_s: f64,
    /// Reason why it cannot be higher.
    pub limit: StepLimit,
    /// Way to make step pulses.
    pub mode: StepMode,
    /// The base period for it.
    pub base_period_ns: i64,
    /// Largest lateness of a tick in ns: StepConf's Base Period Maximum Jitter.
    pub jitter_ns: i64,
}

/// Verdict on step pulses by software, with the fastest good rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepperVerdict {
    /// Good: up to the motor's own limit, or nearly. Limited: up to the recommended rate. Unfit: a tick comes
    /// later than 100 us, the limit of LinuxCNC's manual. Cannot tell: the run's task ran under an ordinary
    /// policy, had a period that no step generator has, or ran too few times.
    pub fitness: Fitness,
    /// The step rate to set up.
    pub recommended: RecommendedRate,
}

impl StepperVerdict {
    pub fn new(axis: &Axis, found: &AxisAssessment, asked_base_ns: Option<i64>) -> Self {
        let timing = &found.timing;
        let jitter_ns = timing.jitter_ns.max(timing.period_error_ns);
        let conf = StepConf::with_mode(found.stepconf.mode, jitter_ns, &axis.drive);
        let base_period_ns = asked_base_ns.unwrap_or(0).max(conf.min_period_ns);
        // StepConf cuts the rate to whole steps per second, and so does this.
        let by_ticks = conf.max_rate_hz.min(conf.mode.max_rate_hz(base_period_ns));
        let motor = found.torque_limit_steps_per_s;
        let mut limit = (motor, StepLimit::Motor);
        for (steps_per_s, why) in [
            (found.step_loss_steps_per_s, StepLimit::LostSteps),
            (by_ticks / f64::from(axis.microsteps), StepLimit::Ticks),
        ] {
            if steps_per_s < 0.999 * limit.0 {
                limit = (steps_per_s, why);
            }
        }
        let (steps_per_s, limit) = limit;
        let recommended = RecommendedRate {
            pulses_per_s: axis.pulses_per_s(steps_per_s),
            steps_per_s,
            limit,
            mode: conf.mode,
            base_period_ns,
            jitter_ns,
        };
        let fitness = match limit {
            _ if jitter_ns > TOO_LATE_NS => Fitness::Unfit,
            _ if steps_per_s >= AS_GOOD * motor => Fitness::Good,
            _ => Fitness::Limited,
        };
        StepperVerdict { fitness, recommended }
    }

    /// Verdict as far as the run tested it; without a run it is as good as the assumption.
    pub(super) fn limited_by_test(self, timing: &StepTiming, run: Option<&JudgedRun>) -> Self {
        let fitness = match (NoBasePeriod::untested_reason(timing, run), self.fitness) {
            (Some(NoBasePeriod::Policy), _) => Fitness::CannotTell,
            (None, fitness) | (Some(_), fitness @ Fitness::Unfit) => fitness,
            (Some(_), _) => Fitness::CannotTell,
        };
        StepperVerdict { fitness, ..self }
    }
}

/// Reason for which a run gives a software step generator no base period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBasePeriod {
    /// Its source does not report the largest lateness of a tick.
    Untold,
    /// Its task ran under an ordinary policy: the machine may do better.
    Policy,
    /// Its task had a period that no step generator has, and met other idle states.
    Period { period_ns: i64 },
    /// Too few ticks for a statement about one in a thousand.
    Length { ticks: u64 },
    /// A tick came later than LinuxCNC's manual holds for good enough.
    TooLate { jitter_ns: i64 },
}

impl NoBasePeriod {
    /// Returns the question that the run leaves open, if there is one.
    fn untested_reason(timing: &StepTiming, run: Option<&JudgedRun>) -> Option<Self> {
        let mut caveats = run.into_iter().flat_map(|run| &run.caveats);
        if caveats.any(|caveat| matches!(caveat, Caveat::NotRealTime { .. })) {
            return Some(NoBasePeriod::Policy);
        }
        if run.is_some_and(|run| run.has_lost_extremes) {
            return Some(NoBasePeriod::Untold);
        }
        if let Some(period_ns) = timing.period_ns.filter(|period_ns| *period_ns > LONGEST_BASE_NS) {
            return Some(NoBasePeriod::Period { period_ns });
        }
        let ticks = activations_needed();
        let few = run.is_some_and(|run| run.is_counted() && timing.executed < ticks);
        few.then_some(NoBasePeriod::Length { ticks })
    }
}

/// The base thread of a software step generator, where ticks come as those of a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseThread {
    pub task: String,
    /// Largest lateness of a tick in ns: StepConf's Base Period Maximum Jitter.
    pub jitter_ns: i64,
    pub stepconf: StepConf,
}

impl BaseThread {
    pub fn is_base_period(period_ns: i64) -> bool {
        (SHORTEST_BASE_NS..=LONGEST_BASE_NS).contains(&period_ns)
    }

    /// Computes the base thread for a run's task and a drive.
    pub fn new(run: &OneTask, drive: &Drive) -> Result<Self, NoBasePeriod> {
        let timing = StepTiming::from_stats(&run.stats).ok_or(NoBasePeriod::Untold)?;
        let jitter_ns = timing.jitter_ns.max(timing.period_error_ns);
        match NoBasePeriod::untested_reason(&timing, Some(&JudgedRun::from_task(run))) {
            Some(NoBasePeriod::Policy) => Err(NoBasePeriod::Policy),
            _ if jitter_ns > TOO_LATE_NS => Err(NoBasePeriod::TooLate { jitter_ns }),
            Some(why) => Err(why),
            None => Ok(BaseThread {
                task: run.name().into(),
                jitter_ns,
                stepconf: stepconf_limits(jitter_ns, drive),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepper::{AxisFacts, Motor, StepperQuestion};

    fn verdict(microsteps: u32, jitter_ns: i64, base_ns: Option<i64>) -> StepperVerdict {
        let (voltage_v, microsteps, lead_mm) = (Some(24.0), Some(microsteps), Some(10.0));
        let known = AxisFacts { voltage_v, microsteps, lead_mm, ..AxisFacts::default() };
        let axis = Axis::new(Motor::from_frame(23, 1.9).unwrap(), None, known).unwrap();
        let question = StepperQuestion::new(axis, None, base_ns).unwrap();
        question.under_jitter(jitter_ns).unwrap().verdict
    }

    #[test]
    fn the_motor_limits_where_ticks_are_quick_enough() {
        let found = verdict(1, 5_000, None);
        assert_eq!((found.fitness, found.recommended.limit), (Fitness::Good, StepLimit::Motor));
        assert_eq!(found.recommended.pulses_per_s, found.recommended.steps_per_s);
    }

    #[test]
    fn ticks_limit_fine_microsteps_by_stepconfs_own_rate() {
        let found = verdict(64, 15_000, None);
        assert_eq!((found.fitness, found.recommended.limit), (Fitness::Limited, StepLimit::Ticks));
        let conf = StepConf::with_mode(
            found.recommended.mode,
            15_000,
            &crate::catalog::find_device("stepconf", None).unwrap(),
        );
        assert_eq!(
            (found.recommended.base_period_ns, found.recommended.pulses_per_s),
            (conf.min_period_ns, conf.max_rate_hz)
        );
        // A longer base period of one's own makes fewer.
        let slower = verdict(64, 15_000, Some(100_000)).recommended;
        assert_eq!((slower.base_period_ns, slower.pulses_per_s), (100_000, 1e4));
        assert_eq!(verdict(64, 15_000, Some(2_000)).recommended.base_period_ns, conf.min_period_ns);
    }

    #[test]
    fn a_rate_that_is_nearly_the_motor_s_is_good() {
        // The motor's own limit in microsteps, and ticks that make a little less.
        let motor = verdict(16, 5_000, None).recommended;
        let mut seen = [false; 2];
        for jitter_ns in (5_000..60_000).step_by(250) {
            let found = verdict(16, jitter_ns, None);
            let share = found.recommended.pulses_per_s / motor.pulses_per_s;
            let expected = if share >= 0.95 { Fitness::Good } else { Fitness::Limited };
            assert_eq!(found.fitness, expected, "{share} {found:?}");
            seen[usize::from(share < 0.95)] |= found.recommended.limit != StepLimit::Motor;
        }
        assert!(seen[0] && seen[1]);
    }

    #[test]
    fn a_stall_of_milliseconds_is_unfit_whatever_the_rate() {
        let found = verdict(8, 10_400_000, None);
        assert_eq!(found.fitness, Fitness::Unfit);
        assert!(found.recommended.pulses_per_s < 100.0, "{found:?}");
    }
}
