//! rt-tests' hwlatdetect: the longest stop of a polling processor in each window, where it reaches a threshold.
//!
//! Stops outside its sampling windows are unknown; a window without a stop is only known to be below the threshold.

use jitterlab_model::warning::Aperiodic;
use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{lines, number_after, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "hwlatdetect", recognise, parse };

const HEAD: &str = "hwlatdetect:";

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| line.starts_with(HEAD) || stop_of(line).is_some())
}

/// Longer stop in microseconds in a line of hwlatdetect. Such as `ts: 1787951679.284904730, inner:17, outer:142, cpu:0`
/// or `#2 inner/outer(us):   17/142`.
fn stop_of(line: &str) -> Option<f64> {
    if let Some((_, both)) = line.split_once("inner/outer(us):") {
        let (inner, outer) = both.split_whitespace().next()?.split_once('/')?;
        return Some(f64::max(inner.parse().ok()?, outer.parse().ok()?));
    }
    line.starts_with("ts:").then_some(())?;
    Some(f64::max(number_after(line, "inner:")?, number_after(line, "outer:")?))
}

fn parse(input: &Input, _: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("hwlatdetect", "TSC");
    let mut stated = Statements::with_unit(1_000);
    let ([mut seconds, mut threshold, mut window, mut hits], mut listed) = ([None; 4], 0.0);
    for (number, line) in lines(input.text) {
        let figure = |name: &str| number_after(line, name);
        if let Some(head) = line.strip_prefix(HEAD) {
            if seconds.replace(number_after(head, "test duration").unwrap_or(0.0)).is_some() {
                return Err(Unreadable::SecondMeasurement.at_line(number));
            }
        } else if let Some(stop) = stop_of(line) {
            listed += 1.0;
            stated.add_bin(us(stop), us(stop).saturating_add(999), 1);
        } else if let Some((count, of)) = line.split_once(" SMIs occ")
            && let (Ok(count), Some(cpu)) = (count.trim().parse(), of.rsplit(' ').next())
        {
            import.warn(Warning::ManagementInterrupts { of: format!("cpu{cpu}"), count });
        }
        threshold = figure("Latency threshold:").or(threshold);
        window = figure("Sample window:").or(window);
        hits = figure("Samples exceeding threshold:").or(hits);
        stated.add(figure("Max Latency:").map(|max| Statement::Max(us(max))));
    }
    let windows = seconds.zip(window).filter(|(_, window)| *window > 0.0).map(|(s, window)| s * 1e6 / window);
    let hits = hits.unwrap_or(listed).max(listed);
    stated.add([Statement::Count(windows.unwrap_or(0.0).max(hits) as u64)]);
    if let Some(threshold) = threshold {
        let below = windows.map_or(0.0, |windows| windows - hits);
        stated.add_bin(0, us(threshold) - 1, below.max(0.0) as u64);
        import.warn(Warning::OnlyAbove { above_ns: us(threshold) });
    }
    import.add_latencies(TaskDetails::new("hwlat", Period::None).with_gap(Gap::Count), &stated);
    import.warn(Warning::NoPeriod { tool: "hwlatdetect".into(), measures: Aperiodic::Gaps });
    import.complete()
}
