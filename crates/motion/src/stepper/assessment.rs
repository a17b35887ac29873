//! Complete assessment: the effect of a run's timing, or of an assumed jitter, on one axis.

use jitterlab_model::{Error, Known, TimingStats};

use serde::Serialize;

use super::axis::Axis;
use super::jitter_torque::{JitterTorque, jitter_torque, linear_share, speed_at_linear_share};
use super::quantisation::{Beat, Quantisation, beat, quantise};
use super::step_loss::critical_jump;
use super::step_rate::{
    IntervalErrors, Reversal, STEPCONF_LONGEST_NS, StepConf, StepMode, TimingRisk, stepconf_limits,
};

/// The timing of the thread that makes the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StepTiming {
    /// Release jitter, largest minus smallest latency, in ns: the time a step may be displaced by.
    pub jitter_ns: i64,
    /// Largest lateness against the mean, in ns: the worst single event.
    pub worst_late_ns: f64,
    /// Largest deviation of an interval, in ns; LinuxCNC calls it jitter.
    pub period_error_ns: i64,
    /// Period of the thread, if it was measured.
    pub period_ns: Option<i64>,
    pub executed: u64,
    pub missed: Known<u64>,
}

impl StepTiming {
    /// Timing of a run's task; `None` if nothing ran, or its source does not report the largest latency.
    ///
    /// If only period errors are known, the largest of these is taken as the jitter, as in LinuxCNC.
    pub fn from_stats(stats: &TimingStats) -> Option<StepTiming> {
        let (latency, errors) = (&stats.latency, &stats.period_error);
        let magnitude = errors.min_ns().zip(errors.max_ns());
        let magnitude = magnitude.map(|(min, max)| min.saturating_abs().max(max.saturating_abs()));
        let longest_ns = errors.max_ns().map(|longest| longest as f64);
        let only_errors = latency.count() == 0;
        let jitter_ns = if only_errors { magnitude? } else { latency.peak_to_peak_ns()? };
        // If the mean is unknown too, lateness is taken against the earliest.
        let mean_ns = || latency.mean_ns().or(latency.min_ns().map(|earliest| earliest as f64));
        Some(StepTiming {
            jitter_ns,
            worst_late_ns: if only_errors { longest_ns? } else { latency.max_ns()? as f64 - mean_ns()? },
            // Of latencies alone, the difference of the largest and the smallest can be an interval's error.
            period_error_ns: magnitude.unwrap_or(jitter_ns),
            period_ns: Some(stats.period_ns()),
            executed: stats.executed(),
            missed: stats.missed(),
        })
    }

    /// No run: latencies assumed to spread over this range.
    pub fn assumed(jitter_ns: i64) -> StepTiming {
        StepTiming {
            jitter_ns,
            worst_late_ns: jitter_ns as f64,
            period_error_ns: jitter_ns,
            period_ns: None,
            executed: 0,
            missed: Known::Exactly(0),
        }
    }

    fn jitter_s(&self) -> f64 {
        self.jitter_ns as f64 * 1e-9
    }
}

/// The speed at which jitter costs a share of the available torque. Full steps per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threshold {
    /// The share; 1 is all of it.
    pub share: f64,
    /// By NIST's linear formula, with half the holding torque available.
    #[serde(with = "crate::Infinite")]
    pub linear_steps_per_s: f64,
    /// By the exact torque at the load, with the torque that the motor has left at that speed.
    #[serde(with = "crate::Infinite")]
    pub exact_steps_per_s: f64,
}

/// One line of the table over speeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedRow {
    /// Full steps per second.
    pub steps_per_s: f64,
    /// Torque the motor has at this speed (ideal upper bound), in N m.
    pub torque_nm: f64,
    /// The torque of the jitter; `None` where the motor cannot carry the load.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub jitter: Option<JitterTorque>,
    /// NIST's share of half the holding torque.
    pub linear_share: f64,
    /// Exact share of the torque left after the load; infinite where none is left.
    #[serde(with = "crate::Infinite")]
    pub exact_share: f64,
    /// Lost time that costs steps here, in s; `None` where the motor cannot carry the load.
    pub step_loss_s: Option<f64>,
    /// Effect of the base period alone on the pulses.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub quantisation: Quantisation,
    /// NIST's share for the quantisation error alone.
    #[serde(with = "crate::Infinite")]
    pub quantisation_share: f64,
    /// The pattern the base period makes, against the rotor's resonance.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub beat: Beat,
}

