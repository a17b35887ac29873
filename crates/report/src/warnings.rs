//! Warnings about a run's figures, and the placement of its tasks, in sentences.

use jitterlab_analysis::listed_rhythms::{Rhythm, rhythms};
use jitterlab_model::Gap;
use jitterlab_model::warning::{
    Chore, CpuPlacement, InterruptEntries, IsolationReport, LeftBehind, PlacementReason, StatedQuantity,
    TracedLatency, Warning,
};

use crate::dictionary;
use crate::words::{MANY_TASKS, count, cpus_text, list, list_some, plural, time};

/// Sentences of warnings; those of one kind of many tasks are joined into one.
pub fn warning_sentences(all: &[&Warning]) -> Vec<String> {
    let of_kind = |kind: &str| {
        all.iter()
            .filter_map(|one| task_and_kind(one))
            .filter(|(_, of)| of == kind)
            .map(|(task, _)| task.to_owned())
            .collect()
    };
    let mut kinds: Vec<String> = Vec::new();
    let said = all.iter().filter_map(|warning| {
        let Some((_, kind)) = task_and_kind(warning) else { return Some(warning_sentence(warning)) };
        let tasks: Vec<String> = of_kind(&kind);
        if tasks.len() < MANY_TASKS {
            return Some(warning_sentence(warning));
        }
        let is_first = !kinds.contains(&kind);
        kinds.push(kind.clone());
        is_first.then(|| joint_sentence(warning, &kind, &list_some(&tasks), all))
    });
    said.collect()
}

/// The task and kind of a warning, by which those of many tasks are joined; `None` if it is not joined.
fn task_and_kind(warning: &Warning) -> Option<(&str, String)> {
    match warning {
        Warning::AboveHistogram { task, .. } => Some((task, "above".into())),
        Warning::ListedLate { task, at, each_ns } => Some((task, late_start_spacing_text(at, *each_ns))),
        _ => None,
    }
}

/// One sentence for the warnings of one kind of many tasks.
fn joint_sentence(warning: &Warning, kind: &str, tasks: &str, all: &[&Warning]) -> String {
    let above = |of: &&Warning| match of {
        Warning::AboveHistogram { count, .. } => Some(*count),
        _ => None,
    };
    match warning {
        Warning::AboveHistogram { .. } => {
            let (least, most) = (all.iter().filter_map(above).min(), all.iter().filter_map(above).max());
            let [least, most] = [least, most].map(|of| count(of.unwrap_or(0)));
            let values = if least == most { least } else { format!("{least} to {most}") };
            format!(
                "{values} values each of {tasks} are above their histograms: of those only the bounds are known"
            )
        }
        _ if kind.is_empty() => format!("the output lists late starts of {tasks}, at no even distance"),
        _ => format!(
            "of the late starts that the output lists of {tasks} each, {kind}: something runs as often"
        ),
    }
}

/// Devices of an emulated machine.
fn devices_sentence(disk: Option<&str>, network: Option<&str>) -> String {
    let disk = disk.map(|model| {
        format!("a {model} disk, whose answers take this machine's time and so differ from run to run")
    });
    let network =
        network.map(|model| format!("two {model} network cards on one line, the peer behind the second"));
    let all: Vec<String> = disk.into_iter().chain(network).collect();
    format!("Emulated devices with interrupts of their own: {}.", all.join("; "))
}

