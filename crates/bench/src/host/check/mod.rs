//! Is this machine set up for real time? Pure functions from the facts to verdicts, one file for each topic.

use jitterlab_model::check::{CHECK_FORMAT_VERSION, Check, CheckReport, Remedy, RemedyKind, Status};
use jitterlab_model::{CpuSet, SystemFacts, TaskSpec};

use super::topology::choose_cpus;

mod clock;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod permissions;
mod power;
mod surroundings;

/// The topics, in the order they are reported.
const TOPICS: &[(&str, &[Rule])] = &[
    ("permissions", permissions::RULES),
    ("kernel", kernel::RULES),
    ("clock", clock::RULES),
    ("power", power::RULES),
    ("isolation", isolation::RULES),
    ("interrupts", interrupts::RULES),
    ("memory", memory::RULES),
    ("surroundings", surroundings::RULES),
];

/// What the checks are about: a machine, and the CPUs on it that real-time tasks would run on.
struct Subject<'a> {
    facts: &'a SystemFacts,
    cpus: &'a CpuSet,
}

impl Subject<'_> {
    /// The CPUs for everything else. All of them where the real-time tasks leave none.
    fn others(&self) -> CpuSet {
        let online = self.facts.online();
        let others = online.without(self.cpus);
        if others.is_empty() { online } else { others }
    }

    fn in_virtual_machine(&self) -> bool {
        self.facts.virtualisation.virtual_machine == Some(true)
    }

    /// `CPU 3` or `CPUs 2-3`.
    fn named(&self) -> String {
        named(self.cpus)
    }
}

