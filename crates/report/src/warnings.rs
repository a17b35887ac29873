//! Warnings about a run's figures, and the placement of its tasks, in sentences.

use jitterlab_analysis::listed_rhythms::{Rhythm, rhythms};
use jitterlab_model::Gap;
use jitterlab_model::warning::{
    Aperiodic, Because, Chore, InterruptEntries, Isolated, LeftBehind, Mover, Placed, Stated, Traced, Warning,
};

use crate::words::{MANY, count, cpus_named, exact, list, list_some, plural, time};

/// Warnings, a sentence each; a warning of many tasks is written once.
pub fn sentences(all: &[&Warning]) -> Vec<String> {
    let of_kind = |kind: &str| {
        all.iter()
            .filter_map(|one| alike(one))
            .filter(|(_, of)| of == kind)
            .map(|(task, _)| task.to_owned())
            .collect()
    };
    let mut kinds: Vec<String> = Vec::new();
    let said = all.iter().filter_map(|warning| {
        let Some((_, kind)) = alike(warning) else { return Some(sentence(warning)) };
        let tasks: Vec<String> = of_kind(&kind);
        if tasks.len() < MANY {
            return Some(sentence(warning));
        }
        let is_first = !kinds.contains(&kind);
        kinds.push(kind.clone());
        is_first.then(|| of_many(warning, &kind, &list_some(&tasks), all))
    });
    said.collect()
}

/// The task of a warning, and the part that it has in common with such warnings of other tasks.
fn alike(warning: &Warning) -> Option<(&str, String)> {
    match warning {
        Warning::AboveHistogram { task, .. } => Some((task, "above".into())),
        Warning::ListedLate { task, at, each_ns } => Some((task, rhythms_of(at, *each_ns))),
        _ => None,
    }
}

