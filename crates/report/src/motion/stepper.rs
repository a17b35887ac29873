//! Effect of a run's timing on a stepper axis: the speeds it allows, then the evidence.

use jitterlab_model::units::Exact;
use jitterlab_model::{Fitness, Known, Overrun};
use jitterlab_motion::stepper::{
    ASSUMED_DAMPING, Assumed, AssumedFigure, Axis, AxisAssessment, Reversal, Simulations, SpeedRow, StepMode,
    StepperCaveat, StepperResult, Ticks, TimingRisk,
};

use super::stepper_charts::{step_rate_chart, torque_chart};
use super::stepper_conclusion::{conclusion, cut_to_three_digits, with_decimals};
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Cell, Piece, Section};
use crate::words::{count, exact_time, known_count, share, time};

impl Present for StepperResult {
    const KIND: &'static str = "stepper";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![section(self)]
    }
}

/// The answer, its figures, and its evidence, folded.
pub(crate) fn section(result: &StepperResult) -> Section {
    let StepperResult { axis, assessment: found, simulations, .. } = result;
    let mut pieces = vec![stepconf_facts(result)];
    // Without a verdict, lost steps say nothing.
    let told = simulations.as_ref().filter(|_| result.verdict.fitness != Fitness::CannotTell);
    pieces.extend(told.and_then(|simulations| lost_steps_sentence(axis, simulations)));
    pieces.extend(super::note_pieces(result.run.as_ref().map_or_else(Vec::new, super::main_caveats)));
    // One speed makes no curve.
    if found.rows.len() > 1 {
        pieces.extend([torque_chart(result), step_rate_chart(result)].map(Piece::Figure));
    }
    let mut details = vec![highest_speed_table(result), basis_facts(result), speed_table(axis, found)];
    details.push(base_period_table(axis, found));
    details.extend(simulations.as_ref().map(|simulations| simulation_table(axis, simulations)));
    details.extend(assumption_facts(axis));
    details.extend(super::note_pieces(all_caveats(result)));
    pieces.push(Piece::details("Each speed and base period, and what was assumed", details));
    Section::new(
        "stepper",
        "What it does to the stepper motor",
        "A step pulse that comes early or late turns the field away from where the rotor should be: part of the \
         torque goes into that. The faster the motor turns, the more.",
        pieces,
    )
}

/// Headings of a speed in step pulses, in millimetres where the travel is known, and in revolutions.
fn speed_header(axis: &Axis) -> impl Iterator<Item = &'static str> {
    [Some("steps/s"), axis.lead_mm.map(|_| "mm/min"), Some("rev/min")].into_iter().flatten()
}

fn speed_cells(axis: &Axis, steps_per_s: f64) -> impl Iterator<Item = Cell> {
    let cell = |value: f64| match cut_to_three_digits(value) {
        value if value >= 10.0 => Cell::Count(value as u64),
        value => Cell::Text(with_decimals(value, 1)),
    };
    let millimetres = axis.mm_per_s(steps_per_s).map(|mm| 60.0 * mm);
    let revolutions = 60.0 * axis.revolutions_per_s(steps_per_s);
    let speeds = [Some(axis.pulses_per_s(steps_per_s)), millimetres, Some(revolutions)];
    speeds.into_iter().flatten().map(cell)
}

fn highest_speed_table(result: &StepperResult) -> Piece {
    let StepperResult { axis, assessment: found, verdict, .. } = result;
    let (motor, [_, tenth, _]) = (found.torque_limit_steps_per_s, found.thresholds);
    let worst = time(found.timing.worst_late_ns);
    let whose = if found.timing.executed > 0 { "the worst event" } else { "a tick" };
    let base = exact_time(verdict.recommended.base_period_ns);
    let rows = [
        (format!("steps by software, base period {base}"), verdict.recommended.steps_per_s),
        ("jitter costs under 10 % of the torque".into(), tenth.exact_steps_per_s),
        (format!("{whose}, {worst} late, loses no step"), found.step_loss_steps_per_s),
        ("the motor carries its load".into(), motor),
    ];
    let rows = rows.map(|(name, speed)| {
        std::iter::once(Cell::Text(name)).chain(speed_cells(axis, speed.min(motor))).collect()
    });
    let header: Vec<&str> = std::iter::once("highest speed at which").chain(speed_header(axis)).collect();
    Piece::table("", &header, rows)
}

