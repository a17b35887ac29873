//! What changed on the machine between two readings of its facts, in plain words.

use serde::{Deserialize, Serialize};

use super::{Cpu, Interrupt, SystemFacts};
use crate::cpus::CpuSet;
use crate::units::Human;

/// Something that happened to the machine while it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// What it is about, such as `steal`; the same for the same kind of event.
    pub id: String,
    /// Whether it calls the figures into question, or only explains them.
    pub concern: bool,
    /// What happened, as a sentence.
    pub text: String,
}

/// Two readings and the CPUs that were measured between them.
struct Interval<'a> {
    before: &'a SystemFacts,
    after: &'a SystemFacts,
    measured: &'a CpuSet,
}

/// What changed between two readings of the facts that a reader of the figures should know: first what calls
/// the figures into question, then what only explains them. Counters are looked at on the `measured` CPUs alone,
/// save where an event stops all CPUs.
pub fn changes(before: &SystemFacts, after: &SystemFacts, measured: &CpuSet) -> Vec<Change> {
    let interval = Interval { before, after, measured };
    let mut all = Vec::new();
    for rule in RULES {
        rule(&interval, &mut all);
    }
    all.sort_by_key(|change| !change.concern);
    all
}

type Rule = fn(&Interval<'_>, &mut Vec<Change>);
const RULES: &[Rule] = &[
    steal,
    smi,
    throttling,
    hardware_errors,
    settings,
    device_interrupts,
    kernel_interrupts,
    idle_states,
    swap,
];

fn concern(id: &str, text: String) -> Change {
    Change { id: id.into(), concern: true, text }
}

fn remark(id: &str, text: String) -> Change {
    Change { id: id.into(), concern: false, text }
}

/// The growth of a counter, where both readings have it and it grew.
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?).filter(|n| *n > 0)
}

fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

impl Interval<'_> {
    /// The measured CPUs, as they were and as they are.
    fn cpus(&self) -> impl Iterator<Item = (&Cpu, &Cpu)> {
        let both = |id| self.before.cpu(id).zip(self.after.cpu(id));
        self.measured.iter().filter_map(both)
    }

    /// An interrupt's growth on one CPU.
    fn came(&self, line: &Interrupt, cpu: u16) -> u64 {
        let old = self.before.interrupts.lines.iter().find(|old| old.id == line.id);
        let count = |l: &Interrupt| l.counts.get(&cpu).copied().unwrap_or(0);
        count(line).saturating_sub(old.map_or(0, count))
    }
}

fn steal(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for (old, new) in interval.cpus() {
        let (Some(before), Some(after)) = (old.times, new.times) else { continue };
        let stolen = after.steal_ns.saturating_sub(before.steal_ns);
        let total = after.total_ns().saturating_sub(before.total_ns());
        if stolen > 0 && total > 0 {
            all.push(concern(
                "steal",
                format!(
                    "the hypervisor took CPU {} away for {} ({:.1} % of the time): latencies of that cause are the host's, not this kernel's",
                    new.id,
                    Human(stolen as f64),
                    stolen as f64 / total as f64 * 100.0
                ),
            ));
        }
    }
}

fn smi(interval: &Interval<'_>, all: &mut Vec<Change>) {
    // An SMI stops every CPU, so each counts it.
    let counted = interval.after.cpus.iter().filter_map(|new| {
        let old = interval.before.cpu(new.id)?;
        growth(old.smi_count, new.smi_count)
    });
    if let Some(n) = counted.max() {
        let text = format!(
            "the firmware stopped all CPUs {} with a system-management interrupt, which no kernel can prevent or see",
            times(n)
        );
        all.push(concern("smi", text));
    }
}

fn throttling(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for (old, new) in interval.cpus() {
        let core = growth(old.core_throttle_count, new.core_throttle_count);
        let package = growth(old.package_throttle_count, new.package_throttle_count);
        if let Some(n) = core.max(package) {
            let text = format!("CPU {} was throttled for heat {}: improve the cooling", new.id, times(n));
            all.push(concern("throttling", text));
        }
    }
    let bits = |facts: &SystemFacts| facts.power.firmware_throttled.unwrap_or(0) & 0xF_000F;
    if bits(interval.after) & !bits(interval.before) != 0 {
        all.push(concern(
            "throttling",
            "the board's firmware reported low voltage or throttling: use a stronger power supply or better cooling"
                .into(),
        ));
    }
}

fn hardware_errors(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let machine_checks: u64 = {
        let line = interval.after.interrupts.lines.iter().find(|line| line.id == "MCE");
        line.map_or(0, |l| l.counts.keys().map(|cpu| interval.came(l, *cpu)).sum())
    };
    if machine_checks > 0 {
        let text = format!("the processor reported a hardware error {}: see `dmesg`", times(machine_checks));
        all.push(concern("machine-check", text));
    }
    let (old, new) = (&interval.before.activity, &interval.after.activity);
    let corrected = growth(old.corrected_memory_errors, new.corrected_memory_errors).unwrap_or(0);
    let lost = growth(old.uncorrected_memory_errors, new.uncorrected_memory_errors).unwrap_or(0);
    if corrected + lost > 0 {
        let text = format!(
            "the memory had {corrected} corrected and {lost} uncorrected errors, each handled by the firmware or an interrupt: replace the module"
        );
        all.push(concern("memory-error", text));
    }
}

