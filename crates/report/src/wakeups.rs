//! Ways to wait, beside one another.

use jitterlab_analysis::summary::{P50, P99};
use jitterlab_analysis::wakeup::{WayTrouble, WaysCompared};
use jitterlab_model::units::Human;

use crate::section::{Piece, Section};
use crate::words::exact;

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
