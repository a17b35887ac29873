//! Changes of the machine between two readings of its facts.

use serde::{Deserialize, Serialize};

use super::{Cpu, Interrupt, SystemFacts};
use crate::cpus::CpuSet;

/// Something that happened to the machine while it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum Change {
    /// The hypervisor took a CPU away.
    Steal {
        /// The CPU.
        cpu: u16,
        /// Time taken, in nanoseconds.
        stolen_ns: u64,
        /// Share of the time between the readings, 0 to 1.
        share: f64,
    },
    /// The firmware stopped all CPUs with system-management interrupts.
    SystemManagement {
        /// Number of these interrupts.
        times: u64,
    },
    /// A CPU was throttled for heat.
    Throttling {
        /// The CPU.
        cpu: u16,
        /// Number of times.
        times: u64,
    },
    /// The board's firmware reported low voltage or throttling.
    PowerSupply,
    /// The processor reported hardware errors.
    MachineCheck {
        /// Number of errors.
        times: u64,
    },
    /// The memory had errors.
    MemoryErrors {
        /// Corrected errors.
        corrected: u64,
        /// Uncorrected errors.
        uncorrected: u64,
    },
    /// A setting was changed.
    Setting {
        /// The setting.
        setting: Setting,
        /// The CPU; `None` for a setting of the whole machine.
        cpu: Option<u16>,
        /// Value before.
        before: String,
        /// Value after.
        after: String,
    },
    /// Swap space in use grew.
    Swap {
        /// Growth in bytes.
        bytes: u64,
    },
}

/// A setting of the machine that matters for timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Setting {
    /// The kernel's clocksource.
    Clocksource,
    /// The CPUs that are online.
    OnlineCpus,
    /// The governor of a CPU's frequency.
    Governor,
    /// The lowest frequency a CPU may have.
    LowestFrequency,
    /// The highest frequency a CPU may have.
    HighestFrequency,
    /// The idle states that are forbidden on a CPU.
    DisabledIdleStates,
    /// The longest wake-up time that `/dev/cpu_dma_latency` allows.
    DmaLatency,
    /// The limit on the processor time of real-time tasks.
    RealTimeLimit,
    /// Permission for the processor to exceed its nominal frequency.
    Turbo,
    /// Migration of timers from idle CPUs to busy ones.
    TimerMigration,
    /// The CPUs that are isolated.
    IsolatedCpus,
}

/// Two readings and the CPUs that were measured between them.
struct Interval<'a> {
    before: &'a SystemFacts,
    after: &'a SystemFacts,
    measured: &'a CpuSet,
}

/// Changes between two readings of the facts that call figures into question. Counters are read on the `measured` CPUs
/// alone, save where an event stops all CPUs.
#[must_use]
pub fn changes(before: &SystemFacts, after: &SystemFacts, measured: &CpuSet) -> Vec<Change> {
    let interval = Interval { before, after, measured };
    let mut all = Vec::new();
    for rule in RULES {
        rule(&interval, &mut all);
    }
    all
}

type Rule = fn(&Interval<'_>, &mut Vec<Change>);
const RULES: &[Rule] =
    &[add_steal, add_smi, add_throttling, add_hardware_errors, add_changed_settings, add_swap];

/// The growth of a counter, where both readings have it and it grew.
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?).filter(|n| *n > 0)
}

impl Interval<'_> {
    /// The measured CPUs, as they were and as they are.
    fn cpus(&self) -> impl Iterator<Item = (&Cpu, &Cpu)> {
        let both = |id| self.before.cpu(id).zip(self.after.cpu(id));
        self.measured.iter().filter_map(both)
    }

    /// An interrupt's growth on one CPU.
    fn interrupt_growth(&self, line: &Interrupt, cpu: u16) -> u64 {
        let old = self.before.interrupts.lines.iter().find(|old| old.id == line.id);
        let count = |l: &Interrupt| l.counts.get(&cpu).copied().unwrap_or(0);
        count(line).saturating_sub(old.map_or(0, count))
    }
}

fn add_steal(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for (old, new) in interval.cpus() {
        let (Some(before), Some(after)) = (old.times, new.times) else { continue };
        let stolen_ns = after.steal_ns.saturating_sub(before.steal_ns);
        if let Some(share) = after.share_since(&before, |times| times.steal_ns).filter(|_| stolen_ns > 0) {
            all.push(Change::Steal { cpu: new.id, stolen_ns, share });
        }
    }
}

fn add_smi(interval: &Interval<'_>, all: &mut Vec<Change>) {
    // An SMI stops every CPU, so each counts it.
    let counted = interval.after.cpus.iter().filter_map(|new| {
        let old = interval.before.cpu(new.id)?;
        growth(old.smi_count, new.smi_count)
    });
    all.extend(counted.max().map(|times| Change::SystemManagement { times }));
}

fn add_throttling(interval: &Interval<'_>, all: &mut Vec<Change>) {
    for (old, new) in interval.cpus() {
        let core = growth(old.core_throttle_count, new.core_throttle_count);
        let package = growth(old.package_throttle_count, new.package_throttle_count);
        all.extend(core.max(package).map(|times| Change::Throttling { cpu: new.id, times }));
    }
    let bits = |facts: &SystemFacts| facts.power.firmware_throttled.unwrap_or(0) & 0xF_000F;
    if bits(interval.after) & !bits(interval.before) != 0 {
        all.push(Change::PowerSupply);
    }
}

