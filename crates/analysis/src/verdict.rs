//! What a run showed of one task, in plain words, with the numbers the words rest on and what was not tested.

use std::fmt;

use jitterlab_model::cpus::CpuSet;
use jitterlab_model::facts::{self, Preemption};
use jitterlab_model::units::{Exact, Human};
use jitterlab_model::{RunInfo, StopReason, TaskRun};
use serde::{Deserialize, Serialize};

use crate::summary::{P50, P99_9, Summary};

/// A reason to trust the figures less, or to apply them to less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Caveat {
    /// What it is about, such as `no-load`; the same for the same kind of reason.
    pub id: String,
    /// The reason, as a sentence without its full stop.
    pub text: String,
}

/// What a run showed of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// What was seen, in one or two sentences.
    pub statement: String,
    /// What was not tested, and what speaks against the figures; the gravest first.
    pub caveats: Vec<Caveat>,
}

impl Verdict {
    /// The verdict on a task of a run.
    pub fn on(summary: &Summary, task: &TaskRun, run: &RunInfo) -> Self {
        let mut caveats = Vec::new();
        for rule in [recording, stopped, real_time, machine, events, load, length] {
            rule(&Case { summary, task, run }, &mut |id, text| {
                caveats.push(Caveat { id: id.into(), text });
            });
        }
        Verdict { statement: statement(summary, measured_ns(task)), caveats }
    }
}

impl fmt::Display for Verdict {
    /// One paragraph: the statement, then the caveats.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.statement)?;
        self.caveats.iter().try_for_each(|caveat| {
            let mut letters = caveat.text.chars();
            let first = letters.next().map(char::to_uppercase);
            write!(f, " {}{}.", first.into_iter().flatten().collect::<String>(), letters.as_str())
        })
    }
}

/// What the rules look at.
struct Case<'a> {
    summary: &'a Summary,
    task: &'a TaskRun,
    run: &'a RunInfo,
}

type Add<'a> = dyn FnMut(&str, String) + 'a;

/// A count as people read it: `1 234 567`.
///
/// ```
/// # use jitterlab_analysis::verdict::grouped;
/// assert_eq!((grouped(999), grouped(1_234_567)), ("999".into(), "1 234 567".into()));
/// ```
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A share as people read it, never rounded to 0 % or 100 %.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 99.95 && share < 1.0 => "more than 99.9 %".into(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        0.0 => "0 %".into(),
        p if p >= 0.001 => {
            let decimals = (1.0 - p.log10().floor()) as usize;
            format!("{p:.decimals$} %")
        }
        _ => "less than 0.001 %".into(),
    }
}

fn measured_ns(task: &TaskRun) -> Option<i64> {
    let result = task.result.as_ref()?;
    Some(result.last_end_ns - result.first_due_ns).filter(|ns| *ns > 0)
}

