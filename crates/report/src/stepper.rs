//! What a run's timing means for a stepper axis: the answer first, then the tables it rests on.

use std::fmt::Write as _;

use crate::words::{count, known_count, share};
use jitterlab_model::Known;
use jitterlab_model::units::{Exact, Human};
use jitterlab_motion::stepper::{
    Assessment, Axis, Drive, Motor, Response, Reversal, SpeedRow, StepConf, StepMode, TimingRisk,
};

use crate::summary::wrap;
use crate::table::columns;

/// One simulated run under one policy.
pub struct Simulated {
    /// Which run, by its file's name.
    pub run: String,
    /// Whether it is the second run, for comparison.
    pub beside: bool,
    /// The overrun policy; `None` for punctual ticks, which it does not concern.
    pub policy: Option<String>,
    /// What the motor did.
    pub response: Response,
    /// The slowest of the table's speeds at which it lost steps, in full steps per second.
    pub loses_from: Option<f64>,
}

/// What was simulated.
pub struct Simulations {
    /// Full steps per second.
    pub steps_per_s: f64,
    /// Each run under each policy.
    pub of: Vec<Simulated>,
}

/// The whole answer, readable at 80 columns. `run` says whose timing it is; `caveats` what speaks against it.
pub fn text(
    axis: &Axis,
    found: &Assessment,
    run: &str,
    simulations: Option<&Simulations>,
    caveats: &[String],
) -> String {
    let mut text = wrap(&answer(axis, found));
    let _ = write!(text, "\n{}", wrap(&basis(axis, found, run)));
    text.push('\n');
    text.push_str(&thresholds(axis, found));
    text.push('\n');
    text.push_str(&speeds(axis, found));
    text.push_str(&wrap(
        "torque: ideal upper bound at that speed; NIST: torque of the jitter, linear, out of half the holding torque; \
         exact: at the load, out of what the motor has left; lose: a pulse train that loses this long for good, at \
         once, loses steps; grid: largest error of a step by the base period alone; beat: of the uneven intervals \
         that the base period makes",
    ));
    text.push('\n');
    text.push_str(&generation(axis, found));
    if let Some(simulations) = simulations {
        text.push('\n');
        text.push_str(&simulated(axis, simulations));
    }
    if !axis.assumed.is_empty() {
        text.push_str("\nTaken where nothing was given:\n");
        for a in &axis.assumed {
            text.push_str(&wrap(&format!("- {}: {} ({})", a.what, a.value, a.why)));
        }
    }
    if !caveats.is_empty() {
        text.push_str("\nBear in mind:\n");
        text.extend(caveats.iter().map(|caveat| wrap(&format!("- {caveat}"))));
    }
    text
}

/// The sentence a builder wants.
pub fn answer(axis: &Axis, found: &Assessment) -> String {
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
    let worst = Human(found.timing.worst_late_ns);
    if found.step_loss_steps_per_s > 0.999 * limit {
        let _ = write!(text, "; {whose} ({worst} late) would lose no step at any speed the motor reaches");
    } else {
        let from = speed(axis, found.step_loss_steps_per_s);
        // The criterion is that of a sudden jump of the field; while a longer stall lasts the rotor slows down with it.
        let swing_ns = 1e9 / found.ring_hz;
        let (verb, long) = if found.timing.worst_late_ns < 0.2 * swing_ns {
            ("would", String::new())
        } else {
            ("may", format!(", long against the rotor's swing of {}", Human(swing_ns)))
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
            Exact(found.base_period_ns),
            speed(axis, software)
        );
    }
    text + "."
}

