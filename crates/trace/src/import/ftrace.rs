//! The kernel's trace as text, as `trace-cmd report` and tracefs print it: wake-ups of threads by timers.
//!
//! `<idle>-0  [001]  113.205518: sched_switch: swapper/1:0 [120] R ==> cyclictest:1519 [19]`; tracefs writes
//! `next_comm=cyclictest next_pid=1519` instead. A thread's timer is the one whose handler woke it.

use std::collections::BTreeMap;

use jitterlab_model::{Activation, Error, Gap, Warning};

use super::statement::{Statement, Statements};
use super::text::{decimal_ns, lines, number_after, us};
use super::{Hints, Import, ImportError, Importer, Input, TaskDetails, starts};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "trace-cmd report, ftrace", recognise, parse };

/// An event of the trace.
struct Event<'a> {
    /// The thread that ran, as `cyclictest-1519`.
    thread: &'a str,
    cpu: u16,
    at_ns: i64,
    name: &'a str,
    details: &'a str,
}

fn event_of(line: &str) -> Option<Event<'_>> {
    let (thread, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once(']')?;
    let (head, details) = rest.split_once(": ")?;
    let at_ns = decimal_ns(head.split_whitespace().last()?, 1_000_000_000)?;
    let (name, details) = details.trim_start().split_once(':')?;
    let thread = thread.split(" (").next().unwrap_or(thread).trim();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (is_name && thread.contains('-')).then_some(Event {
        thread,
        cpu: cpu.parse().ok()?,
        at_ns,
        name,
        details: details.trim(),
    })
}

/// A field of tracefs' form, such as 1519 of `next_pid=1519`.
fn field<'a>(details: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = details.split_once(name)?;
    rest.strip_prefix('=')?.split_whitespace().next()
}

/// The thread that `cyclictest:1519 [19] CPU:001` names.
fn thread_name(text: &str) -> Option<String> {
    let word = text.split(" [").next()?.trim();
    let (name, id) = word.rsplit_once(':')?;
    id.parse::<u32>().is_ok().then(|| format!("{name}-{id}"))
}

fn woken_thread(details: &str) -> Option<String> {
    match (field(details, "comm"), field(details, "pid")) {
        (Some(name), Some(id)) => Some(format!("{name}-{id}")),
        _ => thread_name(details),
    }
}

/// The thread that gives up the processor, whether it waits then, and the one that gets it.
fn parse_switch(details: &str) -> Option<(String, bool, String)> {
    let (before, after) = details.split_once("==>")?;
    let of = |text: &str, side: &str| match (
        field(text, &format!("{side}_comm")),
        field(text, &format!("{side}_pid")),
    ) {
        (Some(name), Some(id)) => Some(format!("{name}-{id}")),
        _ => thread_name(text),
    };
    let state = field(before, "prev_state").or_else(|| before.split_whitespace().last())?;
    Some((of(before, "prev")?, !state.starts_with('R'), of(after, "next")?))
}

fn recognise(input: &Input) -> bool {
    let events = lines(input.text).filter_map(|(_, line)| event_of(line));
    events
        .filter(|event| matches!(event.name, "sched_switch" | "sched_wakeup" | "sched_waking"))
        .take(2)
        .count()
        == 2
}

/// A thread that timers wake.
#[derive(Default)]
struct Thread {
    cpu: u16,
    /// Expiry of its timer, by the timer's clock and by the trace's.
    expired: Option<[i64; 2]>,
    running: bool,
    /// Expiry by either clock, start and end.
    spans: Vec<([i64; 2], i64, Option<i64>)>,
    /// Latencies that the thread itself marked.
    marked: Vec<i64>,
}

