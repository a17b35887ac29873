//! A loop closed in real time: tracking errors under each wake-up method and load.

use jitterlab_model::{Compensation, Fitness};
use jitterlab_motion::servo::{LiveTrial, LiveTrouble, ServoLive, TrackingError};

use super::change_percent;
use super::servo_tables::loop_sentence;
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Piece, Section};
use crate::words::{count, time};

impl Present for ServoLive {
    const KIND: &'static str = "servo-live";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces = vec![Piece::text(basis_sentence(self))];
        pieces.extend(trials_by_load(self).map(|(load, ways)| load_table(self, load, ways)));
        pieces.push(Piece::text(COLUMN_EXPLANATION));
        pieces.extend(trouble_notes(self).into_iter().map(Piece::note));
        pieces.extend(super::note_pieces(all_caveats(self)));
        vec![Section::new(
            "servo-live",
            "The control loop in real time",
            "Tracking errors of the loop closed by a real-time task around a simulated plant, for each way to wait.",
            pieces,
        )]
    }
}

/// A tracking error that is off by less than this share is not worth choosing a method for.
const ALIKE: f64 = 0.01;
/// Explanation of the columns of the tables.
const COLUMN_EXPLANATION: &str = "rms, max: tracking error, root mean square and largest, in the output's unit; worse: rms of the \
                         output that lost most, against punctual activations";

/// The worst trial of each way that ran as asked for under every load, the best way first.
fn worst_trial_of_each_method(live: &ServoLive) -> Vec<&LiveTrial> {
    let ranked = live.ranked_trials();
    let loads = trials_by_load(live).count();
    // From the worst on, so that the first run of a name is its worst.
    let mut ways: Vec<&LiveTrial> = Vec::new();
    for way in ranked.iter().rev() {
        let runs = ranked.iter().filter(|other| other.name() == way.name()).count();
        if runs >= loads && ways.iter().all(|known| known.name() != way.name()) {
            ways.push(way);
        }
    }
    ways.reverse();
    ways
}

/// The three lines: the tracking of the loop with the best way to wait, and with the worst.
fn conclusion(live: &ServoLive) -> Conclusion {
    let ways = worst_trial_of_each_method(live);
    let named = |way: &LiveTrial| {
        let what = match live.rms_excess(way) {
            excess if excess.is_finite() => change_percent(excess, 2),
            _ => "the loop ran away".into(),
        };
        format!("{} {what} (load {})", way.name(), way.load)
    };
    let (Some(best), Some(worst)) = (ways.first(), ways.last()) else {
        return Conclusion {
            fitness: Fitness::CannotTell,
            asked: false,
            verdict: "CANNOT TELL: no way to wait could be run as asked for under every load.".into(),
            number: "What stood against each is named below.".into(),
            next: "the same with --way wake=nanosleep --policy other, which need no rights".into(),
        };
    };
    let alike = ways.len() > 1 && live.rms_excess(worst) < ALIKE;
    let with = if alike { "every way to wait".into() } else { best.name() };
    let (fitness, verdict) = match live.rms_excess(best) {
        excess if excess < ALIKE => (
            Fitness::Good,
            format!("GOOD with {with}: it tracks as punctual activations do, within {:.0} %.", ALIKE * 100.0),
        ),
        excess if excess.is_finite() => (
            Fitness::Limited,
            format!(
                "USABLE with {with}, {} tracking error against punctual activations.",
                change_percent(excess, 2)
            ),
        ),
        _ => (Fitness::Unfit, "NOT FIT: the loop ran away with every way to wait.".into()),
    };
    let both: Vec<String> = match ways.len() {
        1 => vec![named(best)],
        _ => vec![named(best), named(worst)],
    };
    Conclusion {
        fitness,
        asked: false,
        verdict,
        number: format!("Tracking error of a way's worst run: {}.", both.join("; ")),
        next: match fitness {
            Fitness::Good => {
                "the same under the loads of your machine (--load cpu:1), for longer (--duration 1min)".into()
            }
            _ => "jitterlab check (what holds it up, and what to change first)".into(),
        },
    }
}

fn basis_sentence(live: &ServoLive) -> String {
    let references: Vec<String> = live.references.iter().map(ToString::to_string).collect();
    let due = live.each_ns / live.closed.period_ns;
    format!(
        "{}, simulated in real time; asked to follow {}. Each way {}, {} activations due; overrun skip.",
        loop_sentence(&live.closed),
        references.join(", "),
        time(live.each_ns as f64),
        count(due.unsigned_abs())
    )
}

/// Trials under each load, with a caption that names it.
fn trials_by_load(live: &ServoLive) -> impl Iterator<Item = (String, &[LiveTrial])> {
    live.ways.chunk_by(|a, b| a.asked_loads == b.asked_loads).map(|ways| {
        let load = ways.first().map(|way| way.asked_loads.join(", ")).filter(|load| !load.is_empty());
        (format!("load {}; latencies in µs", load.unwrap_or_else(|| "none".into())), ways)
    })
}