fn named(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// `/sys/.../cpu3/` or `/sys/.../cpu{2,3}/`, as a shell takes it.
fn cpu_folder(cpus: &CpuSet) -> String {
    let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    match numbers.as_slice() {
        [one] => format!("/sys/devices/system/cpu/cpu{one}"),
        many => format!("/sys/devices/system/cpu/cpu{{{}}}", many.join(",")),
    }
}

/// Who decides about what a check looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The process and whoever started it.
    Process,
    /// The kernel: in a container, the host's.
    Kernel,
    /// The hardware: in a virtual machine, the host's, which can do this there.
    Hardware(&'static str),
}

/// One check: what it is called, why it matters, and how the facts decide it.
struct Rule {
    id: &'static str,
    title: &'static str,
    why: &'static str,
    scope: Scope,
    verdict: fn(&Subject<'_>) -> Verdict,
}

/// How a rule came out.
struct Verdict {
    status: Status,
    found: String,
    remedies: Vec<Remedy>,
}

impl Verdict {
    fn with(mut self, kind: RemedyKind, text: impl Into<String>) -> Verdict {
        self.remedies.push(Remedy { kind, text: text.into() });
        self
    }

    fn now(self, command: impl Into<String>) -> Verdict {
        self.with(RemedyKind::Command, command)
    }

    fn for_good(self, what: impl Into<String>) -> Verdict {
        self.with(RemedyKind::Lasting, what)
    }

    fn parameter(self, parameter: impl Into<String>) -> Verdict {
        self.with(RemedyKind::KernelParameter, parameter)
    }

    fn on_the_host(self, what: impl Into<String>) -> Verdict {
        self.with(RemedyKind::Host, what)
    }

    fn on_the_machine(self, what: impl Into<String>) -> Verdict {
        self.with(RemedyKind::Machine, what)
    }

    fn for_one_run(self, option: impl Into<String>) -> Verdict {
        self.with(RemedyKind::Option, option)
    }

    /// A `sysctl`, now and in its file.
    fn sysctl(self, name: &str, value: &str) -> Verdict {
        self.now(format!("sysctl -w {name}={value}"))
            .for_good(format!("line `{name} = {value}` in /etc/sysctl.d/90-realtime.conf"))
    }
}

fn verdict(status: Status, found: impl Into<String>) -> Verdict {
    Verdict { status, found: found.into(), remedies: Vec::new() }
}

fn pass(found: impl Into<String>) -> Verdict {
    verdict(Status::Pass, found)
}

fn warn(found: impl Into<String>) -> Verdict {
    verdict(Status::Warn, found)
}

fn fail(found: impl Into<String>) -> Verdict {
    verdict(Status::Fail, found)
}

fn not_applicable(found: impl Into<String>) -> Verdict {
    verdict(Status::NotApplicable, found)
}

/// For what the machine did not say.
fn unknown(what: &str) -> Verdict {
    not_applicable(format!("{what} could not be read"))
}

/// The CPUs to look at when none are named: the isolated ones, or the one that a single task would get.
pub fn cpus_to_check(facts: &SystemFacts) -> CpuSet {
    let isolated = facts.isolation.isolated.clone().unwrap_or_default().and(&facts.usable());
    if isolated.is_empty() { choose_cpus(facts, &[TaskSpec::default()]).measured() } else { isolated }
}

/// Checks a machine for real-time tasks on these CPUs (see [`cpus_to_check`]).
pub fn check(facts: &SystemFacts, cpus: &CpuSet) -> CheckReport {
    let subject = Subject { facts, cpus };
    let checks: Vec<Check> = TOPICS
        .iter()
        .flat_map(|(topic, rules)| rules.iter().map(|rule| judge(topic, rule, &subject)))
        .collect();
    CheckReport {
        format: CHECK_FORMAT_VERSION,
        machine: facts.clone(),
        cpus: cpus.clone(),
        kernel_parameters: kernel_parameters(&checks),
        kernel_parameters_how: how_to_set_parameters(facts),
        checks,
    }
}

fn judge(topic: &str, rule: &Rule, subject: &Subject<'_>) -> Check {
    let mut verdict = (rule.verdict)(subject);
    let virtualisation = &subject.facts.virtualisation;
    match rule.scope {
        Scope::Hardware(on_the_host)
            if subject.in_virtual_machine() && verdict.status == Status::NotApplicable =>
        {
            verdict.found = format!("{}: only the host knows", verdict.found);
            verdict = verdict.on_the_host(on_the_host);
        }
        Scope::Kernel | Scope::Hardware(_) if virtualisation.container.is_some() => {
            // The kernel is the host's, and its files are read-only in here.
            for remedy in &mut verdict.remedies {
                remedy.kind = match remedy.kind {
                    RemedyKind::Option => RemedyKind::Option,
                    _ => RemedyKind::Host,
                };
            }
        }
        _ => {}
    }
    Check {
        id: rule.id.into(),
        group: topic.into(),
        title: rule.title.into(),
        status: verdict.status,
        found: verdict.found,
        why: rule.why.into(),
        remedies: verdict.remedies,
    }
}

/// All kernel parameters of the remedies, each once.
fn kernel_parameters(checks: &[Check]) -> String {
    let mut all: Vec<&str> = Vec::new();
    let remedies = checks.iter().flat_map(|check| &check.remedies);
    for remedy in remedies.filter(|r| r.kind == RemedyKind::KernelParameter) {
        for word in remedy.text.split_whitespace() {
            if !all.contains(&word) {
                all.push(word);
            }
        }
    }
    all.join(" ")
}

fn how_to_set_parameters(facts: &SystemFacts) -> String {
    let family = facts.kernel.distribution_family.as_deref().unwrap_or("");
    let is = |name: &str| family.split_whitespace().any(|word| word == name);
    let board = facts.processor.model.as_deref().is_some_and(|model| model.contains("Raspberry Pi"));
    match () {
        () if board => "append them to the one line of /boot/firmware/cmdline.txt, then restart",
        () if is("fedora") || is("rhel") => {
            "grubby --update-kernel=ALL --args='THE PARAMETERS', then restart"
        }
        () if is("debian") || is("ubuntu") => {
            "add them to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, then restart"
        }
        () if is("arch") || is("suse") || is("opensuse") => {
            "add them to GRUB_CMDLINE_LINUX in /etc/default/grub, run grub-mkconfig -o /boot/grub/grub.cfg, then restart"
        }
        () => "add them to the kernel's command line in the boot loader, then restart",
    }
    .into()
}

#[cfg(test)]
mod tests;
