//! The latest activations of a run whose causes are known, as ui.perfetto.dev and chrome://tracing open them: JSON trace
//! events.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jitterlab_model::causes::{Lane, TaskCauses};
use serde_json::{Value, json};

use super::{ExportError, Exported};
use crate::Run;

/// Lanes of a processor, in their order on the screen.
const LANES: [(Lane, &str); 4] = [
    (Lane::Interrupt, "interrupts"),
    (Lane::Softirq, "softirqs"),
    (Lane::Thread, "threads"),
    (Lane::Task, "measured tasks"),
];
/// The process under which the tasks' latencies are shown; those of processors have their numbers above it.
const TASKS: u64 = 1;
const FIRST_CPU: u64 = 100;

/// Writes what ran around the latest activations, and their latencies in parts, a track for each lane of a processor and
/// one for each task.
pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, ExportError> {
    let causes = run.causes()?;
    let names = run.info().tasks.iter().map(|task| task.spec.name.as_str());
    let of: Vec<_> = names.zip(&causes.tasks).enumerate().filter(|(task, _)| tasks.contains(task)).collect();
    let values = of.iter().map(|(_, (_, causes))| causes.latest.len() as u64).sum();
    let of = of.into_iter().map(|(number, (name, causes))| (number as u64, name, causes));
    serde_json::to_writer(out, &json!({ "displayTimeUnit": "ns", "traceEvents": events(of) }))
        .map_err(io::Error::from)?;
    Ok(Exported { values, losses: Vec::new() })
}

/// The events of these tasks: number, name and causes of each.
fn events<'a>(tasks: impl Iterator<Item = (u64, &'a str, &'a TaskCauses)>) -> Vec<Value> {
    let mut events = vec![name("process_name", TASKS, 0, "late starts")];
    let mut spans = BTreeSet::new();
    for (number, task, of) in tasks {
        events.push(name("thread_name", TASKS, number, task));
        latencies(number, of, &mut events);
        for late in &of.latest {
            for span in &late.spans {
                let name = of.names.get(span.name).map_or("", String::as_str);
                // What is around two activations is there twice.
                spans.insert((late.cpu, span.lane, late.due_ns + span.at_ns, span.ns, name));
            }
        }
    }
    let cpus: BTreeSet<u16> = spans.iter().map(|span| span.0).collect();
    for cpu in cpus {
        let process = FIRST_CPU + u64::from(cpu);
        events.push(name("process_name", process, 0, &format!("CPU {cpu}")));
        let lanes = LANES.iter().zip(1..);
        events.extend(lanes.map(|((_, lane), thread)| name("thread_name", process, thread, lane)));
    }
    let thread =
        |lane| LANES.iter().position(|(known, _)| *known == lane).map_or(0, |place| place as u64 + 1);
    events.extend(spans.into_iter().map(|(cpu, lane, at_ns, ns, name)| {
        slice(FIRST_CPU + u64::from(cpu), thread(lane), at_ns, ns, name, Value::Null)
    }));
    events
}

/// Each latency as a slice, its parts in it.
fn latencies(task: u64, of: &TaskCauses, events: &mut Vec<Value>) {
    for late in &of.latest {
        let about = json!({ "activation": late.index, "latency_ns": late.latency_ns, "cpu": late.cpu });
        events.push(slice(TASKS, task, late.due_ns, late.latency_ns, "late", about));
        for part in &late.parts {
            let Some(sum) = of.causes.get(part.cause) else { continue };
            let function = part.function.and_then(|function| of.names.get(function));
            let about = json!({
                "cause": sum.cause,
                "function": function,
                "evidence": part.evidence,
                "certainty": part.evidence.certainty(),
            });
            let class = about["cause"]["class"].as_str().unwrap_or_default().to_owned();
            events.push(slice(TASKS, task, late.due_ns + part.at_ns, part.ns, &class, about));
        }
    }
}

/// A slice; the format's times are microseconds.
fn slice(process: u64, thread: u64, at_ns: i64, ns: i64, name: &str, about: Value) -> Value {
    let mut slice = json!({
        "ph": "X", "pid": process, "tid": thread, "name": name,
        "ts": at_ns as f64 / 1e3, "dur": ns as f64 / 1e3,
    });
    if !about.is_null() {
        slice["args"] = about;
    }
    slice
}

fn name(kind: &str, process: u64, thread: u64, name: &str) -> Value {
    json!({ "ph": "M", "name": kind, "pid": process, "tid": thread, "args": { "name": name } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::{CauseClass, CauseSum, Evidence, LateStart, Part, Ran};

    #[test]
    fn every_late_start_is_there_with_its_parts_and_what_ran() {
        let span = Ran { lane: Lane::Softirq, name: 0, at_ns: -500, ns: 1_500 };
        let part = |at_ns, ns| Part { cause: 0, at_ns, ns, evidence: Evidence::Events, function: None };
        let late = |index, due_ns| LateStart {
            index,
            due_ns,
            latency_ns: 2_000,
            cpu: 3,
            parts: vec![part(0, 500), part(500, 1_500)],
            spans: vec![Ran { at_ns: 10_000 - due_ns, ..span }],
        };
        let task = TaskCauses {
            latest: vec![late(7, 1_000), late(8, 2_000)],
            causes: vec![CauseSum::new(CauseClass::Softirq.into())],
            names: vec!["NET_RX".into()],
            ..TaskCauses::default()
        };
        let events = events([(0, "main", &task)].into_iter());
        let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        assert_eq!(slices.len(), 2 * 3 + 1, "what is around both is there once: {slices:?}");
        let ran = slices.iter().find(|e| e["name"] == "NET_RX").unwrap();
        assert_eq!((&ran["pid"], &ran["ts"], &ran["dur"]), (&json!(103), &json!(10.0), &json!(1.5)));
        assert!(slices.iter().any(|e| e["args"]["activation"] == 8));
    }
}
