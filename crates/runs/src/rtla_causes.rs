//! Causes that another tool traced, as a run file keeps those that jitterlab finds.

use jitterlab_model::causes::{Cause, CauseClass, Evidence, LateStart};
use jitterlab_model::causes::{CauseSum, Certainty, LatencyPart, TaskCauses, Tracer};
use jitterlab_model::warning::{TracedLatency, TracedPart};
use jitterlab_model::{RunCauses, RunInfo, Warning};

/// Causes of the latencies at which rtla timerlat stopped, by task; `None` where it traced none.
pub(crate) fn causes(info: &RunInfo) -> Option<RunCauses> {
    let traced =
        |warning: &Warning| if let Warning::Traced(one) = warning { Some(one.clone()) } else { None };
    let all: Vec<TracedLatency> = info.warnings.iter().filter_map(traced).collect();
    // The interrupt is a stage of the same activation, with the same causes as its thread.
    let is_of = |task: &str, cpu: Option<u16>| match cpu {
        Some(cpu) => task == format!("thr-{cpu:03}"),
        None => task.starts_with("thr"),
    };
    let tasks = info.tasks.iter().map(|task| {
        let mut causes = TaskCauses::default();
        all.iter()
            .filter(|one| is_of(&task.spec.name, one.cpu))
            .for_each(|one| add_latency(&mut causes, one));
        causes
    });
    (!all.is_empty()).then(|| RunCauses { tasks: tasks.collect(), tracer: Tracer::default() })
}

/// Adds a traced latency to the causes of its task, part by part.
fn add_latency(causes: &mut TaskCauses, one: &TracedLatency) {
    causes.explained += 1;
    causes.lateness_ns = causes.lateness_ns.saturating_add(one.latency_ns);
    causes.latencies.record(one.latency_ns);
    causes.max_ns = causes.max_ns.max(one.latency_ns);
    let mut at_ns = 0;
    let mut parts = Vec::new();
    for part in &one.parts {
        let function = (!part.stack.is_empty()).then(|| interrupted_functions(&part.stack).join(" < "));
        let (number, evidence) = count_part(causes, part, one.latency_ns, function.as_deref());
        let function = function.map(|name| {
            causes.names.push(name);
            causes.names.len() - 1
        });
        parts.push(LatencyPart { cause: number, at_ns, ns: part.ns, evidence, function });
        at_ns = at_ns.saturating_add(part.ns);
    }
    let rest_ns = one.latency_ns.saturating_sub(at_ns);
    if rest_ns > 0 {
        let rest = TracedPart { name: String::new(), ns: rest_ns, by: Vec::new(), stack: Vec::new() };
        let (cause, evidence) = count_part(causes, &rest, one.latency_ns, None);
        parts.push(LatencyPart { cause, at_ns, ns: rest_ns, evidence, function: None });
    }
    let cpu = one.cpu.unwrap_or_default();
    let late = LateStart { index: 0, due_ns: 0, latency_ns: one.latency_ns, cpu, parts, spans: Vec::new() };
    causes.worst_starts.push(late);
}

/// The functions below an interrupt that looked at the stack, innermost first; all if there is none.
fn interrupted_functions(stack: &[String]) -> &[String] {
    let entry = stack.iter().position(|function| function.starts_with("asm_"));
    entry.and_then(|at| stack.get(at + 1..)).filter(|rest| !rest.is_empty()).unwrap_or(stack)
}

/// Counts a part with its cause; returns the cause's number and its evidence.
fn count_part(
    causes: &mut TaskCauses,
    part: &TracedPart,
    latency_ns: i64,
    function: Option<&str>,
) -> (usize, Evidence) {
    let (class, evidence) = cause_class(&part.name);
    let who = part.by.first().cloned();
    let cause = Cause { class, who };
    let number = causes.causes.iter().position(|sum| sum.cause == cause).unwrap_or_else(|| {
        causes.causes.push(CauseSum::new(cause));
        causes.causes.len() - 1
    });
    if let Some(sum) = causes.causes.get_mut(number) {
        let proven = if evidence.certainty() == Certainty::Proven { part.ns } else { 0 };
        sum.add_activation(latency_ns, part.ns, proven, 0);
        if let Some(function) = function {
            *sum.functions.entry(function.into()).or_default() += part.ns;
        }
    }
    (number, evidence)
}

/// Class and evidence of a part, from its name in rtla's output.
fn cause_class(name: &str) -> (CauseClass, Evidence) {
    match name {
        "IRQ handler delay" => (CauseClass::LateInterrupt, Evidence::None),
        "Timerlat IRQ duration" => (CauseClass::TimerInterrupt, Evidence::Events),
        "Blocking thread" => (CauseClass::NotPreemptible, Evidence::Events),
        "Thread interference" => (CauseClass::Preempted, Evidence::Events),
        "IRQ interference" => (CauseClass::Interrupt, Evidence::Events),
        "Softirq interference" => (CauseClass::Softirq, Evidence::Events),
        "NMI interference" => (CauseClass::Outside, Evidence::Events),
        _ => (CauseClass::TypicalWakeUp, Evidence::None),
    }
}
