//! stress-ng `--cyclic` with `--cyclic-dist`: lines of its log, one table for each of its workers.

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::ns;
use super::{Hints, Import, Input, Mistake, Peer};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "stress-ng --cyclic", recognise, parse };

/// What follows `cyclic:` in a line of the log.
fn message(line: &str) -> Option<&str> {
    line.split_once("cyclic:").map(|(_, rest)| rest.trim())
}

fn recognise(input: &Input) -> bool {
    input.text.contains("stress-ng:") && input.text.lines().filter_map(message).any(|m| m.starts_with("min:"))
}

/// The number after a word, such as 5388.77 after `mean:`.
fn number_after(line: &str, key: &str) -> Option<f64> {
    let rest = line.split_once(key)?.1.trim_start();
    rest.split([' ', ',']).next()?.parse().ok()
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("stress-ng", "CLOCK_REALTIME");
    let mut workers: Vec<(Option<i64>, Histogram)> = Vec::new();
    let mut width_ns = 0;
    for (line, number) in input.text.lines().zip(1..) {
        let Some(message) = message(line) else { continue };
        if let Some((before, _)) = message.split_once(" ns delay") {
            workers.push((before.rsplit(' ').next().and_then(|d| d.parse().ok()), Histogram::default()));
        }
        if let Some(note) = message.strip_prefix("Note:") {
            import.warn(Warning::Said { tool: "stress-ng".into(), text: note.trim().into() });
        }
        let Some((_, histogram)) = workers.last_mut() else { continue };
        if let Some(mean) = number_after(message, "mean:") {
            histogram.mean_ns = Some(mean);
        } else if let (Some(min), Some(max)) = (number_after(message, "min:"), number_after(message, "max:"))
        {
            (histogram.min_ns, histogram.max_ns) = (Some(min as i64), Some(max as i64));
            histogram.deviation_ns = number_after(message, "std.dev.");
        } else if let Some(rest) = message.strip_prefix("latency distribution (") {
            let width = rest.split_whitespace().next().and_then(|w| w.parse().ok());
            width_ns = width.filter(|w| *w > 0).ok_or_else(|| Unreadable::NoWidth.at(number))?;
        } else if width_ns > 0 {
            let words: Option<Vec<i64>> = message.split_whitespace().map(|w| w.parse().ok()).collect();
            if let Some([low_ns, count]) = words.as_deref() {
                let low_ns = ns(*low_ns, 1);
                let count = u64::try_from(*count).unwrap_or(0);
                histogram.add(low_ns, low_ns.saturating_add(width_ns - 1), count);
            }
        }
    }
    for (worker, (delay_ns, mut histogram)) in workers.into_iter().enumerate() {
        // Bins beyond those printed are only missing, not counted.
        if histogram.count() == 0 {
            return Err(Unreadable::NoDistribution("stress-ng with --cyclic-dist 100").into());
        }
        let shown_ns = histogram.intervals.iter().map(|(_, high, _)| *high).max().unwrap_or(0);
        if let Some(max_ns) = histogram.max_ns.filter(|max| *max > shown_ns) {
            // How many there are is not printed; the maximum itself is one.
            histogram.add(max_ns, max_ns, 1);
            import.warn(Warning::EndsBelowMaximum);
        }
        let period = import.period(delay_ns, hints, 100_000);
        import.task(format!("cyclic{worker}"), period, None, &[Gap::Missed], histogram.latency(period.0));
    }
    import.warn(Warning::RelativeSleep { tool: "stress-ng".into() });
    import.complete()
}
