//! What a run showed of one task, in a sentence, and what speaks against its figures.

use jitterlab_analysis::summary::{P50, P99_9};
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_model::Gap;

use crate::words::{count, exact, list, plural, share, time};

/// What was seen of a task, in one or two sentences; `measured_ns` is how long it was measured.
#[must_use]
pub fn statement(s: &Summary, measured_ns: Option<i64>) -> String {
    let human = |ns: i64| time(ns as f64);
    let (Some(worst), Some(earliest)) = (s.latency.max_ns, s.latency.min_ns) else {
        return match s.period_error.max_ns {
            Some(longest) => format!(
                "Of task {} only period errors are known: its longest period was {} longer than asked.",
                s.task,
                human(longest.max(0))
            ),
            None => format!("Task {} never ran: nothing was measured.", s.task),
        };
    };
    let during = measured_ns
        .filter(|_| !s.unknown.contains(&Gap::Period) && !s.unknown.contains(&Gap::Count))
        .map_or(String::new(), |ns| format!(" in {}", human(ns)));
    let mut text = match (s.executed.exactly(), s.missed.exactly()) {
        (Some(executed), Some(0)) => {
            format!("Task {} served all of its {} due times{during}", s.task, count(executed))
        }
        (Some(executed), Some(missed)) => {
            let due = executed + missed;
            format!(
                "Task {} MISSED {} of its {} due times{during} ({})",
                s.task,
                count(missed),
                count(due),
                share(missed as f64 / due as f64)
            )
        }
        (executed, missed) => {
            let ran = executed.map_or("an unknown number of".into(), count);
            let missed = missed.map_or("how many due times it missed is unknown".into(), |missed| {
                format!("it missed {} due times", count(missed))
            });
            format!("Task {} ran {ran} times{during}, and {missed}", s.task)
        }
    };
    let period_known = !s.unknown.contains(&Gap::Period);
    let period = exact(s.period_ns);
    let of_period = worst as f64 / s.period_ns as f64;
    text += &match worst {
        ..=0 => {
            format!("; it always started before or at the due time, at the latest {} early", human(-worst))
        }
        _ if !period_known => format!("; at worst it started {} late", human(worst)),
        _ if of_period >= 1.0 => {
            format!(
                "; at worst it started {} late, {of_period:.1} times its period of {period}",
                human(worst)
            )
        }
        _ => {
            format!(
                "; at worst it started {} late, {} of its period of {period}",
                human(worst),
                share(of_period)
            )
        }
    };
    let typical: Vec<String> = [("half", s.latency.at(P50)), ("99.9 %", s.latency.at(P99_9))]
        .into_iter()
        .filter_map(|(share, ns)| ns.exactly().map(|ns| format!("{share} within {}", human(ns))))
        .collect();
    if !typical.is_empty() {
        text += &format!(", {}", typical.join(" and "));
    }
    if earliest < 0 && worst > 0 {
        text += &format!("; at the earliest {} before the due time", human(-earliest));
    }
    if let (Some(min), Some(max)) = (s.period_error.min_ns, s.period_error.max_ns) {
        text += &format!(
            ". Its periods were between {} shorter and {} longer than asked",
            human(min.saturating_neg().max(0)),
            human(max.max(0))
        );
    }
    text + "."
}

/// A caveat as a clause: without a capital, without a full stop.
#[must_use]
pub fn clause(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Dropped { records } => {
            format!("{} records were lost: the extremes hold them, the other figures do not", count(*records))
        }
        Caveat::NotClosed => "the run was not closed: what came after its last record is not known".into(),
        Caveat::Overloaded { task, overload } => {
            format!("the run was ended to save the machine: {task}: {overload}")
        }
        Caveat::WaitFailed { task, why } => {
            format!("the run ended because {task} could not wait any more: {why}")
        }
        Caveat::StoppedAbove { latency_ns } => {
            format!("the run ended at the first latency above the limit: {}", time(*latency_ns as f64))
        }
        Caveat::Crashed => "the measuring process died; its records were recovered".into(),
        Caveat::OutsideCore { activations, core, last_cause } => {
            let cause = last_cause.as_ref().map_or(String::new(), |cause| format!(", last by {cause}"));
            let activations = if *activations == 1 {
                "1 activation".to_owned()
            } else {
                format!("{} activations", count(*activations))
            };
            format!(
                "{activations} began outside real-time mode of {core}{cause}: those measure Linux, not the core"
            )
        }
        Caveat::NotRealTime { policy } => {
            format!("the task ran under the ordinary policy {policy}: any other thread may delay it")
        }
        Caveat::MemoryNotLocked => "memory was not locked: a page fault may delay the task".into(),
        Caveat::Kernel { preemption } => {
            format!("the kernel is not a real-time kernel (preemption model: {preemption})")
        }
        Caveat::VirtualMachine { hypervisor } => {
            let name = hypervisor.as_deref().unwrap_or("a hypervisor");
            format!("this is a virtual machine under {name}: its host's load is part of the figures")
        }
        Caveat::Machine { change } => crate::changes::sentence(change),
        Caveat::NoLoad { load_1_min, cpus, threads, dma_latency_us } => {
            no_load(*load_1_min, *cpus, threads, *dma_latency_us)
        }
        Caveat::Length { run_ns, unseen_every_ns } => format!(
            "in {} an event that comes every {} or less often may not have shown",
            time(*run_ns as f64),
            time(*unseen_every_ns)
        ),
    }
}

