//! cyclictest's histogram text (`-h`, `-H`, `--histfile`): latencies in whole units, one column per thread.
//!
//! Bin b holds latencies from b up to below b + 1. What is at or above the limit is only counted as overflow; the
//! limit is not in the file, so it is taken as what follows the last bin. `-H` adds a column with the sum, which
//! is told from the footers. rt-tests 2.7 and later leave out rows of zeros and the totals.

use jitterlab_model::Warning;

use super::histogram::Histogram;
use super::text::{expect_numbers, lines, ns, numbers, once};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "cyclictest -h", recognise, parse };

fn recognise(input: &Input) -> bool {
    input.text.lines().any(|l| l.trim() == "# Histogram")
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    once(input.text, |line| line == "# Histogram")?;
    let mut import = Import::new("cyclictest", "monotonic");
    let unit_ns = import.unit(None, hints, 1_000);
    let mut rows: Vec<(usize, Vec<u64>)> = Vec::new();
    let mut footers = [const { Vec::new() }; 4];
    const NAMES: [&str; 4] =
        ["# Min Latencies:", "# Avg Latencies:", "# Max Latencies:", "# Histogram Overflows:"];
    for (number, line) in lines(input.text) {
        if let Some(i) = NAMES.iter().position(|name| line.starts_with(name)) {
            footers[i] = expect_numbers::<u64>(number, &line[NAMES[i].len()..])?;
        } else if let Some(row) = numbers::<u64>(line).filter(|row| row.len() > 1) {
            rows.push((number, row));
        }
    }
    let [min, average, max, overflows] = footers;
    let threads = min.len();
    if threads == 0 || max.len() < threads {
        return Err(Unreadable::Cut.into());
    }
    let period = import.period(None, hints, 1_000_000);
    if let Some((number, _)) = rows.iter().find(|(_, row)| row.len() <= threads) {
        return Err(Unreadable::FewColumns { threads }.at(*number));
    }
    let at = |values: &[u64], thread: usize| values.get(thread).map(|v| ns(*v as i64, unit_ns));
    let last_ns = rows.last().map_or(0, |(_, row)| ns(row[0] as i64, unit_ns));
    for thread in 0..threads {
        let mut histogram = Histogram {
            min_ns: at(&min, thread),
            max_ns: at(&max, thread).map(|v| v.saturating_add(unit_ns - 1)),
            ..Histogram::default()
        };
        for (_, row) in &rows {
            let low_ns = ns(row[0] as i64, unit_ns);
            histogram.add(low_ns, low_ns.saturating_add(unit_ns - 1), row[thread + 1]);
        }
        let overflow = overflows.get(thread).copied().unwrap_or(0);
        histogram.add_overflow(last_ns.saturating_add(unit_ns), overflow);
        if overflow > 0 {
            import.warn(Warning::AboveHistogram { task: format!("thread{thread}"), count: overflow });
            // The mean is cut to whole units, but with values outside the histogram it is the better one.
            histogram.mean_ns = at(&average, thread).map(|v| v as f64 + unit_ns as f64 / 2.0);
        }
        import.task(Told::new(format!("thread{thread}"), period).skips(), histogram.latency(period.ns()));
    }
    import.warn(Warning::MissedNotCounted { tool: "cyclictest".into() });
    import.complete()
}
