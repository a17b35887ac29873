//! The conclusion of `stepper`: the fastest rate, its limit, and the next step.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::purposes::activations_needed;
use jitterlab_model::Fitness;
use jitterlab_motion::JudgedRun;
use jitterlab_motion::stepper::{Axis, StepLimit, StepperResult};

use super::{LOST_RECORDS, timing_alone_sentence};
use crate::conclusion::{Conclusion, verdict_word};
use crate::words::{count, exact_time, plural, time};

pub(crate) fn conclusion(result: &StepperResult) -> Conclusion {
    let fitness = result.verdict.fitness;
    let number = deciding_number_sentence(result) + &timing_alone_sentence(result.run.as_ref(), fitness);
    Conclusion { fitness, asked: true, verdict: verdict_sentence(result), number, next: next_step(result) }
}

fn verdict_sentence(result: &StepperResult) -> String {
    let (axis, found) = (&result.axis, &result.verdict);
    let word = verdict_word(found.fitness);
    match found.fitness {
        Fitness::Unfit => format!(
            "{word} for software stepping: at most {} with this computer.",
            speed_text(axis, found.recommended.steps_per_s)
        ),
        Fitness::CannotTell if has_ordinary_policy(result) => {
            format!("{word} about software stepping: NOT real time, the task ran under an ordinary policy.")
        }
        Fitness::CannotTell if result.run.as_ref().is_some_and(|run| run.has_lost_extremes) => {
            format!("{word} about software stepping: {LOST_RECORDS}.")
        }
        Fitness::CannotTell if has_too_few_ticks(result) => format!(
            "{word} about software stepping: the run is too short, it takes {} to tell.",
            plural(activations_needed(), "tick")
        ),
        Fitness::CannotTell => {
            let period = result.assessment.timing.period_ns.map_or_else(|| "unknown".into(), exact_time);
            format!(
                "{word} about software stepping: the run's task came every {period}, a step generator every 25 to 100 µs."
            )
        }
        _ => format!(
            "{word} for software stepping: fit up to {}, carrying {:.2} N m.",
            speed_text(axis, found.recommended.steps_per_s),
            axis.load_torque_nm
        ),
    }
}

/// Writes a speed as `16 600 steps/s = 2 080 mm/min (208 rev/min)`.
pub(super) fn speed_text(axis: &Axis, steps_per_s: f64) -> String {
    let round = |value: f64| match cut_to_three_digits(value) {
        value if value >= 10.0 => count(value as u64),
        value => with_decimals(value, 1),
    };
    let pulses = round(axis.pulses_per_s(steps_per_s));
    let revolutions = format!("{} rev/min", round(60.0 * axis.revolutions_per_s(steps_per_s)));
    match axis.mm_per_s(steps_per_s) {
        Some(mm) => format!("{pulses} steps/s = {} mm/min ({revolutions})", round(60.0 * mm)),
        None => format!("{pulses} steps/s = {revolutions}"),
    }
}

fn deciding_number_sentence(result: &StepperResult) -> String {
    let (rate, timing) = (&result.verdict.recommended, &result.assessment.timing);
    let (late, base) = (time(rate.jitter_ns as f64), time(rate.base_period_ns as f64));
    let missed = match timing.missed.at_least() {
        Some(1) => ", 1 was missed".into(),
        Some(missed) if missed > 0 => format!(", {} were missed", count(missed)),
        _ => String::new(),
    };
    match (result.verdict.fitness, rate.limit) {
        (Fitness::Unfit, _) => format!(
            "Ticks came up to {late} late{missed}; above 100 µs LinuxCNC's manual advises against it."
        ),
        (Fitness::CannotTell, _) => {
            let at_most = speed_text(&result.axis, rate.steps_per_s);
            format!("As far as it goes, at most {at_most}: ticks came up to {late} late{missed}.")
        }
        (_, StepLimit::Motor) => format!(
            "Limited by the motor and its load, not by this computer; ticks up to {late} late allow a base period of {base}."
        ),
        (Fitness::Good, _) => format!(
            "The motor itself does hardly more; ticks up to {late} late{missed} need a base period of {base}."
        ),
        (_, StepLimit::Ticks) => {
            format!("Limited by ticks up to {late} late{missed}: they need a base period of {base}.")
        }
        (_, StepLimit::LostSteps) => {
            format!("Limited by the latest tick, {late} late{missed}: faster, the motor loses steps by it.")
        }
    }
}

fn run_caveats(result: &StepperResult) -> impl Iterator<Item = &Caveat> {
    result.run.iter().flat_map(|run| &run.caveats)
}

fn has_ordinary_policy(result: &StepperResult) -> bool {
    run_caveats(result).any(|caveat| matches!(caveat, Caveat::NotRealTime { .. }))
}

fn has_too_few_ticks(result: &StepperResult) -> bool {
    let counted = result.run.as_ref().is_some_and(JudgedRun::is_counted);
    counted && result.assessment.timing.executed < activations_needed()
}

fn is_in_virtual_machine(result: &StepperResult) -> bool {
    run_caveats(result).any(|caveat| matches!(caveat, Caveat::VirtualMachine { .. }))
}

fn next_step(result: &StepperResult) -> String {
    match result.verdict.fitness {
        Fitness::CannotTell if has_ordinary_policy(result) => {
            "what `jitterlab run --for step-50us` says about permissions".into()
        }
        Fitness::CannotTell => "jitterlab run --for step-50us, then this again with its file".into(),
        Fitness::Unfit | Fitness::Limited if is_in_virtual_machine(result) => {
            crate::conclusion::MEASURE_ON_TARGET.into()
        }
        _ if result.axis.lead_mm.is_none() => "the same with --travel 5mm/rev (or yours), for mm/min".into(),
        Fitness::Good if result.run.is_none() => {
            "jitterlab run --for step-50us (measure instead of assuming)".into()
        }
        Fitness::Good => "type the lines below into StepConf".into(),
        _ => "jitterlab check (what holds it up, and what to change first)".into(),
    }
}

/// Rounds a value from 10 on down to three significant digits, none of them behind the point.
pub(super) fn cut_to_three_digits(value: f64) -> f64 {
    if value < 10.0 {
        return value;
    }
    let unit = 10f64.powf((value.log10().floor() - 2.0).max(0.0));
    (value / unit).floor() * unit
}

/// A number with `least` decimals, or with more if two significant digits need them.
pub(super) fn with_decimals(value: f64, least: usize) -> String {
    let needed = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{value:.0$}", least.max(needed))
}