pub fn warning_sentence(warning: &Warning) -> String {
    match warning {
        Warning::Isolated(isolated) => isolation_sentence(isolated),
        Warning::Pulsed { pulse, edges, refused, .. } => {
            let mut fields = dictionary::event_fields(warning);
            fields.retain(|name, _| name != "refused" || *refused > 0);
            fields.extend(pulse.steps.as_ref().map(|_| ("steps".to_owned(), (edges / 2).into())));
            dictionary::sentence_from_fields("warning", &fields)
        }
        Warning::Devices { disk, network } => devices_sentence(disk.as_deref(), network.as_deref()),
        Warning::Kernel { name, release, version } => {
            // Compressed images contain neither.
            let built = format!("{release} {version}");
            let parts = [&format!("Kernel {name}"), built.trim(), "booted in QEMU."];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Warning::InterruptEntries(entries) => interrupt_entry_sentence(entries),
        Warning::Firmware(finding) => crate::firmware::finding_sentence(finding),
        Warning::ListedLate { task, at, each_ns } => listed_late_sentence(task, at, *each_ns),
        Warning::Contradiction { task, figure, values } => contradiction_sentence(task, *figure, *values),
        Warning::Traced(one) => traced_sentence(one),
        Warning::DueFromFirst { early, .. } => {
            let mut fields = dictionary::event_fields(warning);
            fields.retain(|name, _| name != "early" || *early > 0);
            dictionary::sentence_from_fields("warning", &fields)
        }
        Warning::Other(text) => text.clone(),
        other => dictionary::event_sentence("warning", other),
    }
}

/// Sentence on two statements of an output that cannot both be true.
fn contradiction_sentence(task: &str, about: StatedQuantity, values: [i64; 2]) -> String {
    let [a, b] = values.map(|value| match about {
        StatedQuantity::Count => count(u64::try_from(value).unwrap_or(0)),
        _ => time(value as f64),
    });
    let about = dictionary::display_text("contradicted", &about);
    format!(
        "the output contradicts itself about {about} of {task}, {a} and {b}: nothing that rests on it is decided"
    )
}

/// Late starts that an output lists, and how regularly they come.
fn listed_late_sentence(task: &str, at: &[u64], each_ns: Option<i64>) -> String {
    let listed = plural(at.len() as u64, "late start");
    let rhythms = late_start_spacing_text(at, each_ns);
    match rhythms.is_empty() {
        true => format!("the output lists {listed} of {task}, at no even distance"),
        false => format!("of {listed} of {task} that the output lists, {rhythms}: something runs as often"),
    }
}

/// The even distances among late starts; empty where there are none.
fn late_start_spacing_text(at: &[u64], each_ns: Option<i64>) -> String {
    let distance = |rhythm: &Rhythm| match each_ns {
        Some(ns) => time(rhythm.period * ns as f64),
        None => plural(rhythm.period.round() as u64, "activation"),
    };
    let rhythms: Vec<String> = rhythms(at)
        .iter()
        .map(|of| format!("{} came every {}", count(of.starts as u64), distance(of)))
        .collect();
    if rhythms.is_empty() { String::new() } else { list(&rhythms) }
}

/// Parts of a latency that rtla traced.
fn traced_sentence(one: &TracedLatency) -> String {
    let on = one.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let parts = one.parts.iter().map(|part| {
        let by = if part.by.is_empty() { String::new() } else { format!(" ({})", part.by.join(", ")) };
        format!("{} {}{by}", part.name, time(part.ns as f64))
    });
    let parts: Vec<String> = parts.collect();
    let stack = one.parts.iter().find(|part| !part.stack.is_empty());
    let stack = stack.map_or(String::new(), |part| format!("; its stack: {}", part.stack.join(" < ")));
    format!("rtla traced a latency of {}{on}: {}{stack}", time(one.latency_ns as f64), list(&parts))
}

/// Text of a fact that a source does not report, as the object of a sentence.
pub fn gap_text(gap: Gap) -> &'static str {
    dictionary::display_text("gap", &gap)
}

/// Limits of figures that were measured in an emulator.
pub fn emulation_sentence(ns_per_instruction: Option<u32>) -> String {
    warning_sentence(&Warning::Emulated { ns_per_instruction })
}

/// Treatment of the cycles that simavr does not charge.
pub fn interrupt_entry_sentence(entries: &InterruptEntries) -> String {
    let InterruptEntries { charged, entries, from_sleep, cycles, cycles_from_sleep } = entries;
    if *charged {
        format!(
            "each of {entries} interrupt entries costs {cycles} cycles, and {cycles_from_sleep} more for the {from_sleep} \
             from sleep, as the datasheets say at least; simavr alone charges nothing"
        )
    } else {
        format!(
            "interrupt entries are not charged: on the chip the run takes up to {} cycles more ({entries} entries, \
             {from_sleep} from sleep)",
            entries * cycles + from_sleep * cycles_from_sleep
        )
    }
}

/// Changes made by isolation, and things that could not be moved.
fn isolation_sentence(isolated: &IsolationReport) -> String {
    let mut text = format!(
        "isolated {}: {} and {} moved away",
        isolated.cpus,
        plural(isolated.threads_moved, "thread"),
        plural(isolated.interrupts_moved, "interrupt")
    );
    if !isolated.changed.is_empty() {
        let changed: Vec<String> = isolated.changed.iter().map(|chore| chore_text(*chore).into()).collect();
        text += &format!("; also {}", list(&changed));
    }
    if !isolated.left.is_empty() {
        let left: Vec<String> = isolated.left.iter().map(left_behind_text).collect();
        text += &format!(". Could not be moved: {}", left.join("; "));
    }
    text
}

fn chore_text(chore: Chore) -> &'static str {
    dictionary::display_text("chore", &chore)
}