/// Effect of a timing on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisAssessment {
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub timing: StepTiming,
    /// Base period of the step generator for quantisation and beat, in ns.
    pub base_period_ns: i64,
    /// Ring frequency of rotor and load at the load torque, in Hz.
    pub ring_hz: f64,
    /// Fastest speed at which the motor alone has the load torque, in full steps per second.
    pub torque_limit_steps_per_s: f64,
    /// Speeds at which jitter costs 1 %, 10 % and all of the available torque.
    pub thresholds: [Threshold; 3],
    /// Speed above which the worst event would lose steps, in full steps per second.
    pub step_loss_steps_per_s: f64,
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub stepconf: StepConf,
    /// Its formulas in the step mode that it does not choose for this drive.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub stepconf_other: StepConf,
    /// jitterlab's own: the shortest base period the run would not once have violated; `None` without a run.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub unviolated: Option<TimingRisk>,
    /// The risk at StepConf's period; `None` without a run.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub risk_at_stepconf: Option<TimingRisk>,
    /// The risk at [`AxisAssessment::base_period_ns`]; `None` without a run.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub risk_at_base: Option<TimingRisk>,
    /// A change of direction on [`AxisAssessment::base_period_ns`].
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub reversal: Reversal,
    /// Rows of the table, one for each speed.
    pub rows: Vec<SpeedRow>,
}

/// A base period below this is a slip of the pen.
pub(super) const SHORTEST_BASE_NS: i64 = 1_000;
/// Longest period of a run that counts as the base period of a step generator.
pub(super) const LONGEST_BASE_NS: i64 = 200_000;

impl AxisAssessment {
    /// Judges an axis. `errors` are the run's interval errors, if there is one. `base_period_ns` overrides the
    /// choice of the base period: the run's own if it is at most 200 us, else StepConf's, which is never longer than
    /// 100 us. `speeds` are the table's full-step rates.
    pub fn new(
        axis: &Axis,
        timing: StepTiming,
        errors: Option<IntervalErrors>,
        base_period_ns: Option<i64>,
        speeds: &[f64],
    ) -> Result<AxisAssessment, Error> {
        let stepconf = stepconf_limits(timing.period_error_ns, &axis.drive);
        let own = timing.period_ns.filter(|p| (SHORTEST_BASE_NS..=LONGEST_BASE_NS).contains(p));
        let base_period_ns =
            base_period_ns.or(own).unwrap_or(stepconf.min_period_ns.min(STEPCONF_LONGEST_NS));
        let ring_hz = axis.ring_hz()?;
        let jitter_s = timing.jitter_s();
        let threshold = |share| {
            Ok::<_, Error>(Threshold {
                share,
                linear_steps_per_s: speed_at_linear_share(share, jitter_s),
                exact_steps_per_s: axis.speed_at_jitter_share(share, jitter_s)?,
            })
        };
        let of = |period| errors.and_then(|e| TimingRisk::new(e, &axis.drive, stepconf.mode, period));
        Ok(AxisAssessment {
            timing,
            base_period_ns,
            ring_hz,
            torque_limit_steps_per_s: axis.torque_limited_steps_per_s()?,
            thresholds: [threshold(0.01)?, threshold(0.1)?, threshold(1.0)?],
            step_loss_steps_per_s: axis.step_loss_speed(timing.worst_late_ns * 1e-9)?,
            unviolated: errors.and_then(|e| TimingRisk::shortest_unviolated(e, &axis.drive, stepconf.mode)),
            risk_at_stepconf: of(stepconf.min_period_ns),
            risk_at_base: of(base_period_ns),
            reversal: Reversal::new(&axis.drive, base_period_ns, timing.jitter_ns),
            stepconf,
            stepconf_other: StepConf::with_mode(
                stepconf.mode.other_mode(),
                timing.period_error_ns,
                &axis.drive,
            ),
            rows: speeds
                .iter()
                .map(|f| speed_row(axis, *f, jitter_s, base_period_ns, ring_hz))
                .collect::<Result<_, _>>()?,
        })
    }

    pub fn mode(&self) -> StepMode {
        self.stepconf.mode
    }

    /// Most step pulses per second that software makes on [`AxisAssessment::base_period_ns`].
    pub fn most_pulses_per_s(&self) -> f64 {
        self.mode().max_rate_hz(self.base_period_ns)
    }