/// That no load was started, and what else is known to have run.
fn no_load(load_1_min: Option<f64>, cpus: usize, threads: &[String], dma_latency_us: Option<u64>) -> String {
    let average =
        load_1_min.map(|load| format!("a load average of {load:.2} on {}", plural(cpus as u64, "CPU")));
    let much = load_1_min.is_some_and(|load| load > cpus as f64 / 2.0);
    let mut text = String::from("no load was started beside it");
    if much || !threads.is_empty() {
        let others = (!threads.is_empty()).then(|| format!("{} on its CPUs", list(threads)));
        let work: Vec<String> = average.filter(|_| much).into_iter().chain(others).collect();
        text += &format!(", yet other work ran: {}", list(&work));
    } else {
        let average = average.map_or(String::new(), |average| format!(" ({average})"));
        text += &format!("{average}: under load the worst case is usually much later");
    }
    if let Some(us) = dma_latency_us {
        text +=
            &format!("; /dev/cpu_dma_latency was held at {us} µs, which keeps CPUs out of deep idle states");
    }
    text
}

/// All different caveats of several tasks, in order.
pub(crate) fn distinct<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in caveats.into_iter().map(clause) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::caveats::measured_ns;
    use jitterlab_model::{Activation, RunInfo, TaskResult, TaskSpec, TimingStats};

    fn said(latencies_ns: &[i64], missed: u32) -> String {
        let mut run = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        run.tasks[0].result = Some(TaskResult {
            executed: latencies_ns.len() as u64,
            missed: missed.into(),
            last_end_ns: (latencies_ns.len() as i64 + i64::from(missed)) * 1_000_000,
            ..TaskResult::default()
        });
        let mut stats = TimingStats::new(1_000_000);
        for (k, latency_ns) in latencies_ns.iter().enumerate() {
            let due_ns = k as i64 * 1_000_000;
            let start_ns = due_ns + latency_ns;
            stats.push(&Activation { due_ns, start_ns, end_ns: start_ns, ..Activation::default() });
        }
        statement(&Summary::of(&run.tasks[0], &stats), measured_ns(&run.tasks[0]))
    }

    #[test]
    fn a_good_run_says_what_was_seen() {
        assert_eq!(
            said(&[2_000, 3_000, 2_000, 81_000], 0),
            "Task main served all of its 4 due times in 4 ms; at worst it started 81 µs late, 8.1 % of its period of \
             1 ms, half within 2.01 µs. Its periods were between 1 µs shorter and 79 µs longer than asked."
        );
    }

    #[test]
    fn missed_due_times_come_first() {
        let found = said(&[5_300_000], 5);
        assert!(found.contains("MISSED 5 of its 6 due times"), "{found}");
        assert!(found.contains("5.3 times its period"), "{found}");
    }

    #[test]
    fn a_task_that_never_ran_has_no_figures() {
        assert_eq!(said(&[], 0), "Task main never ran: nothing was measured.");
    }

    #[test]
    fn early_wake_ups_are_said_to_be_early() {
        let found = said(&[-4_000, -1_000], 0);
        assert!(found.contains("at the latest 1 µs early"), "{found}");
    }

    #[test]
    fn a_caveat_has_its_numbers() {
        let outside = Caveat::OutsideCore {
            activations: 1,
            core: "cobalt".into(),
            last_cause: Some("a system call".into()),
        };
        assert_eq!(
            clause(&outside),
            "1 activation began outside real-time mode of cobalt, last by a system call: those measure Linux, not the core"
        );
        let length = Caveat::Length { run_ns: 4_000_000, unseen_every_ns: 1_335_233.0 };
        assert_eq!(
            clause(&length),
            "in 4 ms an event that comes every 1.34 ms or less often may not have shown"
        );
    }
}
