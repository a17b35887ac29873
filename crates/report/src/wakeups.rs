//! Words of `compare-wakeups`: the best way to wait, and the figures of each.

use jitterlab_analysis::summary::P50;
use jitterlab_analysis::wakeup::{BestWay, WayToWait, WayTrouble, WaysCompared};
use jitterlab_model::{Fitness, WakeMethod};

use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Cell, Piece, Section};
use crate::words::{exact_time, list, plural, time};

/// Clause that states why a way to wait was not measured.
fn trouble_clause(trouble: &WayTrouble) -> String {
    match trouble {
        WayTrouble::Refused { refusal } => format!("{}; {}", refusal.why, refusal.remedy),
        WayTrouble::Stopped { overload } => overload.to_string(),
        WayTrouble::Impossible { why } => why.clone(),
    }
}

impl Present for WaysCompared {
    const KIND: &'static str = "compare-wakeups";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![section(self)]
    }
}

/// Conclusion of a comparison: the best way to wake among those that sleep.
fn conclusion(compared: &WaysCompared) -> Conclusion {
    let Some(best) = compared.best() else { return undecided_conclusion(compared) };
    let BestWay { way, alike, misses_fewer, worst } = best;
    let again = |why: &str| format!("the same with --rounds {}{why}", compared.rounds.max(5) * 2);
    let alike: Vec<String> = alike.into_iter().map(Into::into).collect();
    let are = if alike.len() == 1 { "is" } else { "are" };
    let (fitness, verdict, next) = match misses_fewer {
        Some(fewer) => (
            Fitness::Limited,
            format!("BEST by p99: {}, but with {} fewer due times are missed.", way.name, fewer.name),
            again(" (whether the misses stay)"),
        ),
        None if alike.is_empty() => (
            Fitness::Good,
            format!("BEST of the ways that sleep: {}.", way.name),
            match way.name.parse::<WakeMethod>() {
                Ok(wake) => format!("jitterlab run --wake {wake}"),
                Err(_) => format!("jitterlab run with a task that waits so ({})", way.name),
            },
        ),
        None => (
            Fitness::Limited,
            format!("BEST as seen: {}; {} {are} not shown to be worse.", way.name, list(&alike)),
            again(""),
        ),
    };
    let mut named: Vec<&WayToWait> = [Some(way), misses_fewer, worst].into_iter().flatten().collect();
    named.dedup_by_key(|way| &way.name);
    let said: Vec<String> = named.into_iter().filter_map(deciding_figure).collect();
    Conclusion { fitness, asked: false, verdict, number: format!("{}.", said.join("; ")), next }
}

/// Text with the p99 that ranks a way, and its missed due times; `None` if it was not measured.
fn deciding_figure(way: &WayToWait) -> Option<String> {
    let figures = way.figures.as_ref()?;
    let (p99, missed) = (time(figures.median_p99_ns()?), plural(figures.missed, "due time"));
    Some(format!("{}: p99 {p99}, {missed} missed", way.name))
}

/// Conclusion of a comparison in which no way to wait is the best, with the reason.
fn undecided_conclusion(compared: &WaysCompared) -> Conclusion {
    let mut measured =
        compared.ways.iter().filter(|way| way.trouble.is_none()).filter_map(|way| way.figures.as_ref());
    let nothing = compared.ways.iter().all(|way| way.figures.is_none());
    let (number, next) = match measured.any(|figures| figures.median_p99_ns().is_none()) {
        _ if compared.interrupted && nothing => (
            "It was interrupted before each way had its first turn.",
            "the same command, which goes on from here",
        ),
        true => (
            "A turn has to hold a hundred due times for its p99.",
            "the same with a longer --duration, and --rounds 6 or more",
        ),
        false => (
            "What was measured polls, or was not measured to its end.",
            "the same with --way wake=nanosleep and --way wake=timerfd",
        ),
    };
    Conclusion {
        fitness: Fitness::CannotTell,
        asked: false,
        verdict: "CANNOT TELL: no way that sleeps was measured long enough.".into(),
        number: number.into(),
        next: next.into(),
    }
}

