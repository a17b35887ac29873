//! What a run's timing means for a stepper axis: the answer first, then the tables it rests on.

use std::fmt::Write as _;

use jitterlab_model::units::Exact;
use jitterlab_model::{Fitness, Known};
use jitterlab_motion::stepper::{
    Assumed, Axis, AxisAssessment, Reversal, Simulations, SpeedRow, StepConf, StepLimit, StepMode,
    StepperCaveat, StepperResult, StepperVerdict, Ticks, TimingRisk,
};

use super::stepper_charts::{step_rate, torque};
use crate::chart::Terminal;
use crate::section::{Piece, Section};
use crate::table::columns;
use crate::words::{count, exact, known_count, share, time};
use crate::wrap::{remarks, wrap};

/// The whole answer, readable at 80 columns.
pub fn text(result: &StepperResult, terminal: Terminal) -> String {
    let StepperResult { axis, assessment: found, .. } = result;
    let explained = wrap(
        "torque: ideal upper bound at that speed; NIST: torque of the jitter, linear, out of half the holding torque; \
         exact: at the load, out of what the motor has left; lose: a pulse train that loses this long for good, at \
         once, loses steps; grid: largest error of a step by the base period alone; beat: of the uneven intervals \
         that the base period makes",
    );
    let parts = [
        wrap(&recommended(result)) + "\n" + &wrap(&answer(axis, found)) + "\n" + &wrap(&basis(result)),
        thresholds(axis, found),
        speeds(axis, found) + &explained,
        generation(axis, found),
    ];
    let mut text = parts.join("\n");
    if let Some(simulations) = &result.simulations {
        let _ = write!(text, "\n{}", simulated(axis, simulations));
    }
    let assumed: Vec<String> = axis.assumed.iter().map(assumption).collect();
    text += &remarks("Taken where nothing was given", &assumed);
    text += &super::minded(&caveats(result));
    // One speed makes no curve.
    if found.rows.len() > 1 {
        let _ = write!(text, "\n{}", terminal.figures(&torque(result)));
    }
    text
}

/// What the page shows of an axis.
pub fn section(result: &StepperResult) -> Section {
    let answer = Piece::Text { text: answer(&result.axis, &result.assessment) };
    let charts = torque(result).into_iter().chain([step_rate(result)]).map(Piece::Figure);
    Section {
        id: "stepper".into(),
        title: "What it does to the stepper motor".into(),
        lead: "A step pulse that comes early or late turns the field away from where the rotor should be: part of the \
               torque goes into that. The faster the motor turns, the more."
            .into(),
        pieces: [answer].into_iter().chain(charts).chain(super::minded_pieces(caveats(result))).collect(),
    }
}

/// Everything that speaks against the figures, as clauses.
fn caveats(result: &StepperResult) -> Vec<String> {
    let mut all = result.run.as_ref().map_or_else(Vec::new, super::of_run);
    all.extend(result.caveats.iter().map(|caveat| match caveat {
        StepperCaveat::IndependentIntervals => "only a histogram of latencies is known: intervals are taken as if each \
            latency were independent of the last"
            .into(),
        StepperCaveat::OtherPeriod { beside, period_ns, base_period_ns } => {
            let whose = if *beside { "the run beside it" } else { "the run" };
            let base = exact(*base_period_ns);
            format!(
                "{whose} has a period of {} and the step generator one of {base}: its latencies are taken as if they \
                 did not depend on the period; measure one with --period {} to be sure",
                exact(*period_ns),
                Exact(*base_period_ns)
            )
        }
        StepperCaveat::NotSimulated { why } => format!("nothing was simulated: {why}"),
    }));
    all
}

