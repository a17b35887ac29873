//! Result of one task in a sentence, and the reasons to doubt its figures.

use jitterlab_analysis::summary::{P50, P99_9};
use jitterlab_analysis::{Caveat, Summary};
use jitterlab_model::Gap;

use crate::dictionary;
use crate::words::{count, exact_time, plural, share, time};

/// Summarises a task in one or two sentences; `measured_ns` is the duration of the measurement.
pub fn task_statement(s: &Summary, measured_ns: Option<i64>) -> String {
    let human = |ns: i64| time(ns as f64);
    if s.latency.count == 0 {
        return missing_latencies_statement(s);
    }
    if !s.knows(Gap::Grid) {
        return values_statement(s);
    }
    // A miss that is not counted takes time too.
    let least = if s.missed.exactly().is_some() { "" } else { "at least " };
    let during = measured_ns
        .filter(|_| s.knows(Gap::Period) && s.knows(Gap::Count))
        .map_or(String::new(), |ns| format!(" in {least}{}", human(ns)));
    let mut text = match (s.executed.exactly(), s.missed.exactly()) {
        (Some(1), Some(0)) => format!("Task {} served its only due time{during}", s.task),
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
    text += &s
        .latency
        .max_ns
        .map_or("; how late it was at worst is unknown".into(), |ns| worst_start_text(s, ns));
    if s.latency.min_ns != s.latency.max_ns {
        text += &typical_text(s);
    }
    if let Some(earliest) = s.latency.min_ns.filter(|earliest| *earliest < 0)
        && s.latency.max_ns.is_some_and(|worst| worst > 0)
    {
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

fn missing_latencies_statement(s: &Summary) -> String {
    match (s.period_error.min_ns, s.period_error.max_ns) {
        (Some(shortest), Some(longest)) => format!(
            "Of task {} only period errors are known: its periods were between {} shorter and {} longer than {}.",
            s.task,
            time(shortest.saturating_neg().max(0) as f64),
            time(longest.max(0) as f64),
            if !s.knows(Gap::Period) {
                format!("the {} that are assumed", exact_time(s.period_ns))
            } else {
                format!("the {} asked for", exact_time(s.period_ns))
            }
        ),
        _ if s.period_error.count > 0 => format!("Of task {} not even the longest period is known.", s.task),
        _ => format!("Task {} never ran: nothing was measured.", s.task),
    }
}

/// Summarises values that are no latencies of a periodic task.
fn values_statement(s: &Summary) -> String {
    let longest = s.latency.max_ns.map_or("an unknown time".into(), |ns| time(ns as f64));
    format!("{}: {} values, the longest {longest}{}.", s.task, count(s.latency.count), typical_text(s))
}

/// Describes the worst start of a task.
fn worst_start_text(s: &Summary, worst_ns: i64) -> String {
    let of_period = worst_ns as f64 / s.period_ns as f64;
    let (late, period) = (time(worst_ns as f64), exact_time(s.period_ns));
    match worst_ns {
        _ if !s.knows(Gap::Phase) => {
            format!("; at worst it started {late} later on its grid than at its earliest")
        }
        ..=0 => format!("; {}", never_late_text(s, worst_ns)),
        _ if !s.knows(Gap::Period) => format!("; at worst it started {late} late"),
        _ if of_period >= 1.0 => {
            format!("; at worst it started {late} late, {of_period:.1} times its period of {period}")
        }
        _ => format!("; at worst it started {late} late, {} of its period of {period}", share(of_period)),
    }
}

/// Describes a task that was never late, by how early it started.
fn never_late_text(s: &Summary, latest_ns: i64) -> String {
    let early = |ns: i64| time(-ns as f64);
    let always = if s.latency.count == 1 { "" } else { "always " };
    match s.latency.min_ns {
        Some(0) => format!("it {always}started at its due time"),
        Some(earliest_ns) if earliest_ns == latest_ns => {
            format!("it {always}started {} early", early(latest_ns))
        }
        Some(earliest_ns) if latest_ns == 0 => {
            format!("it was never late: it started at its due time or up to {} early", early(earliest_ns))
        }
        Some(earliest_ns) => {
            format!("it was never late: it started {} to {} early", early(latest_ns), early(earliest_ns))
        }
        None if latest_ns == 0 => "it was never late".into(),
        None => format!("it was never late: it always started at least {} early", early(latest_ns)),
    }
}

/// Text on the latencies that half and 99.9 % of the values do not exceed.
fn typical_text(s: &Summary) -> String {
    let within = |share: &str, ns: i64| match ns {
        ..0 => format!("{share} at least {} early", time(-ns as f64)),
        0 => format!("{share} not late"),
        _ => format!("{share} within {}", time(ns as f64)),
    };
    let typical: Vec<String> = [("half", s.latency.at(P50)), ("99.9 %", s.latency.at(P99_9))]
        .into_iter()
        .filter_map(|(share, ns)| Some(within(share, ns.exactly()?)))
        .collect();
    if typical.is_empty() { String::new() } else { format!(", {}", typical.join(" and ")) }
}

/// A caveat as a clause: without a capital, without a full stop.
pub fn caveat_clause(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Overloaded { task, overload } => {
            format!("the run was ended to save the machine: {task}: {overload}")
        }
        Caveat::Machine { change } => crate::changes::change_sentence(change),
        Caveat::NoLoad { load_1_min, cpus } => no_load_clause(*load_1_min, *cpus),
        other => dictionary::event_sentence("caveat", other),
    }
}

/// States that no load was started, and how busy the machine was all the same.
fn no_load_clause(load_1_min: Option<f64>, cpus: usize) -> String {
    let average =
        load_1_min.map(|load| format!(" (load average {load:.2} on {})", plural(cpus as u64, "CPU")));
    let average = average.unwrap_or_default();
    match load_1_min {
        Some(load) if load > cpus as f64 / 2.0 => {
            format!("no load was started, yet other programs ran{average}: a repeat may differ")
        }
        _ => format!("no load was started{average}: under load starts are often later"),
    }
}

/// All different caveats of several tasks, in order.
pub(crate) fn distinct_clauses<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in caveats.into_iter().map(caveat_clause) {
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
    use jitterlab_model::{RunInfo, TaskResult, TaskSpec};

    fn said(latencies_ns: &[i64], missed: u32) -> String {
        let mut run = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        run.tasks[0].result = Some(TaskResult {
            executed: latencies_ns.len() as u64,
            missed: missed.into(),
            last_end_ns: (latencies_ns.len() as i64 + i64::from(missed)) * 1_000_000,
            ..TaskResult::default()
        });
        let stats = crate::test_data::timing_stats(latencies_ns);
        task_statement(&Summary::new(&run.tasks[0], &stats), measured_ns(&run.tasks[0]))
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
    fn a_task_that_was_never_late_is_said_to_be_early_or_in_time() {
        for (latencies_ns, wanted) in [
            (&[-4_000, -1_000][..], "; it was never late: it started 1 µs to 4 µs early, half at least "),
            (
                &[-4_000, 0, 0],
                "; it was never late: it started at its due time or up to 4 µs early, half not late.",
            ),
            (&[0, 0], "; it always started at its due time. "),
            (&[-4_000, -4_000], "; it always started 4 µs early. "),
            (&[-4_000], "Task main served its only due time in 1 ms; it started 4 µs early."),
            (&[0], "; it started at its due time."),
            (
                &[-4_000, -4_000, 3_000],
                "; at worst it started 3 µs late, 0.30 % of its period of 1 ms, half at least ",
            ),
        ] {
            let found = said(latencies_ns, 0);
            assert!(found.contains(wanted) && !found.contains("0 ns early"), "{found}");
        }
    }

    #[test]
    fn a_caveat_has_its_numbers() {
        let outside = Caveat::OutsideCore {
            activations: 1,
            core: "cobalt".into(),
            last_cause: Some("a system call".into()),
        };
        assert_eq!(
            caveat_clause(&outside),
            "1 activation began outside real-time mode of cobalt, last by a system call: those measure Linux, not the core"
        );
        let length = Caveat::Length { run_ns: 4_000_000, unseen_every_ns: 1_335_233.0 };
        assert_eq!(caveat_clause(&length), "4 ms can miss events rarer than one in 1.34 ms");
    }
}