/// Settings that someone or something changed meanwhile.
fn settings(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let (old, new) = (interval.before, interval.after);
    let mut changed = |id: &str, what: &str, before: Option<String>, after: Option<String>| {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            all.push(concern(id, format!("{what} changed from {before} to {after} during the run")));
        }
    };
    changed("clocksource", "the clocksource", old.clock.source.clone(), new.clock.source.clone());
    changed(
        "online",
        "the list of online CPUs",
        Some(old.online().to_string()),
        Some(new.online().to_string()),
    );
    for (before, after) in interval.cpus() {
        let id = after.id;
        let (f, g) = (&before.frequency, &after.frequency);
        let mhz = |hz: Option<u64>| hz.map(|hz| format!("{} MHz", hz / 1_000_000));
        changed("governor", &format!("the governor of CPU {id}"), f.governor.clone(), g.governor.clone());
        changed("frequency", &format!("the lowest frequency of CPU {id}"), mhz(f.min_hz), mhz(g.min_hz));
        changed("frequency", &format!("the highest frequency of CPU {id}"), mhz(f.max_hz), mhz(g.max_hz));
        let disabled = |cpu: &Cpu| {
            let names: Vec<&str> = cpu
                .idle_states
                .iter()
                .filter(|s| s.disabled == Some(true))
                .map(|s| s.name.as_str())
                .collect();
            Some(if names.is_empty() { "none".to_owned() } else { names.join(" ") })
        };
        changed("idle", &format!("the disabled idle states of CPU {id}"), disabled(before), disabled(after));
    }
    let text = |value: Option<u64>| value.map(|v| format!("{v} us"));
    changed(
        "dma-latency",
        "the longest wake-up time allowed by /dev/cpu_dma_latency",
        text(old.power.dma_latency_us),
        text(new.power.dma_latency_us),
    );
    let budget = |facts: &SystemFacts| {
        let s = &facts.scheduler;
        s.rt_runtime_us.zip(s.rt_period_us).map(|(runtime, period)| format!("{runtime} of {period} us"))
    };
    changed("rt-throttling", "the limit of real-time time", budget(old), budget(new));
    let on_off = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" }.to_owned());
    changed("turbo", "turbo", on_off(old.power.turbo), on_off(new.power.turbo));
    changed(
        "timer-migration",
        "timer migration",
        on_off(old.scheduler.timer_migration),
        on_off(new.scheduler.timer_migration),
    );
    let list =
        |set: &Option<CpuSet>| set.as_ref().map(|s| if s.is_empty() { "none".into() } else { s.to_string() });
    changed(
        "isolation",
        "the list of isolated CPUs",
        list(&old.isolation.isolated),
        list(&new.isolation.isolated),
    );
}

fn device_interrupts(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for cpu in interval.measured.iter() {
        let mut came: Vec<(u64, &Interrupt)> = interval
            .after
            .interrupts
            .lines
            .iter()
            .filter(|line| line.is_device())
            .map(|line| (interval.came(line, cpu), line))
            .filter(|(n, _)| *n > 0)
            .collect();
        came.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
        if came.is_empty() {
            continue;
        }
        let named: Vec<String> = came
            .iter()
            .take(3)
            .map(|(n, line)| format!("IRQ {} ({}) {}", line.id, line.name, times(*n)))
            .collect();
        let rest: u64 = came.iter().skip(3).map(|(n, _)| n).sum();
        let rest = if rest > 0 { format!(", others {}", times(rest)) } else { String::new() };
        all.push(remark(
            "device-interrupts",
            format!("devices interrupted the measured CPU {cpu}: {}{rest}", named.join(", ")),
        ));
    }
}

/// The kernel's own interrupts that disturb, and how to call them.
const KERNEL_INTERRUPTS: &[(&str, &str)] = &[
    ("NMI", "non-maskable interrupts"),
    ("TLB", "TLB shootdowns"),
    ("CAL", "function-call interrupts"),
    ("IPI1", "function-call interrupts"),
    ("RES", "rescheduling interrupts"),
    ("IPI0", "rescheduling interrupts"),
    ("TRM", "thermal interrupts"),
];

fn kernel_interrupts(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for cpu in interval.measured.iter() {
        let named: Vec<String> = KERNEL_INTERRUPTS
            .iter()
            .filter_map(|(id, name)| {
                let line = interval.after.interrupts.lines.iter().find(|line| line.id == *id)?;
                let n = interval.came(line, cpu);
                (n > 0).then(|| format!("{n} {name}"))
            })
            .collect();
        if !named.is_empty() {
            all.push(remark(
                "kernel-interrupts",
                format!("the measured CPU {cpu} took {}", named.join(", ")),
            ));
        }
    }
}

