//! Ways to wait, beside one another.

use jitterlab_analysis::summary::{P50, P99};
use jitterlab_analysis::wakeup::{BestWay, WayToWait, WayTrouble, WaysCompared};
use jitterlab_model::units::Human;
use jitterlab_model::{Fitness, WakeMethod};

use crate::head::Head;
use crate::section::{Piece, Section};
use crate::words::{exact, list, plural};

/// A time, or a dash where there is none.
pub(crate) fn time(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".into(), |ns| Human(ns as f64).to_string())
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.decimals$}"))
}

/// Why a way was not measured, as a clause.
fn trouble(trouble: &WayTrouble) -> String {
    match trouble {
        WayTrouble::Refused { refusal } => format!("{}; {}", refusal.why, refusal.remedy),
        WayTrouble::Stopped { overload } => overload.to_string(),
        WayTrouble::Impossible { why } => why.clone(),
    }
}

/// The three lines: the way to take of those that sleep.
pub(crate) fn head(compared: &WaysCompared) -> Head {
    let Some(BestWay { way, alike, worst }) = compared.best() else {
        return Head {
            fitness: Fitness::CannotTell,
            asked: false,
            verdict: "CANNOT TELL: no way that sleeps was measured long enough.".into(),
            number: "A turn has to hold some hundred due times for its p99.".into(),
            next: "the same with a longer --duration, and --rounds 6 or more".into(),
        };
    };
    let p99 = |way: &WayToWait| {
        let figures = way.figures.as_ref()?;
        let missed = plural(figures.missed, "due time");
        Some(format!("{} p99 {}, {missed} missed", way.name, time(figures.latency.at(P99).exactly())))
    };
    let (fitness, verdict, next) = match alike.as_slice() {
        [] => (
            Fitness::Good,
            format!("BEST of the ways that sleep: {}.", way.name),
            match way.name.parse::<WakeMethod>() {
                Ok(wake) => format!("jitterlab run --wake {wake}"),
                Err(_) => format!("jitterlab run with a task that waits so ({})", way.name),
            },
        ),
        alike => {
            let names: Vec<String> = alike.iter().map(|name| (*name).to_owned()).collect();
            let are = if names.len() == 1 { "is" } else { "are" };
            let verdict =
                format!("BEST as seen: {}; {} {are} not shown to be worse.", way.name, list(&names));
            (Fitness::Limited, verdict, format!("the same with --rounds {}", compared.rounds.max(5) * 2))
        }
    };
    let said: Vec<String> = [Some(way), worst].into_iter().flatten().filter_map(p99).collect();
    Head { fitness, asked: false, verdict, number: format!("{}.", said.join("; ")), next }
}

/// The table and what its columns mean.
#[must_use]
pub fn section(compared: &WaysCompared) -> Section {
    let rows = compared.ways.iter().filter_map(|way| {
        let f = way.figures.as_ref()?;
        Some(vec![
            way.name.clone(),
            time(f.latency.at(P50).exactly()),
            time(f.latency.at(P99).exactly()),
            time(f.latency.max_ns),
            number(f.drift_ppm, 0),
            f.cpu_per_activation_ns.map_or_else(|| "-".into(), |ns| Human(ns).to_string()),
            number(f.voluntary_switches, 2),
            f.missed.to_string(),
        ])
    });
    let header = ["", "p50", "p99", "max", "drift", "CPU", "switch", "missed"];
    let caption = format!("waiting for a due time every {}, in turns", exact(compared.period_ns));
    let columns = "p50, p99, max: latency. drift: how much slower than it should be, in millionths. CPU, switch: processor time \
        and context switches of the thread per activation; what interrupts and switching cost the rest of the machine is \
        only partly in it.";
    let mut pieces = vec![Piece::table(caption, &header, rows), Piece::said(columns)];
    for way in &compared.ways {
        if let Some(hole) = way.figures.as_ref().map(|f| f.longest_hole_ns).filter(|hole| *hole > 0) {
            let (name, hole) = (&way.name, Human(hole as f64));
            pieces.push(Piece::said(format!(
                "{name}: while it polled, the longest hole in its processor was {hole}."
            )));
        }
        pieces.extend(
            way.trouble.as_ref().map(|found| Piece::said(format!("{}: {}", way.name, trouble(found)))),
        );
    }
    if compared.interrupted {
        pieces.push(Piece::said("interrupted: the figures rest on the whole rounds until then"));
    }
    Section {
        id: "ways-to-wait".into(),
        title: "Ways to wait".into(),
        lead: "The same task with each way to wait, measured in turns.".into(),
        pieces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_analysis::wakeup::{BlockView, WayFigures, WayToWait};
    use jitterlab_model::{Activation, TaskResult};

    #[test]
    fn measured_ways_have_a_row_and_refused_ones_a_reason() {
        let result = TaskResult {
            executed: 2,
            last_end_ns: 2_000_000,
            cpu_time_ns: Some(8_000),
            voluntary_switches: Some(2),
            longest_hole_ns: 77_000,
            ..TaskResult::default()
        };
        let rows = [Activation { start_ns: 2_300, ..Activation::default() }; 2];
        let figures =
            WayFigures::of(&[BlockView { period_ns: 1_000_000, result: &result, activations: &rows }]);
        let way = |name: &str, figures, trouble| WayToWait { name: name.into(), figures, trouble };
        let why = WayTrouble::Impossible { why: "not permitted".into() };
        let ways = vec![way("nanosleep", Some(figures), None), way("deadline", None, Some(why))];
        let compared =
            WaysCompared { period_ns: 1_000_000, rounds: 1, turn_ns: 2_000_000, interrupted: false, ways };
        let text = section(&compared).text(Terminal { columns: 80, ascii: false, colour: false });
        assert!(text.contains("nanosleep 2.30 µs"), "{text}");
        assert!(
            text.contains("4 µs")
                && text.contains("1.00")
                && text.contains("hole in its processor was 77 µs")
        );
        assert!(text.contains("deadline: not permitted"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