/// What was taken for a figure that was not given, and why.
fn assumption(assumed: &Assumed) -> String {
    let (figure, value, why) = match assumed {
        Assumed::RatedCurrent { current_a, like } => {
            ("rated current", format!("{current_a} A"), closest(like))
        }
        Assumed::Resistance { resistance_ohm, like } => {
            ("resistance", format!("{resistance_ohm:.3} ohm"), closest(like))
        }
        Assumed::Inductance { inductance_h, like } => {
            ("inductance", format!("{:.3} mH", inductance_h * 1e3), closest(like))
        }
        Assumed::RotorInertia { inertia_kg_m2, like } => (
            "rotor inertia",
            kg_cm2(*inertia_kg_m2),
            format!("in proportion to the holding torque, as the {like}"),
        ),
        Assumed::DetentTorque { torque_nm, share, like } => (
            "detent torque",
            format!("{torque_nm:.4} N m"),
            format!("{:.1} % of the holding torque, as the {like}", share * 100.0),
        ),
        Assumed::DriveTiming { step_time_ns, step_space_ns, direction_ns } => {
            let [step, space, direction] =
                [step_time_ns, step_space_ns, direction_ns].map(|ns| time(*ns as f64));
            let value = format!("{step} step, {space} space, {direction} direction");
            ("drive timing", value, "StepConf's defaults".into())
        }
        Assumed::SupplyVoltage { voltage_v } => {
            ("supply voltage", format!("{voltage_v} V"), "the usual one for this size".into())
        }
        Assumed::Microsteps { microsteps } => {
            ("microsteps", microsteps.to_string(), "a common setting".into())
        }
        Assumed::LoadTorque { torque_nm } => (
            "load torque",
            format!("{torque_nm:.3} N m"),
            "half of the holding torque, as NIST's table 1".into(),
        ),
        Assumed::LoadInertia { inertia_kg_m2 } => {
            ("load inertia", kg_cm2(*inertia_kg_m2), "as much as the rotor".into())
        }
        Assumed::Friction { friction, damping } => (
            "friction",
            format!("{friction:.2e} N m s/rad"),
            format!("{} of critical damping", share(*damping)),
        ),
    };
    format!("{figure}: {value} ({why})")
}

fn closest(like: &str) -> String {
    format!("as the {like}, the closest shipped motor in holding torque")
}

fn kg_cm2(kg_m2: f64) -> String {
    format!("{:.3} kg cm2", kg_m2 * 1e4)
}

/// The sentence a builder wants.
fn answer(axis: &Axis, found: &AxisAssessment) -> String {
    let [_, tenth, _] = found.thresholds;
    let limit = found.torque_limit_steps_per_s;
    let whose = if found.timing.executed > 0 { "this run's worst event" } else { "such an event" };
    let mut text = if tenth.exact_steps_per_s > 0.95 * limit {
        format!(
            "Jitter is no concern for this motor: it costs under 10 % of its torque up to {}, close to where the \
             motor itself can no longer carry the load ({})",
            speed(axis, tenth.exact_steps_per_s),
            speed(axis, limit)
        )
    } else {
        format!("Up to {} jitter costs under 10 % of torque", speed(axis, tenth.exact_steps_per_s))
    };
    let worst = time(found.timing.worst_late_ns);
    if found.step_loss_steps_per_s > 0.999 * limit {
        let _ = write!(text, "; {whose} ({worst} late) would lose no step at any speed the motor reaches");
    } else {
        let from = speed(axis, found.step_loss_steps_per_s);
        // The criterion is that of a sudden jump of the field; while a longer stall lasts the rotor slows down with it.
        let swing_ns = 1e9 / found.ring_hz;
        let (verb, long) = if found.timing.worst_late_ns < 0.2 * swing_ns {
            ("would", String::new())
        } else {
            ("may", format!(", long against the rotor's swing of {}", time(swing_ns)))
        };
        let _ = write!(text, "; above {from} {whose} ({worst} late{long}) {verb} lose steps");
    }
    if found.timing.missed != Known::Exactly(0) {
        let _ = write!(text, ". Due times missed: {}", known_count(found.timing.missed));
    }
    let software = found.most_pulses_per_s() / f64::from(axis.microsteps);
    if software < limit {
        let _ = write!(
            text,
            ". Software step pulses on a base period of {} end at {}",
            exact(found.base_period_ns),
            speed(axis, software)
        );
    }
    text + "."
}