/// Ways that did not run as asked for, and a note if the latencies are too small for this loop to feel.
fn trouble_notes(live: &ServoLive) -> Vec<String> {
    let trouble = |way: &LiveTrial| {
        let why = match way.trouble.as_ref()? {
            LiveTrouble::Impossible { why } | LiveTrouble::Stopped { why } => why.clone(),
            LiveTrouble::Refused { why, remedy } => format!("{why}; {remedy}"),
        };
        Some(format!("(!) {}: {why}", way.name()))
    };
    let small = live.negligible_latency_ns().map(|worst| {
        format!(
            "The largest latency of all was {}, small against the period: this loop cannot feel it.",
            time(worst as f64)
        )
    });
    live.ways.iter().filter_map(trouble).chain(small).collect()
}

/// Caveats of all ways, then those of the worst way alone.
fn all_caveats(live: &ServoLive) -> Vec<String> {
    let (all, own) = live.caveats();
    let worst =
        live.ranked_trials().last().map_or(String::new(), |w| format!("{} under load {}", w.name(), w.load));
    let own = super::caveat_clauses(own).into_iter().map(|clause| format!("{worst}: {clause}"));
    super::caveat_clauses(all).into_iter().chain(own).collect()
}

/// The ways under one load next to punctual activations: latencies, errors, and the worst output's excess.
fn load_table(live: &ServoLive, load: String, ways: &[LiveTrial]) -> Piece {
    let outputs = 0..live.closed.outputs.len();
    let row = |name: String, before: [String; 3], errors: &[TrackingError], worse: String| -> Vec<String> {
        let cell =
            |o: usize| errors.get(o).map_or(["-".into(), "-".into()], |e| [e.rms, e.max].map(error_text));
        let first = std::iter::once(name).chain(before);
        first.chain(outputs.clone().flat_map(cell)).chain([worse]).collect()
    };
    let mut header: Vec<String> = ["", "mean", "max", "missed"].map(str::to_owned).to_vec();
    header.extend(live.closed.outputs.iter().flat_map(|name| [format!("{name} rms"), "max".into()]));
    header.push("worse".to_owned());
    let of_way = |way: &LiveTrial| {
        // A compensated method is listed under its own name, behind its compensation.
        let name = match way.compensation {
            Compensation::None => way.wake.to_string(),
            compensation => format!("+ {compensation}"),
        };
        let before = [
            way.mean_latency_ns.map_or("-".into(), microseconds),
            way.max_latency_ns.map_or("-".into(), |ns| microseconds(ns as f64)),
            way.missed.map_or("-".into(), count),
        ];
        let worse = match live.rms_excess(way) {
            _ if way.trouble.is_some() => "(!)".into(),
            excess if excess.is_finite() => change_percent(excess, 2),
            _ => "ran away".into(),
        };
        row(name, before, &way.errors, worse)
    };
    let punctual = row("punctual".into(), ["0", "0", "0"].map(str::to_owned), &live.punctual, "-".into());
    Piece::table(load, &header, std::iter::once(punctual).chain(ways.iter().map(of_way)))
}

/// Microseconds, without a decimal where they are many.
fn microseconds(ns: f64) -> String {
    let us = ns / 1e3;
    if us.abs() < 1e4 { format!("{us:.1}") } else { format!("{us:.0}") }
}

