//! The activations of a run on a time line, or the activity around the worst ones if it is known, as JSON
//! trace events for ui.perfetto.dev and chrome://tracing.
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use jitterlab_model::causes::{ExecutionContext, TaskCauses};
use jitterlab_model::{Activation, Error};
use jitterlab_runs::{Missing, Run, SourceFields};
use serde::Serialize;
use serde_json::{Value, json};

use super::description::machine_labels;
use super::{ExportSummary, Loss, rows};

/// Lanes of a processor, in their order on the screen.
const TRACKS: [(ExecutionContext, &str); 4] = [
    (ExecutionContext::Interrupt, "interrupts"),
    (ExecutionContext::Softirq, "softirqs"),
    (ExecutionContext::Thread, "threads"),
    (ExecutionContext::Task, "measured tasks"),
];
/// The processes under which the tasks' worst starts and all their activations are shown; those of processors have their
/// numbers above these.
const LATE_STARTS_PROCESS: u64 = 1;
const ACTIVATIONS_PROCESS: u64 = 2;
const FIRST_CPU_PROCESS: u64 = 100;
/// Tracks of tasks have their numbers from here: Perfetto takes 0 and the number of the process for one and the same.
const FIRST_TRACK: u64 = 10;

/// Writes what ran around the worst starts, if their causes are known, else all activations. There is a track for each
/// lane of a processor, and one for each task with its worst starts; else a track for each task with all its
/// activations, one with their due times, and their latency as a curve.
pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let mut events = Events { out, written: 0, line: Vec::new() };
    let exported = match run.causes() {
        Err(error) if error.is(Missing::Causes) => write_activations(run, tasks, &mut events)?,
        causes => {
            let causes = causes?;
            let names = run.info().tasks.iter().map(|task| task.spec.name.as_str());
            let of = names.zip(&causes.tasks).enumerate().filter(|(task, _)| tasks.contains(task));
            let of = of.map(|(number, (name, causes))| (FIRST_TRACK + number as u64, name, causes));
            let of: Vec<_> = of.collect();
            let late_starts = of.iter().map(|(.., causes)| causes.worst_starts.len() as u64).sum();
            late_start_events(of.into_iter()).iter().try_for_each(|event| events.write(event))?;
            let results = tasks.iter().filter_map(|task| run.info().tasks[*task].result.as_ref());
            let executed: u64 = results.map(|result| result.executed).sum();
            let mut exported = ExportSummary { late_starts, ..ExportSummary::default() };
            exported.record_loss(executed.saturating_sub(late_starts), |count| Loss::Earlier { count });
            exported
        }
    };
    let machine: BTreeMap<String, String> = machine_labels(run.info()).into_iter().collect();
    events.end(&machine)?;
    Ok(exported)
}

fn write_activations(run: &Run, tasks: &[usize], events: &mut Events<'_>) -> Result<ExportSummary, Error> {
    let losses = rows::summary_of_unkept(run, tasks)?;
    events.write(&Event::naming("process_name", ACTIVATIONS_PROCESS, 0, "tasks"))?;
    for task in tasks {
        let (of, track) = (&run.info().tasks[*task].spec.name, FIRST_TRACK + 2 * *task as u64);
        events.write(&Event::naming("thread_name", ACTIVATIONS_PROCESS, track, of))?;
        events.write(&Event::naming("thread_name", ACTIVATIONS_PROCESS, track + 1, &format!("{of} due")))?;
    }
    let curves: Vec<String> =
        run.info().tasks.iter().map(|task| format!("{} latency", task.spec.name)).collect();
    rows::for_each_batch(run, tasks, losses, |task, rows| {
        let known = run.source_fields(task);
        Ok(rows.iter().try_for_each(|row| write_activation(events, task, &curves[task], row, &known))?)
    })
}

/// Events that are written one by one.
struct Events<'a> {
    out: &'a mut dyn Write,
    written: u64,
    line: Vec<u8>,
}

