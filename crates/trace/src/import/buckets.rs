//! Histograms of powers of two, as bcc's tools (runqlat, hardirqs) and bpftrace's `hist()` print them.
//!
//! bcc: `        16 -> 31         : 24       |*      |` below `usecs : count`. bpftrace: `[16, 32)     24 |@@    |` below `@usecs:`.

use std::collections::BTreeMap;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::statement::Statements;
use super::text::{clamped_ns, lines};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "bcc, bpftrace", recognise, parse };

/// Smallest value, largest value and count of a histogram's row, in units; `None` if the line is none.
fn row_of(line: &str) -> Option<(i64, i64, u64)> {
    if let Some((low, rest)) = line.split_once(" -> ") {
        let (high, count) = rest.split_once(':')?;
        let count = count.split('|').next()?.trim();
        return Some((low.trim().parse().ok()?, high.trim().parse().ok()?, count.parse().ok()?));
    }
    let (range, rest) = line.strip_prefix('[')?.split_once([')', ']'])?;
    let count = rest.split_once('|')?.0.trim().parse().ok()?;
    match range.split_once(',') {
        Some((low, high)) => Some((suffixed_number(low)?, suffixed_number(high)?.saturating_sub(1), count)),
        None => suffixed_number(range).map(|value| (value, value, count)),
    }
}

/// Number such as `64`, `2K` (of 1024) or `1M`.
fn suffixed_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let power =
        ["K", "M", "G", "T"].iter().position(|unit| text.ends_with(unit)).map_or(0, |at| 10 * (at + 1));
    let number: i64 = text.trim_end_matches(['K', 'M', 'G', 'T']).parse().ok()?;
    number.checked_mul(1 << power)
}

/// The unit that a heading names, in nanoseconds.
fn unit_of(heading: &str) -> Option<i64> {
    let words = heading.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().find_map(|word| match word {
        "nsecs" | "nsec" | "ns" | "nanoseconds" => Some(1),
        "usecs" | "usec" | "us" | "microseconds" => Some(1_000),
        "msecs" | "msec" | "ms" | "milliseconds" => Some(1_000_000),
        _ => None,
    })
}

/// A histogram as it is printed: its name, its unit in nanoseconds, and by their smallest values the largest ones and counts of its
/// rows.
type Printed = (String, Option<i64>, BTreeMap<i64, (i64, u64)>);

fn recognise(input: &Input) -> bool {
    lines(input.text).filter(|(_, line)| row_of(line).is_some()).count() >= 2
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let is_run_queue = input.text.contains("run queue") || input.text.contains("runqlat");
    let mut import = Import::new(if is_run_queue { "runqlat" } else { "bcc or bpftrace" }, "monotonic");
    let mut histograms: Vec<Printed> = Vec::new();
    let (mut name, mut unit_ns, mut begins) = (String::new(), None, true);
    for (number, line) in lines(input.text) {
        if let Some((low, high, count)) = row_of(line) {
            if std::mem::take(&mut begins) {
                histograms.push((name.clone(), unit_ns, BTreeMap::new()));
            }
            let rows = histograms.last_mut().map(|(.., rows)| rows);
            if rows.is_some_and(|rows| rows.insert(low, (high, count)).is_some()) {
                return Err(Unreadable::SecondMeasurement.at_line(number));
            }
        } else if !line.is_empty() {
            begins = true;
            unit_ns = unit_of(line).or(unit_ns);
            if let Some(key) = line
                .strip_prefix('@')
                .map(|key| key.trim_end_matches(':'))
                .or(line.contains(" = ").then_some(line))
            {
                name = key.to_owned();
            }
        }
    }
    let repeats =
        (1..histograms.len()).any(|at| histograms[..at].iter().any(|(name, ..)| *name == histograms[at].0));
    if repeats {
        // As of an interval each: added up they would be one.
        return Err(Unreadable::SecondMeasurement.into());
    }
    for (name, unit_ns, rows) in histograms {
        let unit_ns = unit_ns.or(hints.unit_ns).ok_or(Unreadable::NoTimeUnit)?;
        let mut stated = Statements::exact();
        for (low, (high, count)) in rows {
            stated.add_bin(clamped_ns(low, unit_ns), clamped_ns(high.saturating_add(1), unit_ns) - 1, count);
        }
        let name = if name.is_empty() { String::from("histogram") } else { name };
        import.add_latencies(TaskDetails::new(name, Period::None), &stated);
    }
    let measures = if is_run_queue { Aperiodic::RunQueue } else { Aperiodic::Durations };
    import.warn(Warning::NoPeriod { tool: import.info.tool.clone(), measures });
    import.complete()
}