/// The lines to type into StepConf, and why they will not do where software should not step.
fn stepconf_facts(result: &StepperResult) -> Piece {
    let StepperResult { axis, verdict, .. } = result;
    let (drive, recommended) = (&axis.drive, &verdict.recommended);
    let velocity = axis.mm_per_s(recommended.steps_per_s).map_or_else(
        || "needs --travel, such as 5mm/rev".into(),
        |mm| format!("{} mm/s", with_decimals((mm * 10.0).floor() / 10.0, 1)),
    );
    let facts = [
        ("Base Period Maximum Jitter", format!("{} ns", recommended.jitter_ns.unsigned_abs())),
        ("BASE_PERIOD", format!("{} ns", recommended.base_period_ns)),
        ("Step Time, Step Space", format!("{}, {} ns", drive.step_time_ns, drive.step_space_ns)),
        ("Direction Hold, Setup", format!("{}, {} ns", drive.direction_hold_ns, drive.direction_setup_ns)),
        ("Maximum Velocity", velocity),
    ];
    let but = match verdict.fitness {
        Fitness::Good | Fitness::Limited => String::new(),
        Fitness::CannotTell => ", as far as the run goes".into(),
        Fitness::Unfit => {
            format!(", though it will not do: ticks come up to {} late", time(recommended.jitter_ns as f64))
        }
    };
    Piece::facts(format!("For StepConf{but}"), facts)
}

/// Text on the steps that the motor lost at worst under the run's own timing; `None` if none was simulated.
fn lost_steps_sentence(axis: &Axis, simulations: &Simulations) -> Option<Piece> {
    let of_run = simulations.of.iter().filter(|simulated| simulated.ticks == Ticks::Run);
    let worst = of_run.max_by_key(|simulated| simulated.response.lost_steps.unsigned_abs())?;
    let at = super::stepper_conclusion::speed_text(axis, simulations.steps_per_s);
    Some(Piece::text(match (worst.response.lost_steps, worst.response.lost_at_s) {
        (0, None) => format!("Simulated at {at}: no step lost."),
        (lost, _) => format!("Simulated at {at}: {} full steps LOST.", lost.unsigned_abs()),
    }))
}

fn all_caveats(result: &StepperResult) -> Vec<String> {
    let mut all = result.run.as_ref().map_or_else(Vec::new, super::other_caveats);
    all.extend(result.caveats.iter().map(|caveat| match caveat {
        StepperCaveat::IndependentIntervals => "only a histogram of latencies is known: intervals are taken as if each \
            latency were independent of the last"
            .into(),
        StepperCaveat::OtherPeriod { beside, period_ns, base_period_ns } => {
            let whose = if *beside { "the run beside it" } else { "the run" };
            let base = exact_time(*base_period_ns);
            format!(
                "{whose} has a period of {} and the step generator one of {base}: its latencies are taken as if they \
                 did not depend on the period; measure one with --period {} to be sure",
                exact_time(*period_ns),
                Exact(*base_period_ns)
            )
        }
        StepperCaveat::NotSimulated { why } => format!("nothing was simulated: {why}"),
    }));
    all
}

