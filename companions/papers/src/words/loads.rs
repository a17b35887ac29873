//! Measurements of systems under the loads of a document, as a table, with what they rest on.

use crate::loads::{LoadFigures, STRETCHES, TURNS, UnderLoad};
use jitterlab_report::section::{Cell, Piece};
use jitterlab_report::warnings::emulated;

const HEADER: [&str; 8] = ["in µs", "activations", "missed", "min", "mean", "max", "range", "sd"];

/// A row for each system under each load.
pub(super) fn table(caption: &str, found: &LoadFigures) -> Piece {
    let of = if found.in_virtual_time { " of virtual time" } else { "" };
    let rows = each(found).map(|(name, load)| std::iter::once(name.into()).chain(numbers(load)).collect());
    Piece::table(format!("{caption}{of}"), &HEADER, rows)
}

/// Every system under every load, with its name.
fn each(found: &LoadFigures) -> impl Iterator<Item = (String, &UnderLoad)> {
    found.systems.iter().flat_map(|system| {
        system.loads.iter().map(|load| (format!("{}, {}", system.system, load.condition), load))
    })
}

fn numbers(load: &UnderLoad) -> Vec<Cell> {
    let Some(found) = load.found else { return vec![Cell::Nothing; HEADER.len() - 1] };
    let exact = |ns: i64| ns as f64;
    let times =
        [exact(found.min_ns), found.mean_ns, exact(found.max_ns), exact(found.range_ns()), found.sd_ns];
    let counts = [found.executed, found.missed].map(Cell::Count);
    counts.into_iter().chain(times.map(|ns| Cell::Time { ns, bin_ns: 0.0 })).collect()
}

/// Intensity of each load.
pub(super) fn done(found: &LoadFigures) -> Option<Piece> {
    let loaded = each(found).filter(|(_, load)| !load.done.is_empty());
    let rows: Vec<Vec<String>> = loaded.map(|(name, load)| vec![name, load.done.join("; ")]).collect();
    (!rows.is_empty())
        .then(|| Piece::details("What each load did", vec![Piece::table("", &["", "load"], rows)]))
}

/// The repetitions that the numbers are of, or the limits of virtual time, which `more` adds to.
pub(super) fn basis(found: &LoadFigures, more: &str) -> Piece {
    Piece::text(if found.in_virtual_time {
        format!("{} {more}", emulated(found.ns_per_instruction))
    } else {
        format!("Each measured {TURNS} times in turns; {STRETCHES} stretches of each run give the intervals.")
    })
}
