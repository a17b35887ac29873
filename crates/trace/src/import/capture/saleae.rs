//! CSV exports of Saleae's Logic: a line for each change (digital) or sample (analog), seconds first.

use super::super::text::lines;
use super::super::{Hints, Import, Input, Mistake, Peer};
use super::Captured;
use super::table::{Table, Times};

pub(in crate::import) const PEER: Peer =
    Peer { name: "Saleae Logic CSV", recognise, parse: |input, hints| read(input, hints)?.import(hints) };

fn head(text: &str) -> Option<impl Iterator<Item = &str>> {
    let (first, others) = text.lines().next()?.split_once(',')?;
    // Logic 1 writes no blank.
    matches!(first.trim().trim_matches('"'), "Time [s]" | "Time[s]")
        .then(|| others.split(',').map(|name| name.trim().trim_matches('"')))
}

fn recognise(input: &Input) -> bool {
    head(input.text).is_some()
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let names = head(input.text).into_iter().flatten().map(String::from).collect();
    let times = Times::First { unit_ns: 1_000_000_000 };
    let table = Table::read(names, 1, times, lines(input.text).skip(1))?;
    let mut import = Import::new("Saleae Logic", "capture");
    let channels = table.channels(&mut import, hints);
    Captured::of_edges(import, channels, hints)
}