/// Whether software may make the steps, the one rate to set up, and what limits it.
fn recommended(result: &StepperResult) -> String {
    let StepperResult {
        axis, verdict: StepperVerdict { fitness, recommended: rate }, assessment: found, ..
    } = result;
    let pulses = if rate.pulses_per_s >= 10.0 {
        count(rate.pulses_per_s as u64)
    } else {
        digits(rate.pulses_per_s, 1)
    };
    let steps = format!("{pulses} steps/s ({})", turning(axis, rate.steps_per_s));
    let verdict = match fitness {
        Fitness::Good => format!("Fit for step pulses made by software. Set up {steps}"),
        Fitness::Limited => format!("Fit for step pulses made by software within a limit. Set up {steps}"),
        Fitness::CannotTell => {
            format!("Whether software may make the step pulses cannot be told; at most {steps}")
        }
        Fitness::Unfit => format!(
            "Not fit for step pulses made by software: let hardware make them, or make the ticks more punctual \
             (`jitterlab check`, `jitterlab compensate`). The most that keeps steps is {steps}"
        ),
    };
    let measured = found.timing.executed > 0;
    let whose = if measured { "the latest tick of this run came" } else { "a tick may come" };
    let missed = match found.timing.missed {
        Known::Exactly(0) | Known::Unknown => String::new(),
        Known::Exactly(1) => " and 1 was missed".into(),
        missed => format!(" and {} were missed", known_count(missed)),
    };
    let late = format!("{whose} {} late{missed}", time(rate.jitter_ns as f64));
    let why = match rate.limit {
        StepLimit::Motor => {
            format!(
                "there the motor itself can no longer carry its load; {late}, which leaves the drive its time"
            )
        }
        StepLimit::Ticks => format!(
            "{late}, and the drive needs its {} before the next, so that the base period can be no shorter",
            time((axis.drive.step_time_ns.max(axis.drive.step_space_ns)) as f64)
        ),
        StepLimit::LostSteps => format!("{late}, and at a higher speed the motor would lose steps by that"),
    };
    format!(
        "{verdict}, on a base period of {} (StepConf: a Base Period Maximum Jitter of {} ns). Why: {why}.",
        exact(rate.base_period_ns),
        count(rate.jitter_ns.unsigned_abs())
    )
}

/// `14.2 kHz (4.4 rev/s, 2 660 mm/min, at 1/16 step)`
fn speed(axis: &Axis, steps_per_s: f64) -> String {
    let pulses = axis.pulses_per_s(steps_per_s);
    let pulses = match pulses {
        p if p >= 1e4 => format!("{:.1} kHz", p / 1e3),
        p if p >= 10.0 => format!("{p:.0} Hz"),
        p => format!("{} Hz", digits(p, 1)),
    };
    format!("{pulses} ({})", turning(axis, steps_per_s))
}

/// `4.4 rev/s, 2 660 mm/min, at 1/16 step`
fn turning(axis: &Axis, steps_per_s: f64) -> String {
    let travel = axis.mm_per_s(steps_per_s).map(|mm| mm * 60.0).map_or(String::new(), |mm| {
        let mm = if mm >= 10.0 { count(mm as u64) } else { digits(mm, 1) };
        format!(", {mm} mm/min")
    });
    let rev = digits(axis.revolutions_per_s(steps_per_s), 1);
    match axis.microsteps {
        1 => format!("{rev} rev/s{travel}, full steps"),
        n => format!("{rev} rev/s{travel}, at 1/{n} step"),
    }
}

/// A number with so many decimals, or with more where two digits that count need them.
pub(super) fn digits(value: f64, least: usize) -> String {
    let needed = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{value:.0$}", least.max(needed))
}

