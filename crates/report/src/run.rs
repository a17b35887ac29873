//! A run around its figures: announcement, conditions of the measurement, and the activation that ended it.

use crate::words::exact_time;
use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::measured::Neighbours;
use jitterlab_model::units::Human;
use jitterlab_model::{Bench, CpuSet, Flags, Gap, Keep, RunInfo, StopReason, TaskRun};

use crate::dictionary::{event_fields, event_name, sentence};
use crate::loads;
use crate::machine::machine_line;
use crate::section::{Cell, Piece};
use crate::why::event::event_pieces;
use crate::words::{SHOWN_TASKS, plural};
use crate::wrap::wrap;
use crate::{waiting, warnings};

/// Note that the first measurement is without isolation, for comparison.
pub const WITHOUT_ISOLATION_FIRST: &str = "first without isolation, for comparison";

/// The tasks as they will run, and everything that was refused with its remedy.
pub fn announcement(info: &RunInfo) -> String {
    let mut text = task_lines(info);
    if let Some(placed) = warnings::placement_sentence(info.placement.as_ref()) {
        text.push_str(&wrap(&placed));
    }
    text + &refusal_lines(info)
}

/// The periodic threads that were found in a program.
pub fn found_threads_text(info: &RunInfo) -> String {
    let threads = plural(info.tasks.len() as u64, "periodic thread");
    format!("{threads}:\n{}", task_lines(info)) + &refusal_lines(info)
}

/// A line for each task, of many only for the first.
fn task_lines(info: &RunInfo) -> String {
    let lines = info.tasks.iter().take(SHOWN_TASKS).map(|task| wrap(&task_line(info, task)));
    let more = info.tasks.len().saturating_sub(SHOWN_TASKS);
    lines.collect::<String>() + &if more > 0 { format!("and {more} more\n") } else { String::new() }
}

/// Requests that the system refused, with the remedy for each; empty if nothing was refused.
pub fn refusal_lines(info: &RunInfo) -> String {
    info.refused
        .iter()
        .map(|r| wrap(&format!("refused: {} ({})", r.what, r.why)) + &format!("  remedy: {}\n", r.remedy))
        .collect()
}

/// One task in a line: period, processors, policy as granted, how it waits and works; on a microcontroller its clock.
pub fn task_line(info: &RunInfo, task: &TaskRun) -> String {
    let spec = &task.spec;
    if info.bench == Bench::Mcu {
        return format!("{}: every {}, timed in {}", spec.name, exact_time(spec.period_ns), info.clock);
    }
    if info.is_imported() {
        let cpu = spec.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
        let every = match (task.is_periodic(), task.period_ns().exactly()) {
            (false, _) => "not periodic".into(),
            (true, Some(period_ns)) => format!("every {}", exact_time(period_ns)),
            (true, None) => format!("every {} (assumed)", exact_time(spec.period_ns)),
        };
        let overrun = match task.overrun().exactly() {
            Some(overrun) => format!("overrun {overrun}"),
            None if task.is_periodic() => "overrun policy unknown".into(),
            None => "no due times".into(),
        };
        return format!("{}: {every}{cpu}, {overrun}, policy, wake-up and work unknown", spec.name);
    }
    let how = match &task.watched {
        Some(watched) => waiting::watched_text(watched),
        None if !task.knows(Gap::Settings) => "a loop of a program's own".into(),
        None => format!("{}, work {}, overrun {}", waiting::wait_text(spec), spec.work, spec.overrun),
    };
    let (policy, cpus) = match &task.granted {
        Some(granted) => (Some(granted.policy), granted.cpus.iter().copied().collect::<CpuSet>().to_string()),
        None => (spec.policy, spec.cpu.map_or("?".into(), |c| c.to_string())),
    };
    let policy = policy.map_or("other".into(), |p| p.to_string());
    let offset =
        if spec.offset_ns == 0 { String::new() } else { format!(" offset {}", exact_time(spec.offset_ns)) };
    format!("{}: every {}{offset} on CPU {cpus}, {policy}, {how}", spec.name, exact_time(spec.period_ns))
}

