//! The answer of `stepper` for a person in a hurry: how fast, what limits it, what to type into StepConf.

use jitterlab_analysis::Caveat;
use jitterlab_analysis::purposes::activations_needed;
use jitterlab_model::{Fitness, Warning};
use jitterlab_motion::JudgedRun;
use jitterlab_motion::stepper::{Axis, StepLimit, StepperResult, Ticks};

use super::stepper::digits;
use crate::caveats::clause;
use crate::head::{Head, word};
use crate::warnings::sentence;
use crate::words::{count, exact, plural, time};
use crate::wrap::wrap;

/// The three lines.
pub(crate) fn head(result: &StepperResult) -> Head {
    let fitness = result.verdict.fitness;
    Head { fitness, asked: true, verdict: verdict(result), number: number(result), next: next(result) }
}

fn verdict(result: &StepperResult) -> String {
    let (axis, found) = (&result.axis, &result.verdict);
    let word = word(found.fitness);
    match found.fitness {
        Fitness::Unfit => format!("{word} for software stepping."),
        Fitness::CannotTell if not_real_time(result) => {
            format!("{word} about software stepping: NOT real time, the task ran under an ordinary policy.")
        }
        Fitness::CannotTell if too_few(result) => format!(
            "{word} about software stepping: the run is too short, it takes {} to tell.",
            plural(activations_needed(), "tick")
        ),
        Fitness::CannotTell => {
            let period = result.assessment.timing.period_ns.map_or_else(|| "unknown".into(), exact);
            format!(
                "{word} about software stepping: the run's task came every {period}, a step generator every 25 to 100 µs."
            )
        }
        _ => format!(
            "{word} for software stepping: fit up to {}, carrying {:.2} N m.",
            speed(axis, found.recommended.steps_per_s),
            axis.load_torque_nm
        ),
    }
}

/// `16 600 steps/s = 2 080 mm/min (208 rev/min)`
fn speed(axis: &Axis, steps_per_s: f64) -> String {
    let round = |value: f64| {
        // Three digits that count, never more than there are.
        let unit = 10f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
        let value = (value / unit).floor() * unit;
        if value >= 10.0 { count(value as u64) } else { digits(value, 1) }
    };
    let pulses = round(axis.pulses_per_s(steps_per_s));
    let revolutions = format!("{} rev/min", round(60.0 * axis.revolutions_per_s(steps_per_s)));
    match axis.mm_per_s(steps_per_s) {
        Some(mm) => format!("{pulses} steps/s = {} mm/min ({revolutions})", round(60.0 * mm)),
        None => format!("{pulses} steps/s = {revolutions}"),
    }
}

fn number(result: &StepperResult) -> String {
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
            format!("Ticks came up to {late} late{missed}; above 50 µs software stepping is slow or fails.")
        }
        (_, StepLimit::Motor) => format!(
            "Limited by the motor, which carries its load no faster; ticks up to {late} late allow a base period of {base}."
        ),
        (_, StepLimit::Ticks) => {
            format!("Limited by ticks up to {late} late{missed}: they need a base period of {base}.")
        }
        (_, StepLimit::LostSteps) => {
            format!("Limited by the latest tick, {late} late{missed}: faster, the motor loses steps by it.")
        }
    }
}

fn caveats(result: &StepperResult) -> impl Iterator<Item = &Caveat> {
    result.run.iter().flat_map(|run| &run.caveats)
}

fn not_real_time(result: &StepperResult) -> bool {
    caveats(result).any(|caveat| matches!(caveat, Caveat::NotRealTime { .. }))
}

fn too_few(result: &StepperResult) -> bool {
    let counted = result.run.as_ref().is_some_and(JudgedRun::is_counted);
    counted && result.assessment.timing.executed < activations_needed()
}

fn in_virtual_machine(result: &StepperResult) -> bool {
    caveats(result).any(|caveat| matches!(caveat, Caveat::VirtualMachine { .. }))
}

fn next(result: &StepperResult) -> String {
    match result.verdict.fitness {
        Fitness::CannotTell if not_real_time(result) => {
            "what `jitterlab run --for step-50us` says about permissions".into()
        }
        Fitness::CannotTell => "jitterlab run --for step-50us, then this again with its file".into(),
        Fitness::Unfit | Fitness::Limited if in_virtual_machine(result) => crate::head::ON_THE_MACHINE.into(),
        _ if result.axis.lead_mm.is_none() => "the same with --travel 5mm/rev (or yours), for mm/min".into(),
        Fitness::Good if result.run.is_none() => {
            "jitterlab run --for step-50us (measure instead of assuming)".into()
        }
        Fitness::Good => "type the lines below into StepConf".into(),
        _ => "jitterlab check (what holds it up, and what to change first)".into(),
    }
}

/// What stands below the head: StepConf's lines, and the steps that the simulated motor lost.
pub(crate) fn text(result: &StepperResult) -> String {
    let mut text = String::new();
    if matches!(result.verdict.fitness, Fitness::Good | Fitness::Limited) {
        let drive = &result.axis.drive;
        let jitter = result.verdict.recommended.jitter_ns.unsigned_abs();
        text += &format!(
            "StepConf: Base Period Maximum Jitter  {jitter} ns\n          Step Time {}, Step Space {}, Direction Hold {}, Setup {} ns\n",
            drive.step_time_ns, drive.step_space_ns, drive.direction_hold_ns, drive.direction_setup_ns
        );
        text += &match result.axis.mm_per_s(result.verdict.recommended.steps_per_s) {
            Some(mm) => {
                format!("          Maximum Velocity  {} mm/s\n", digits((mm * 10.0).floor() / 10.0, 1))
            }
            None => "          Maximum Velocity  needs --travel, such as 5mm/rev\n".into(),
        };
    }
    let clocks = caveats(result).filter(|caveat| matches!(caveat, Caveat::TwoClocks { .. })).map(clause);
    let uncounted = result.run.as_ref().filter(|run| !run.is_counted());
    let uncounted = uncounted.map(|_| sentence(&Warning::CountUnknown));
    text.extend(clocks.chain(uncounted).map(|clause| wrap(&format!("Bear in mind: {clause}."))));
    text += &lost(result);
    text + "Everything: the same with --details\n"
}

/// The steps that the motor lost under the run's own timing.
fn lost(result: &StepperResult) -> String {
    let told = result.simulations.as_ref().filter(|_| result.verdict.fitness != Fitness::CannotTell);
    let Some(simulations) = told else { return String::new() };
    let of_run = simulations.of.iter().filter(|simulated| simulated.ticks == Ticks::Run);
    let Some(worst) = of_run.max_by_key(|simulated| simulated.response.lost_steps.unsigned_abs()) else {
        return String::new();
    };
    let at = speed(&result.axis, simulations.steps_per_s);
    wrap(&match (worst.response.lost_steps, worst.response.lost_at_s) {
        (0, None) => format!("Simulated at {at}: no step lost."),
        (lost, _) => {
            format!("Simulated at {at}: {} full steps LOST.", lost.unsigned_abs())
        }
    })
}