/// `14.2 kHz (4.4 rev/s, 2 660 mm/min, at 1/16 step)`
fn speed(axis: &Axis, steps_per_s: f64) -> String {
    let pulses = axis.pulses_per_s(steps_per_s);
    let pulses = match pulses {
        p if p >= 1e4 => format!("{:.1} kHz", p / 1e3),
        p if p >= 10.0 => format!("{p:.0} Hz"),
        p => format!("{} Hz", digits(p, 1)),
    };
    let travel = axis.mm_per_s(steps_per_s).map(|mm| mm * 60.0).map_or(String::new(), |mm| {
        let mm = if mm >= 10.0 { count(mm as u64) } else { digits(mm, 1) };
        format!(", {mm} mm/min")
    });
    let rev = digits(axis.revolutions_per_s(steps_per_s), 1);
    match axis.microsteps {
        1 => format!("{pulses} ({rev} rev/s{travel}, full steps)"),
        n => format!("{pulses} ({rev} rev/s{travel}, at 1/{n} step)"),
    }
}

/// A number with so many decimals, or with more where two digits that count need them.
fn digits(value: f64, least: usize) -> String {
    let needed = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{value:.0$}", least.max(needed))
}

fn basis(axis: &Axis, found: &Assessment, run: &str) -> String {
    let timing = &found.timing;
    format!(
        "{} at {} V and {} A, {:.3} N m load; the rotor with its load swings at {:.0} Hz. Timing: {run}, release \
         jitter {}, intervals up to {} off.",
        axis.motor.name,
        axis.supply.voltage_v,
        axis.supply.current_a,
        axis.load_torque_nm,
        found.ring_hz,
        Human(timing.jitter_ns as f64),
        Human(timing.period_error_ns as f64)
    )
}

