//! LinuxCNC's `halsampler -t` of timedelta's pins `current-error` and `out`: the number of the sample, how much longer than
//! the period the time since the thread's last run was, and that time, in nanoseconds.
//!
//! The columns are recognised by their values: time less error is the period, in every line but those before the
//! thread's second run.

use super::starts::{self, Span};
use super::text::{lines, numbers};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer =
    Importer { name: "LinuxCNC halsampler -t of timedelta", recognise, parse };

/// Fewer samples could agree by chance.
const FEWEST: usize = 8;
/// Lines before the thread's second run.
const BEFORE: usize = 2;
/// Word in place of lost samples.
const LOST: &str = "overrun";

struct Sample {
    number: i64,
    error_ns: i64,
    time_ns: i64,
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        match numbers::<i64>(line)?[..] {
            [number, error_ns, time_ns] => Some(Sample { number, error_ns, time_ns }),
            _ => None,
        }
    }

    fn period_ns(&self) -> i64 {
        self.time_ns.saturating_sub(self.error_ns)
    }
}

fn recognise(input: &Input) -> bool {
    let lines = lines(input.text).map(|(_, line)| line).filter(|line| !line.is_empty() && *line != LOST);
    let Some(samples) = lines.take(BEFORE + FEWEST).map(Sample::parse).collect::<Option<Vec<Sample>>>()
    else {
        return false;
    };
    let later = samples.get(BEFORE..).unwrap_or_default();
    let rise = samples.windows(2).all(|pair| pair[0].number < pair[1].number);
    let period_ns = later.first().map_or(0, Sample::period_ns);
    let agree = later.iter().all(|sample| sample.period_ns() == period_ns);
    !input.columns_given && rise && later.len() >= FEWEST && period_ns > 0 && agree
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut lost = false;
    for (at, line) in lines(input.text).filter(|(_, line)| !line.is_empty()) {
        if line == LOST {
            lost = true;
            continue;
        }
        let sample = Sample::parse(line)
            .ok_or_else(|| Unreadable::unexpected(line, "a row with all columns").at_line(at))?;
        if let Some(last) = samples.last() {
            lost |= sample.number > last.number.saturating_add(1);
            if sample.number <= last.number {
                return Err(Unreadable::SecondMeasurement.at_line(at));
            }
        }
        samples.push(sample);
    }
    let period_ns = samples.get(BEFORE).map_or(0, Sample::period_ns);
    let before = samples.iter().take(BEFORE).filter(|sample| sample.period_ns() != period_ns).count();
    let mut start_ns = 0i64;
    let later = samples[before..].iter().map(|sample| {
        start_ns = start_ns.saturating_add(sample.time_ns);
        start_ns
    });
    let starts = std::iter::once(0).chain(later);
    let spans: Vec<Span> = starts.map(|start_ns| Span { start_ns, end_ns: None }).collect();
    let mut import = Import::new("LinuxCNC halsampler", "RTAPI");
    let details = TaskDetails::new("timedelta", import.period_or_default(Some(period_ns), hints, period_ns))
        .with_catch_up();
    import.add_starts(details, &spans, starts::starts_on_grid(&spans, period_ns, lost));
    import.complete()
}