fn basis_facts(result: &StepperResult) -> Piece {
    let StepperResult { axis, run, assessment: found, verdict, .. } = result;
    let timing = &found.timing;
    let drive_ns = axis.drive.step_time_ns.max(axis.drive.step_space_ns);
    let run = run.as_ref().map_or_else(
        || "assumed".into(),
        |run| format!("task {} every {}", run.task, time(run.period_ns as f64)),
    );
    let missed = match timing.missed {
        Known::Exactly(0) => String::new(),
        missed => format!("; due times missed: {}", known_count(missed)),
    };
    let swing_ns = 1e9 / found.ring_hz;
    // Losing steps is judged as by a sudden jump of the field; during a longer stall the rotor slows down with it.
    let long = match timing.worst_late_ns {
        late if late < 0.2 * swing_ns => "",
        _ => "; the worst event is long against that: beyond its speed it may lose steps, not always",
    };
    let hardware = match verdict.fitness {
        Fitness::Unfit => Some((
            "instead",
            "steps made by hardware, or more punctual ticks (jitterlab check, jitterlab compensate)".into(),
        )),
        _ => None,
    };
    let facts = [
        (
            "motor",
            format!(
                "{} at {} V and {} A, carrying {:.3} N m",
                axis.motor.name, axis.supply.voltage_v, axis.supply.current_a, axis.load_torque_nm
            ),
        ),
        ("microsteps", axis.microsteps.to_string()),
        (
            "rotor with its load",
            format!("swings at {:.0} Hz, once in {}{long}", found.ring_hz, time(swing_ns)),
        ),
        (
            "timing",
            format!(
                "{run}: jitter {}, intervals up to {} off{missed}",
                time(timing.jitter_ns as f64),
                time(timing.period_error_ns as f64)
            ),
        ),
        (
            "base period",
            format!(
                "{} for steps by software: ticks up to {} late (StepConf: Base Period Maximum Jitter {} ns), and then the \
                 drive needs {}",
                exact_time(verdict.recommended.base_period_ns),
                time(verdict.recommended.jitter_ns as f64),
                count(verdict.recommended.jitter_ns.unsigned_abs()),
                time(drive_ns as f64)
            ),
        ),
        ("change of direction", reversal_clause(found)),
    ];
    Piece::facts("", facts.into_iter().chain(hardware))
}

/// Revolutions per second with as many decimals as tables of speeds use.
fn revolutions_cell(axis: &Axis, steps_per_s: f64) -> Cell {
    Cell::Text(with_decimals(axis.revolutions_per_s(steps_per_s), 2))
}

fn speed_table(axis: &Axis, found: &AxisAssessment) -> Piece {
    let second = if axis.lead_mm.is_some() { "mm/min" } else { "steps/s" };
    let header = ["rev/s", second, "N m", "NIST", "of half", "exact", "lose µs", "grid µs", "beat Hz"];
    let most = found.most_pulses_per_s();
    let rows = found.rows.iter().map(|row| speed_row(axis, row, most));
    let caption = format!(
        "Each speed. N m: torque at most, ideal; NIST: torque of the jitter, linear, and its share of half the holding torque; \
         exact: share of what the motor has left at the load; lose: a pulse train that falls behind so long at once loses steps; \
         grid: largest error of a step by the base period of {} alone; beat: of the uneven intervals that it makes (!: near the \
         rotor's resonance)",
        exact_time(found.base_period_ns)
    );
    Piece::table(caption, &header, rows)
}

fn speed_row(axis: &Axis, row: &SpeedRow, most_pulses_per_s: f64) -> Vec<Cell> {
    let lost = |share: f64| if share.is_finite() { Cell::Share(share) } else { Cell::from("all") };
    let pulses = axis.pulses_per_s(row.steps_per_s);
    let second = axis.mm_per_s(row.steps_per_s).map_or(pulses, |mm| mm * 60.0);
    let too_fast = row.quantisation.too_fast || pulses > most_pulses_per_s;
    let resonant = if row.beat.excites_resonance() { "!" } else { "" };
    vec![
        revolutions_cell(axis, row.steps_per_s),
        if second < 10.0 { Cell::Text(with_decimals(second, 0)) } else { Cell::Count(second.round() as u64) },
        Cell::Text(format!("{:.3}", row.torque_nm)),
        Cell::optional(row.jitter, |jitter| Cell::Text(format!("{:.4}", jitter.linear_nm))),
        lost(row.linear_share),
        lost(row.exact_share),
        Cell::optional(row.step_loss_s, |s| Cell::time(s * 1e9)),
        if too_fast { "too fast".into() } else { Cell::time(row.quantisation.max_error_s * 1e9) },
        Cell::Text(format!("{:.0}{resonant}", row.beat.frequency_hz)),
    ]
}

