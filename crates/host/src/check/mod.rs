//! Is this machine set up for real time? Pure functions from the facts to verdicts, one file for each topic.

use std::collections::BTreeMap;

use jitterlab_model::check::{
    Action, COSTS, Check, CheckReport, CommandLinePlace, Remedy, RemedyKind, Status, Value,
};
use jitterlab_model::{CpuSet, RunInfo, SystemFacts, TaskSpec};

use super::cpu_choice::choose_cpus;

mod clock;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod permissions;
mod platform;
mod power;

/// The topics, in the order they are reported.
const TOPICS: &[(&str, &[Rule])] = &[
    ("permissions", permissions::RULES),
    ("kernel", kernel::RULES),
    ("clock", clock::RULES),
    ("power", power::RULES),
    ("isolation", isolation::RULES),
    ("interrupts", interrupts::RULES),
    ("memory", memory::RULES),
    ("surroundings", platform::RULES),
];

/// Facts of a machine, and the CPUs on it that real-time tasks would run on.
struct CheckContext<'a> {
    facts: &'a SystemFacts,
    cpus: &'a CpuSet,
}

impl CheckContext<'_> {
    /// CPUs that are not for real-time tasks. All online ones where the real-time tasks leave none.
    fn other_cpus(&self) -> CpuSet {
        let online = self.facts.online_cpus();
        let others = online.without(self.cpus);
        if others.is_empty() { online } else { others }
    }

    fn in_virtual_machine(&self) -> bool {
        self.facts.virtualisation.virtual_machine == Some(true)
    }
}

/// Path of a file of each CPU, as a shell takes it: `/sys/.../cpu3/FILE` or `/sys/.../cpu{2,3}/FILE`.
fn cpu_file(cpus: &CpuSet, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{}/{file}", shell_alternatives(cpus.iter()))
}

/// Joins words to shell alternatives: `3` or `{2,3}`.
fn shell_alternatives(words: impl Iterator<Item = impl ToString>) -> String {
    let words: Vec<String> = words.map(|word| word.to_string()).collect();
    if words.len() == 1 { words.concat() } else { format!("{{{}}}", words.join(",")) }
}

/// Level that decides about the object of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The process, and the user or program that starts it.
    Process,
    /// The kernel: in a container, the host's.
    Kernel,
    /// The hardware: in a virtual machine, the host's, for which there is the advice `host`.
    Hardware,
}

