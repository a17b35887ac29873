//! Causes, evidence and remedies in words, which are in `dictionary/causes.toml`.

use jitterlab_model::causes::{Cause, CauseClass as Class, Certainty, Evidence, PathStep, Step};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Bench, RunInfo, SystemFacts};

use crate::dictionary::{display_text, entry, fill_template, serialized_name};

/// Text of a class of causes, `name`, `named` (with who it is), `letter` or `remedy`; `None` if it has none.
fn class_word(class: Class, part: &str) -> Option<&'static str> {
    entry(&format!("cause.{}", serialized_name(&class)), part)
}

/// A cause as a table names it.
pub fn cause_text(cause: &Cause) -> String {
    let named = class_word(cause.class, "named");
    match (cause.who.as_deref(), named) {
        (Some(who), Some(_)) if cause.class == Class::Blocked && messenger_text(who).is_some() => {
            format!("waiting for {}", messenger_text(who).unwrap_or_default())
        }
        (Some(who), Some(named)) => {
            let kind = if is_measurement(who) { " (a measurement)" } else { "" };
            fill_template(named, &|_, _| Some(format!("{who}{kind}")))
        }
        _ => class_word(cause.class, "name").unwrap_or("a cause that this release does not know").into(),
    }
}

/// The letter of a class of causes.
pub(super) fn class_letter(class: Class) -> char {
    class_word(class, "letter").and_then(|letter| letter.chars().next()).unwrap_or('?')
}

/// Text of the path of a wake-up to the task's first instruction: what it met, in order.
pub fn path_text(steps: &[PathStep]) -> String {
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

/// Text of a softirq or kernel thread that only delivers an event; `None` for others, which may cause a delay.
fn messenger_text(who: &str) -> Option<&'static str> {
    let kind = match who {
        _ if entry("messenger", who).is_some() => who,
        _ if ["kworker", "ksoftirqd", "rcu"].iter().any(|kernel| who.starts_with(kernel)) => "kernel",
        _ if who.contains("timer") && who.contains('_') => "timer",
        _ => return None,
    };
    entry("messenger", kind)
}

pub(super) fn certainty_word(certainty: Certainty) -> &'static str {
    display_text("certainty", &certainty)
}

pub fn evidence_word(evidence: Evidence) -> &'static str {
    display_text("evidence", &evidence)
}

/// A step of the usual way.
pub fn step_text(step: Step) -> &'static str {
    display_text("wake-up-step", &step)
}

/// Remedy for a cause, as a clause.
pub fn remedy_clause(cause: &Cause, run: &RunInfo) -> String {
    let facts = run.facts_before.as_ref();
    let who = cause.who.as_deref().unwrap_or("it");
    let at_boot = match facts.is_some_and(SystemFacts::is_kernel_of_host) {
        true => "on the kernel's command line, which this machine's host sets",
        false => "on the kernel's command line",
    };
    let number = who.split_once(' ').map_or("", |(number, _)| number);
    let own = format!("cause.{}.instead", serialized_name(&cause.class));
    let instead = |circumstance: &str| entry(&own, circumstance).or_else(|| entry("remedy", circumstance));
    let chosen = circumstances(cause, run).into_iter().find_map(instead);
    let remedy = chosen.or_else(|| class_word(cause.class, "remedy")).unwrap_or_default();
    let quantity = |name: &str, _: &str| match name {
        "who" => Some(who.to_owned()),
        "number" => Some(number.to_owned()),
        _ => Some(at_boot.to_owned()),
    };
    fill_template(remedy, &quantity)
}

/// Circumstances that decide between the remedies for a cause, the most important first.
fn circumstances<'a>(cause: &'a Cause, run: &RunInfo) -> Vec<&'a str> {
    let facts = run.facts_before.as_ref();
    let virtual_machine = facts.and_then(|facts| facts.virtualisation.virtual_machine) == Some(true);
    let real_time = facts.and_then(|facts| facts.kernel.preemption) == Some(Preemption::RealTime)
        || facts.is_some_and(SystemFacts::is_kernel_of_host);
    let who = cause.who.as_deref();
    let is_task = |watched: bool| {
        run.tasks.iter().any(|task| Some(task.spec.name.as_str()) == who && task.watched.is_some() == watched)
    };
    let number = who.and_then(|who| who.split_once(' ')).map(|(number, _)| number);
    let known = [
        (who.is_some_and(is_measurement), "measurement"),
        (run.bench == Bench::Kernel, "emulated"),
        (virtual_machine, "virtual-machine"),
        (is_task(false), "own"),
        (is_task(true), "watched"),
        (real_time, "real-time"),
        (who.is_some_and(|who| messenger_text(who).is_some()), "messenger"),
        (who.is_some_and(|who| who.starts_with("tick_")), "tick"),
        (number.is_some_and(|number| is_fixed_interrupt(facts, number)), "fixed"),
        (number.is_some(), "numbered"),
    ];
    let known = known.into_iter().filter(|(holds, _)| *holds).map(|(_, circumstance)| circumstance);
    known.chain(who.filter(|_| cause.class == Class::Softirq)).collect()
}

/// True if the kernel keeps an interrupt where it is.
fn is_fixed_interrupt(facts: Option<&SystemFacts>, number: &str) -> bool {
    let lines = facts.into_iter().flat_map(|facts| &facts.interrupts.lines);
    lines.into_iter().any(|line| line.id == number && line.fixed)
}

/// Due time as UTC time of day, as system logs have it; else as seconds since the first due time.
pub(super) fn due_text(due_ns: i64, first_due_ns: i64, run: &RunInfo) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::tables_below;

    #[test]
    fn every_cause_has_its_words() {
        let mut classes = 0;
        for (name, words) in tables_below("cause.").filter(|(name, _)| !name.ends_with(".instead")) {
            classes += 1;
            assert!(["name", "letter", "remedy"].iter().all(|part| words.contains_key(*part)), "{name}");
            assert!(words.get("named").is_none_or(|named| named.contains("{who}")), "{name}");
            assert_eq!(words.len(), 3 + usize::from(words.contains_key("named")), "{name}");
        }
        assert_eq!(classes, Class::Mixed as usize + 1);
        let count = |table: &'static str| tables_below(table).next().unwrap().1.len();
        assert_eq!((count("evidence"), count("certainty")), (Evidence::None as usize + 1, 3));
        assert_eq!(count("wake-up-step"), Step::ALL.len());
    }

    #[test]
    fn what_helps_depends_on_the_circumstances() {
        let mut run = RunInfo::new(Bench::Host, "monotonic", []);
        let of =
            |class, who: &str, run: &RunInfo| remedy_clause(&Cause { class, who: Some(who.into()) }, run);
        assert!(
            of(Class::Softirq, "RCU", &run).starts_with("let other CPUs do it: rcu_nocbs= on the kernel's")
        );
        assert!(of(Class::Softirq, "NET_RX", &run).contains("the device"));
        assert!(of(Class::Interrupt, "27 eth0", &run).contains("/proc/irq/27/smp_affinity_list"));
        assert!(of(Class::OtherTimer, "tick_nohz_handler", &run).starts_with("stop the tick"));
        assert!(of(Class::Blocked, "NET_RX", &run).starts_with("do not wait for it"));
        assert!(of(Class::Blocked, "gui", &run).starts_with("keep gui from"));
        assert!(remedy_clause(&Class::Idle.into(), &run).contains("--cpu-dma-latency 0"));
        run.bench = Bench::Kernel;
        assert!(remedy_clause(&Class::Idle.into(), &run).contains("idle=poll"));
    }
}