/// Base periods, their step rates, and how often the run would have broken the drive's timing on each.
fn base_period_table(axis: &Axis, found: &AxisAssessment) -> Piece {
    let (conf, other) = (&found.stepconf, &found.stepconf_other);
    let mode = |mode| match mode {
        StepMode::DoubleStep => "StepConf, one period a step",
        StepMode::SingleStep => "StepConf, two periods a step",
    };
    let taken = ("taken here", found.base_period_ns, found.most_pulses_per_s(), found.risk_at_base.as_ref());
    let shortest = found.unviolated.as_ref().map(|risk| {
        ("shortest without any too short", risk.base_period_ns, risk.max_rate_hz(conf.mode), Some(risk))
    });
    let rows = [
        Some((mode(conf.mode), conf.min_period_ns, conf.max_rate_hz, found.risk_at_stepconf.as_ref())),
        Some((mode(other.mode), other.min_period_ns, other.max_rate_hz, None)),
        Some(taken).filter(|_| found.base_period_ns != conf.min_period_ns),
        shortest,
    ];
    let rows = rows.into_iter().flatten().map(|(name, base_ns, rate_hz, risk)| {
        let first = [Cell::from(name), Cell::time(base_ns as f64)];
        let speed = speed_cells(axis, rate_hz / f64::from(axis.microsteps));
        let risk = found.unviolated.is_some().then(|| late_tick_cells(risk)).into_iter().flatten();
        first.into_iter().chain(speed).chain(risk).collect()
    });
    let of_run = found.unviolated.as_ref().map(|risk| {
        let of = count(risk.of);
        let caption = format!(
            ". too short: so many of this run's {of} intervals, for the drive; an hour: as many are to be expected, and at most \
             (95 % confidence); chance: of one or more in an hour"
        );
        (caption, ["too short", "an hour", "at most", "chance"])
    });
    let (caption, risks) = of_run.unzip();
    let header: Vec<&str> = ["base period", "µs"]
        .into_iter()
        .chain(speed_header(axis))
        .chain(risks.into_iter().flatten())
        .collect();
    Piece::table("Steps by software".to_owned() + &caption.unwrap_or_default(), &header, rows)
}

fn late_tick_cells(risk: Option<&TimingRisk>) -> [Cell; 4] {
    let rate = |per_hour: f64| {
        if per_hour >= 10.0 {
            Cell::Count(per_hour.round() as u64)
        } else {
            Cell::Text(format!("{per_hour:.2}"))
        }
    };
    [
        Cell::optional(risk, |risk| Cell::Count(risk.seen.ceil() as u64)),
        Cell::optional(risk, |risk| rate(risk.expected_per_hour)),
        Cell::optional(risk, |risk| rate(risk.at_most_per_hour)),
        Cell::optional(risk, |risk| Cell::Share(risk.probability_per_hour())),
    ]
}

fn reversal_clause(found: &AxisAssessment) -> String {
    let Reversal { hold_ticks, setup_ticks, spare_ns, broken_by_jitter } = found.reversal;
    let verdict = if broken_by_jitter {
        let more = time(found.timing.jitter_ns as f64);
        format!("less than the jitter: add {more} to the drive's direction setup and hold, as StepConf does")
    } else {
        "more than the jitter".into()
    };
    format!(
        "waits {hold_ticks} + {setup_ticks} base periods of {} (hold and setup), which leaves {} to spare, {verdict}",
        exact_time(found.base_period_ns),
        exact_time(spare_ns)
    )
}