fn basis(result: &StepperResult) -> String {
    let StepperResult { axis, run, assessment: found, .. } = result;
    let timing = &found.timing;
    let run = run
        .as_ref()
        .map_or("assumed".into(), |run| format!("task {} every {}", run.task, time(run.period_ns as f64)));
    format!(
        "{} at {} V and {} A, {:.3} N m load; the rotor with its load swings at {:.0} Hz. Timing: {run}, jitter \
         {}, intervals up to {} off.",
        axis.motor.name,
        axis.supply.voltage_v,
        axis.supply.current_a,
        axis.load_torque_nm,
        found.ring_hz,
        time(timing.jitter_ns as f64),
        time(timing.period_error_ns as f64)
    )
}

fn thresholds(axis: &Axis, found: &AxisAssessment) -> String {
    let rows = found.thresholds.iter().map(|t| {
        let revolutions = |f: f64| {
            let rev = axis.revolutions_per_s(f);
            if rev > 1e5 { "any".into() } else { digits(rev, 2) }
        };
        vec![
            format!("jitter costs {:.0} % of torque at", t.share * 100.0),
            revolutions(t.linear_steps_per_s),
            revolutions(t.exact_steps_per_s),
        ]
    });
    columns(&["", "NIST rev/s", "exact rev/s"], rows)
}

fn speeds(axis: &Axis, found: &AxisAssessment) -> String {
    let has_travel = axis.lead_mm.is_some();
    let second = if has_travel { "mm/min" } else { "pulses/s" };
    let header = ["rev/s", second, "torque", "NIST", "%", "exact %", "lose µs", "grid µs", "beat Hz"];
    let most = found.most_pulses_per_s();
    columns(&header, found.rows.iter().map(|row| speed_row(axis, row, most)))
}

fn speed_row(axis: &Axis, row: &SpeedRow, most_pulses_per_s: f64) -> Vec<String> {
    let share = |s: f64| match s * 100.0 {
        p if !p.is_finite() => "all".into(),
        p if p >= 100.0 => format!("{p:.0}"),
        p => format!("{p:.2}"),
    };
    let second = axis.mm_per_s(row.steps_per_s).map_or(axis.pulses_per_s(row.steps_per_s), |mm| mm * 60.0);
    let resonant = if row.beat.excites_resonance() { "!" } else { "" };
    vec![
        digits(axis.revolutions_per_s(row.steps_per_s), 2),
        if second < 10.0 { digits(second, 0) } else { format!("{second:.0}") },
        format!("{:.3}", row.torque_nm),
        row.jitter.map_or("-".into(), |j| format!("{:.4}", j.linear_nm)),
        share(row.linear_share),
        share(row.exact_share),
        row.step_loss_s.map_or("-".into(), |s| format!("{:.0}", s * 1e6)),
        if row.quantisation.too_fast || axis.pulses_per_s(row.steps_per_s) > most_pulses_per_s {
            "too fast".into()
        } else {
            format!("{:.1}", row.quantisation.max_error_s * 1e6)
        },
        format!("{:.0}{resonant}", row.beat.frequency_hz),
    ]
}

fn generation(axis: &Axis, found: &AxisAssessment) -> String {
    let conf = &found.stepconf;
    let gives = |conf: &StepConf| {
        let edges = match conf.mode {
            StepMode::DoubleStep => "one base period for each step",
            StepMode::SingleStep => "two base periods for each step",
        };
        format!(
            "a base period of {} and {} steps/s at most, {} ({edges})",
            time(conf.min_period_ns as f64),
            count(conf.max_rate_hz as u64),
            speed(axis, conf.max_rate_hz / f64::from(axis.microsteps))
        )
    };
    let mut text = wrap(&format!(
        "Software step pulses: LinuxCNC's StepConf gives {}; in the other step mode its formulas give {}.",
        gives(conf),
        gives(&found.stepconf_other)
    ));
    if let Some(risk) = &found.risk_at_stepconf {
        text.push_str(&wrap(&format!("At the first of these periods {}.", violations(risk))));
    }
    if let Some(risk) = found.risk_at_base.as_ref().filter(|r| r.base_period_ns != conf.min_period_ns) {
        let base = exact(risk.base_period_ns);
        text.push_str(&wrap(&format!("At a base period of {base} {}.", violations(risk))));
    }
    if let Some(risk) = &found.unviolated {
        text.push_str(&wrap(&format!(
            "The shortest base period that this run would not once have violated is {} ({} steps/s); its {} \
             intervals can promise no better than {} violations an hour (95 % confidence).",
            time(risk.base_period_ns as f64),
            count(risk.max_rate_hz(conf.mode) as u64),
            count(risk.of),
            rate(risk.at_most_per_hour)
        )));
    }
    let resonant: Vec<String> = found
        .rows
        .iter()
        .filter(|r| r.beat.excites_resonance())
        .map(|r| format!("{:.2} rev/s", axis.revolutions_per_s(r.steps_per_s)))
        .collect();
    let base = exact(found.base_period_ns);
    text.push_str(&wrap(&reversal(found)));
    if !resonant.is_empty() {
        text.push_str(&wrap(&format!(
            "On a base period of {base} the intervals beat near the resonance of {:.0} Hz at {} (marked !): the rotor \
             swings more there; change the speed or the base period a little.",
            found.ring_hz,
            resonant.join(", ")
        )));
    }
    text
}

