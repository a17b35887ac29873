//! CSV files of sigrok: `sigrok-cli -O csv`, with times (`-O csv:time=true`) or without.

use super::super::text::lines;
use super::super::{Hints, Import, Input, Mistake, Peer};
use super::Captured;
use super::sigrok::rate_hz;
use super::table::{Table, Times};
use crate::error::Unreadable;

pub(in crate::import) const PEER: Peer =
    Peer { name: "sigrok CSV", recognise, parse: |input, hints| read(input, hints)?.import(hints) };

fn recognise(input: &Input) -> bool {
    input.text.starts_with("; CSV") && input.text.lines().take(4).any(|line| line.starts_with("; Channels"))
}

/// Value of a comment in the head: `500 kHz` of `; Samplerate: 500 kHz`.
fn said<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let comments = text.lines().map_while(|line| line.strip_prefix("; "));
    comments
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| key.starts_with(name))
        .map(|(_, rest)| rest)
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let names: Vec<String> =
        said(input.text, "Channels").unwrap_or_default().split(", ").map(String::from).collect();
    let rows = || lines(input.text).filter(|(_, line)| !line.is_empty() && !line.starts_with(';'));
    let first: Vec<&str> =
        rows().next().map_or_else(Vec::new, |(_, line)| line.split(',').map(str::trim).collect());
    let has_labels = first.iter().any(|cell| cell.parse::<f64>().is_err());
    let has_times = first.len() > names.len();
    let times = if has_times {
        let unit_ns = match first.first().copied().unwrap_or_default() {
            "seconds" => Some(1_000_000_000),
            "milliseconds" => Some(1_000_000),
            "microseconds" => Some(1_000),
            "nanoseconds" => Some(1),
            _ => hints.unit_ns,
        };
        Times::First { unit_ns: unit_ns.ok_or(Unreadable::NoTimeUnit)? }
    } else {
        let rate = said(input.text, "Samplerate").and_then(rate_hz).ok_or(Unreadable::NoSampleRate)?;
        Times::Lines { first_ns: 0.0, step_ns: 1e9 / rate }
    };
    let table = Table::read(names, usize::from(has_times), times, rows().skip(usize::from(has_labels)))?;
    let mut import = Import::new("sigrok", "capture");
    let channels = table.channels(&mut import, hints);
    Captured::of_edges(import, channels, hints)
}
