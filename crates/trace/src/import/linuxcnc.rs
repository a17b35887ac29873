//! LinuxCNC: `latency-histogram --nox`, and the `.latency` file of latency-test. What they call jitter is the period
//! error, signed; only its extremes and deviation are known.

use std::collections::BTreeMap;

use jitterlab_model::{Gap, Warning};

use super::histogram::Histogram;
use super::text::{lines, us};
use super::{Hints, Import, Input, Mistake, Peer};
use crate::error::Unreadable;

pub(super) const NOX: Peer =
    Peer { name: "LinuxCNC latency-histogram --nox", recognise: is_nox, parse: parse_nox };
pub(super) const DOT_LATENCY: Peer =
    Peer { name: "LinuxCNC .latency", recognise: is_dot_latency, parse: parse_dot_latency };

/// LinuxCNC's usual base and servo periods.
fn default_period_ns(thread: &str) -> i64 {
    if thread == "base" { 25_000 } else { 1_000_000 }
}

/// Elapsed seconds, thread, and min, max, sdev in microseconds of a line such as
/// `   12 s   base min:  -8.120 us max:  10.301 us sdev:   0.412 us`.
fn line_of(line: &str) -> Option<(f64, &str, [f64; 3])> {
    let spaced = line.replace(':', ": ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let value = |key: &str| words.get(words.iter().position(|w| *w == key)? + 1)?.parse().ok();
    let thread = ["base", "servo"].into_iter().find(|t| words.get(2) == Some(t))?;
    (words.get(1) == Some(&"s")).then_some(())?;
    Some((words[0].parse().ok()?, thread, [value("min:")?, value("max:")?, value("sdev:")?]))
}

fn is_nox(input: &Input) -> bool {
    input.text.lines().any(|l| line_of(l).is_some())
}

fn parse_nox(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("LinuxCNC latency-histogram", "RTAPI");
    // Figures are since the start: the last line of each thread has them all.
    let last: BTreeMap<_, _> = lines(input.text)
        .filter_map(|(_, line)| line_of(line))
        .map(|(elapsed, thread, figures)| (thread, (elapsed, figures)))
        .collect();
    for (thread, (elapsed, [min, max, deviation])) in last {
        let period = import.period(None, hints, default_period_ns(thread));
        let count = (elapsed * 1e9 / period.0 as f64) as u64;
        let mut histogram = Histogram {
            min_ns: Some(us(min)),
            max_ns: Some(us(max)),
            deviation_ns: Some(deviation * 1_000.0),
            ..Histogram::default()
        };
        histogram.add_overflow(us(min), count.max(1));
        let unknown = [Gap::Count, Gap::Missed];
        import.task(thread, period, None, &unknown, histogram.period_error(period.0));
    }
    import.warn(Warning::OnlyExtremes);
    import.warn(Warning::CountAssumed);
    import.complete()
}

fn is_dot_latency(input: &Input) -> bool {
    input.path.file_name().is_some_and(|n| n == ".latency") && input.text.trim().parse::<i64>().is_ok()
}

fn parse_dot_latency(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let jitter_ns: i64 = input.text.trim().parse().map_err(|_| Unreadable::NotANumber.at(1))?;
    let mut import = Import::new("LinuxCNC latency-test", "RTAPI");
    let period = import.period(None, hints, default_period_ns("base"));
    let mut histogram = Histogram { max_ns: Some(jitter_ns), ..Histogram::default() };
    histogram.add_overflow(jitter_ns.saturating_neg(), 1);
    let unknown = [Gap::Count, Gap::Missed];
    import.task("base", period, None, &unknown, histogram.period_error(period.0));
    import.warn(Warning::OnlyExtremes);
    import.warn(Warning::CountAssumed);
    import.complete()
}