fn reversal(found: &AxisAssessment) -> String {
    let Reversal { hold_ticks, setup_ticks, spare_ns, broken_by_jitter } = found.reversal;
    let verdict = if broken_by_jitter {
        let more = time(found.timing.jitter_ns as f64);
        format!("less than the jitter: add {more} to the drive's direction setup and hold, as StepConf does")
    } else {
        "more than the jitter".into()
    };
    format!(
        "On a base period of {} a change of direction waits {hold_ticks} + {setup_ticks} periods (hold and setup), \
         which leaves {} to spare, {verdict}.",
        exact(found.base_period_ns),
        exact(spare_ns)
    )
}

fn violations(risk: &TimingRisk) -> String {
    let of = count(risk.of);
    let at_most = rate(risk.at_most_per_hour);
    if risk.seen == 0.0 {
        return format!(
            "none of this run's {of} intervals would have been too short for the drive (at most {at_most} an hour, \
             95 % confidence)"
        );
    }
    format!(
        "{} of this run's {of} intervals would have been too short for the drive: {} an hour (at most {at_most}, \
         95 % confidence), and the probability of at least one an hour is {}",
        count(risk.seen.ceil() as u64),
        rate(risk.expected_per_hour),
        share(risk.probability_per_hour())
    )
}

fn rate(per_hour: f64) -> String {
    if per_hour >= 10.0 { count(per_hour.round() as u64) } else { format!("{per_hour:.2}") }
}

