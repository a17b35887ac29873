//! What ros2_control's controller manager logs where its loop took longer than a period:
//! `Overrun detected! The controller manager missed its desired rate of 500 Hz. The loop took 2.895488 ms (missed cycles : 2).`
//!
//! The time is from when the loop was due to its end, so a late start is part of it, and the cycles are those that it left out and
//! itself (`ros2_control_node.cpp`). At most one overrun is logged a second.

use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{lines, number_after, us};
use super::{Hints, Import, Input, Mistake, Peer, Told};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "ros2_control", recognise, parse };

/// Rate in Hz, time in ms and cycles of an overrun.
fn overrun_of(line: &str) -> Option<(f64, f64, u64)> {
    let (_, rest) = line.split_once(" rate of ")?;
    let rate = rest.split_whitespace().next()?.parse().ok().filter(|rate: &f64| *rate > 0.0)?;
    let cycles = number_after(rest, "missed cycles ").map_or(0, |cycles| cycles as u64);
    Some((rate, number_after(rest, "The loop took")?, cycles))
}

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| overrun_of(line).is_some())
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut import = Import::new("ros2_control", "steady");
    let mut overruns = Vec::new();
    let mut last = 0.0;
    for (number, line) in lines(input.text) {
        let Some(overrun) = overrun_of(line) else { continue };
        let at = line.split(['[', ']']).find_map(|part| part.parse::<f64>().ok()).unwrap_or(last);
        if at < std::mem::replace(&mut last, at) {
            return Err(Unreadable::Second.at(number));
        }
        overruns.push(overrun);
    }
    let mut periods: Vec<i64> = overruns.iter().map(|(rate, ..)| (1e9 / rate).round() as i64).collect();
    periods.dedup();
    let period = import.one_period("controller_manager", &periods, hints, 10_000_000);
    let mut stated = Statements::exact();
    let times = || overruns.iter().map(|(_, ms, _)| us(ms * 1_000.0));
    stated.state(times().max().map(Statement::Max));
    stated.state([Statement::Overflow { from: times().min().unwrap_or(0), count: overruns.len() as u64 }]);
    let missed = overruns.iter().map(|(.., cycles)| cycles.saturating_sub(1)).fold(0, u64::saturating_add);
    let told = Told::new("controller_manager", period)
        .skips()
        .missed(Some(missed))
        .lacks(Gap::Count)
        .lacks(Gap::Latency);
    import.executions(told, &stated);
    let above_ns = period.ns();
    import.warn(Warning::OnlyAbove { above_ns });
    import.complete()
}
