//! Causes, evidence and remedies in words.

use jitterlab_model::causes::{Cause, CauseClass as Class, Certainty, Evidence, PathStep, Step};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Bench, RunInfo, SystemFacts};

use crate::dictionary;

/// A cause as a table names it.
pub fn cause(cause: &Cause) -> String {
    let who = cause.who.as_deref();
    if let Some(what) = who.and_then(brings).filter(|_| cause.class == Class::Blocked) {
        return format!("waiting for {what}");
    }
    let mut quantities = dictionary::fields(cause);
    quantities.extend(who.map(|who| {
        let named = if is_measurement(who) { format!("{who} (a measurement)") } else { who.to_owned() };
        ("named".into(), named.into())
    }));
    dictionary::of_fields("class", &quantities)
}

/// A path to the first instruction.
pub fn path(steps: &[PathStep]) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Idle(None) => "idle".into(),
        PathStep::Idle(Some(state)) => format!("idle state {state}"),
        PathStep::Thread(name) => format!("thread {name}"),
        PathStep::Task => "the task itself".into(),
        PathStep::Interrupt(name) => format!("interrupt {name}"),
        PathStep::Timer(function) => format!("timer {function}"),
        PathStep::Softirq(name) => format!("softirq {name}"),
        PathStep::Due => "due".into(),
    };
    let named = |steps: &[PathStep]| steps.iter().map(step).collect::<Vec<_>>().join(", ");
    match steps.iter().position(|step| *step == PathStep::Due) {
        _ if steps.is_empty() => "several rare ways".into(),
        Some(due) => format!("after {}: {}", named(&steps[..due]), named(&steps[due + 1..])),
        None => named(steps),
    }
}

/// True for threads of jitterlab's programs.
pub(super) fn is_measurement(who: &str) -> bool {
    who.starts_with("jitterlab") || matches!(who, "journal" | "journal sync" | "status line")
}

/// Softirqs and threads of the kernel bring what was waited for, and hold up nothing.
fn brings(messenger: &str) -> Option<&'static str> {
    match messenger {
        "NET_RX" | "NET_TX" => Some("the network"),
        "TIMER" | "HRTIMER" => Some("a timeout"),
        "BLOCK" | "IRQ_POLL" => Some("a disk"),
        _ if ["kworker", "ksoftirqd", "rcu"].iter().any(|kernel| messenger.starts_with(kernel)) => {
            Some("a device, or work of the kernel")
        }
        // Callbacks of timers, by the kernel's usual names.
        "timerfd_tmrproc" | "posix_timer_fn" | "it_real_fn" | "alarmtimer_fired" => {
            Some("a timer of another thread")
        }
        _ if messenger.contains("timer") && messenger.contains('_') => Some("a timer of a device"),
        _ => None,
    }
}

pub(super) fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Proven => "proven",
        Certainty::Likely => "likely",
        Certainty::Undecided => "undecided",
    }
}

pub fn evidence(evidence: Evidence) -> &'static str {
    dictionary::named("evidence", &evidence)
}

/// A step of the usual way.
pub fn step(step: Step) -> &'static str {
    dictionary::named("step", &step)
}

/// Remedy for a cause, as a clause.
pub fn remedy(cause: &Cause, run: &RunInfo) -> String {
    let facts = run.facts_before.as_ref();
    let is_guest = facts.and_then(|facts| facts.virtualisation.virtual_machine) == Some(true);
    let is_real_time = facts.and_then(|facts| facts.kernel.preemption) == Some(Preemption::RealTime);
    let is_emulated = run.bench == Bench::Kernel;
    let of_host = facts.is_some_and(SystemFacts::is_kernel_of_host);
    let who = cause.who.as_deref().unwrap_or("it");
    let number = who.split_once(' ').map(|(number, _)| number);
    let of_name = || run.tasks.iter().filter(|task| task.spec.name == who);
    let mut quantities = dictionary::fields(cause);
    quantities.insert("who".into(), who.into());
    quantities.insert("number".into(), number.into());
    quantities.insert("is_own".into(), of_name().any(|task| task.watched.is_none()).into());
    quantities.insert("by_host".into(), of_host.then_some("").into());
    let id = match cause.class {
        Class::Preempted | Class::Shared | Class::NotPreemptible | Class::InterruptsOff | Class::Blocked
            if cause.who.as_deref().is_some_and(is_measurement) =>
        {
            "measurement"
        }
        Class::LateInterrupt if is_emulated => "late-interrupt-in-emulator",
        Class::Idle | Class::TimerInterrupt if is_emulated => "idle-in-emulator",
        Class::WorkOrOutside if is_guest => "work-or-outside-in-guest",
        Class::Outside | Class::LateInterrupt if is_guest => "outside-in-guest",
        Class::LateInterrupt => "outside",
        Class::Idle if is_guest => "idle-in-guest",
        Class::InterruptsOff | Class::NotPreemptible if of_name().next().is_some() => "own-call",
        Class::InterruptsOff | Class::NotPreemptible if is_real_time || of_host => "kernel-code-of-others",
        Class::InterruptsOff | Class::NotPreemptible => "kernel-code",
        Class::Interrupt if number.is_some_and(|number| is_fixed(facts, number)) => "fixed-interrupt",
        Class::Softirq if who == "RCU" => "softirq-rcu",
        Class::Softirq if matches!(who, "TIMER" | "HRTIMER" | "SCHED") => "softirq-timer",
        Class::OtherTimer if who.starts_with("tick_") => "tick",
        Class::TimerInterrupt if is_guest => "timer-interrupt-in-guest",
        Class::Blocked if brings(who).is_some() => "blocked-by-kernel",
        _ => return dictionary::of_fields("remedy", &quantities),
    };
    dictionary::sentence("remedy", id, &quantities)
}

/// True if the kernel keeps an interrupt where it is.
fn is_fixed(facts: Option<&SystemFacts>, number: &str) -> bool {
    let lines = facts.into_iter().flat_map(|facts| &facts.interrupts.lines);
    lines.into_iter().any(|line| line.id == number && line.fixed)
}

/// Due time as the time of day, for comparison with system logs; as seconds since the first due time if the
/// run has no time of day.
pub(super) fn when(due_ns: i64, first_due_ns: i64, run: &RunInfo) -> String {
    const MS: i64 = 1_000_000;
    match run.epoch_offset_ns {
        Some(offset_ns) => {
            let ms = due_ns.saturating_add(offset_ns).div_euclid(MS).rem_euclid(86_400_000);
            let (s, ms) = (ms / 1_000, ms % 1_000);
            format!("{:02}:{:02}:{:02}.{ms:03}", s / 3_600, s / 60 % 60, s % 60)
        }
        None => format!("{:.3} s", (due_ns - first_due_ns) as f64 / 1e9),
    }
}
