//! The lines that cyclictest, signaltest and jitterdebugger refresh while they run, and leave at the end:
//! `T: 0 ( 1234) P:80 I:1000 C:   2000 Min:      9 Act:   12 Avg:   19 Max:     741`. The last of each thread holds all.

use std::collections::BTreeMap;

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::cyclictest_verbose;
use super::histogram::Histogram;
use super::text::{lines, ns, number_after};
use super::{Hints, Import, Input, Mistake, Peer, Period, Told};
use crate::error::Unreadable;

pub(super) const PEER: Peer = Peer { name: "cyclictest status lines", recognise, parse };

/// What a line says of a thread.
struct Status {
    thread: u64,
    /// As the system numbers threads; 0 before it runs.
    id: f64,
    /// cyclictest's interval in microseconds.
    interval: Option<f64>,
    /// jitterdebugger's processor.
    cpu: Option<f64>,
    count: u64,
    extremes: [f64; 3],
}

fn status_of(line: &str) -> Option<Status> {
    let (thread, rest) = line.strip_prefix("T:")?.split_once('(')?;
    let figure = |name: &str| number_after(rest, name);
    Some(Status {
        thread: thread.trim().parse().ok()?,
        id: rest.split(')').next()?.trim().parse().ok()?,
        interval: figure(" I:"),
        cpu: figure(" A:"),
        count: figure(" C:")? as u64,
        extremes: [figure("Min:")?, figure("Avg:")?, figure("Max:")?],
    })
}

fn recognise(input: &Input) -> bool {
    // cyclictest prints its histogram behind them, and them behind single latencies.
    let all = lines(input.text).any(|(_, line)| status_of(line).is_some());
    all && !input.text.contains("# Histogram") && !cyclictest_verbose::recognise(input)
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, Mistake> {
    let mut threads: BTreeMap<u64, Status> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some(status) = status_of(line) else { continue };
        let before = threads.get(&status.thread);
        if before
            .is_some_and(|before| before.id > 0.0 && (before.id != status.id || before.count > status.count))
        {
            return Err(Unreadable::Second.at(number));
        }
        threads.insert(status.thread, status);
    }
    let tool = match threads.values().next() {
        Some(Status { interval: Some(_), .. }) => "cyclictest",
        Some(Status { cpu: Some(_), .. }) => "jitterdebugger",
        _ => "signaltest",
    };
    let mut import = Import::new(tool, "monotonic");
    let unit_ns = import.unit(None, hints, 1_000);
    for Status { thread, interval, cpu, count, extremes, .. } in threads.into_values() {
        let name = format!("thread{thread}");
        let told = match tool {
            "cyclictest" => {
                let interval = interval.map(|us| ns(us as i64, 1_000));
                Told::new(name, import.period(interval, hints, 1_000_000)).skips()
            }
            "jitterdebugger" => {
                let cpu = cpu.map(|cpu| cpu as u16);
                Told::new(name, import.period(None, hints, 1_000_000)).on(cpu).catches_up()
            }
            _ => Told::new(name, Period::None),
        };
        let measured = Histogram::of_extremes(extremes, count, unit_ns).latency(told.period_ns());
        import.task(told, measured);
    }
    import.warn(Warning::OnlyExtremes);
    import.warn(match tool {
        "cyclictest" => Warning::MissedNotCounted { tool: tool.into() },
        "jitterdebugger" => Warning::CatchesUp { tool: tool.into() },
        _ => Warning::NoPeriod { tool: tool.into(), measures: Aperiodic::Signals },
    });
    import.complete()
}
