//! EVL's `latmus -g`: a head of facts, then cells of a microsecond by their lower edge.

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::{lines, ns, once, us};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "EVL latmus -g", recognise, parse };

/// Its first line.
const HEAD: &str = "# test started on:";

fn recognise(input: &Input) -> bool {
    lines(input.text).find(|(_, line)| !line.is_empty()).is_some_and(|(_, line)| line.starts_with(HEAD))
}

/// The first number after a key in the head, such as 1000 in `# sampling period: 1000 microseconds`.
fn fact(text: &str, key: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix('#')?.trim().to_lowercase().strip_prefix(key).map(str::to_owned))?;
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    line.split(|c| !number(c)).find_map(|word| word.parse().ok())
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    once(input.text, |line| line.starts_with(HEAD))?;
    let mut import = Import::new("EVL latmus", "monotonic");
    let told = fact(input.text, "sampling period").map(us);
    let period = import.period(told, hints, 1_000_000);
    let mut histogram = Histogram {
        min_ns: fact(input.text, "min latency").map(us),
        mean_ns: fact(input.text, "avg latency").map(|v| v * 1_000.0),
        max_ns: fact(input.text, "max latency").map(us),
        ..Histogram::default()
    };
    for (number, line) in lines(input.text).filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        let cell = line.split_once(char::is_whitespace).and_then(|(cell, count)| {
            let open = count.trim().ends_with('+') || cell.ends_with('+');
            let number = |text: &str| text.trim().trim_end_matches('+').parse::<i64>().ok();
            Some((ns(number(cell)?, 1_000), u64::try_from(number(count)?).ok()?, open))
        });
        match cell {
            Some((low_ns, count, false)) => histogram.add(low_ns, low_ns.saturating_add(999), count),
            Some((low_ns, count, true)) => {
                histogram.add_overflow(low_ns, count);
                import.warn(Warning::AboveHistogram { task: "latmus".into(), count });
            }
            None => return Err(Unreadable::not(line, Wanted::CellAndCount).at(number)),
        }
    }
    let overruns = fact(input.text, "overruns");
    let told = Told::new("latmus", period);
    let told = if overruns.is_some() { told } else { told.lacks(Gap::Missed) };
    import.task(told, histogram.latency(period.ns()).with_missed(overruns.unwrap_or(0.0) as u64));
    import.complete()
}