impl Events<'_> {
    fn write(&mut self, event: &Event<'_, impl Serialize>) -> io::Result<()> {
        let before = if self.written > 0 { ",\n" } else { "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" };
        self.written += 1;
        self.line.clear();
        self.line.extend_from_slice(before.as_bytes());
        serde_json::to_writer(&mut self.line, event)?;
        self.out.write_all(&self.line)
    }

    fn end(&mut self, about: &BTreeMap<String, String>) -> io::Result<()> {
        if about.is_empty() {
            return writeln!(self.out, "]}}");
        }
        write!(self.out, "],\"otherData\":")?;
        serde_json::to_writer(&mut *self.out, about)?;
        writeln!(self.out, "}}")
    }
}

/// An event of the format, with its arguments.
#[derive(Debug, Serialize)]
struct Event<'a, A = Value> {
    ph: &'static str,
    pid: u64,
    tid: u64,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// Extent of a moment's line: over its track.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<A>,
}

impl<'a, A> Event<'a, A> {
    fn timed(
        ph: &'static str,
        track: (u64, u64),
        ns: i64,
        name: impl Into<Cow<'a, str>>,
        args: Option<A>,
    ) -> Self {
        let (pid, tid) = track;
        Event { ph, pid, tid, name: name.into(), ts: Some(microseconds(ns)), dur: None, s: None, args }
    }

    fn instant(track: (u64, u64), at_ns: i64, name: &'a str, about: Option<A>) -> Self {
        Event { s: Some("t"), ..Event::timed("i", track, at_ns, name, about) }
    }

    fn slice(
        track: (u64, u64),
        at_ns: i64,
        ns: i64,
        name: impl Into<Cow<'a, str>>,
        about: Option<A>,
    ) -> Self {
        Event { dur: Some(microseconds(ns)), ..Event::timed("X", track, at_ns, name, about) }
    }
}

impl<'a> Event<'a> {
    /// Event that names a process or a track.
    fn naming(kind: &'a str, pid: u64, tid: u64, name: &str) -> Self {
        let args = Some(json!({ "name": name }));
        Event { ph: "M", pid, tid, name: kind.into(), ts: None, dur: None, s: None, args }
    }
}

/// Data of an activation other than its times, as far as they are known.
#[derive(Serialize)]
struct ActivationArguments {
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ns: Option<i64>,
}

#[derive(Serialize)]
struct CurvePoint {
    ns: i64,
}

/// Writes due time, latency and duration of an activation, as far as they are known.
fn write_activation(
    events: &mut Events<'_>,
    task: usize,
    latency: &str,
    row: &Activation,
    known: &SourceFields,
) -> io::Result<()> {
    let track = FIRST_TRACK + 2 * task as u64;
    let about = Some(ActivationArguments {
        index: row.index,
        missed: (known.missed && row.missed > 0).then_some(row.missed),
        cpu: known.cpu.then_some(row.cpu),
        latency_ns: known.due.then(|| row.latency_ns()),
    });
    if known.due {
        events.write(&Event::<ActivationArguments>::instant(
            (ACTIVATIONS_PROCESS, track + 1),
            row.due_ns,
            "due",
            None,
        ))?;
        let ns = row.latency_ns();
        events.write(&Event::timed(
            "C",
            (ACTIVATIONS_PROCESS, 0),
            row.start_ns,
            latency,
            Some(CurvePoint { ns }),
        ))?;
    }
    let track = (ACTIVATIONS_PROCESS, track);
    if known.end {
        events.write(&Event::slice(track, row.start_ns, row.end_ns - row.start_ns, "activation", about))
    } else {
        events.write(&Event::instant(track, row.start_ns, "start", about))
    }
}

