//! CSV files of logic analysers and oscilloscopes: sigrok's, Saleae's, Keysight's, Rigol's and Siglent's. Below a head of its
//! own each has a line for each time, and a column for each channel.

use super::super::text::{decimal_ns, lines};
use super::super::{Hints, Import, ImportError, Importer, Input};
use super::sigrok::rate_hz;
use super::{Captured, Channel, threshold};
use crate::error::Unreadable;

pub(in crate::import) const IMPORTER: Importer = Importer {
    name: "captures (CSV)",
    recognise: |input| !matches!(parse_head(input.text, &Hints::default()), Ok(None)),
    parse: |input, hints| read(input, hints)?.import(hints),
};

const SECOND_NS: i64 = 1_000_000_000;

/// Content of the lines before the numbers.
struct Head {
    tool: &'static str,
    /// Names of the channels.
    names: Vec<String>,
    /// Column of the first channel.
    first: usize,
    times: Times,
    /// The first line of numbers, counted from 0.
    line: usize,
}

/// Source of a table's times.
enum Times {
    /// In the first column, in this unit.
    First { unit_ns: i64 },
    /// In no column: each line is `step_ns` after the one before it.
    EvenlySpaced { first_ns: f64, step_ns: f64 },
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

fn parse_head(text: &str, hints: &Hints) -> Result<Option<Head>, ImportError> {
    let first: Vec<Vec<&str>> = text.lines().take(PREAMBLE).map(cells).collect();
    let is = |line: usize, word: &str| {
        first.get(line).and_then(|cells| cells.first()).is_some_and(|cell| cell.eq_ignore_ascii_case(word))
    };
    let behind = |line: usize| first.get(line).and_then(|cells| cells.get(1..)).unwrap_or_default();
    let names = |line: usize| channel_names(behind(line));
    let seconds = |tool, names, line| {
        Some(Head { tool, names, first: 1, times: Times::First { unit_ns: SECOND_NS }, line })
    };
    // Saleae's Logic 1 writes no blank.
    if (is(0, "Time [s]") || is(0, "Time[s]")) && !behind(0).is_empty() {
        return Ok(seconds("Saleae Logic", behind(0).iter().map(ToString::to_string).collect(), 1));
    }
    if is(0, "x-axis") && is(1, "second") {
        return Ok(seconds("Keysight", names(0), 2));
    }
    if is(0, "X") && is(1, "Sequence") {
        return rigol_head(&first).map(Some);
    }
    if is(0, "Time(s)") {
        return Ok(seconds("Rigol", names(0), 1));
    }
    if text.starts_with("; CSV") && text.lines().take(4).any(|line| line.starts_with("; Channels")) {
        return sigrok_head(text, hints).map(Some);
    }
    // Siglent: a preamble of settings, the sources, then the names of the columns.
    let units = (1..first.len()).find(|line| is(*line, "Second")).filter(|_| is(0, "Record Length"));
    Ok(units.and_then(|line| {
        let sources =
            if is(line - 1, "Source") || is(line - 1, "Time") { names(line - 1) } else { Vec::new() };
        let columns = behind(line).iter().filter(|cell| !cell.is_empty()).count();
        let named = sources.into_iter().map(Some).chain(std::iter::repeat(None)).take(columns);
        let named = named.enumerate().map(|(k, name)| name.unwrap_or_else(|| format!("CH{}", k + 1)));
        seconds("Siglent", named.collect(), line + 1)
    }))
}

/// Head of Rigol's tables: `X,CH1,Start,Increment` with its values in the line below, then numbered lines.
fn rigol_head(first: &[Vec<&str>]) -> Result<Head, ImportError> {
    let value = |name: &str| {
        let column = first.first()?.iter().position(|cell| cell.eq_ignore_ascii_case(name))?;
        Some((column, *first.get(1)?.get(column)?))
    };
    let ns = |(column, cell): (usize, &str)| {
        let not = || Unreadable::unexpected(cell, "a number").at_line(2);
        decimal_ns(cell, SECOND_NS).ok_or_else(not)?;
        Ok::<_, ImportError>((column, cell.parse::<f64>().unwrap_or(0.0) * 1e9))
    };
    let (start, increment) = value("Start").zip(value("Increment")).ok_or(Unreadable::NoTimes)?;
    let ((column, first_ns), (_, step_ns)) = (ns(start)?, ns(increment)?);
    let names = channel_names(first.first().and_then(|cells| cells.get(1..column)).unwrap_or_default());
    Ok(Head { tool: "Rigol", names, first: 1, times: Times::EvenlySpaced { first_ns, step_ns }, line: 2 })
}

/// Head of what `sigrok-cli -O csv` writes, with times (`-O csv:time=true`) or without. Comments come first, such as `;
/// Samplerate: 500 kHz`.
fn sigrok_head(text: &str, hints: &Hints) -> Result<Head, ImportError> {
    let comments = || text.lines().map_while(|line| line.strip_prefix(';'));
    let said = |name: &str| {
        let mut all = comments().filter_map(|line| line.trim_start().split_once(": "));
        all.find(|(key, _)| key.starts_with(name)).map(|(_, value)| value)
    };
    let names: Vec<String> = said("Channels").unwrap_or_default().split(", ").map(String::from).collect();
    let is_row = |line: &str| !line.starts_with(';') && !line.trim().is_empty();
    let line = text.lines().position(is_row).unwrap_or_default();
    let labels = text.lines().nth(line).map(cells).unwrap_or_default();
    let has_labels = labels.iter().any(|cell| cell.parse::<f64>().is_err());
    let has_times = labels.len() > names.len();
    let times = if has_times {
        let unit_ns = match labels.first().copied().unwrap_or_default() {
            "seconds" => Some(SECOND_NS),
            "milliseconds" => Some(1_000_000),
            "microseconds" => Some(1_000),
            "nanoseconds" => Some(1),
            _ => hints.unit_ns,
        };
        Times::First { unit_ns: unit_ns.ok_or(Unreadable::NoTimeUnit)? }
    } else {
        let rate = said("Samplerate").and_then(rate_hz).ok_or(Unreadable::NoSampleRate)?;
        Times::EvenlySpaced { first_ns: 0.0, step_ns: 1e9 / rate }
    };
    let (first, line) = (usize::from(has_times), line + usize::from(has_labels));
    Ok(Head { tool: "sigrok", names, first, times, line })
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, ImportError> {
    let Head { tool, names, first, times, line } =
        parse_head(input.text, hints)?.ok_or(Unreadable::Nothing)?;
    let (mut times_ns, mut columns) = (Vec::<i64>::new(), vec![Vec::<f64>::new(); names.len()]);
    for (number, line) in lines(input.text).skip(line) {
        let mut cells = line.split(',').map(str::trim);
        let mut values = cells.clone().skip(first);
        // Some scopes end with a time that has no sample any more.
        if values.clone().take(names.len()).all(str::is_empty) {
            continue;
        }
        let at = match times {
            Times::First { unit_ns } => {
                let cell = cells.next().unwrap_or_default();
                decimal_ns(cell, unit_ns)
                    .ok_or_else(|| Unreadable::unexpected(cell, "a number").at_line(number))?
            }
            Times::EvenlySpaced { first_ns, step_ns } => {
                (first_ns + step_ns * times_ns.len() as f64).round() as i64
            }
        };
        if times_ns.last().is_some_and(|before| *before > at) {
            return Err(Unreadable::Backwards.at_line(number));
        }
        times_ns.push(at);
        for column in &mut columns {
            let cell = values
                .next()
                .ok_or_else(|| Unreadable::unexpected(line, "a row with all columns").at_line(number))?;
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
            column.push(value.ok_or_else(|| Unreadable::unexpected(cell, "a number").at_line(number))?);
        }
    }
    let mut import = Import::new(tool, "capture");
    let channel = |(name, values): (String, Vec<f64>)| {
        // Columns of nothing but 0 and 1 are levels, others voltages.
        if values.iter().all(|value| *value == 0.0 || *value == 1.0) {
            let mut channel = Channel::new(name);
            times_ns.iter().zip(values).for_each(|(at, value)| channel.set_level(*at, Some(value == 1.0)));
            channel
        } else {
            let samples = times_ns.iter().map(|at| *at as f64).zip(values).collect();
            threshold::channel_of_voltage(&mut import, &name, &samples, hints.capture.threshold)
        }
    };
    let channels = names.into_iter().zip(columns).map(channel).collect();
    Captured::from_edges(import, channels, hints)
}
