//! `rtla timerlat hist` and `rtla osnoise hist`: a column per CPU and stage.
//!
//! The stages of timerlat (IRQ, thread, user) are times from the same due time: one activation each, never to be
//! added. Each becomes a task of its own. Indices are lower edges; the bucket size is the largest that fits them all.

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::statement::{Statement, Statements};
use super::text::{self, lines, once};
use super::{Hints, Import, Input, Mistake, Peer, Period, Told, rtla_analysis};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "rtla timerlat hist", recognise, parse };

/// Its first line.
fn is_head(line: &str) -> bool {
    matches!(line, "# RTLA timerlat histogram" | "# RTLA osnoise histogram")
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| is_head(line))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Values of a row: `-` stands for none.
fn values(line: usize, words: &[&str]) -> Result<Vec<u64>, Mistake> {
    let value = |word: &&str| match *word {
        "-" => Ok(0),
        word => word.parse().map_err(|_| Unreadable::not(word, Wanted::Count).at(line)),
    };
    words.iter().map(value).collect()
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    once(input.text, is_head)?;
    let osnoise = input.text.contains("RTLA osnoise histogram");
    let mut import = Import::new(if osnoise { "rtla osnoise" } else { "rtla timerlat" }, "monotonic");
    let unit_ns = if input.text.contains("nanoseconds (ns)") { 1 } else { 1_000 };
    let mut names: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut summary: [Option<Vec<u64>>; 5] = Default::default();
    const SUMMARY: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];
    for (number, line) in lines(input.text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_first() {
            None => {}
            // Newer versions add a block with the sums of all CPUs; then perhaps the trace of what hit the limit.
            Some((&"ALL:" | &"rtla", _)) => break,
            Some((&"Index", columns)) => names = columns.iter().map(|c| c.to_lowercase()).collect(),
            Some((first, counts)) => {
                if let Some(i) = SUMMARY.iter().position(|s| s == first) {
                    if summary[i].replace(values(number, counts)?).is_some() {
                        return Err(Unreadable::Second.at(number));
                    }
                } else if let Ok(index) = first.parse() {
                    rows.push((index, values(number, counts)?));
                }
            }
        }
        if let Some((_, row)) = rows.last().filter(|(_, row)| row.len() != names.len()) {
            let (counts, columns) = (row.len(), names.len());
            return Err(Unreadable::CountsOfRow { counts, columns }.at(number));
        }
    }
    let bucket = rows.iter().fold(0, |divisor, (index, _)| common_divisor(divisor, *index)).max(1);
    let ns = |value: u64| text::ns(value as i64, unit_ns);
    // Noise is how long a busy thread stood still.
    let period = if osnoise { Period::None } else { import.period(None, hints, 1_000_000) };
    let [over, count, min, average, max] = summary;
    let at = |row: &Option<Vec<u64>>, column: usize| row.as_ref().and_then(|r| r.get(column)).copied();
    for (column, name) in names.iter().enumerate() {
        let mut stated = Statements::cut_to(unit_ns);
        for (index, counts) in &rows {
            let low = ns(*index);
            stated.bin(low, low.saturating_add(ns(bucket) - 1), counts[column]);
        }
        let from = rows.last().map_or(0, |(index, _)| ns(index.saturating_add(bucket)));
        stated.state(at(&over, column).map(|count| Statement::Overflow { from, count }));
        stated.state(at(&count, column).map(Statement::Count));
        stated.state(at(&min, column).map(|min| Statement::Min(ns(min))));
        stated.state(at(&average, column).map(|mean| Statement::CutMean(ns(mean) as f64)));
        stated.state(at(&max, column).map(|max| Statement::Max(ns(max))));
        let cpu = name.rsplit('-').next().and_then(|n| n.parse().ok());
        let told = Told::new(name.clone(), period).on(cpu);
        let told = if osnoise { told } else { told.skips() };
        import.latencies(told, &stated);
    }
    rtla_analysis::traced(input.text).into_iter().for_each(|one| import.warn(Warning::Traced(one)));
    if osnoise {
        import.warn(Warning::NoPeriod { tool: "rtla osnoise".into(), measures: Aperiodic::Gaps });
    } else {
        import.warn(Warning::Stages);
        import.warn(Warning::MissedNotCounted { tool: "rtla timerlat".into() });
    }
    import.complete()
}
