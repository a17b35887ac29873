//! A loop closed in real time: tracking errors under each wake-up method and load.

use std::fmt::Write as _;

use crate::words::count;
use jitterlab_model::units::{Exact, Human};
use jitterlab_motion::servo::{Question, Reference, TrackingError};
use serde::Serialize;

use crate::servo::change;
use crate::summary::wrap;
use crate::table::columns;

/// One wake-up method under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// The wake-up method.
    pub wake: String,
    /// The load that was asked for.
    pub asked_load: String,
    /// The load, and what it achieved.
    pub load: String,
    /// Mean latency.
    pub mean_latency_ns: Option<f64>,
    /// Largest latency.
    pub max_latency_ns: Option<i64>,
    /// Activations that ran.
    pub executed: u64,
    /// Activations that were missed.
    pub missed: u64,
    /// Tracking error of each output; none where it could not be run.
    pub errors: Vec<TrackingError>,
    /// Why the figures are not of what was asked for, if so.
    pub trouble: Option<String>,
    /// What speaks against its figures.
    pub caveats: Vec<String>,
}

/// Everything that was seen.
pub struct Live<'a> {
    /// The loop.
    pub question: &'a Question,
    /// What each output was to follow.
    pub references: &'a [Reference],
    /// How long each way was run.
    pub each_ns: i64,
    /// Errors with punctual activations that take no time.
    pub punctual: &'a [TrackingError],
    /// Each way, those under the same load beside one another.
    pub ways: &'a [Way],
}

/// A tracking error this many times that of punctual activations is no longer tracking.
const RAN_AWAY: f64 = 10.0;
/// A tracking error that is off by less than this share is not worth choosing a method for.
const ALIKE: f64 = 0.01;
/// Columns of a terminal.
const WIDTH: usize = 80;

