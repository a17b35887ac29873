//! The activations of a run on a time line, or what ran around the latest where that is known, as ui.perfetto.dev and
//! chrome://tracing open them: JSON trace events.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jitterlab_model::Activation;
use jitterlab_model::causes::{Lane, TaskCauses};
use jitterlab_runs::{Run, RunsError, Told};
use serde_json::{Value, json};

use super::{ExportError, Exported, rows};

/// Lanes of a processor, in their order on the screen.
const LANES: [(Lane, &str); 4] = [
    (Lane::Interrupt, "interrupts"),
    (Lane::Softirq, "softirqs"),
    (Lane::Thread, "threads"),
    (Lane::Task, "measured tasks"),
];
/// The processes under which the tasks' latest starts and all their activations are shown; those of processors have their
/// numbers above these.
const TASKS: u64 = 1;
const ACTIVATIONS: u64 = 2;
const FIRST_CPU: u64 = 100;
/// Tracks of tasks have their numbers from here: Perfetto takes 0 and the number of the process for one and the same.
const FIRST_TRACK: u64 = 10;

/// Writes what ran around the latest activations, where that is known: a track for each lane of a processor, and one for each
/// task with its latest starts. Of other runs a track for each task with all its activations, one with their due times, and
/// their latency as a curve.
pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<Exported, ExportError> {
    let mut events = Events { out, written: 0 };
    let exported = match run.causes() {
        Err(RunsError::NoCauses(_)) => activations(run, tasks, &mut events)?,
        causes => {
            let causes = causes?;
            let names = run.info().tasks.iter().map(|task| task.spec.name.as_str());
            let of = names.zip(&causes.tasks).enumerate().filter(|(task, _)| tasks.contains(task));
            let of = of.map(|(number, (name, causes))| (FIRST_TRACK + number as u64, name, causes));
            let of: Vec<_> = of.collect();
            let late_starts = of.iter().map(|(.., causes)| causes.latest.len() as u64).sum();
            self::late_starts(of.into_iter()).iter().try_for_each(|event| events.write(event))?;
            Exported { late_starts, ..Exported::default() }
        }
    };
    events.end()?;
    Ok(exported)
}

fn activations(run: &Run, tasks: &[usize], events: &mut Events<'_>) -> Result<Exported, ExportError> {
    events.write(&name("process_name", ACTIVATIONS, 0, "tasks"))?;
    for task in tasks {
        let (of, track) = (&run.info().tasks[*task].spec.name, FIRST_TRACK + 2 * *task as u64);
        events.write(&name("thread_name", ACTIVATIONS, track, of))?;
        events.write(&name("thread_name", ACTIVATIONS, track + 1, &format!("{of} due")))?;
    }
    let curves: Vec<String> =
        run.info().tasks.iter().map(|task| format!("{} latency", task.spec.name)).collect();
    rows::each(run, tasks, |task, rows| {
        let told = run.told(task);
        Ok(rows.iter().try_for_each(|row| activation(events, task, &curves[task], row, &told))?)
    })
}

/// Events that are written one by one.
struct Events<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Events<'_> {
    fn write(&mut self, event: &Value) -> io::Result<()> {
        let before = if self.written > 0 { ",\n" } else { "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" };
        self.out.write_all(before.as_bytes())?;
        self.written += 1;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }

    fn end(&mut self) -> io::Result<()> {
        writeln!(self.out, "]}}")
    }
}

/// When it was due, how late it began, and how long it ran, as far as that is told.
fn activation(
    events: &mut Events<'_>,
    task: usize,
    latency: &str,
    row: &Activation,
    told: &Told,
) -> io::Result<()> {
    let track = FIRST_TRACK + 2 * task as u64;
    let mut about = json!({ "index": row.index });
    if told.missed && row.missed > 0 {
        about["missed"] = row.missed.into();
    }
    if told.cpu {
        about["cpu"] = row.cpu.into();
    }
    if told.due {
        let ns = row.latency_ns();
        events.write(&instant(ACTIVATIONS, track + 1, row.due_ns, "due", &Value::Null))?;
        events.write(&json!({
            "ph": "C", "pid": ACTIVATIONS, "name": latency, "ts": us(row.start_ns), "args": { "ns": ns },
        }))?;
        about["latency_ns"] = ns.into();
    }
    if told.end {
        let ns = row.end_ns - row.start_ns;
        events.write(&slice(ACTIVATIONS, track, row.start_ns, ns, "activation", about))
    } else {
        events.write(&instant(ACTIVATIONS, track, row.start_ns, "start", &about))
    }
}

/// The events of these tasks: number, name and causes of each.
fn late_starts<'a>(tasks: impl Iterator<Item = (u64, &'a str, &'a TaskCauses)>) -> Vec<Value> {
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

/// The format's times are microseconds; to the nanosecond up to 2^43 of them, 101 days.
fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// A moment.
fn instant(process: u64, thread: u64, at_ns: i64, name: &str, about: &Value) -> Value {
    let mut instant =
        json!({ "ph": "i", "s": "t", "pid": process, "tid": thread, "name": name, "ts": us(at_ns) });
    if !about.is_null() {
        instant["args"] = about.clone();
    }
    instant
}

/// A slice of time.
fn slice(process: u64, thread: u64, at_ns: i64, ns: i64, name: &str, about: Value) -> Value {
    let mut slice =
        json!({ "ph": "X", "pid": process, "tid": thread, "name": name, "ts": us(at_ns), "dur": us(ns) });
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
        let events = late_starts([(0, "main", &task)].into_iter());
        let slices: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        assert_eq!(slices.len(), 2 * 3 + 1, "what is around both is there once: {slices:?}");
        let ran = slices.iter().find(|e| e["name"] == "NET_RX").unwrap();
        assert_eq!((&ran["pid"], &ran["ts"], &ran["dur"]), (&json!(103), &json!(10.0), &json!(1.5)));
        assert!(slices.iter().any(|e| e["args"]["activation"] == 8));
    }
}