/// An error, or its order of magnitude where the loop ran away.
fn error_text(value: f64) -> String {
    if value.abs() < 1e3 { format!("{value:.4}") } else { format!("{value:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use crate::document::{self, Extent};
    use jitterlab_analysis::Caveat;
    use jitterlab_motion::servo::{LoopDescription, Reference};

    const WIDTH: usize = 80;

    fn way(wake: &str, factor: f64, trouble: Option<&str>) -> LiveTrial {
        let (method, compensation) = wake.split_once(' ').unwrap_or((wake, "none"));
        LiveTrial {
            wake: method.parse().unwrap(),
            compensation: compensation.parse().unwrap(),
            asked_loads: vec!["cpu:1".into()],
            load: "cpu:1 (0.98 CPUs)".into(),
            mean_latency_ns: Some(566_800.0),
            max_latency_ns: Some(221_068_100),
            executed: Some(1_000),
            missed: Some(1_234),
            errors: vec![TrackingError { rms: 0.1 * factor, max: 0.2 }, TrackingError { rms: 0.1, max: 0.2 }],
            trouble: trouble.map(|why| LiveTrouble::Impossible { why: why.into() }),
            caveats: vec![
                Caveat::MemoryNotLocked,
                // One of its own.
                Caveat::WaitFailed { task: wake.into(), why: "a timer".into() },
            ],
        }
    }

    fn shown(outputs: [&str; 2], ways: &[LiveTrial]) -> String {
        let live = ServoLive {
            closed: LoopDescription {
                plant: "Jiwy".into(),
                outputs: outputs.map(str::to_owned).to_vec(),
                controller: "pd".into(),
                period_ns: 1_000_000,
            },
            references: vec![Reference::Step(1.0)],
            each_ns: 5_000_000_000,
            punctual: vec![TrackingError { rms: 0.1, max: 0.2 }; 2],
            ways: ways.to_vec(),
        };
        let terminal = Terminal { columns: WIDTH, ascii: false, colour: false };
        let text = document::terminal_text(&live, Extent::Details, terminal);
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn best_and_worst_are_named_and_what_was_refused_is_not_among_them() {
        let ways = [
            way("nanosleep-relative", 1.2, None),
            way("timer-signal margin:100us", 1.0, None),
            way("deadline", 9.0, Some("no rights")),
        ];
        let text = shown(["pan", "tilt"], &ways);
        assert!(
            text.starts_with(
                "GOOD with timer-signal margin:100us: it tracks as punctual activations do, within 1 %. Tracking \
                 error of a way's worst run: timer-signal margin:100us 0.00 % (load cpu:1 (0.98 CPUs)); nanosleep-relative \
                 +20.00 %"
            ),
            "{text}"
        );
        assert!(text.contains("(!) deadline: no rights"), "{text}");
        assert!(text.contains("Each way 5 s, 5 000 activations due; overrun skip."), "{text}");
        assert!(
            text.contains("punctual nanosleep-relative + margin:100us deadline mean 0 566.8")
                && text.contains("missed 0 1 234 1 234 1 234 pan rms 0.1000 0.1200 0.1000 0.9000")
                && text.contains("worse - +20.00 % 0.00 % (!)"),
            "{text}"
        );
        let remarks = text.split("largest, in the output's unit;").nth(1).unwrap();
        assert!(
            remarks.contains("Memory was not locked")
                && remarks.contains("nanosleep-relative could not wait"),
            "{text}"
        );
        assert!(
            !remarks.contains("timer-signal"),
            "only what speaks against all, and against the worst: {text}"
        );
    }

    #[test]
    fn ways_that_hardly_differ_are_not_ranked_and_a_loop_that_ran_away_is_said_to_have() {
        let alike = shown(["pan", "tilt"], &[way("nanosleep", 1.002, None), way("spin", 0.999, None)]);
        assert!(
            alike
                .starts_with("GOOD with every way to wait: it tracks as punctual activations do, within 1 %"),
            "{alike}"
        );
        let lost = [way("nanosleep", 1.0, None), way("timerfd", 1e20, None), way("spin", f64::NAN, None)];
        let text = shown(["pan", "tilt"], &lost);
        assert!(text.starts_with("GOOD with nanosleep: ") && text.contains("the loop ran away"), "{text}");
        let lost = shown(["pan", "tilt"], &[way("timerfd", 1e20, None)]);
        assert!(lost.starts_with("NOT FIT: the loop ran away with every way to wait."), "{lost}");
        assert!(text.contains("1e19"), "{text}");
    }

    #[test]
    fn ways_are_ranked_by_their_worst_load_and_only_where_they_ran_under_all() {
        let loaded =
            |way: LiveTrial| LiveTrial { asked_loads: vec!["disk:1".into()], load: "disk:1".into(), ..way };
        let ways = [
            way("nanosleep", 1.0, None),
            way("spin", 1.05, None),
            way("timerfd", 1.0, None),
            loaded(way("nanosleep", 1.3, None)),
            loaded(way("spin", 1.1, None)),
            loaded(way("timerfd", 1.0, Some("no timer"))),
        ];
        let text = shown(["pan", "tilt"], &ways);
        assert!(
            text.starts_with(
                "USABLE with spin, +10.00 % tracking error against punctual activations. Tracking error of a way's \
                 worst run: spin +10.00 % (load disk:1); nanosleep +30.00 % (load disk:1)."
            ),
            "{text}"
        );
        let never = shown(["pan", "tilt"], &[way("timerfd", 1.0, Some("no timer"))]);
        assert!(never.starts_with("CANNOT TELL: no way to wait could be run as asked for"), "{never}");
    }

    #[test]
    fn long_names_turn_the_table_and_what_never_ran_has_dashes() {
        let mut never = way("spin", 1.0, Some("polling would leave no processor"));
        (never.errors, never.mean_latency_ns, never.max_latency_ns, never.missed) =
            (Vec::new(), None, None, None);
        let text = shown(["left hind leg's knee joint", "right"], &[way("nanosleep", 1.1, None), never]);
        assert!(
            text.contains("left hind leg's knee joint rms 0.1000 0.1100 - max 0.2000 0.2000 -"),
            "{text}"
        );
        assert!(text.contains("missed 0 1 234 -") && text.contains("worse - +10.00 % (!)"), "{text}");
    }
}
