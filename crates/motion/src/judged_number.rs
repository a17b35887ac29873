//! Verdict on a single number: the largest lateness, known without the run it comes from.

use std::cmp::Reverse;

use jitterlab_analysis::purposes::{Measure, Purpose};
use jitterlab_analysis::verdict::{DecidingFigure, PurposeOutcome, PurposeVerdict, Untested, Verdict};
use jitterlab_model::{Error, Fitness, Gap};
use serde::Serialize;

use crate::catalog;
use crate::stepper::{Drive, TOO_LATE_NS, stepconf_limits};

/// Steps a revolution for speeds: a motor of 200 steps, in eighths.
const PULSES_PER_REVOLUTION: f64 = 1600.0;
/// Travel of a revolution for speeds, in mm.
pub const TRAVEL_MM: f64 = 5.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedNumber {
    /// The largest lateness of a start, or the largest error of a period, in ns.
    pub late_ns: i64,
    pub verdict: Verdict,
    /// Fastest software steps at this lateness; `None` above 100 us, the limit of LinuxCNC's manual.
    pub steps: Option<SoftwareSteps>,
}

/// The fastest steps that software makes, with StepConf's formulas and its usual drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SoftwareSteps {
    pub base_period_ns: i64,
    pub pulses_per_s: f64,
    /// Speed in mm/min at this rate, of a motor of 200 steps in eighths and a travel of 5 mm per revolution.
    pub mm_per_min: f64,
}

impl JudgedNumber {
    /// Judges a largest lateness of at least 0, for one purpose or all usual ones.
    pub fn new(late_ns: i64, purpose: Option<&Purpose>) -> Result<Self, Error> {
        let verdict = Verdict::new(purpose, |purpose| PurposeVerdict::new(purpose, judge(purpose, late_ns)));
        let steps = if late_ns > TOO_LATE_NS { None } else { Some(software_steps(late_ns)?) };
        Ok(JudgedNumber { late_ns, verdict, steps })
    }
}

fn software_steps(late_ns: i64) -> Result<SoftwareSteps, Error> {
    let drive: Drive = catalog::find_device("stepconf", None)?;
    let conf = stepconf_limits(late_ns, &drive);
    let mm_per_min = conf.max_rate_hz / PULSES_PER_REVOLUTION * TRAVEL_MM * 60.0;
    Ok(SoftwareSteps { base_period_ns: conf.min_period_ns, pulses_per_s: conf.max_rate_hz, mm_per_min })
}

/// Judges a purpose by the worst of its limits; of equals the first.
fn judge(purpose: &Purpose, late_ns: i64) -> PurposeOutcome {
    let open = (Untested::Gap { gap: Gap::DueTimes }, None);
    let limits = purpose.limits.iter().map(|limit| {
        // Periods differ by at most the lateness, so their standard deviation is at most as large. A start that is a
        // period late has missed a due time.
        let measured = match limit.measure {
            Measure::Interval | Measure::Latency | Measure::PeriodDeviation => late_ns,
            Measure::Missed => late_ns / purpose.period_ns,
        };
        let at_most = limit.measure == Measure::PeriodDeviation;
        let fitness = match limit.fitness_of(measured) {
            Fitness::Unfit if at_most => Fitness::CannotTell,
            fitness => fitness,
        };
        (fitness, DecidingFigure { task: String::new(), measured, at_most, open_share: None, limit: *limit })
    });
    let worst = limits.min_by_key(|(fitness, _)| Reverse(*fitness));
    worst.filter(|(fitness, _)| *fitness != Fitness::CannotTell).ok_or(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitness(late_ns: i64, purpose: &str) -> Fitness {
        JudgedNumber::new(late_ns, Purpose::by_name(purpose)).unwrap().verdict.fitness
    }

    #[test]
    fn limits_are_those_of_a_run() {
        let servo = |late_ns| fitness(late_ns, "servo-thread");
        assert_eq!(
            [100_000, 100_001, 500_000, 500_001].map(servo),
            [Fitness::Good, Fitness::Limited, Fitness::Limited, Fitness::Unfit]
        );
        // Audio is usable up to its period, but a start that late has missed one.
        assert_eq!([1_333_332, 1_333_333].map(|ns| fitness(ns, "audio")), [Fitness::Limited, Fitness::Unfit]);
    }

    #[test]
    fn a_largest_value_bounds_a_standard_deviation_and_tells_no_more() {
        let robot = |late_ns| fitness(late_ns, "robot-1khz");
        assert_eq!(
            [5_000, 10_000, 90_000, 1_000_000].map(robot),
            [Fitness::Good, Fitness::Limited, Fitness::CannotTell, Fitness::Unfit]
        );
    }

    #[test]
    fn steps_are_stepconfs() {
        let steps = JudgedNumber::new(90_000, None).unwrap().steps.unwrap();
        assert_eq!((steps.base_period_ns, steps.pulses_per_s), (105_000, 9523.0));
        assert!((steps.mm_per_min - 1785.6).abs() < 0.1, "{steps:?}");
        assert_eq!(JudgedNumber::new(TOO_LATE_NS + 1, None).unwrap().steps, None);
    }
}