    /// Ten speeds for a table, up to the fastest the motor carries its load at: even fractions of it.
    pub fn default_speeds(axis: &Axis) -> Result<Vec<f64>, Error> {
        let top = axis.torque_limited_steps_per_s()?;
        let digits = 10f64.powf((top / 10.0).log10().floor());
        let step = ((top / 10.0 / digits).floor() * digits).max(1.0);
        Ok((1..=10).map(|k| f64::from(k) * step).collect())
    }
}

fn speed_row(
    axis: &Axis,
    f: f64,
    jitter_s: f64,
    base_period_ns: i64,
    ring_hz: f64,
) -> Result<SpeedRow, Error> {
    let torque_nm = axis.torque_at(f)?;
    let carries = torque_nm > axis.load_torque_nm;
    let pulses = axis.pulses_per_s(f);
    let quantisation = quantise(base_period_ns, pulses);
    Ok(SpeedRow {
        steps_per_s: f,
        torque_nm,
        jitter: carries.then(|| jitter_torque(torque_nm, axis.load_torque_nm, f, jitter_s)).transpose()?,
        linear_share: linear_share(f, jitter_s),
        exact_share: axis.jitter_share(f, jitter_s)?,
        step_loss_s: carries
            .then(|| critical_jump(axis.load_torque_nm / torque_nm).map(|jump| jump / f))
            .transpose()?,
        quantisation_share: linear_share(f, quantisation.max_error_s),
        quantisation,
        beat: beat(base_period_ns, pulses, ring_hz),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepper::{AxisFacts, Motor};
    use jitterlab_model::Activation;

    fn axis() -> Axis {
        let (voltage_v, microsteps, lead_mm) = (Some(24.0), Some(8), Some(10.0));
        let known = AxisFacts { voltage_v, microsteps, lead_mm, ..AxisFacts::default() };
        Axis::new(Motor::from_frame(23, 1.9).unwrap(), None, known).unwrap()
    }

    fn run() -> TimingStats {
        let mut stats = TimingStats::new(50_000);
        for index in 0..100_000i64 {
            let due_ns = index * 50_000;
            let latency = if index == 5_000 { 40_000 } else { 2_000 + index % 7 * 300 };
            let start_ns = due_ns + latency;
            let end_ns = start_ns + 1_000;
            stats.push(&Activation {
                index: index as u64,
                due_ns,
                start_ns,
                end_ns,
                ..Activation::default()
            });
        }
        stats
    }

    #[test]
    fn one_command_s_worth_of_knowledge_gives_an_answer() {
        let (axis, stats) = (axis(), run());
        let timing = StepTiming::from_stats(&stats).unwrap();
        let errors = IntervalErrors::from_stats(&stats);
        let speeds = AxisAssessment::default_speeds(&axis).unwrap();
        let found = AxisAssessment::new(&axis, timing, Some(errors), None, &speeds).unwrap();
        assert_eq!((timing.jitter_ns, found.base_period_ns), (38_000, 50_000));
        assert!(found.thresholds[0].exact_steps_per_s < found.thresholds[1].exact_steps_per_s);
        // 10 % of half the holding torque at 38 us: 0.1 / (pi 38e-6).
        assert!((found.thresholds[1].linear_steps_per_s - 837.7).abs() < 0.1);
        assert!(found.step_loss_steps_per_s <= found.torque_limit_steps_per_s);
        assert_eq!(found.rows.len(), 10);
        let unviolated = found.unviolated.unwrap();
        assert_eq!(unviolated.seen, 0.0);
        assert!(unviolated.base_period_ns <= found.stepconf.min_period_ns);
    }

    #[test]
    fn a_large_jitter_leaves_a_base_period_that_exists() {
        let found =
            AxisAssessment::new(&axis(), StepTiming::assumed(6_000_000), None, None, &[500.0]).unwrap();
        assert_eq!((found.stepconf.min_period_ns, found.base_period_ns), (6_015_000, 100_000));
        assert!(found.reversal.broken_by_jitter);
    }

    #[test]
    fn without_a_run_an_assumed_jitter_does() {
        let found = AxisAssessment::new(&axis(), StepTiming::assumed(15_000), None, None, &[500.0]).unwrap();
        assert_eq!((found.stepconf.min_period_ns, found.base_period_ns), (30_000, 30_000));
        assert!(found.unviolated.is_none() && found.rows[0].jitter.is_some());
    }
}