fn add_hardware_errors(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let line = interval.after.interrupts.lines.iter().find(|line| line.id == "MCE");
    let times = line.map_or(0, |l| l.counts.keys().map(|cpu| interval.interrupt_growth(l, *cpu)).sum());
    if times > 0 {
        all.push(Change::MachineCheck { times });
    }
    let (old, new) = (&interval.before.activity, &interval.after.activity);
    let corrected = growth(old.corrected_memory_errors, new.corrected_memory_errors).unwrap_or(0);
    let uncorrected = growth(old.uncorrected_memory_errors, new.uncorrected_memory_errors).unwrap_or(0);
    if corrected + uncorrected > 0 {
        all.push(Change::MemoryErrors { corrected, uncorrected });
    }
}

/// Settings that changed between the readings.
fn add_changed_settings(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let mut changed = |setting, cpu, before: Option<String>, after: Option<String>| {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            all.push(Change::Setting { setting, cpu, before, after });
        }
    };
    let (old, new) = (interval.before, interval.after);
    let mut of_machine = |setting, value: &dyn Fn(&SystemFacts) -> Option<String>| {
        changed(setting, None, value(old), value(new));
    };
    let on_off = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" }.to_owned());
    of_machine(Setting::Clocksource, &|f| f.clock.source.clone());
    of_machine(Setting::OnlineCpus, &|f| Some(f.online_cpus().to_string()));
    of_machine(Setting::DmaLatency, &|f| f.power.dma_latency_us.map(|us| format!("{us} µs")));
    of_machine(Setting::RealTimeLimit, &|f| {
        let budget = f.scheduler.rt_runtime_us.zip(f.scheduler.rt_period_us);
        budget.map(|(runtime, period)| format!("{runtime} of {period} µs"))
    });
    of_machine(Setting::Turbo, &|f| on_off(f.power.turbo));
    of_machine(Setting::TimerMigration, &|f| on_off(f.scheduler.timer_migration));
    of_machine(Setting::IsolatedCpus, &|f| {
        f.isolation.isolated.as_ref().map(|s| if s.is_empty() { "none".into() } else { s.to_string() })
    });
    for (old, new) in interval.cpus() {
        let mut of_cpu = |setting, value: &dyn Fn(&Cpu) -> Option<String>| {
            changed(setting, Some(new.id), value(old), value(new));
        };
        let mhz = |hz: Option<u64>| hz.map(|hz| format!("{} MHz", hz / 1_000_000));
        of_cpu(Setting::Governor, &|cpu| cpu.frequency.governor.clone());
        of_cpu(Setting::LowestFrequency, &|cpu| mhz(cpu.frequency.min_hz));
        of_cpu(Setting::HighestFrequency, &|cpu| mhz(cpu.frequency.max_hz));
        of_cpu(Setting::DisabledIdleStates, &|cpu| {
            let disabled = cpu.idle_states.iter().filter(|s| s.disabled == Some(true));
            let names: Vec<&str> = disabled.map(|s| s.name.as_str()).collect();
            Some(if names.is_empty() { "none".to_owned() } else { names.join(" ") })
        });
    }
}

fn add_swap(interval: &Interval<'_>, all: &mut Vec<Change>) {
    let (old, new) = (interval.before, interval.after);
    let swapped = growth(old.memory.swap_used_bytes, new.memory.swap_used_bytes);
    all.extend(swapped.map(|bytes| Change::Swap { bytes }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::CpuTimes;

    fn machine() -> SystemFacts {
        let times = CpuTimes { idle_ns: 1_000_000_000, ..CpuTimes::default() };
        let cpu = |id| Cpu {
            id,
            times: Some(times),
            smi_count: Some(7),
            core_throttle_count: Some(0),
            ..Cpu::default()
        };
        let errors =
            Interrupt { id: "MCE".into(), counts: [(0, 10), (1, 10)].into(), ..Interrupt::default() };
        let mut facts = SystemFacts { cpus: vec![cpu(0), cpu(1)], ..SystemFacts::default() };
        facts.clock.source = Some("tsc".into());
        facts.interrupts.lines = vec![errors];
        facts
    }

    fn found(change: impl FnOnce(&mut SystemFacts)) -> Vec<Change> {
        let before = machine();
        let mut after = before.clone();
        change(&mut after);
        changes(&before, &after, &[1].into_iter().collect())
    }

    #[test]
    fn nothing_changed_is_nothing_found() {
        assert_eq!(found(|_| ()), []);
    }

    #[test]
    fn every_kind_of_event_is_found_with_its_number() {
        type Case = (fn(&mut SystemFacts), Change);
        let cases: [Case; 6] = [
            (
                |f| {
                    f.cpus[1].times = Some(CpuTimes {
                        idle_ns: 1_800_000_000,
                        steal_ns: 200_000_000,
                        ..CpuTimes::default()
                    });
                },
                Change::Steal { cpu: 1, stolen_ns: 200_000_000, share: 0.2 },
            ),
            (|f| f.cpus[0].smi_count = Some(9), Change::SystemManagement { times: 2 }),
            (|f| f.cpus[1].core_throttle_count = Some(1), Change::Throttling { cpu: 1, times: 1 }),
            (|f| f.power.firmware_throttled = Some(0x5_0005), Change::PowerSupply),
            (|f| *f.interrupts.lines[0].counts.get_mut(&0).unwrap() += 1, Change::MachineCheck { times: 1 }),
            (
                |f| f.clock.source = Some("hpet".into()),
                Change::Setting {
                    setting: Setting::Clocksource,
                    cpu: None,
                    before: "tsc".into(),
                    after: "hpet".into(),
                },
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(found(change), [expected]);
        }
    }

    #[test]
    fn other_cpus_do_not_count() {
        assert_eq!(found(|f| f.cpus[0].core_throttle_count = Some(1)), []);
    }
}
