//! Auto-analysis of `rtla timerlat`: the parts of the latency at which it stopped, with their lengths.

use jitterlab_model::warning::{TracedLatency, TracedPart};
use jitterlab_model::{Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{lines, us};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "rtla timerlat's auto-analysis", recognise, parse };

fn recognise(input: &Input) -> bool {
    input.text.contains("Thread latency:")
        && input.text.contains("IRQ handler delay")
        // Behind rtla's tables it belongs to them.
        && !input.text.contains("# RTLA timerlat histogram")
        && !input.text.contains("IRQ Timer Latency (")
}

/// Name, time and true if a share follows, of `IRQ handler delay: (exit from idle)    27.49 us (65.52 %)`.
fn entry_of(line: &str) -> Option<(&str, i64, bool)> {
    let (before, after) =
        line.split_once(" us").filter(|(_, after)| after.is_empty() || after.starts_with(' '))?;
    let (name, value) = before.rsplit_once(char::is_whitespace)?;
    Some((name.trim().trim_end_matches(':'), us(value.parse().ok()?), after.contains('%')))
}

/// Latencies above the limit that the auto-analysis explains, with their parts.
pub(super) fn traced_latencies(text: &str) -> Vec<TracedLatency> {
    let mut all = Vec::new();
    let (mut cpu, mut irq_ns, mut parts): (Option<u16>, Option<i64>, Vec<TracedPart>) =
        (None, None, Vec::new());
    for (_, line) in lines(text) {
        if let Some(rest) = line.strip_prefix("## CPU ") {
            (cpu, irq_ns, parts) =
                (rest.split(' ').next().and_then(|cpu| cpu.parse().ok()), None, Vec::new());
        }
        if let (Some(function), Some(part)) = (line.strip_prefix("-> "), parts.last_mut()) {
            part.stack.push(function.trim().into());
        }
        let Some((name, ns, share)) = entry_of(line) else { continue };
        match name {
            "Thread latency" => {
                let parts = std::mem::take(&mut parts);
                all.push(TracedLatency {
                    cpu: cpu.take(),
                    latency_ns: ns,
                    irq_latency_ns: irq_ns.take(),
                    parts,
                });
            }
            "IRQ latency" => irq_ns = Some(ns),
            _ if share => {
                let name = name.split(':').next().unwrap_or(name).into();
                parts.push(TracedPart { name, ns, by: Vec::new(), stack: Vec::new() });
            }
            // A component of the part above.
            _ if name.contains(':') && !name.contains(' ') => {
                if let Some(part) = parts.last_mut() {
                    part.by.push(name.into());
                }
            }
            _ => {}
        }
    }
    all
}

/// Adds the latency at which rtla stopped to the statements, where it is of this stage and CPU.
pub(super) fn add_stop_latency(
    traced: &[TracedLatency],
    stage: &str,
    cpu: Option<u16>,
    stated: &mut Statements,
) {
    for one in traced.iter().filter(|one| one.cpu.is_none() || one.cpu == cpu) {
        let latency = if stage.starts_with("thr") { Some(one.latency_ns) } else { one.irq_latency_ns };
        latency.filter(|_| !stage.starts_with("usr")).into_iter().for_each(|ns| stated.add_stop_value(ns));
    }
}

/// Returns true if the analysis of a stop on this CPU begins in the text, but its latency is missing.
pub(super) fn lacks_stop(text: &str, traced: &[TracedLatency], cpu: Option<u16>) -> bool {
    let analysed = |line: &str| line.strip_prefix("## CPU ")?.split(' ').next()?.parse().ok();
    cpu.is_some()
        && lines(text).any(|(_, line)| analysed(line) == cpu)
        && traced.iter().all(|one| one.cpu != cpu)
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let all = traced_latencies(input.text);
    if all.iter().enumerate().any(|(at, one)| all[..at].iter().any(|other| other.cpu == one.cpu)) {
        return Err(Unreadable::SecondMeasurement.into());
    }
    let mut import = Import::new("rtla timerlat", "monotonic");
    let period = import.period_or_default(None, hints, 1_000_000);
    for one in all {
        let stages = [("irq", one.irq_latency_ns), ("thr", Some(one.latency_ns))];
        for (stage, latency_ns) in stages.into_iter().filter_map(|(stage, ns)| Some((stage, ns?))) {
            // It stops at the first latency above a limit, so that one is the largest.
            let mut stated = Statements::exact();
            stated.add([Statement::Max(latency_ns), Statement::Overflow { from: latency_ns, count: 1 }]);
            let name = one.cpu.map_or(stage.into(), |cpu| format!("{stage}-{cpu:03}"));
            let details = TaskDetails::new(name, period).on_cpu(one.cpu).with_skips().with_gap(Gap::Count);
            import.add_latencies(details, &stated);
        }
        import.warn(Warning::Traced(one));
    }
    import.warn(Warning::Stages);
    import.warn(Warning::OnlyLargest);
    import.complete()
}