fn simulation_table(axis: &Axis, simulations: &Simulations) -> Piece {
    let length = simulations.of.iter().map(|s| s.response.time_s).fold(0.0, f64::max);
    let caption = format!(
        "The motor driven by the recorded timing, around its worst event, at {} ({length:.1} s simulated){}. Load angles in full \
         steps: beyond 2 the rotor slips. loses from: the slowest speed above, in rev/s, at which steps are lost; - at none that \
         punctual ticks can make",
        super::stepper_conclusion::speed_text(axis, simulations.steps_per_s),
        simulations.beside.as_ref().map_or(String::new(), |name| format!(", beside it {name}"))
    );
    let rows = simulations.of.iter().map(|s| {
        let r = &s.response;
        let ticks = match s.ticks {
            Ticks::Punctual => "punctual ticks",
            Ticks::Run => "this run",
            Ticks::Beside => "beside it",
        };
        let under = |policy: Overrun| format!("{ticks}, {policy}");
        vec![
            Cell::Text(s.policy.map_or_else(|| ticks.to_owned(), under)),
            Cell::Text(format!("{:.3}", r.ripple_steps)),
            Cell::Text(format!("{:.3}", r.peak_steps)),
            Cell::Text(format!("{:.3}", r.reserve_nm)),
            Cell::Text(
                r.lost_at_s
                    .map_or_else(|| r.lost_steps.to_string(), |at| format!("{} at {at:.2} s", r.lost_steps)),
            ),
            Cell::optional(s.loses_from_steps_per_s, |speed| revolutions_cell(axis, speed)),
        ]
    });
    Piece::table(caption, &["", "ripple", "largest", "reserve N m", "lost steps", "loses from"], rows)
}

fn assumption_facts(axis: &Axis) -> Option<Piece> {
    let facts = axis.assumed.iter().map(|assumed| assumption_fact(axis, assumed));
    (!axis.assumed.is_empty()).then(|| Piece::facts("Taken where nothing was given:", facts))
}

/// A figure that was not given, its default, and the reason for it.
fn assumption_fact(axis: &Axis, Assumed { figure, like }: &Assumed) -> (String, String) {
    let (motor, drive) = (&axis.motor, &axis.drive);
    let like = like.as_deref().unwrap_or_default();
    let closest = format!("as the {like}, the closest shipped motor in holding torque");
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let (figure, value, why) = match figure {
        AssumedFigure::RatedCurrent => ("rated current", format!("{} A", known(motor.current_a)), closest),
        AssumedFigure::Resistance => {
            ("resistance", format!("{:.3} ohm", known(motor.resistance_ohm)), closest)
        }
        AssumedFigure::Inductance => {
            ("inductance", format!("{:.3} mH", known(motor.inductance_h) * 1e3), closest)
        }
        AssumedFigure::RotorInertia => {
            let why = format!("in proportion to the holding torque, as the {like}");
            ("rotor inertia", inertia_text(known(motor.rotor_inertia_kg_m2)), why)
        }
        AssumedFigure::DetentTorque => {
            let torque = known(motor.detent_torque_nm);
            let share = torque / motor.holding_torque_nm * 100.0;
            let why = format!("{share:.1} % of the holding torque, as the {like}");
            ("detent torque", format!("{torque:.4} N m"), why)
        }
        AssumedFigure::DriveTiming => {
            let direction_ns = drive.direction_setup_ns.max(drive.direction_hold_ns);
            let [step, space, direction] =
                [drive.step_time_ns, drive.step_space_ns, direction_ns].map(|ns| time(ns as f64));
            let value = format!("{step} step, {space} space, {direction} direction");
            ("drive timing", value, "StepConf's defaults".into())
        }
        AssumedFigure::SupplyVoltage => {
            ("supply voltage", format!("{} V", axis.supply.voltage_v), "the usual one for this size".into())
        }
        AssumedFigure::Microsteps => ("microsteps", axis.microsteps.to_string(), "a common setting".into()),
        AssumedFigure::LoadTorque => {
            let why = "half of the holding torque, as NIST's table 1".into();
            ("load torque", format!("{:.3} N m", axis.load_torque_nm), why)
        }
        AssumedFigure::LoadInertia => {
            ("load inertia", inertia_text(axis.load_inertia_kg_m2), "as much as the rotor".into())
        }
        AssumedFigure::Friction => {
            let why = format!("{} of critical damping", share(ASSUMED_DAMPING));
            ("friction", format!("{:.2e} N m s/rad", axis.friction), why)
        }
    };
    (figure.into(), format!("{value} ({why})"))
}

