//! The rows of cyclictest's histogram without anything else, as the OSADL publishes the data of its plots: a bin of a
//! microsecond, a blank, a count for each core, separated by tabs.
//!
//! What lay above the last bin is in no row: how many there were, and the maximum, are unknown.

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::{lines, ns};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "cyclictest rows (OSADL)", recognise, parse };

/// Bin and counts of a row: `000012 000213`, with a tab before each further count.
fn row_of(line: &str) -> Option<(i64, Vec<u64>)> {
    let (bin, counts) = line.split_once(' ')?;
    let wide = bin.len() >= 6 && bin.bytes().all(|b| b.is_ascii_digit());
    let counts: Option<Vec<u64>> = counts.split('\t').map(|count| count.parse().ok()).collect();
    wide.then_some((bin.parse().ok()?, counts?))
}

fn recognise(input: &Input) -> bool {
    let mut rows = lines(input.text).filter(|(_, line)| !line.is_empty()).peekable();
    !input.columns_given && rows.peek().is_some() && rows.all(|(_, line)| row_of(line).is_some())
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("cyclictest", "monotonic");
    let unit_ns = import.unit(None, hints, 1_000);
    let period = import.period(None, hints, 1_000_000);
    let mut threads: Vec<Histogram> = Vec::new();
    let mut next = i64::MIN;
    for (number, line) in lines(input.text).filter(|(_, line)| !line.is_empty()) {
        let (bin, counts) =
            row_of(line).ok_or_else(|| Unreadable::not(line, Wanted::BinAndCount).at(number))?;
        if bin < next {
            return Err(Unreadable::Second.at(number));
        }
        next = bin.saturating_add(1);
        if threads.is_empty() {
            threads.resize(counts.len(), Histogram::default());
        }
        if counts.len() != threads.len() {
            return Err(Unreadable::CountsOfRow { counts: counts.len(), columns: threads.len() }.at(number));
        }
        let low_ns = ns(bin, unit_ns);
        for (thread, count) in threads.iter_mut().zip(counts) {
            thread.add(low_ns, low_ns.saturating_add(unit_ns - 1), count);
        }
    }
    for (thread, mut histogram) in threads.into_iter().enumerate() {
        if histogram.count() > 0 {
            histogram.beyond = Some((ns(next, unit_ns), 0));
        }
        let told = Told::new(format!("core{thread}"), period).skips().lacks(Gap::Count);
        import.task(told, histogram.latency(period.ns()));
    }
    import.warn(Warning::EndsBelowMaximum);
    import.warn(Warning::MissedNotCounted { tool: "cyclictest".into() });
    import.complete()
}
