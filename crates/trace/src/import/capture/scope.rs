//! CSV files of oscilloscopes: those of Keysight, Rigol and Siglent.

use super::super::text::{decimal_ns, lines};
use super::super::{Hints, Import, Input, Mistake, Peer};
use super::Captured;
use super::table::{Table, Times};
use crate::error::{Unreadable, Wanted};

pub(in crate::import) const PEER: Peer =
    Peer { name: "oscilloscope CSV", recognise, parse: |input, hints| read(input, hints)?.import(hints) };

const SECOND_NS: i64 = 1_000_000_000;

/// Content of the lines before the numbers.
struct Head {
    tool: &'static str,
    names: Vec<String>,
    times: Times,
    /// The first line of numbers, counted from 0.
    line: usize,
}

/// Most lines of a preamble.
const PREAMBLE: usize = 40;

fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"')).collect()
}

fn channel_names(cells: &[&str]) -> Vec<String> {
    // A name that is a bare number, as Keysight's are, is that of a channel; units may follow it.
    let name = |cell: &&str| {
        let bare = cell.split(['(', '[']).next().unwrap_or_default().trim_end_matches('V').trim();
        if bare.parse::<u32>().is_ok() { format!("CH{bare}") } else { bare.to_owned() }
    };
    cells.iter().filter(|cell| !cell.is_empty()).map(name).collect()
}

fn head(text: &str) -> Result<Option<Head>, Mistake> {
    let first: Vec<Vec<&str>> = text.lines().take(PREAMBLE).map(cells).collect();
    let is = |line: usize, word: &str| {
        first.get(line).and_then(|cells| cells.first()).is_some_and(|cell| cell.eq_ignore_ascii_case(word))
    };
    let names =
        |line: usize| channel_names(first.get(line).and_then(|cells| cells.get(1..)).unwrap_or_default());
    let seconds = Times::First { unit_ns: SECOND_NS };
    if is(0, "x-axis") && is(1, "second") {
        return Ok(Some(Head { tool: "Keysight", names: names(0), times: seconds, line: 2 }));
    }
    if is(0, "X") && is(1, "Sequence") {
        return rigol(&first).map(Some);
    }
    if is(0, "Time(s)") {
        return Ok(Some(Head { tool: "Rigol", names: names(0), times: seconds, line: 1 }));
    }
    // Siglent: a preamble of settings, the sources, then the names of the columns.
    let units = (1..first.len()).find(|line| is(*line, "Second"));
    Ok(units.filter(|_| is(0, "Record Length")).map(|line| {
        let sources =
            if is(line - 1, "Source") || is(line - 1, "Time") { names(line - 1) } else { Vec::new() };
        let columns =
            first.get(line).map_or(0, |cells| cells.iter().skip(1).filter(|c| !c.is_empty()).count());
        let named = sources.into_iter().map(Some).chain(std::iter::repeat(None)).take(columns);
        let named = named.enumerate().map(|(k, name)| name.unwrap_or_else(|| format!("CH{}", k + 1)));
        Head { tool: "Siglent", names: named.collect(), times: seconds, line: line + 1 }
    }))
}

/// `X,CH1,Start,Increment` with its values in the line below: the lines are numbered, the times follow.
fn rigol(first: &[Vec<&str>]) -> Result<Head, Mistake> {
    let value = |name: &str| {
        let column = first.first()?.iter().position(|cell| cell.eq_ignore_ascii_case(name))?;
        Some((column, *first.get(1)?.get(column)?))
    };
    let ns = |(column, cell): (usize, &str)| {
        let not = || Unreadable::not(cell, Wanted::Time).at(2);
        decimal_ns(cell, SECOND_NS).ok_or_else(not)?;
        Ok::<_, Mistake>((column, cell.parse::<f64>().unwrap_or(0.0) * 1e9))
    };
    let (start, increment) = value("Start").zip(value("Increment")).ok_or(Unreadable::NoTimes)?;
    let ((column, first_ns), (_, step_ns)) = (ns(start)?, ns(increment)?);
    let names = channel_names(first.first().and_then(|cells| cells.get(1..column)).unwrap_or_default());
    Ok(Head { tool: "Rigol", names, times: Times::Lines { first_ns, step_ns }, line: 2 })
}

fn recognise(input: &Input) -> bool {
    !matches!(head(input.text), Ok(None))
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let Some(Head { tool, names, times, line }) = head(input.text)? else {
        return Err(Unreadable::Nothing.into());
    };
    let table = Table::read(names, 1, times, lines(input.text).skip(line))?;
    let mut import = Import::new(tool, "capture");
    let channels = table.channels(&mut import, hints);
    Captured::of_edges(import, channels, hints)
}