fn inertia_text(kg_m2: f64) -> String {
    format!("{:.3} kg cm2", kg_m2 * 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use crate::document::{Extent, terminal_text};
    use jitterlab_motion::stepper::{AxisFacts, Drive, Motor, RotorResponse, Simulated, StepperQuestion};

    fn at(columns: usize) -> Terminal {
        Terminal { columns, ascii: false, colour: false }
    }

    fn axis() -> Axis {
        let (voltage_v, microsteps, lead_mm) = (Some(24.0), Some(8), Some(10.0));
        let known = AxisFacts { voltage_v, microsteps, lead_mm, ..AxisFacts::default() };
        Axis::new(Motor::from_frame(23, 1.9).unwrap(), None, known).unwrap()
    }

    fn result(jitter_ns: i64) -> StepperResult {
        StepperQuestion::new(axis(), None, None).unwrap().under_jitter(jitter_ns).unwrap()
    }

    fn shown(jitter_ns: i64) -> String {
        terminal_text(&result(jitter_ns), Extent::Details, at(80))
    }

    #[test]
    fn the_answer_fits_a_screen_of_any_width() {
        for columns in [40, 80, 120] {
            insta::assert_snapshot!(
                format!("stepper_{columns}"),
                terminal_text(&result(90_000), Extent::Answer, at(columns))
            );
        }
    }

    #[test]
    fn everything_that_the_answer_rests_on_is_among_the_details() {
        let one = StepperQuestion::new(axis(), Some("1rev/s,3rev/s"), None).unwrap();
        let result = StepperResult { simulations: Some(simulations()), ..one.under_jitter(90_000).unwrap() };
        let mut section = section(&result);
        section.pieces.retain(|piece| !matches!(piece, Piece::Figure(_)));
        insta::assert_snapshot!("stepper_details", section.text(at(80)));
    }

    #[test]
    fn small_speeds_keep_two_digits_that_count() {
        let texts = [0.01234, 0.5, 4.4321, 120.0].map(|v| with_decimals(v, 1));
        assert_eq!(texts, ["0.012", "0.50", "4.4", "120.0"]);
        assert_eq!((with_decimals(0.0, 2), with_decimals(0.0123, 2)), ("0.00".into(), "0.012".into()));
    }

    #[test]
    fn an_event_longer_than_the_swing_may_do_less_harm_than_a_jump() {
        assert!(!shown(300_000).contains("long against that"), "{}", shown(300_000));
        let long = shown(13_700_000).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(long.contains("long against that: beyond its speed it may lose steps"), "{long}");
    }

    fn simulations() -> Simulations {
        let simulated = |ticks, lost_at_s: Option<f64>| Simulated {
            ticks,
            policy: Some(Overrun::CatchUp),
            response: RotorResponse {
                time_s: 20.5,
                ripple_steps: 4.789,
                mean_steps: 0.3,
                peak_steps: 200.922,
                reserve_nm: 0.0,
                lost_steps: -148,
                lost_at_s,
            },
            loses_from_steps_per_s: Some(450.0),
        };
        let of = vec![simulated(Ticks::Run, Some(10.53)), simulated(Ticks::Beside, None)];
        Simulations { steps_per_s: 900.0, beside: Some("jitterlab-20261122T065500Z-second-floor".into()), of }
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
            let told = terminal_text(&found, Extent::Details, at(80));
            (found.assessment.most_pulses_per_s(), told.contains("too fast"))
        };
        assert_eq!((of(5_000), of(10_000)), ((1e4, false), (5e3, true)));
    }
}
