//! The histogram file of Xenomai's `latency -g`.
//!
//! Rows are the centre of a bin in microseconds and its count plus one (so that a logarithmic plot shows empty
//! bins), framed by one row of nothing at each end.

use jitterlab_model::Gap;

use super::histogram::Histogram;
use super::text::{lines, numbers, once, us};
use super::{Hints, Import, Input, Mistake, Peer, Told, xenomai_console};
use crate::error::{Unreadable, Wanted};

pub(super) const PEER: Peer = Peer { name: "Xenomai latency -g", recognise, parse };

/// The names of the figures.
const HEAD: &str = "# ----lat min|";

fn recognise(input: &Input) -> bool {
    input.text.lines().any(|l| l.starts_with(HEAD))
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    once(input.text, |line| line.starts_with(HEAD))?;
    let mut import = Import::new("Xenomai latency", "Cobalt");
    let mut head = lines(input.text).filter_map(|(_, line)| line.strip_prefix('#'));
    let told = head.find_map(xenomai_console::period_of);
    let period = import.period(told, hints, 1_000_000);
    let mut rows: Vec<(i64, u64)> = Vec::new();
    for (number, line) in lines(input.text).filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        match numbers::<f64>(line).as_deref() {
            Some([centre, count]) if *count >= 1.0 => rows.push((us(*centre), *count as u64 - 1)),
            _ => return Err(Unreadable::not(line, Wanted::BinAndCount).at(number)),
        }
    }
    let [_, bins @ .., _] = &rows[..] else { return Err(Unreadable::NoBins.into()) };
    let width = rows.windows(2).map(|p| p[1].0 - p[0].0).filter(|w| *w > 0).min().unwrap_or(1_000);
    let figures = lines(input.text).skip_while(|(_, l)| !l.starts_with(HEAD)).nth(1);
    let figures = figures.map_or("", |(_, line)| line.trim_start_matches('#'));
    let figures: Vec<f64> = figures.split('|').map_while(|f| f.trim().parse().ok()).collect();
    let mut histogram = Histogram::default();
    if let [min, mean, max, ..] = &figures[..] {
        (histogram.min_ns, histogram.mean_ns, histogram.max_ns) =
            (Some(us(*min)), Some(mean * 1_000.0), Some(us(*max)));
    }
    for &(centre, count) in bins {
        histogram.add(centre - width / 2, centre + width - width / 2 - 1, count);
    }
    let overruns = figures.get(3).map(|n| *n as u64);
    let told = Told::new("latency", period);
    let told = if overruns.is_some() { told } else { told.lacks(Gap::Missed) };
    import.task(told, histogram.latency(period.ns()).with_missed(overruns.unwrap_or(0)));
    import.complete()
}