/// Conditions of a run, in names and values.
pub(crate) fn run_facts(info: &RunInfo) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |term: &str, text: String| facts.push((term.to_owned(), text));
    if let Some(machine) = &info.facts_before {
        fact("Machine", machine_line(machine));
    }
    let parts = [("", &info.started), ("by ", &info.tool), ("times by the clock ", &info.clock)];
    let parts =
        parts.into_iter().filter(|(_, what)| !what.is_empty()).map(|(how, what)| format!("{how}{what}"));
    fact("Measured", parts.collect::<Vec<_>>().join(", "));
    fact("For", info.measured_ns().map_or("an unknown time".into(), |ns| Human(ns as f64).to_string()));
    fact("Load beside it", loads::run_load_text(info));
    for task in &info.tasks {
        fact("Task", task_line(info, task));
    }
    if let Some(stop) = &info.stop {
        fact("Ended by", stop_sentence(stop, info));
    }
    if let Keep::Spikes { above_ns } = info.keep {
        fact(
            "Kept",
            format!("per-second histograms, and activations from {} latency on", exact_time(above_ns)),
        );
    }
    if let Some(placed) = warnings::placement_sentence(info.placement.as_ref()) {
        fact("Processors", placed);
    }
    facts
}

fn stop_sentence(stop: &StopReason, info: &RunInfo) -> String {
    let mut quantities = event_fields(stop);
    if let StopReason::Overloaded { overload, .. } = stop {
        quantities.insert("overload".into(), overload.to_string().into());
    }
    if let Some(task) = quantities.get_mut("task") {
        let spec = task.as_u64().and_then(|task| Some(&info.tasks.get(task as usize)?.spec));
        *task = spec.map_or("?", |spec| spec.name.as_str()).into();
    }
    sentence("stop", event_name(&quantities, "reason"), &quantities)
}

/// The activation that reached the limit, after those before it, and why it was late where that is known.
pub(crate) fn neighbour_pieces(info: &RunInfo, around: &Neighbours, why: &[TaskWhy]) -> Vec<Piece> {
    let task = info.tasks.get(around.task);
    let name = task.map_or("?", |t| t.spec.name.as_str());
    let zero_ns = task.and_then(|t| t.result.as_ref()).map_or(0, |r| r.first_due_ns);
    let rows = around.activations.iter().map(|a| {
        let mark = if a.index == around.index { ">" } else { "" };
        let mut notes = Vec::new();
        if a.missed > 0 {
            notes.push(format!("{} missed", a.missed));
        }
        if a.flags.contains(Flags::CAUGHT_UP) {
            notes.push("caught up".into());
        }
        if a.flags.contains(Flags::RE_PHASED) {
            notes.push("grid restarted".into());
        }
        if a.flags.contains(Flags::POLLED) {
            notes.push("polled".into());
        }
        if a.flags.contains(Flags::AFTER_GAP) {
            notes.push("after lost records".into());
        }
        vec![
            Cell::Text(format!("{mark}{}", a.index)),
            Cell::Text(format!("{:.6}", (a.due_ns - zero_ns) as f64 / 1e9)),
            Cell::time(a.latency_ns() as f64),
            Cell::time(a.execution_ns() as f64),
            Cell::Count(a.cpu.into()),
            Cell::Text(notes.join(", ")),
        ]
    });
    let caption = format!("Activations of {name} up to the latency that reached the limit, in µs");
    let header = ["activation", "due, s", "latency", "execution", "CPU", ""];
    let table = Piece::table(caption, &header, rows);
    let late = why.get(around.task).and_then(|of| of.events.iter().find(|late| late.index == around.index));
    let why = late.map(|late| {
        [Piece::text("Why it was late:")].into_iter().chain(event_pieces(late, zero_ns, info, false))
    });
    [table].into_iter().chain(why.into_iter().flatten()).collect()
}