/// One check: its name, who decides about it, and how the facts decide it. Its words are in the report, under the same name.
struct Rule {
    id: &'static str,
    scope: Scope,
    ruling: fn(&CheckContext<'_>) -> Ruling,
}

/// Outcome of a rule: ids of words, and the quantities in them.
struct Ruling {
    status: Status,
    found: &'static str,
    values: BTreeMap<String, Value>,
    remedies: Vec<Remedy>,
}

impl Ruling {
    /// Adds a named quantity, which the words of the finding and of its advice contain.
    fn with(mut self, name: &str, value: impl Into<Value>) -> Ruling {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Sets the longest delay in µs that this finding can cause here.
    fn with_delay_us(self, us: i64) -> Ruling {
        self.with(COSTS, us.saturating_mul(1_000))
    }

    fn with_remedy(mut self, kind: RemedyKind, action: Action) -> Ruling {
        self.remedies.push(Remedy { kind, action });
        self
    }

    fn advise(self, kind: RemedyKind, id: &str) -> Ruling {
        self.with_remedy(kind, Action::Advice(id.into()))
    }

    fn advise_command(self, command: impl Into<String>) -> Ruling {
        self.with_remedy(RemedyKind::Command, Action::Exact(command.into()))
    }

    /// Advises to write to a file of the kernel, or to several as a shell names them.
    fn advise_write(self, value: impl std::fmt::Display, files: &str) -> Ruling {
        let action = Action::Set { value: value.to_string(), files: files.into() };
        self.with_remedy(RemedyKind::Command, action)
    }

    /// Advises a `sysctl` until the next boot.
    fn advise_sysctl_now(self, name: &str, value: impl std::fmt::Display) -> Ruling {
        let action = Action::Sysctl { name: name.into(), value: value.to_string() };
        self.with_remedy(RemedyKind::Command, action)
    }

    fn advise_parameter(self, parameter: impl Into<String>) -> Ruling {
        self.with_remedy(RemedyKind::KernelParameter, Action::Exact(parameter.into()))
    }

    fn advise_option(self, option: impl Into<String>) -> Ruling {
        self.with_remedy(RemedyKind::Option, Action::Exact(option.into()))
    }

    /// Advises a `sysctl`, now and in its file.
    fn advise_sysctl(self, name: &str, value: &str) -> Ruling {
        self.with("sysctl", format!("{name} = {value}").as_str())
            .advise_sysctl_now(name, value)
            .advise(RemedyKind::Lasting, "sysctl-line")
    }
}

fn ruling(status: Status, found: &'static str) -> Ruling {
    Ruling { status, found, values: BTreeMap::new(), remedies: Vec::new() }
}

fn pass(found: &'static str) -> Ruling {
    ruling(Status::Pass, found)
}

fn warn(found: &'static str) -> Ruling {
    ruling(Status::Warn, found)
}

fn fail(found: &'static str) -> Ruling {
    ruling(Status::Fail, found)
}

fn not_applicable(found: &'static str) -> Ruling {
    ruling(Status::NotApplicable, found)
}

/// Ruling for a fact that the machine did not report.
fn unknown() -> Ruling {
    not_applicable("unreadable")
}

/// Default of the CPUs to check: the isolated ones, or the one that a single task would get.
pub fn cpus_to_check(facts: &SystemFacts) -> CpuSet {
    let isolated = facts.isolation.isolated.clone().unwrap_or_default().and(&facts.usable_cpus());
    if isolated.is_empty() { choose_cpus(facts, &[TaskSpec::default()]).measured_cpus() } else { isolated }
}

/// Checks a machine for real-time tasks on these CPUs (see [`cpus_to_check`]).
pub fn check(facts: &SystemFacts, cpus: &CpuSet) -> CheckReport {
    let context = CheckContext { facts, cpus };
    let checks: Vec<Check> = TOPICS
        .iter()
        .flat_map(|(topic, rules)| rules.iter().map(|rule| apply_rule(topic, rule, &context)))
        .collect();
    CheckReport {
        machine: facts.clone(),
        cpus: cpus.clone(),
        kernel_parameters: kernel_parameters(&checks),
        kernel_parameters_place: command_line_place(facts),
        checks,
    }
}

/// Checks the machine of a run as it was before it, for its tasks' CPUs; `None` if not described.
pub fn check_run(info: &RunInfo) -> Option<CheckReport> {
    let facts = info.facts_before.as_ref()?;
    let granted = info.tasks.iter().filter_map(|task| task.granted.as_ref());
    let used: CpuSet = granted.flat_map(|granted| granted.cpus.iter().copied()).collect();
    Some(check(facts, &if used.is_empty() { cpus_to_check(facts) } else { used }))
}

/// Outcome of a rule; remedies that are out of a guest's or container's reach become the host's.
fn apply_rule(topic: &str, rule: &Rule, context: &CheckContext<'_>) -> Check {
    let mut ruling = (rule.ruling)(context).with("cpus", context.cpus);
    match rule.scope {
        Scope::Hardware if context.in_virtual_machine() && ruling.status == Status::NotApplicable => {
            ruling = ruling.advise(RemedyKind::Host, "host");
        }
        Scope::Kernel | Scope::Hardware if context.facts.virtualisation.container.is_some() => {
            // The kernel is the host's, and its files are read-only in here.
            for remedy in ruling.remedies.iter_mut().filter(|remedy| remedy.kind != RemedyKind::Option) {
                remedy.kind = RemedyKind::Host;
            }
        }
        Scope::Kernel | Scope::Hardware if context.facts.is_kernel_of_host() => {
            // The host gives this machine its kernel and command line.
            let of_host = |kind| matches!(kind, RemedyKind::KernelParameter | RemedyKind::Machine);
            for remedy in ruling.remedies.iter_mut().filter(|remedy| of_host(remedy.kind)) {
                remedy.kind = RemedyKind::Host;
            }
        }
        _ => {}
    }
    Check {
        id: rule.id.into(),
        topic: topic.into(),
        status: ruling.status,
        found: ruling.found.into(),
        values: ruling.values,
        remedies: ruling.remedies,
    }
}

/// All kernel parameters of the remedies, each once.
fn kernel_parameters(checks: &[Check]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for remedy in checks.iter().flat_map(|check| &check.remedies) {
        if let Remedy { kind: RemedyKind::KernelParameter, action: Action::Exact(parameter) } = remedy
            && !all.contains(&parameter.as_str())
        {
            all.push(parameter);
        }
    }
    all.join(" ")
}

fn command_line_place(facts: &SystemFacts) -> CommandLinePlace {
    let family = facts.kernel.distribution_family.as_deref().unwrap_or("");
    let is = |name: &str| family.split_whitespace().any(|word| word == name);
    let board = facts.processor.model.as_deref().is_some_and(|model| model.contains("Raspberry Pi"));
    match () {
        () if board => CommandLinePlace::CmdlineTxt,
        () if is("fedora") || is("rhel") => CommandLinePlace::Grubby,
        () if is("debian") || is("ubuntu") => CommandLinePlace::UpdateGrub,
        () if is("arch") || is("suse") || is("opensuse") => CommandLinePlace::GrubMkconfig,
        () => CommandLinePlace::BootLoader,
    }
}

#[cfg(test)]
mod tests;
