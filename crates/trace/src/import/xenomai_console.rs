//! Xenomai's `latency` on the console: a line a second with extremes and mean, in microseconds, perhaps negative.

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::{lines, us};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "Xenomai latency", recognise, parse };

fn recognise(input: &Input) -> bool {
    input.text.lines().any(|l| l.trim_start().starts_with("RTD|"))
}

/// The period of `RTT|  00:00:01  (periodic user-mode task, 1000 us period, priority 99)`, in nanoseconds.
pub(super) fn period_of(line: &str) -> Option<i64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.windows(2).position(|w| w[0] == "us" && w[1].starts_with("period"))?;
    words.get(at.checked_sub(1)?)?.parse().ok().map(us)
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("Xenomai latency", "Cobalt");
    let told = lines(input.text).find_map(|(_, line)| period_of(line.strip_prefix("RTT|")?));
    let period = import.period(told, hints, 1_000_000);
    let per_line = (1_000_000_000 / period.ns()).max(1) as u64;
    let (mut histogram, mut missed, mut sum) = (Histogram::default(), 0, 0.0);
    let mut elapsed = "";
    for (number, line) in lines(input.text) {
        // The time since the start stands above each screenful.
        if let Some(head) = line.strip_prefix("RTT|") {
            let now = head.split_whitespace().next().unwrap_or_default();
            if now < elapsed {
                return Err(Unreadable::Second.at(number));
            }
            elapsed = now;
        }
        let Some(row) = line.strip_prefix("RTD|") else { continue };
        let fields: Option<Vec<f64>> = row.split('|').map(|field| field.trim().parse().ok()).collect();
        let Some([min, mean, _max, overruns, _switches, best, worst]) = fields.as_deref() else {
            return Err(Unreadable::ConsoleLine.at(number));
        };
        histogram.add_overflow(us(*min), per_line);
        sum += mean * 1_000.0 * per_line as f64;
        // The last three count from the start.
        (histogram.min_ns, histogram.max_ns) = (Some(us(*best)), Some(us(*worst)));
        missed = *overruns as u64;
    }
    histogram.mean_ns = Some(sum / histogram.count().max(1) as f64);
    let told = Told::new("latency", period).lacks(Gap::Count);
    import.task(told, histogram.latency(period.ns()).with_missed(missed));
    import.warn(Warning::OnlyExtremes);
    import.warn(Warning::CountUnknown);
    import.complete()
}