fn parse(input: &Input, hints: &Hints) -> Result<Import, ImportError> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    let mut timers: BTreeMap<u16, [i64; 2]> = BTreeMap::new();
    let mut last_ns: BTreeMap<u16, i64> = BTreeMap::new();
    for (number, line) in lines(input.text) {
        let Some(Event { thread, cpu, at_ns, name, details }) = event_of(line) else { continue };
        if last_ns.insert(cpu, at_ns).is_some_and(|before| before > at_ns) {
            return Err(Unreadable::SecondMeasurement.at_line(number));
        }
        match name {
            "hrtimer_expire_entry" if details.contains("hrtimer_wakeup") => {
                let now_ns = expiry_time(details).unwrap_or(at_ns);
                timers.insert(cpu, [now_ns, at_ns]);
            }
            "hrtimer_expire_exit" => drop(timers.remove(&cpu)),
            "sched_wakeup" | "sched_waking" => {
                if let (Some(of), Some(timer)) = (woken_thread(details), timers.get(&cpu)) {
                    threads.entry(of).or_default().expired = Some(*timer);
                }
            }
            "sched_switch" => {
                timers.remove(&cpu);
                let Some((before, waits, next)) = parse_switch(details) else { continue };
                if let Some(thread) = threads.get_mut(&before).filter(|thread| thread.running && waits) {
                    thread.running = false;
                    thread.spans.last_mut().into_iter().for_each(|(.., end)| *end = Some(at_ns));
                }
                if let Some(thread) = threads.get_mut(&next)
                    && let Some(expired) = thread.expired.take()
                {
                    (thread.cpu, thread.running) = (cpu, true);
                    thread.spans.push((expired, at_ns, None));
                }
            }
            "print" | "tracing_mark_write" => {
                let marked =
                    details.split_once("hit latency threshold").and_then(|(_, rest)| number_after(rest, "("));
                threads.entry(thread.into()).or_default().marked.extend(marked.map(us));
            }
            _ => {}
        }
    }
    if threads.values().all(|thread| thread.spans.is_empty()) {
        return Err(Error::damaged(
            "it holds no timer that wakes a thread, so nothing says when one was due: record timer:hrtimer_expire_entry \
             beside sched_waking and sched_switch",
        )
        .into());
    }
    let mut import = Import::new("ftrace", "trace");
    for (name, thread) in threads.into_iter().filter(|(_, thread)| !thread.spans.is_empty()) {
        import_thread(&mut import, name, &thread, hints);
    }
    import.warn(Warning::DueAtInterrupt);
    import.complete()
}

/// Nanoseconds of `now=113205498021`.
fn expiry_time(details: &str) -> Option<i64> {
    field(details, "now")?.parse().ok()
}

fn import_thread(import: &mut Import, name: String, thread: &Thread, hints: &Hints) {
    // The timer's clock is only that of the trace where both are near each other.
    const NEAR_NS: u64 = 100_000_000;
    let is_one_clock =
        thread.spans.iter().all(|([timer, trace], ..)| timer <= trace && timer.abs_diff(*trace) < NEAR_NS);
    let due = |expired: &[i64; 2]| expired[usize::from(!is_one_clock)];
    let dues = thread.spans.iter().map(|(expired, ..)| due(expired));
    let said = hints.period_ns().or_else(|| starts::typical_interval_ns(dues, None));
    if let (Some(period_ns), None) = (said, hints.period_ns()) {
        import.warn(Warning::MeanPeriod { period_ns });
    }
    let period = import.period_or_default(said, hints, 1_000_000);
    let row = |(expired, start_ns, end_ns): &([i64; 2], i64, Option<i64>)| {
        let (start_ns, end_ns) = (*start_ns, end_ns.unwrap_or(*start_ns));
        Activation { due_ns: due(expired), start_ns, end_ns, cpu: thread.cpu, ..Activation::default() }
    };
    let (rows, _) = starts::snap_to_due_grid(thread.spans.iter().map(row), period.ns());
    let details = TaskDetails::new(name.clone(), period)
        .on_cpu(Some(thread.cpu))
        .with_gap(Gap::Phase)
        .with_gap(Gap::Missed);
    let details =
        if thread.spans.iter().all(|(.., end)| end.is_some()) { details.with_ends() } else { details };
    let marked = thread.marked.iter().copied().max();
    let mut stated = Statements::exact();
    let is_larger = |marked: &i64| rows.iter().all(|row| row.latency_ns() < *marked);
    if let Some(marked) = marked.filter(is_larger) {
        // An activation that is not in the trace as a whole.
        stated.add([Statement::MaxSoFar(marked), Statement::CountSoFar(rows.len() as u64 + 1)]);
    }
    import.add_rows(details, rows, &stated);
    import.info.warnings.extend(marked.map(|ns| Warning::Stopped { task: name, latency_ns: Some(ns) }));
}
