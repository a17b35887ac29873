//! stress-ng `--cyclic`: lines of its log with the number of samples, extremes, percentiles, and with `--cyclic-dist` the
//! beginning of the distribution.
//!
//! A percentile is the value at a place among the sorted samples (`latencies[n * p / 100]`), so it is known exactly how
//! many lie between two of them. The distribution is printed for its first 250 buckets only, and these may be wider than the
//! distance of percentiles: both are used, and values above the last of either count as up to the maximum.

use jitterlab_model::{Error, Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{check_single_measurement, clamped_ns, lines, number_after};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "stress-ng --cyclic", recognise, parse };

/// Text after `cyclic:` in a line of the log.
fn message(line: &str) -> Option<&str> {
    let (_, log) = line.split_once("stress-ng: ")?;
    log.split_once("cyclic: ").map(|(_, rest)| rest.trim())
}

fn recognise(input: &Input) -> bool {
    lines(input.text).filter_map(|(_, line)| message(line)).any(|m| m.starts_with("min:"))
}

/// Data of the log.
#[derive(Default)]
struct Log {
    delay_ns: Option<i64>,
    samples: Option<u64>,
    figures: Vec<Statement>,
    /// Smallest value and number of values of each bucket.
    buckets: Vec<(i64, u64)>,
    min_ns: Option<i64>,
    /// Share in percent and value, in their order.
    percentiles: Vec<(f64, i64)>,
    /// Width of a bucket once the distribution has begun.
    width_ns: Option<i64>,
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    // Only the first of several workers prints, so a second table is of a second run.
    check_single_measurement(input.text, |line| message(line).is_some_and(|m| m.starts_with("mean:")))?;
    let mut import = Import::new("stress-ng", "realtime");
    let mut log = Log::default();
    for (number, line) in lines(input.text) {
        let Some(message) = message(line) else { continue };
        if message.starts_with("Note:") || message.starts_with("for best results") {
            import.warn(Warning::Said { tool: "stress-ng".into(), text: message.into() });
        } else {
            log.take_message(message).map_err(|why| why.at_line(number))?;
        }
    }
    let period = import.period_or_default(log.delay_ns, hints, 100_000);
    let in_buckets = log.buckets.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let samples = log.samples.unwrap_or(in_buckets);
    if samples == 0 {
        return Err(Error::damaged("it does not say how many samples it is of").into());
    }
    let stated = log.statements(samples, in_buckets);
    if stated.wide {
        import.warn(Warning::OnlyPercentiles);
    }
    // A relative sleep has no grid that due times could be missed on.
    let details = TaskDetails::new("cyclic", period).with_gap(Gap::Missed).with_gap(Gap::DueTimes);
    import.add_latencies(details, &stated);
    import.warn(Warning::RelativeSleep { tool: "stress-ng".into() });
    import.complete()
}

impl Log {
    fn take_message(&mut self, message: &str) -> Result<(), Unreadable> {
        let figure = |name: &str| number_after(message, name);
        if let Some((before, after)) = message.split_once(" ns delay, ") {
            self.delay_ns = before.rsplit(' ').next().and_then(|delay| delay.parse().ok());
            self.samples = after.split(' ').next().and_then(|samples| samples.parse().ok());
        } else if message.starts_with("mean:") {
            self.figures.extend(figure("mean:").map(Statement::Mean));
        } else if message.starts_with("min:") {
            self.min_ns = figure("min:").map(|ns| ns as i64);
            self.figures.extend(self.min_ns.map(Statement::Min));
            self.figures.extend(figure("max:").map(|ns| Statement::Max(ns as i64)));
            self.figures.extend(figure("std.dev.").map(Statement::Deviation));
        } else if let Some((share, value)) = message.split_once("%:") {
            let value = number_after(value, "").map(|ns| ns as i64);
            if let (Ok(share), Some(value)) = (share.trim().parse(), value) {
                self.percentiles.push((share, value));
            }
        } else if message.starts_with("latency distribution (") {
            let width = figure("(").map(|width| width as i64).filter(|width| *width > 0);
            self.width_ns = Some(width.ok_or_else(|| Error::damaged("the width of its bins is missing"))?);
        } else if self.width_ns.is_some() {
            let words: Option<Vec<i64>> = message.split_whitespace().map(|word| word.parse().ok()).collect();
            if let Some([low_ns, count]) = words.as_deref() {
                self.buckets.push((clamped_ns(*low_ns, 1), u64::try_from(*count).unwrap_or(0)));
            }
        }
        Ok(())
    }

    /// Statements of all samples, each in a bin between the next percentiles or bucket edges.
    fn statements(mut self, samples: u64, in_buckets: u64) -> Statements {
        let mut all = Statements::exact();
        all.add(self.figures);
        // A few above a histogram leave it one.
        all.wide = in_buckets < samples / 20 * 19;
        self.buckets.sort_unstable();
        let width_ns = self.width_ns.unwrap_or(1);
        // Number of samples up to a value, and the lower limit of their bin.
        let mut up_to = 0;
        let edges = self.buckets.into_iter().filter(|(_, count)| *count > 0).map(|(low_ns, count)| {
            up_to = samples.min(u64::saturating_add(up_to, count));
            (up_to, low_ns.saturating_add(width_ns - 1), low_ns)
        });
        let mut points: Vec<(u64, i64, i64)> = edges.collect();
        let lowest = self.min_ns.unwrap_or(0);
        for (share, value_ns) in &self.percentiles {
            // Samples up to and with the one at this place, which counts from 0.
            let up_to = ((samples as f64 * share / 100.0) as u64).saturating_add(1).min(samples);
            let bucket = points.iter().find(|(end, high, _)| up_to <= *end && value_ns <= high);
            points.push((up_to, *value_ns, bucket.map_or(lowest, |(.., low)| *low)));
        }
        points.sort_unstable();
        let (mut placed, mut above_ns) = (0, lowest);
        for (up_to, value_ns, low_ns) in points {
            if up_to > placed {
                all.add_bin(above_ns.max(low_ns), value_ns, up_to - placed);
                placed = up_to;
            }
            above_ns = above_ns.max(value_ns);
        }
        all.add([Statement::Overflow { from: above_ns, count: samples.saturating_sub(placed) }]);
        all
    }
}