/// Table of the ways to wait, with an explanation of its columns.
pub fn section(compared: &WaysCompared) -> Section {
    let rows = compared.ways.iter().filter_map(|way| {
        let f = way.figures.as_ref()?;
        let time = |ns: Option<i64>| Cell::optional(ns, |ns| Cell::time(ns as f64));
        let number = |value: Option<f64>, decimals: usize| {
            Cell::optional(value, |value| Cell::Text(format!("{value:.decimals$}")))
        };
        Some(vec![
            Cell::from(way.name.as_str()),
            time(f.latency.at(P50).exactly()),
            Cell::optional(f.median_p99_ns(), Cell::time),
            time(f.latency.max_ns),
            number(f.drift_ppm, 0),
            Cell::optional(f.cpu_per_activation_ns, Cell::time),
            number(f.voluntary_switches, 2),
            Cell::Count(f.missed),
        ])
    });
    let header = ["µs", "p50", "p99", "max", "drift", "CPU", "switch", "missed"];
    let caption = format!("waiting for a due time every {}, in turns", exact_time(compared.period_ns));
    let columns = "p50, p99, max: latency; p99 is the middle one of the turns. drift: how much slower than it should be, in millionths. CPU, switch: processor time \
        and context switches of the thread per activation; what interrupts and switching cost the rest of the machine is \
        only partly in it.";
    let mut pieces = vec![Piece::table(caption, &header, rows), Piece::text(columns)];
    pieces.extend(compared.ways.iter().filter_map(|way| {
        Some(Piece::note(format!("{}: {}", way.name, trouble_clause(way.trouble.as_ref()?))))
    }));
    if compared.interrupted {
        pieces.push(Piece::note("interrupted: the figures rest on the whole rounds until then"));
    }
    pieces.extend(compared.ways.iter().filter_map(|way| {
        let hole_ns = way.figures.as_ref().map(|f| f.longest_hole_ns).filter(|hole_ns| *hole_ns > 0)?;
        let hole = time(hole_ns as f64);
        Some(Piece::note(format!(
            "{}: while it polled, the longest hole in its processor was {hole}.",
            way.name
        )))
    }));
    Section::new(
        "ways-to-wait",
        "Ways to wait",
        "The same task with each way to wait, measured in turns.",
        pieces,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_analysis::wakeup::{BlockView, WayFigures, WayToWait};
    use jitterlab_model::{Activation, TaskResult};

    fn compared(ways: Vec<WayToWait>) -> WaysCompared {
        WaysCompared { period_ns: 1_000_000, rounds: 1, turn_ns: 2_000_000, interrupted: false, ways }
    }

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
        let figures = WayFigures::from_blocks(&[BlockView {
            period_ns: 1_000_000,
            result: &result,
            activations: &rows,
        }]);
        let way = |name: &str, figures, trouble| WayToWait { name: name.into(), figures, trouble };
        let why = WayTrouble::Impossible { why: "not permitted".into() };
        let compared =
            compared(vec![way("nanosleep", Some(figures), None), way("deadline", None, Some(why))]);
        let text = section(&compared).text(Terminal { columns: 80, ascii: false, colour: false });
        assert!(text.contains("nanosleep  2.30"), "{text}");
        assert!(
            text.contains("4.00")
                && text.contains("1.00")
                && text.contains("hole in its processor was 77 µs")
        );
        assert!(text.contains("deadline: not permitted"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(conclusion(&compared).number, "A turn has to hold a hundred due times for its p99.");
    }

    /// A way with these turns of a hundred activations, each late by as much.
    fn way(name: &str, turns_ns: &[i64], missed: u64) -> WayToWait {
        let result = TaskResult { executed: 100, missed, last_end_ns: 100_000_000, ..TaskResult::default() };
        let late = |start_ns: &i64| vec![Activation { start_ns: *start_ns, ..Activation::default() }; 100];
        let turns: Vec<Vec<Activation>> = turns_ns.iter().map(late).collect();
        let block = |turn| BlockView { period_ns: 1_000_000, result: &result, activations: turn };
        let blocks: Vec<BlockView> = turns.iter().map(|turn| block(turn)).collect();
        WayToWait { name: name.into(), figures: Some(WayFigures::from_blocks(&blocks)), trouble: None }
    }

    #[test]
    fn the_best_way_is_named_with_what_it_is_ranked_by_and_what_speaks_against_it() {
        let said = |ways| {
            let Conclusion { fitness, verdict, number, next, .. } = conclusion(&compared(ways));
            (fitness, [verdict, number, next].join("\n"))
        };
        let slow = || way("timerfd", &[9_000; 6], 0);
        let (fitness, text) =
            said(vec![slow(), way("nanosleep", &[4_000, 4_000, 4_000, 5_000, 5_000, 900_000], 0)]);
        assert_eq!(fitness, Fitness::Limited, "in one turn of six it was worse: {text}");
        let (fitness, text) = said(vec![slow(), way("nanosleep", &[4_000; 6], 0)]);
        assert_eq!(
            (fitness, text.as_str()),
            (
                Fitness::Good,
                "BEST of the ways that sleep: nanosleep.\nnanosleep: p99 4 µs, 0 due times missed; timerfd: p99 9 µs, 0 due \
                 times missed.\njitterlab run --wake nanosleep"
            )
        );
        let (fitness, text) = said(vec![slow(), way("nanosleep", &[4_000; 6], 2)]);
        assert_eq!(
            (fitness, text.as_str()),
            (
                Fitness::Limited,
                "BEST by p99: nanosleep, but with timerfd fewer due times are missed.\nnanosleep: p99 4 µs, 12 due times \
                 missed; timerfd: p99 9 µs, 0 due times missed.\nthe same with --rounds 10 (whether the misses stay)"
            )
        );
        let (_, text) = said(vec![way("nanosleep", &[4_000; 5], 0), way("timerfd", &[9_000; 5], 0)]);
        assert!(text.contains("BEST as seen: nanosleep; timerfd is not shown to be worse."), "{text}");
        let refused = WayTrouble::Impossible { why: "not permitted".into() };
        let (_, text) = said(vec![WayToWait { trouble: Some(refused), ..slow() }]);
        assert!(text.contains("polls, or was not measured to its end"), "{text}");
    }
}