fn thresholds(axis: &Axis, found: &Assessment) -> String {
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

fn speeds(axis: &Axis, found: &Assessment) -> String {
    let has_travel = axis.lead_mm.is_some();
    let second = if has_travel { "mm/min" } else { "pulses/s" };
    let header = ["rev/s", second, "torque", "NIST", "%", "exact %", "lose us", "grid us", "beat Hz"];
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

fn generation(axis: &Axis, found: &Assessment) -> String {
    let conf = &found.stepconf;
    let gives = |conf: &StepConf| {
        let edges = match conf.mode {
            StepMode::DoubleStep => "one base period for each step",
            StepMode::SingleStep => "two base periods for each step",
        };
        format!(
            "a base period of {} and {} steps/s at most, {} ({edges})",
            Human(conf.min_period_ns as f64),
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
        let base = Exact(risk.base_period_ns);
        text.push_str(&wrap(&format!("At a base period of {base} {}.", violations(risk))));
    }
    if let Some(risk) = &found.unviolated {
        text.push_str(&wrap(&format!(
            "The shortest base period that this run would not once have violated is {} ({} steps/s); its {} \
             intervals can promise no better than {} violations an hour (95 % confidence).",
            Human(risk.base_period_ns as f64),
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
    let base = Exact(found.base_period_ns);
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

fn reversal(found: &Assessment) -> String {
    let Reversal { hold_ticks, setup_ticks, spare_ns, broken_by_jitter } = found.reversal;
    let verdict = if broken_by_jitter {
        let more = Human(found.timing.jitter_ns as f64);
        format!("less than the jitter: add {more} to the drive's direction setup and hold, as StepConf does")
    } else {
        "more than the jitter".into()
    };
    format!(
        "On a base period of {} a change of direction waits {hold_ticks} + {setup_ticks} periods (hold and setup), \
         which leaves {} to spare, {verdict}.",
        Exact(found.base_period_ns),
        Exact(spare_ns)
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
    let beside = simulations.of.iter().find(|s| s.beside);
    let mut text = wrap(&format!(
        "The motor driven by the recorded timing, around its worst event, at {} ({:.1} s simulated){}:",
        speed(axis, simulations.steps_per_s),
        length,
        beside.map_or(String::new(), |s| format!(", beside it {}", s.run))
    ));
    let rows = simulations.of.iter().map(|s| {
        let r = &s.response;
        let whose = if s.beside { "beside it" } else { "this run" };
        vec![
            s.policy.as_ref().map_or_else(|| s.run.clone(), |policy| format!("{whose}, {policy}")),
            format!("{:.3}", r.ripple_steps),
            format!("{:.3}", r.peak_steps),
            format!("{:.3}", r.reserve_nm),
            r.lost_at_s
                .map_or_else(|| r.lost_steps.to_string(), |at| format!("{} at {at:.2} s", r.lost_steps)),
            s.loses_from.map_or("-".into(), |f| format!("{} rev/s", digits(axis.revolutions_per_s(f), 2))),
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

/// The motors there are, one a line.
pub fn motors(entries: impl IntoIterator<Item = (String, bool, Result<Motor, String>)>) -> String {
    let number = |v: Option<f64>, scale: f64| v.map_or("-".into(), |v| format!("{:.3}", v * scale));
    let rows = entries.into_iter().map(|(name, own, motor)| match motor {
        Ok(m) => vec![
            if own { format!("{name} (yours)") } else { name },
            if m.frame > 0 { m.frame.to_string() } else { "-".into() },
            format!("{}", m.step_angle_deg),
            format!("{:.3}", m.holding_torque_nm),
            number(m.current_a, 1.0),
            number(m.resistance_ohm, 1.0),
            number(m.inductance_h, 1e3),
            number(m.rotor_inertia_kg_m2, 1e4),
        ],
        Err(error) => vec![format!("{name}: {error}")],
    });
    columns(&["motor", "NEMA", "step deg", "N m", "A", "ohm", "mH", "kg cm2"], rows)
}

/// The drives there are, one a line.
pub fn drives(entries: impl IntoIterator<Item = (String, bool, Result<Drive, String>)>) -> String {
    let rows = entries.into_iter().map(|(name, own, drive)| match drive {
        Ok(d) => vec![
            if own { format!("{name} (yours)") } else { name },
            Exact(d.step_time_ns).to_string(),
            Exact(d.step_space_ns).to_string(),
            Exact(d.direction_setup_ns).to_string(),
            Exact(d.direction_hold_ns).to_string(),
        ],
        Err(error) => vec![format!("{name}: {error}")],
    });
    columns(&["drive", "step time", "step space", "direction setup", "hold"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::stepper::{AxisOptions, StepTiming};

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
        let axis = axis();
        let speeds = Assessment::usual_speeds(&axis).unwrap();
        let found = Assessment::new(&axis, StepTiming::assumed(jitter_ns), None, None, &speeds).unwrap();
        text(&axis, &found, "assumed", None, &[])
    }

    #[test]
    fn the_answer_comes_first_and_assumptions_are_listed() {
        let text = shown(100_000);
        assert!(text.starts_with("Up to "), "{text}");
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
        let simulated = |beside, lost_at_s: Option<f64>| Simulated {
            run: name.clone(),
            beside,
            policy: Some("catch-up".into()),
            response: Response {
                time_s: 20.5,
                ripple_steps: 4.789,
                mean_steps: 0.3,
                peak_steps: 200.922,
                reserve_nm: 0.0,
                lost_steps: -148,
                lost_at_s,
                curve: Vec::new(),
            },
            loses_from: Some(450.0),
        };
        let of = vec![simulated(false, Some(10.53)), simulated(true, None)];
        let text = super::simulated(&axis, &Simulations { steps_per_s: 900.0, of });
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
            let found =
                Assessment::new(&axis, StepTiming::assumed(15_000), None, Some(100_000), &[1_000.0]).unwrap();
            (found.most_pulses_per_s(), text(&axis, &found, "assumed", None, &[]).contains("too fast"))
        };
        assert_eq!((of(5_000), of(10_000)), ((1e4, false), (5e3, true)));
    }

    #[test]
    fn hardly_any_jitter_is_called_no_concern() {
        assert!(shown(100).starts_with("Jitter is no concern"), "{}", shown(100));
    }
}