/// Trace events of the worst starts and what ran around them; a task is its number, name and causes.
fn late_start_events<'a>(tasks: impl Iterator<Item = (u64, &'a str, &'a TaskCauses)>) -> Vec<Event<'a>> {
    let mut events = vec![Event::naming("process_name", LATE_STARTS_PROCESS, 0, "late starts")];
    let mut spans = BTreeSet::new();
    for (number, task, of) in tasks {
        events.push(Event::naming("thread_name", LATE_STARTS_PROCESS, number, task));
        push_latency_slices(number, of, &mut events);
        for late in &of.worst_starts {
            for span in &late.spans {
                let name = of.names.get(span.name).map_or("", String::as_str);
                // A span around two activations occurs twice.
                spans.insert((late.cpu, span.context, late.due_ns + span.at_ns, span.ns, name));
            }
        }
    }
    let cpus: BTreeSet<u16> = spans.iter().map(|span| span.0).collect();
    for cpu in cpus {
        let process = FIRST_CPU_PROCESS + u64::from(cpu);
        events.push(Event::naming("process_name", process, 0, &format!("CPU {cpu}")));
        let lanes = TRACKS.iter().zip(1..);
        events.extend(lanes.map(|((_, lane), thread)| Event::naming("thread_name", process, thread, lane)));
    }
    let thread =
        |lane| TRACKS.iter().position(|(known, _)| *known == lane).map_or(0, |place| place as u64 + 1);
    events.extend(spans.into_iter().map(|(cpu, lane, at_ns, ns, name)| {
        Event::slice((FIRST_CPU_PROCESS + u64::from(cpu), thread(lane)), at_ns, ns, name, None)
    }));
    events
}

/// Appends each latency as a slice, with its parts in it.
fn push_latency_slices(task: u64, of: &TaskCauses, events: &mut Vec<Event<'_>>) {
    let track = (LATE_STARTS_PROCESS, task);
    for late in &of.worst_starts {
        let about = json!({ "activation": late.index, "latency_ns": late.latency_ns, "cpu": late.cpu });
        events.push(Event::slice(track, late.due_ns, late.latency_ns, "late", Some(about)));
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
            events.push(Event::slice(track, late.due_ns + part.at_ns, part.ns, class, Some(about)));
        }
    }
}

/// A time in microseconds, as the format has it; to the nanosecond up to 2^43 of them, 101 days.
fn microseconds(ns: i64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::{CauseClass, CauseSum, Evidence, ExecutionSpan, LateStart, LatencyPart};

    #[test]
    fn every_late_start_is_there_with_its_parts_and_what_ran() {
        let span = ExecutionSpan { context: ExecutionContext::Softirq, name: 0, at_ns: -500, ns: 1_500 };
        let part =
            |at_ns, ns| LatencyPart { cause: 0, at_ns, ns, evidence: Evidence::Events, function: None };
        let late = |index, due_ns| LateStart {
            index,
            due_ns,
            latency_ns: 2_000,
            cpu: 3,
            parts: vec![part(0, 500), part(500, 1_500)],
            spans: vec![ExecutionSpan { at_ns: 10_000 - due_ns, ..span }],
        };
        let task = TaskCauses {
            worst_starts: vec![late(7, 1_000), late(8, 2_000)],
            causes: vec![CauseSum::new(CauseClass::Softirq.into())],
            names: vec!["NET_RX".into()],
            ..TaskCauses::default()
        };
        let events = late_start_events([(0, "main", &task)].into_iter());
        let slices: Vec<_> = events.iter().filter(|e| e.ph == "X").collect();
        assert_eq!(slices.len(), 2 * 3 + 1, "what is around both is there once: {slices:?}");
        let ran = slices.iter().find(|e| e.name == "NET_RX").unwrap();
        assert_eq!((ran.pid, ran.ts, ran.dur), (103, Some(10.0), Some(1.5)));
        assert!(slices.iter().any(|e| e.args.as_ref().is_some_and(|about| about["activation"] == 8)));
    }
}