fn idle_states(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for (old, new) in interval.cpus() {
        let entered = new.idle_states.iter().filter_map(|state| {
            let before = old.idle_states.iter().find(|s| s.name == state.name)?;
            Some((state, growth(before.usage, state.usage)?))
        });
        if let Some((state, n)) = entered.max_by_key(|(state, _)| state.exit_latency_us)
            && let Some(exit_us) = state.exit_latency_us.filter(|us| *us > 1)
        {
            all.push(remark(
                "idle",
                format!(
                    "the measured CPU {} entered the idle state {} {}, which takes up to {exit_us} us to leave",
                    new.id,
                    state.name,
                    times(n)
                ),
            ));
        }
    }
}

fn swap(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let (old, new) = (interval.before, interval.after);
    if let Some(bytes) = growth(old.memory.swap_used_bytes, new.memory.swap_used_bytes) {
        let text =
            format!("{} MiB more were swapped out: the machine is short of memory", bytes.div_ceil(1 << 20));
        all.push(concern("swap", text));
    }
    if let Some(n) = growth(old.activity.major_faults, new.activity.major_faults) {
        let text = format!("programs waited for the disk {} to get a page of memory", times(n));
        all.push(remark("major-faults", text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{CpuTimes, IdleState};

    fn machine() -> SystemFacts {
        let times = CpuTimes { idle_ns: 1_000_000_000, ..CpuTimes::default() };
        let idle = IdleState {
            name: "C6".into(),
            exit_latency_us: Some(133),
            usage: Some(5),
            ..IdleState::default()
        };
        let cpu = |id| Cpu {
            id,
            times: Some(times),
            smi_count: Some(7),
            core_throttle_count: Some(0),
            idle_states: vec![idle.clone()],
            ..Cpu::default()
        };
        let irq = |id: &str, name: &str| Interrupt {
            id: id.into(),
            name: name.into(),
            counts: [(0, 10), (1, 10)].into(),
            ..Interrupt::default()
        };
        let mut facts = SystemFacts { cpus: vec![cpu(0), cpu(1)], ..SystemFacts::default() };
        facts.clock.source = Some("tsc".into());
        facts.interrupts.lines =
            vec![irq("24", "nvme0q1"), irq("LOC", "Local timer"), irq("TLB", "TLB"), irq("MCE", "")];
        facts
    }

    fn found(change: impl FnOnce(&mut SystemFacts)) -> Vec<Change> {
        let before = machine();
        let mut after = before.clone();
        change(&mut after);
        changes(&before, &after, &[1].into_iter().collect())
    }

    #[test]
    fn nothing_changed_is_nothing_said() {
        assert_eq!(found(|_| ()), []);
    }

    #[test]
    fn every_kind_of_event_is_told_with_its_number() {
        type Case = (&'static str, bool, &'static str, fn(&mut SystemFacts));
        let cases: [Case; 9] = [
            ("steal", true, "20.0 %", |f| {
                f.cpus[1].times =
                    Some(CpuTimes { idle_ns: 1_800_000_000, steal_ns: 200_000_000, ..CpuTimes::default() });
            }),
            ("smi", true, "2 times", |f| {
                f.cpus[0].smi_count = Some(9);
            }),
            ("throttling", true, "once", |f| f.cpus[1].core_throttle_count = Some(1)),
            ("throttling", true, "power supply", |f| f.power.firmware_throttled = Some(0x5_0005)),
            ("machine-check", true, "once", |f| *f.interrupts.lines[3].counts.get_mut(&0).unwrap() += 1),
            ("clocksource", true, "from tsc to hpet", |f| f.clock.source = Some("hpet".into())),
            ("device-interrupts", false, "IRQ 24 (nvme0q1) 3 times", |f| {
                *f.interrupts.lines[0].counts.get_mut(&1).unwrap() += 3;
            }),
            ("kernel-interrupts", false, "4 TLB shootdowns", |f| {
                *f.interrupts.lines[2].counts.get_mut(&1).unwrap() += 4;
            }),
            ("idle", false, "C6 3 times, which takes up to 133 us", |f| {
                f.cpus[1].idle_states[0].usage = Some(8);
            }),
        ];
        for (id, concern, part, change) in cases {
            let all = found(change);
            assert_eq!(all.len(), 1, "{id}: {all:?}");
            assert_eq!((all[0].id.as_str(), all[0].concern), (id, concern));
            assert!(all[0].text.contains(part), "{}", all[0].text);
        }
    }

    #[test]
    fn other_cpus_do_not_count() {
        let all = found(|f| {
            *f.interrupts.lines[0].counts.get_mut(&0).unwrap() += 3;
            f.cpus[0].core_throttle_count = Some(1);
        });
        assert_eq!(all, []);
    }
}