impl Live<'_> {
    /// How much larger the worst output's error (root mean square) is than with punctual activations; infinite for a
    /// loop that left all numbers behind.
    fn excess(&self, way: &Way) -> f64 {
        let of = |(e, ideal): (&TrackingError, &TrackingError)| e.rms / ideal.rms - 1.0;
        let finite = |excess: f64| if excess.is_nan() { f64::INFINITY } else { excess };
        way.errors.iter().zip(self.punctual).map(of).map(finite).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The ways that were run as asked for, the best first.
    fn ranked(&self) -> Vec<&Way> {
        let mut ways: Vec<&Way> = self.ways.iter().filter(|w| w.trouble.is_none()).collect();
        ways.sort_by(|a, b| self.excess(a).total_cmp(&self.excess(b)));
        ways
    }

    /// The answer in a sentence.
    pub fn sentence(&self) -> String {
        let ways = self.ranked();
        let named = |way: &Way| {
            let excess = self.excess(way);
            let what = if excess < RAN_AWAY {
                format!("{} tracking error against punctual activations", change(excess, 2))
            } else {
                "the loop ran away".into()
            };
            format!("{} under load {} ({what})", way.wake, way.load)
        };
        match (ways.first(), ways.last()) {
            (Some(_), Some(worst)) if ways.len() > 1 && self.excess(worst) < ALIKE => format!(
                "Every way to wait tracks as punctual activations do, within {:.0} %; the worst was {}.",
                ALIKE * 100.0,
                named(worst)
            ),
            (Some(best), Some(worst)) if ways.len() > 1 => {
                format!("Best was {}, worst {}.", named(best), named(worst))
            }
            (Some(only), _) => format!("Seen: {}.", named(only)),
            _ => "No way could be run as asked for.".into(),
        }
    }

    /// The whole answer, readable at 80 columns.
    pub fn text(&self) -> String {
        let Question { plant, period_ns, .. } = self.question;
        let references: Vec<String> = self.references.iter().map(ToString::to_string).collect();
        let due = self.each_ns / period_ns;
        let mut text = wrap(&self.sentence());
        let _ = write!(
            text,
            "\n{}",
            wrap(&format!(
                "{} under {} every {}, simulated in real time; asked to follow {}. Each way {}, {} activations due; \
                 overrun skip.",
                plant.name,
                plant.design.name(),
                Exact(*period_ns),
                references.join(", "),
                Human(self.each_ns as f64),
                count(due.unsigned_abs())
            ))
        );
        for ways in self.ways.chunk_by(|a, b| a.asked_load == b.asked_load) {
            let load = ways.first().map_or("none", |w| w.asked_load.as_str());
            let _ = write!(text, "\n{}{}", wrap(&format!("load {load}; latencies in us")), self.tables(ways));
        }
        text.push('\n');
        text.push_str(&wrap(
            "rms, max: tracking error, root mean square and largest, in the output's unit; worse: rms of the output \
             that lost most, against punctual activations",
        ));
        for way in self.ways {
            if let Some(trouble) = &way.trouble {
                text.push_str(&wrap(&format!("(!) {}: {trouble}", way.wake)));
            }
        }
        if let Some(worst) = self.ways.iter().filter_map(|w| w.max_latency_ns).max()
            && worst < period_ns / 10
        {
            text.push_str(&wrap(&format!(
                "The largest latency of all was {}, small against the period: this loop cannot feel it.",
                Human(worst as f64)
            )));
        }
        let caveats = self.caveats();
        if !caveats.is_empty() {
            text.push_str("\nBear in mind:\n");
            text.extend(caveats.iter().map(|caveat| wrap(&format!("- {caveat}"))));
        }
        text
    }

    /// What speaks against all ways, and what else against the worst.
    fn caveats(&self) -> Vec<String> {
        let ways = self.ranked();
        let Some(worst) = ways.last() else { return Vec::new() };
        let of_all = |caveat: &&String| ways.iter().all(|w| w.caveats.contains(caveat));
        let (all, own): (Vec<&String>, Vec<&String>) = worst.caveats.iter().partition(of_all);
        let own = own.into_iter().map(|caveat| format!("{} under load {}: {caveat}", worst.wake, worst.load));
        all.into_iter().cloned().chain(own).collect()
    }

    /// The ways under one load beside punctual activations: in one table, or where that is too wide in one of the
    /// latencies and one of each output.
    fn tables(&self, ways: &[Way]) -> String {
        let outputs: Vec<usize> = (0..self.question.plant.outputs.len()).collect();
        let whole = self.table(ways, true, &outputs);
        if whole.lines().all(|line| line.chars().count() <= WIDTH) {
            return whole;
        }
        let each = outputs.iter().map(|output| self.table(ways, false, &[*output]));
        self.table(ways, true, &[]) + &each.collect::<String>()
    }

    /// The errors of these outputs; with the latencies also how much worse the worst output is.
    fn table(&self, ways: &[Way], latencies: bool, outputs: &[usize]) -> String {
        let mut header = vec![String::new()];
        if latencies {
            header.extend(["mean", "max", "missed"].map(str::to_owned));
        }
        for name in outputs.iter().filter_map(|o| self.question.plant.outputs.get(*o)) {
            header.extend([format!("{name} rms"), "max".into()]);
        }
        if latencies {
            header.push("worse".into());
        }
        let cells = |errors: &[TrackingError]| -> Vec<String> {
            let cell =
                |o: &usize| errors.get(*o).map_or(["-".into(), "-".into()], |e| [e.rms, e.max].map(error));
            outputs.iter().flat_map(cell).collect()
        };
        let mut punctual = vec!["punctual".to_owned()];
        if latencies {
            punctual.extend(["0", "0", "0"].map(str::to_owned));
        }
        punctual.extend(cells(self.punctual));
        if latencies {
            punctual.push("-".into());
        }
        let rows = ways.iter().map(|way| {
            // A compensated method stands under its own name, behind what it adds.
            let mut row =
                vec![way.wake.split_once(' ').map_or(way.wake.clone(), |(_, added)| format!("+ {added}"))];
            if latencies {
                row.extend([
                    way.mean_latency_ns.map_or("-".into(), microseconds),
                    way.max_latency_ns.map_or("-".into(), |ns| microseconds(ns as f64)),
                    count(way.missed),
                ]);
            }
            row.extend(cells(&way.errors));
            if latencies {
                let excess = self.excess(way);
                row.push(match &way.trouble {
                    Some(_) => "(!)".into(),
                    None if excess < RAN_AWAY => change(excess, 2),
                    None => "ran away".into(),
                });
            }
            row
        });
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        columns(&header, std::iter::once(punctual).chain(rows))
    }
}