fn left_behind_text(left: &LeftBehind) -> String {
    match left {
        LeftBehind::BoundThreads { names } => {
            let number = names.iter().map(|(_, n)| *n).fold(0, u64::saturating_add);
            format!("{} of these CPUs: {}", plural(number, "kernel thread"), counted_names(names))
        }
        LeftBehind::Threads { names } => format!("threads: {}", counted_names(names)),
        LeftBehind::Interrupts { names } => counted_names(names),
        LeftBehind::Chore { chore: Chore::NewPrograms, error } => {
            format!("what starts during the run, which may use these CPUs ({error})")
        }
        LeftBehind::Chore { chore, error } => format!("{} ({error})", chore_text(*chore)),
        other => format!("{other:?}"),
    }
}

/// List of names with their counts: `ksoftirqd/1, cpuhp/1` or `kworker (12)`.
fn counted_names(names: &[(String, u64)]) -> String {
    const SHOWN: usize = 8;
    let mut named: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|(name, n)| if *n == 1 { name.clone() } else { format!("{name} ({n})") })
        .collect();
    if names.len() > SHOWN {
        named.push(format!("and {} more", names.len() - SHOWN));
    }
    named.join(", ")
}

/// CPUs of the tasks and the reason for them; `None` if unknown.
pub fn placement_sentence(placed: Option<&CpuPlacement>) -> Option<String> {
    let (cpus, rest, because) = match placed? {
        CpuPlacement::Sentence(text) => return Some(text.clone()).filter(|text| !text.is_empty()),
        CpuPlacement::Chosen { cpus, rest, because } => (cpus, rest, because.as_slice()),
    };
    let name = cpus_text(cpus);
    Some(match because {
        _ if cpus.is_empty() => return None,
        [PlacementReason::NoneListed] => format!("{name}, since this machine does not say which CPUs it has"),
        [PlacementReason::AskedFor] => format!("{name} as asked for; the rest of jitterlab runs on {rest}"),
        [PlacementReason::OnlyOne] => {
            format!("{name}, the only one this process may use: everything else competes with the task")
        }
        [] => {
            format!("{name}: the best of those this process may use; the rest of jitterlab runs on {rest}")
        }
        because => {
            let because: Vec<String> =
                because.iter().map(|reason| dictionary::event_sentence("because", reason)).collect();
            format!("{name}: {}; the rest of jitterlab runs on {rest}", because.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_says_where_and_why() {
        let placed = |because: &[PlacementReason]| {
            let (cpus, rest) = ("2-3".parse().unwrap(), "0-1".parse().unwrap());
            placement_sentence(Some(&CpuPlacement::Chosen { cpus, rest, because: because.to_vec() })).unwrap()
        };
        let siblings = PlacementReason::FreeSiblings { cpus: "6".parse().unwrap(), isolated: true };
        insta::assert_snapshot!(
            placed(&[PlacementReason::Isolated, PlacementReason::AwayFromZero, siblings, PlacementReason::SharedCache { level: 3 }]),
            @"CPUs 2-3: isolated from other tasks, away from CPU 0, which does most of the kernel's chores, with the SMT sibling 6 isolated too, together on one level 3 cache; the rest of jitterlab runs on 0-1"
        );
        assert!(placed(&[]).contains("the best of those"));
        assert!(placed(&[PlacementReason::OnlyOne]).contains("only one"));
        assert_eq!(
            placement_sentence(Some(&CpuPlacement::Sentence("as it was".into()))).as_deref(),
            Some("as it was")
        );
        assert_eq!(placement_sentence(Some(&CpuPlacement::Sentence(String::new()))), None);
    }

    #[test]
    fn isolation_says_what_moved_and_what_stayed() {
        let isolated = IsolationReport {
            cpus: "3".parse().unwrap(),
            threads_moved: 1,
            interrupts_moved: 12,
            changed: vec![Chore::UnboundWork, Chore::Watchdogs],
            left: vec![
                LeftBehind::BoundThreads { names: vec![("ksoftirqd/3".into(), 1), ("kworker/3".into(), 2)] },
                LeftBehind::Chore { chore: Chore::NewPrograms, error: "not permitted".into() },
            ],
        };
        insta::assert_snapshot!(
            warning_sentence(&Warning::Isolated(isolated)),
            @"isolated 3: 1 thread and 12 interrupts moved away; also unbound kernel work and watchdogs. Could not be moved: 3 kernel threads of these CPUs: ksoftirqd/3, kworker/3 (2); what starts during the run, which may use these CPUs (not permitted)"
        );
    }

    #[test]
    fn entries_that_were_not_charged_are_added_up() {
        let entries =
            InterruptEntries { charged: false, entries: 3, from_sleep: 2, cycles: 4, cycles_from_sleep: 4 };
        assert!(interrupt_entry_sentence(&entries).contains("up to 20 cycles more"));
        assert!(emulation_sentence(Some(8)).contains("8 ns"));
    }
}