/// Warnings of one kind, of many tasks.
fn of_many(warning: &Warning, kind: &str, tasks: &str, all: &[&Warning]) -> String {
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
fn devices(disk: Option<&str>, network: Option<&str>) -> String {
    let disk = disk.map(|model| {
        format!("a {model} disk, whose answers take this machine's time and so differ from run to run")
    });
    let network =
        network.map(|model| format!("two {model} network cards on one line, the peer behind the second"));
    let all: Vec<String> = disk.into_iter().chain(network).collect();
    format!("Emulated devices with interrupts of their own: {}.", all.join("; "))
}

pub fn sentence(warning: &Warning) -> String {
    match warning {
        Warning::SharedCpu { cpus } => format!(
            "everything runs on {}: the recorder and the rest of the system compete with the measured task",
            cpus_named(cpus)
        ),
        Warning::LoadOnMeasuredCpu { loads, cpus } => {
            let run = if loads.len() == 1 { "runs" } else { "run" };
            format!("{} {run} on the measured {}, because there is no other", list(loads), cpus_named(cpus))
        }
        Warning::LoadInMemory { load } => {
            format!("load {load} writes to a file system in memory: no disk works. Name a folder on a disk: disk:1,DIR")
        }
        Warning::LoadFailed { load, after_ns, reason } => {
            format!("load {load} failed after {:.1} s: {reason}", *after_ns as f64 / 1e9)
        }
        Warning::NoChecksums => {
            "the file carries no checksums: damage in it that looks like a measurement is not noticed".into()
        }
        Warning::Isolated(isolated) => isolation(isolated),
        Warning::NotRestored { what } => format!("could not be restored: {what}"),
        Warning::EventsRecorded { event_ns, noting_ns } => beside_events(*event_ns, *noting_ns),
        Warning::EventsLost { events } => {
            format!("{} of the kernel were lost: causes of that time are unknown", plural(*events, "event"))
        }
        Warning::Pulsed { task, pulse, edges, refused, least_ns, mean_ns, longest_ns } => {
            let [least, mean, longest] = [least_ns, mean_ns, longest_ns].map(|ns| time(*ns as f64));
            let refused = if *refused > 0 { format!("; {} were refused", count(*refused)) } else { String::new() };
            let who = match pulse.steps {
                Some(_) => format!("{task} made {} on {pulse}", plural(*edges / 2, "step")),
                None => format!("each activation of {task} moved {pulse}"),
            };
            format!(
                "{who}: {} took {least} to {longest}, {mean} on average, which is part of the execution time{refused}",
                plural(*edges, "edge")
            )
        }
        Warning::NoWaitSeen { tasks } => format!(
            "due times of {} passed without a wait, and count as missed: a program that makes up for them back to back, as \
             LinuxCNC does, ran then, late, which no event shows",
            list(tasks)
        ),
        Warning::OutsideCore { task, core, activations, mode_switches, last_cause } => {
            let cause = last_cause.as_ref().map_or(String::new(), |cause| format!(", the last by {cause}"));
            format!(
                "task {task}: {} began outside real-time mode ({} mode switches{cause}): they show Linux, not {core}",
                plural(*activations, "activation"),
                count(*mode_switches)
            )
        }
        Warning::LeftCpu { task, cpu, activations, cause } => format!(
            "task {task}: {} ran on other CPUs than {cpu}, to which it was bound: {}",
            plural(*activations, "activation"),
            match cause {
                Mover::Isolation { process } => format!("another jitterlab (process {process}) isolated it"),
                Mover::CpuGone => "it went offline, or was taken away from this program".into(),
                Mover::Program => {
                    "another program moved the thread, or the CPU was offline or taken away for a while and is back".into()
                }
            }
        ),
        Warning::Parts { parts } => format!(
            "measured in {} with pauses between them, which count neither as missed nor as latency",
            plural(*parts, "block")
        ),
        Warning::Emulated { ns_per_instruction } => emulated(*ns_per_instruction),
        Warning::Turns { cpus, turn_ns } => format!(
            "The {cpus} processors take turns of up to {} in virtual time: while n of them have work, a start can come n - 1 \
             turns later than alone, and later again for each further turn its own path takes and each lock it waits for.",
            time(*turn_ns as f64)
        ),
        Warning::Devices { disk, network } => devices(disk.as_deref(), network.as_deref()),
        Warning::Kernel { name, release, version } => {
            // Compressed images contain neither.
            let built = format!("{release} {version}");
            let parts = [&format!("Kernel {name}"), built.trim(), "booted in QEMU."];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Warning::InterruptEntries(entries) => interrupt_entries(entries),
        Warning::Firmware(finding) => crate::firmware::finding(finding),
        Warning::MeanPeriod { period_ns } => format!(
            "no period was given: the mean distance of starts, {period_ns} ns, was taken, so latencies show no drift"
        ),
        Warning::FirstEvent { after_ns, period_ns } => format!(
            "the first event came {} after it was asked for, with a period of {}; due times count from that event",
            time(*after_ns as f64),
            exact(*period_ns)
        ),
        Warning::RecordingEnded { reason } => format!("recording ended early: {reason}"),
        Warning::UnitAssumed { unit_ns } => format!(
            "the output does not say its unit; {} are assumed (cyclictest -N counts in ns): say it with --unit",
            if *unit_ns == 1 { "nanoseconds" } else { "microseconds" }
        ),
        Warning::PeriodAssumed { period_ns } => format!(
            "the output does not say the period; the tool's usual one of {} is assumed: say it with --period",
            exact(*period_ns)
        ),
        Warning::CyclesAsNanoseconds => "LinuxCNC's tmax counts cycles of the processor, or nanoseconds in some versions: on a \
                                         processor of 1 GHz or more it is no longer than as many nanoseconds"
            .into(),
        Warning::PeriodByDuration { period_ns } => format!(
            "the output does not say the period: its duration and the activations in it are those of {}",
            exact(*period_ns)
        ),
        Warning::ListedLate { task, at, each_ns } => listed_late(task, at, *each_ns),
        Warning::AboveHistogram { task, count: above } => format!(
            "{} of {task} {} above its histogram: of those only the bounds are known",
            plural(*above, "value"),
            if *above == 1 { "is" } else { "are" }
        ),
        Warning::NotInRows { task, count: missing } => format!(
            "the rows of {task} lack {}: of those only the bounds are known",
            plural(*missing, "value")
        ),
        Warning::Contradiction { task, figure, values } => contradiction(task, *figure, *values),
        Warning::UnitImpossible { task } => format!(
            "in the assumed unit the smallest latency of {task} is longer than its period: say the unit with --unit"
        ),
        Warning::Stopped { task, latency_ns: Some(latency_ns) } => {
            format!("{task}: the tool stopped at a latency of {}", time(*latency_ns as f64))
        }
        Warning::Stopped { task, latency_ns: None } => {
            format!("{task}: the tool stopped at a latency that the output does not tell")
        }
        Warning::LargestOfBlocks { task, activations } => format!(
            "values of {task} are the largest of {activations} activations each: the others are no larger"
        ),
        Warning::ManagementInterrupts { of, count } => format!(
            "{of}: {} in which the firmware stopped it",
            plural(*count, "system management interrupt")
        ),
        Warning::SharedStalls { cycles, of, tasks } => format!(
            "{cycles} of the {of} listed latencies above the histogram came in the same cycle of {tasks} tasks or more: \
             something stops the whole machine (firmware, power management, a hypervisor)"
        ),
        Warning::ClocksApart { task, apart_ns } => format!(
            "due times of {task} are of another clock than its starts, {} apart: they count from the earliest activation, so \
             every latency may be larger by the same amount",
            time(apart_ns.unsigned_abs() as f64)
        ),
        Warning::EndMissing { task } => {
            format!("the last figures of {task} are missing: those before them may have been better")
        }
        Warning::NotListed { threads, of } => format!(
            "the output names {of} threads and has no figures of {threads}: the largest latency may be of {}",
            if *threads == 1 { "that one" } else { "one of those" }
        ),
        Warning::SilentChannels { channels } => {
            format!("too few activations to tell a period, and left out: {}", list(channels))
        }
        Warning::SilentToEnd { task, since_ns, silent_ns } => format!(
            "{task} is silent from {} on, {} until the recording ends: whether it had ended or missed what was due is not known",
            time(*since_ns as f64),
            time(*silent_ns as f64)
        ),
        Warning::OnlyAbove { above_ns } => format!("only values of {} and more were recorded", exact(*above_ns)),
        Warning::DueAtInterrupt => {
            "due times are those at which the kernel's timer interrupt ran: how late that was is in no latency".into()
        }
        Warning::EndsBelowMaximum => {
            "the printed distribution ends below the maximum, and how many values it leaves out is unknown"
                .into()
        }
        Warning::OnlyExtremes => {
            "the output has no bins of its values: percentiles are only known to lie between the extremes".into()
        }
        Warning::OnlyPercentiles => {
            "the output has percentiles and no histogram of most values: what lies between two of them counts as the \
             upper one"
                .into()
        }
        Warning::DueTimesAssumed { tool } => format!(
            "{tool} prints no due times and skips missed activations without counting them: periods are unknown, and \
             times over the run are as if none had been missed"
        ),
        Warning::MissedNotCounted { tool } => {
            format!("{tool} skips missed activations and does not count them: how many there were is unknown")
        }
        Warning::CatchesUp { tool } => {
            format!("{tool} catches up: missed activations run late, back to back")
        }
        Warning::Cut { unit_ns } => {
            format!("values are cut to whole units, so due times are up to {} late", exact(*unit_ns))
        }
        Warning::NoPeriod { tool, measures } => format!("{tool} measures no periodic task, but {}", aperiodic(*measures)),
        Warning::Stages => {
            "irq, thr and usr are stages of the same activations, each from the due time on".into()
        }
        Warning::ThresholdFound { channel, low_mv, high_mv } => format!(
            "{channel} counts as low below {} V and as high above {} V, two and three fifths of its range: --threshold \
             says otherwise",
            *low_mv as f64 / 1e3,
            *high_mv as f64 / 1e3
        ),
        Warning::RelativeSleep { tool } => {
            format!("{tool} sleeps a relative delay: its latencies leave out what its loop itself takes")
        }
        Warning::OnlyPeriodErrors { tool } => format!(
            "{tool} tells only period errors, what lies between two starts: when activations were due, and so their \
             latencies, are unknown"
        ),
        Warning::CountUnknown => "the output does not count activations: how many ran is unknown".into(),
        Warning::LargestOfAllTests => {
            "LinuxCNC keeps the largest figure of all its latency tests in this file, of the base and the servo \
             thread: it never falls when the machine gets better"
                .into()
        }
        Warning::OnlyLargest => "only the largest latency is known, at which the tool stopped".into(),
        Warning::Traced(one) => traced(one),
        Warning::PhaseUnknown => {
            "the file has no due times: they are on a grid of even distance that begins with the earliest \
             activation, so every latency may be larger by the same amount"
                .into()
        }
        Warning::DueFromFirst { task, early } => {
            let catches_up = if *early == 0 {
                String::new()
            } else {
                format!(
                    "; {} began more than half a period before: if it runs late ones back to back, name its due times or \
                     overrun=catch-up",
                    plural(*early, "activation")
                )
            };
            format!(
                "task {task} did not say when it was due: due times lie a period apart, beginning with its first activation, so \
                 every latency may be larger or smaller by the same amount{catches_up}"
            )
        }
        Warning::DueFitted { task, within_ns, with_period } => format!(
            "task {task} did not say when it was due: due times lie on a grid fitted to its starts{}, on which the earliest of the \
             first {} counts as in time, so every latency may be larger by the same amount",
            if *with_period { ", its period with it" } else { "" },
            time(*within_ns as f64)
        ),
        Warning::NoGridFound { task } => format!(
            "task {task} said neither its due times nor its period, and its starts are too few or too irregular to show them: due \
             times lie their mean distance apart, as if none had been missed"
        ),
        Warning::Said { tool, text } => format!("{tool} says: {text}"),
        Warning::RecordsLost { task, records } => {
            format!(
                "task {task}: {} are missing in the file because the disk was too slow",
                plural(*records, "record")
            )
        }
        Warning::JournalDamaged { at, bytes, rows } => {
            let rows =
                rows.map_or("how many activations it held is unknown".into(), |n| plural(n, "activation"));
            format!(
                "{} of the journal from byte {} on are damaged and left out ({rows})",
                plural(*bytes, "byte"),
                count(*at)
            )
        }
        Warning::NotClosed => "the run was not closed: this is what its journal holds".into(),
        Warning::StillRecording => "the run still goes on: this is what it has recorded until now".into(),
        Warning::Other(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// Quantity that other tools measure apart from periodic tasks.
fn aperiodic(measured: Aperiodic) -> &'static str {
    match measured {
        Aperiodic::Gaps => "how long its busy loop stood still, which is due at no time",
        Aperiodic::Signals => "how long a signal takes from thread to thread",
        Aperiodic::Wakers => {
            "how long a thread takes to wake up when another one wakes it, not when a timer does"
        }
        Aperiodic::Durations => "how long something took",
        Aperiodic::RunQueue => "how long threads that could run waited for a processor",
        _ => "something else",
    }
}

/// Two statements that cannot both be true.
fn contradiction(task: &str, about: Stated, values: [i64; 2]) -> String {
    let [a, b] = values.map(|value| match about {
        Stated::Count => count(u64::try_from(value).unwrap_or(0)),
        _ => time(value as f64),
    });
    let about = match about {
        Stated::Count => "the number of values",
        Stated::Smallest => "the smallest value",
        Stated::Mean => "the mean",
        Stated::Largest => "the largest value",
        Stated::Period => "the period",
        _ => "a figure",
    };
    format!(
        "the output contradicts itself about {about} of {task}, {a} and {b}: nothing that rests on it is decided"
    )
}

/// Late starts that an output lists, and how regularly they come.
fn listed_late(task: &str, at: &[u64], each_ns: Option<i64>) -> String {
    let listed = plural(at.len() as u64, "late start");
    let rhythms = rhythms_of(at, each_ns);
    match rhythms.is_empty() {
        true => format!("the output lists {listed} of {task}, at no even distance"),
        false => format!("of {listed} of {task} that the output lists, {rhythms}: something runs as often"),
    }
}

/// The even distances among late starts; empty where there are none.
fn rhythms_of(at: &[u64], each_ns: Option<i64>) -> String {
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
fn traced(one: &Traced) -> String {
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

/// Overhead of recording the kernel's events during a measurement.
fn beside_events(event_ns: Option<i64>, noting_ns: Option<i64>) -> String {
    let each =
        event_ns.map_or(String::new(), |ns| format!(", {} for each event on the way", time(ns as f64)));
    let noting = noting_ns.map_or(String::new(), |ns| {
        format!(", and {} more where another program was running", time(ns as f64))
    });
    format!("the kernel's events were recorded meanwhile, which makes latencies longer{each}{noting}")
}

/// Fact that a source does not report, as the object of a sentence.
pub fn gap(gap: Gap) -> &'static str {
    match gap {
        Gap::Period => "the period",
        Gap::Count => "how many activations ran",
        Gap::Missed => "which due times were missed",
        Gap::Lost => "whether records were lost",
        Gap::Execution => "execution times",
        Gap::DueTimes => "due times",
        Gap::Phase => "where the grid of due times lies",
        Gap::Latency => "when activations were due",
        Gap::Grid => "due times, since nothing periodic was measured",
        Gap::Overrun => "what happened to due times that passed",
        Gap::Settings => "policy, wake-up and work",
        Gap::Unit => "the unit of its values",
        Gap::Figures => "which of its figures are true",
        Gap::Chip => "what a part of the chip that is not simulated does to it",
        Gap::Silent => "when it is due, since it is silent",
        _ => "all of it",
    }
}

/// Limits of figures that were measured in an emulator.
pub fn emulated(ns_per_instruction: Option<u32>) -> String {
    match ns_per_instruction {
        Some(each) => format!(
            "Virtual time: {each} ns for each instruction. It counts code paths, not caches, memory or interrupt \
             hardware, so it compares kernels and does not predict a machine's latency."
        ),
        None => {
            "Emulated in real time: the emulation's own delays are in every figure, nothing repeats, and no \
                 machine's latency is predicted."
                .into()
        }
    }
}

/// Treatment of the cycles that simavr does not charge.
pub fn interrupt_entries(entries: &InterruptEntries) -> String {
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
fn isolation(isolated: &Isolated) -> String {
    let mut text = format!(
        "isolated {}: {} and {} moved away",
        isolated.cpus,
        plural(isolated.threads_moved, "thread"),
        plural(isolated.interrupts_moved, "interrupt")
    );
    if !isolated.changed.is_empty() {
        let changed: Vec<String> = isolated.changed.iter().map(|chore| of_chore(*chore).into()).collect();
        text += &format!("; also {}", list(&changed));
    }
    if !isolated.left.is_empty() {
        let left: Vec<String> = isolated.left.iter().map(of_left).collect();
        text += &format!(". Could not be moved: {}", left.join("; "));
    }
    text
}

fn of_chore(chore: Chore) -> &'static str {
    match chore {
        Chore::NewInterrupts => "new interrupts",
        Chore::UnboundWork => "unbound kernel work",
        Chore::WriteBack => "write-back of files",
        Chore::Watchdogs => "watchdogs",
        Chore::OtherTimers => "other CPUs' timers",
        Chore::NewPrograms => "what starts during the run",
        _ => "something else",
    }
}

fn of_left(left: &LeftBehind) -> String {
    match left {
        LeftBehind::BoundThreads { names } => {
            let number = names.iter().map(|(_, n)| *n).fold(0, u64::saturating_add);
            format!("{} of these CPUs: {}", plural(number, "kernel thread"), tallied(names))
        }
        LeftBehind::Threads { names } => format!("threads: {}", tallied(names)),
        LeftBehind::Interrupts { names } => tallied(names),
        LeftBehind::Chore { chore: Chore::NewPrograms, error } => {
            format!("what starts during the run, which may use these CPUs ({error})")
        }
        LeftBehind::Chore { chore, error } => format!("{} ({error})", of_chore(*chore)),
        other => format!("{other:?}"),
    }
}

/// Names with their counts: `ksoftirqd/1, cpuhp/1` or `kworker (12)`.
fn tallied(names: &[(String, u64)]) -> String {
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
pub fn placement(placed: Option<&Placed>) -> Option<String> {
    let (cpus, rest, because) = match placed? {
        Placed::Sentence(text) => return Some(text.clone()).filter(|text| !text.is_empty()),
        Placed::Chosen { cpus, rest, because } => (cpus, rest, because.as_slice()),
    };
    let name = cpus_named(cpus);
    Some(match because {
        _ if cpus.is_empty() => return None,
        [Because::NoneListed] => format!("{name}, since this machine does not say which CPUs it has"),
        [Because::AskedFor] => format!("{name} as asked for; the rest of jitterlab runs on {rest}"),
        [Because::OnlyOne] => {
            format!("{name}, the only one this process may use: everything else competes with the task")
        }
        [] => {
            format!("{name}: the best of those this process may use; the rest of jitterlab runs on {rest}")
        }
        because => {
            let because: Vec<String> = because.iter().map(reason).collect();
            format!("{name}: {}; the rest of jitterlab runs on {rest}", because.join(", "))
        }
    })
}

fn reason(because: &Because) -> String {
    match because {
        Because::Isolated => "isolated from other tasks".into(),
        Because::NoTick => "without the tick while one task runs".into(),
        Because::AwayFromZero => "away from CPU 0, which does most of the kernel's chores".into(),
        Because::FreeSiblings { cpus, isolated } => {
            let whose = if cpus.len() == 1 { "SMT sibling" } else { "SMT siblings" };
            let state = if *isolated { "isolated too" } else { "kept free of jitterlab's own threads" };
            format!("with the {whose} {cpus} {state}")
        }
        Because::SharedCache { level } => format!("together on one level {level} cache"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_says_where_and_why() {
        let placed = |because: &[Because]| {
            let (cpus, rest) = ("2-3".parse().unwrap(), "0-1".parse().unwrap());
            placement(Some(&Placed::Chosen { cpus, rest, because: because.to_vec() })).unwrap()
        };
        let siblings = Because::FreeSiblings { cpus: "6".parse().unwrap(), isolated: true };
        insta::assert_snapshot!(
            placed(&[Because::Isolated, Because::AwayFromZero, siblings, Because::SharedCache { level: 3 }]),
            @"CPUs 2-3: isolated from other tasks, away from CPU 0, which does most of the kernel's chores, with the SMT sibling 6 isolated too, together on one level 3 cache; the rest of jitterlab runs on 0-1"
        );
        assert!(placed(&[]).contains("the best of those"));
        assert!(placed(&[Because::OnlyOne]).contains("only one"));
        assert_eq!(placement(Some(&Placed::Sentence("as it was".into()))).as_deref(), Some("as it was"));
        assert_eq!(placement(Some(&Placed::Sentence(String::new()))), None);
    }

    #[test]
    fn isolation_says_what_moved_and_what_stayed() {
        let isolated = Isolated {
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
            sentence(&Warning::Isolated(isolated)),
            @"isolated 3: 1 thread and 12 interrupts moved away; also unbound kernel work and watchdogs. Could not be moved: 3 kernel threads of these CPUs: ksoftirqd/3, kworker/3 (2); what starts during the run, which may use these CPUs (not permitted)"
        );
    }

    #[test]
    fn entries_that_were_not_charged_are_added_up() {
        let entries =
            InterruptEntries { charged: false, entries: 3, from_sleep: 2, cycles: 4, cycles_from_sleep: 4 };
        assert!(interrupt_entries(&entries).contains("up to 20 cycles more"));
        assert!(emulated(Some(8)).contains("8 ns"));
    }
}