/// Microseconds, without a decimal where they are many.
fn microseconds(ns: f64) -> String {
    let us = ns / 1e3;
    if us.abs() < 1e4 { format!("{us:.1}") } else { format!("{us:.0}") }
}

/// An error, or its order of magnitude where the loop ran away.
fn error(value: f64) -> String {
    if value.abs() < 1e3 { format!("{value:.4}") } else { format!("{value:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::TaskTiming;

    fn way(wake: &str, factor: f64, trouble: Option<&str>) -> Way {
        Way {
            wake: wake.into(),
            asked_load: "cpu:1".into(),
            load: "cpu:1 (0.98 CPUs)".into(),
            mean_latency_ns: Some(566_800.0),
            max_latency_ns: Some(221_068_100),
            executed: 1_000,
            missed: 1_234,
            errors: vec![TrackingError { rms: 0.1 * factor, max: 0.2 }, TrackingError { rms: 0.1, max: 0.2 }],
            trouble: trouble.map(str::to_owned),
            caveats: vec!["the kernel is not a real-time kernel".into(), format!("{wake} was stolen from")],
        }
    }

    fn shown(outputs: [&str; 2], ways: &[Way]) -> String {
        let mut question = Question {
            plant: catalog::find("jiwy", None).unwrap(),
            period_ns: 1_000_000,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        };
        question.plant.outputs = outputs.map(str::to_owned).to_vec();
        let punctual = [TrackingError { rms: 0.1, max: 0.2 }; 2];
        let references = [Reference::Step(1.0)];
        let (punctual, references) = (&punctual[..], &references[..]);
        let text = Live { question: &question, references, each_ns: 5_000_000_000, punctual, ways }.text();
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
            text.starts_with("Best was timer-signal margin:100us under load cpu:1 (0.98 CPUs) ("),
            "{text}"
        );
        assert!(text.contains("worst nanosleep-relative under load") && text.contains("+20.00 %"), "{text}");
        assert!(text.contains("(!) deadline: no rights"), "{text}");
        assert!(text.contains("Each way 5 s, 5 000 activations due; overrun skip."), "{text}");
        assert!(
            text.contains("+ margin:100us 566.8 221068 1 234 0.1000 0.2000 0.1000 0.2000 0.00 %"),
            "{text}"
        );
        let minded = text.split("Bear in mind:").nth(1).unwrap();
        assert!(
            minded.contains("real-time kernel") && minded.contains("nanosleep-relative was stolen"),
            "{text}"
        );
        assert!(
            !minded.contains("timer-signal"),
            "only what speaks against all, and against the worst: {text}"
        );
    }

    #[test]
    fn ways_that_hardly_differ_are_not_ranked_and_a_loop_that_ran_away_is_said_to_have() {
        let alike = shown(["pan", "tilt"], &[way("nanosleep", 1.002, None), way("spin", 0.999, None)]);
        assert!(
            alike.starts_with("Every way to wait tracks as punctual activations do, within 1 %"),
            "{alike}"
        );
        let lost = [way("nanosleep", 1.0, None), way("timerfd", 1e20, None), way("spin", f64::NAN, None)];
        let text = shown(["pan", "tilt"], &lost);
        assert!(text.starts_with("Best was nanosleep") && text.contains("the loop ran away"), "{text}");
        assert!(text.contains("1e19"), "{text}");
    }

    #[test]
    fn long_names_get_tables_of_their_own_and_what_never_ran_has_dashes() {
        let mut never = way("spin", 1.0, Some("polling would leave no processor"));
        (never.errors, never.mean_latency_ns, never.max_latency_ns) = (Vec::new(), None, None);
        let text = shown(["left hind leg's knee joint", "right"], &[way("nanosleep", 1.1, None), never]);
        assert!(text.contains("left hind leg's knee joint rms max punctual 0.1000 0.2000"), "{text}");
        assert!(text.contains("nanosleep 566.8 221068 1 234 +10.00 % spin - - 1 234 (!)"), "{text}");
    }
}