fn statement(s: &Summary, measured_ns: Option<i64>) -> String {
    let human = |ns: i64| Human(ns as f64).to_string();
    let (Some(worst), Some(earliest)) = (s.latency.max_ns, s.latency.min_ns) else {
        return format!("Task {} never ran: nothing was measured.", s.task);
    };
    let executed = s.executed.exactly().map_or("an unknown number of".into(), grouped);
    let during = measured_ns.map_or(String::new(), |ns| format!(" in {}", human(ns)));
    let mut text = match (s.executed.exactly(), s.missed.exactly()) {
        (Some(executed), Some(0)) => {
            format!("Task {} served all of its {} due times{during}", s.task, grouped(executed))
        }
        (Some(executed), Some(missed)) => {
            let due = executed + missed;
            let share = percent(missed as f64 / due as f64);
            format!(
                "Task {} MISSED {} of its {} due times{during} ({share})",
                s.task,
                grouped(missed),
                grouped(due)
            )
        }
        _ => format!("Task {} ran {executed} times, and how many due times it missed is unknown", s.task),
    };
    let of_period = worst as f64 / s.period_ns as f64;
    text += &match worst {
        ..=0 => {
            format!("; it always started before or at the due time, at the latest {} early", human(-worst))
        }
        _ if of_period >= 1.0 => format!(
            "; at worst it started {} late, {of_period:.1} times its period of {}",
            human(worst),
            Exact(s.period_ns)
        ),
        _ => format!(
            "; at worst it started {} late, {} of its period of {}",
            human(worst),
            percent(of_period),
            Exact(s.period_ns)
        ),
    };
    let typical: Vec<String> =
        [("half", s.latency.at(P50).exactly()), ("99.9 %", s.latency.at(P99_9).exactly())]
            .into_iter()
            .filter_map(|(share, ns)| ns.map(|ns| format!("{share} within {}", human(ns))))
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

fn recording(case: &Case<'_>, add: &mut Add<'_>) {
    if let Some(dropped) = case.summary.dropped.at_least().filter(|n| *n > 0) {
        let lost = grouped(dropped);
        add("dropped", format!("{lost} records were lost: the extremes hold them, the other figures do not"));
    }
    if case.task.result.is_none() {
        add("not-closed", "the run was not closed: what came after its last record is not known".into());
    }
}

fn stopped(case: &Case<'_>, add: &mut Add<'_>) {
    match &case.run.stop {
        Some(StopReason::Overloaded { task, overload }) => {
            let name = case.run.tasks.get(*task).map_or("a task", |t| t.spec.name.as_str());
            add("overloaded", format!("the run was ended to save the machine: {name}: {overload}"));
        }
        Some(StopReason::Above { latency_ns, .. }) => {
            let latency = Human(*latency_ns as f64);
            add("stopped-above", format!("the run ended at the first latency above the limit ({latency})"));
        }
        Some(StopReason::WaitFailed { task, why }) => {
            let name = case.run.tasks.get(*task).map_or("a task", |t| t.spec.name.as_str());
            add("wait-failed", format!("the run ended because {name} could not wait any more: {why}"));
        }
        Some(StopReason::Crashed) => {
            add("crashed", "the measuring process died; its records were recovered".into());
        }
        _ => {}
    }
}

fn real_time(case: &Case<'_>, add: &mut Add<'_>) {
    let core = case.task.result.as_ref().and_then(|result| result.core.as_ref());
    if let Some(core) = core.filter(|core| core.outside > 0) {
        let cause = core.last_cause.as_ref().map_or(String::new(), |cause| format!(", last by {cause}"));
        add(
            "outside-core",
            format!(
                "{} activations began outside real-time mode of {}{cause}: those measure Linux, not the core",
                grouped(core.outside),
                core.core
            ),
        );
    }
    let Some(granted) = &case.task.granted else { return };
    if !granted.policy.is_real_time() {
        let policy = granted.policy;
        add(
            "not-real-time",
            format!("the task ran under the ordinary policy {policy}: any other thread may delay it"),
        );
    }
    if !granted.memory_locked {
        add("memory-not-locked", "memory was not locked: a page fault may delay the task".into());
    }
}

fn machine(case: &Case<'_>, add: &mut Add<'_>) {
    let Some(facts) = &case.run.facts_before else { return };
    // A task of Xenomai's does not run on Linux's side, however that is preempted.
    let on_linux = !case.task.spec.wake.traits().core;
    match facts.kernel.preemption {
        Some(model) if on_linux && model != Preemption::RealTime => {
            add("kernel", format!("the kernel is not a real-time kernel (preemption model: {model})"));
        }
        _ => {}
    }
    // In virtual time the host's load is in no figure; QEMU in real time has its own warning.
    if facts.virtualisation.virtual_machine == Some(true) && case.run.bench != jitterlab_model::Bench::Kernel
    {
        let name = facts.virtualisation.hypervisor.as_deref().unwrap_or("a hypervisor");
        add(
            "virtual-machine",
            format!("this is a virtual machine under {name}: its host's load is part of the figures"),
        );
    }
}

/// What happened to the machine meanwhile: steal time, SMIs, throttling, changed settings.
fn events(case: &Case<'_>, add: &mut Add<'_>) {
    for change in concerns(case.run, case.task) {
        add(&change.id, change.text);
    }
}

/// What happened to the machine while it measured this task and speaks against the figures.
pub(crate) fn concerns(run: &RunInfo, task: &TaskRun) -> impl Iterator<Item = facts::Change> {
    let cpus: CpuSet = match &task.granted {
        Some(granted) => granted.cpus.iter().copied().collect(),
        None => task.spec.cpu.into_iter().collect(),
    };
    let both = run.facts_before.as_ref().zip(run.facts_after.as_ref());
    let changes = both.map_or_else(Vec::new, |(before, after)| facts::changes(before, after, &cpus));
    changes.into_iter().filter(|change| change.concern)
}

fn load(case: &Case<'_>, add: &mut Add<'_>) {
    if case.run.load.is_none() {
        add("no-load", "no load ran beside it: under load the worst case is usually much later".into());
    }
}

/// Rule of three, exact: with 95 % probability an event seen never in a time t comes less often than
/// -ln(0.05)/t. Always said; it is the one thing every run leaves open.
fn length(case: &Case<'_>, add: &mut Add<'_>) {
    let Some(ns) = measured_ns(case.task) else { return };
    let every = ns as f64 / -(0.05f64.ln());
    add(
        "length",
        format!(
            "in {} an event that comes every {} or less often may not have shown",
            Human(ns as f64),
            Human(every)
        ),
    );
}

#[cfg(test)]
mod tests;