fn simulated(axis: &Axis, simulations: &Simulations) -> String {
    let length = simulations.of.iter().map(|s| s.response.time_s).fold(0.0, f64::max);
    let mut text = wrap(&format!(
        "The motor driven by the recorded timing, around its worst event, at {} ({:.1} s simulated){}:",
        speed(axis, simulations.steps_per_s),
        length,
        simulations.beside.as_ref().map_or(String::new(), |name| format!(", beside it {name}"))
    ));
    let rows = simulations.of.iter().map(|s| {
        let r = &s.response;
        let ticks = match s.ticks {
            Ticks::Punctual => "punctual ticks",
            Ticks::Run => "this run",
            Ticks::Beside => "beside it",
        };
        vec![
            s.policy.map_or_else(|| ticks.to_owned(), |policy| format!("{ticks}, {policy}")),
            format!("{:.3}", r.ripple_steps),
            format!("{:.3}", r.peak_steps),
            format!("{:.3}", r.reserve_nm),
            r.lost_at_s
                .map_or_else(|| r.lost_steps.to_string(), |at| format!("{} at {at:.2} s", r.lost_steps)),
            s.loses_from_steps_per_s
                .map_or("-".into(), |f| format!("{} rev/s", digits(axis.revolutions_per_s(f), 2))),
        ]
    });
    let header = ["", "ripple", "largest", "reserve N m", "lost steps", "loses from"];
    text.push_str(&columns(&header, rows));
    text.push_str(&wrap(
        "(load angles in full steps; beyond 2 the rotor slips. loses from: the slowest speed of the table at which \
         steps are lost; - at none that punctual ticks can make)",
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::stepper::{AxisOptions, Drive, Motor, RotorResponse, Simulated, StepperQuestion};

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: true, colour: false };

    fn axis() -> Axis {
        let known = AxisOptions {
            voltage_v: Some(24.0),
            microsteps: Some(8),
            lead_mm: Some(10.0),
            ..AxisOptions::new(Motor::of_frame(23, 1.9).unwrap())
        };
        Axis::new(known).unwrap()
    }

    fn shown(jitter_ns: i64) -> String {
        let question = StepperQuestion::new(axis(), None, None).unwrap();
        text(&question.under_jitter(jitter_ns).unwrap(), TERMINAL)
    }

    #[test]
    fn the_answer_comes_first_and_assumptions_are_listed() {
        let text = shown(100_000);
        let verdict = "Fit for step pulses made by software within a limit. Set up 8 695 steps/s";
        assert!(text.replace("\n ", "").starts_with(verdict), "{text}");
        assert!(text.contains("\nUp to "), "{text}");
        assert!(text.contains("rotor inertia: ") && text.contains("drive timing: "), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }

    #[test]
    fn small_speeds_keep_two_digits_that_count() {
        let texts = [0.01234, 0.5, 4.4321, 120.0].map(|v| digits(v, 1));
        assert_eq!(texts, ["0.012", "0.50", "4.4", "120.0"]);
        assert_eq!((digits(0.0, 2), digits(0.0123, 2)), ("0.00".into(), "0.012".into()));
    }

    #[test]
    fn an_event_longer_than_the_swing_may_do_less_harm_than_a_jump() {
        assert!(shown(300_000).contains("would lose steps"), "{}", shown(300_000));
        let long = shown(13_700_000).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            long.contains("long against the rotor's swing of") && long.contains("may lose steps"),
            "{long}"
        );
        assert!(!long.contains("0.0 rev/s"), "{long}");
    }

    #[test]
    fn a_long_file_name_leaves_the_table_its_width() {
        let (axis, name) = (axis(), "jitterlab-20261122T065500Z-second-floor".to_owned());
        let simulated = |ticks, lost_at_s: Option<f64>| Simulated {
            ticks,
            policy: Some(jitterlab_model::Overrun::CatchUp),
            response: RotorResponse {
                time_s: 20.5,
                ripple_steps: 4.789,
                mean_steps: 0.3,
                peak_steps: 200.922,
                reserve_nm: 0.0,
                lost_steps: -148,
                lost_at_s,
                curve: Vec::new(),
            },
            loses_from_steps_per_s: Some(450.0),
        };
        let of = vec![simulated(Ticks::Run, Some(10.53)), simulated(Ticks::Beside, None)];
        let text = super::simulated(&axis, &Simulations { steps_per_s: 900.0, beside: Some(name), of });
        assert!(text.contains("this run, catch-up") && text.contains("beside it, catch-up"), "{text}");
        assert!(text.contains("2.25 rev/s"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }

    #[test]
    fn two_ticks_for_each_step_halve_what_software_can_make() {
        let axis = axis();
        let of = |step_time_ns| {
            let drive = Drive { step_time_ns, ..axis.drive.clone() };
            let axis = Axis { drive, ..axis.clone() };
            // 5 rev/s at 8 microsteps are 8000 pulses/s, too many for two ticks of 100 us each.
            let question = StepperQuestion::new(axis, Some("1000steps/s"), Some(100_000)).unwrap();
            let found = question.under_jitter(15_000).unwrap();
            (found.assessment.most_pulses_per_s(), text(&found, TERMINAL).contains("too fast"))
        };
        assert_eq!((of(5_000), of(10_000)), ((1e4, false), (5e3, true)));
    }

    #[test]
    fn hardly_any_jitter_is_called_no_concern() {
        let text = shown(100);
        assert!(text.starts_with("Fit for step pulses") && text.contains("Jitter is no concern"), "{text}");
    }
}
