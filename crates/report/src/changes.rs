//! Changes of the machine's state during a measurement, in sentences.

use jitterlab_model::facts::{Change, Setting};

use crate::words::{count, share, time};

/// An event as a sentence.
pub fn sentence(change: &Change) -> String {
    match change {
        Change::Steal { cpu, stolen_ns, share: part } => format!(
            "the hypervisor took CPU {cpu} away for {} ({} of the time): latencies of that cause are the host's, not this \
             kernel's",
            time(*stolen_ns as f64),
            share(*part)
        ),
        Change::SystemManagement { times: n } => format!(
            "the firmware stopped all CPUs {} with a system-management interrupt, which no kernel can prevent or see",
            times(*n)
        ),
        Change::Throttling { cpu, times: n } => {
            format!("CPU {cpu} was throttled for heat {}: improve the cooling", times(*n))
        }
        Change::PowerSupply => {
            "the board's firmware reported low voltage or throttling: use a stronger power supply or \
                                better cooling"
                .into()
        }
        Change::MachineCheck { times: n } => {
            format!("the processor reported a hardware error {}: see `dmesg`", times(*n))
        }
        Change::MemoryErrors { corrected, uncorrected } => format!(
            "the memory had {corrected} corrected and {uncorrected} uncorrected errors, each handled by the firmware or an \
             interrupt: replace the module"
        ),
        Change::Setting { setting, cpu, before, after } => {
            let of = cpu.map_or(String::new(), |cpu| format!(" of CPU {cpu}"));
            format!("{}{of} changed from {before} to {after} during the run", named(*setting))
        }
        Change::Swap { bytes } => {
            format!("{} MiB more were swapped out: the machine is short of memory", bytes.div_ceil(1 << 20))
        }
        Change::DeviceInterrupts { cpu, interrupts } => {
            let mut named: Vec<String> = interrupts
                .iter()
                .take(SHOWN)
                .map(|(id, name, n)| format!("IRQ {id} ({name}) {}", times(*n)))
                .collect();
            let rest: u64 = interrupts.iter().skip(SHOWN).map(|(.., n)| *n).fold(0, u64::saturating_add);
            if rest > 0 {
                named.push(format!("others {}", times(rest)));
            }
            format!("devices interrupted the measured CPU {cpu}: {}", named.join(", "))
        }
        Change::KernelInterrupts { cpu, interrupts } => {
            let named: Vec<String> =
                interrupts.iter().map(|(id, n)| format!("{} {}", count(*n), kernel_interrupt(id))).collect();
            format!("the measured CPU {cpu} took {}", named.join(", "))
        }
        Change::IdleState { cpu, state, times: n, exit_us } => format!(
            "the measured CPU {cpu} entered the idle state {state} {}, which takes up to {exit_us} µs to leave",
            times(*n)
        ),
        Change::MajorFaults { times: n } => {
            format!("programs waited for the disk {} to get a page of memory", times(*n))
        }
        other => format!("{other:?}"),
    }
}

/// Interrupts that are named one by one.
const SHOWN: usize = 3;

fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{} times", count(n)) }
}

fn kernel_interrupt(id: &str) -> &str {
    match id {
        "NMI" => "non-maskable interrupts",
        "TLB" => "TLB shootdowns",
        "CAL" | "IPI1" => "function-call interrupts",
        "RES" | "IPI0" => "rescheduling interrupts",
        "TRM" => "thermal interrupts",
        other => other,
    }
}

fn named(setting: Setting) -> &'static str {
    match setting {
        Setting::Clocksource => "the clocksource",
        Setting::OnlineCpus => "the list of online CPUs",
        Setting::Governor => "the governor",
        Setting::LowestFrequency => "the lowest frequency",
        Setting::HighestFrequency => "the highest frequency",
        Setting::DisabledIdleStates => "the disabled idle states",
        Setting::DmaLatency => "the longest wake-up time allowed by /dev/cpu_dma_latency",
        Setting::RealTimeLimit => "the limit of real-time time",
        Setting::Turbo => "turbo",
        Setting::TimerMigration => "timer migration",
        Setting::IsolatedCpus => "the list of isolated CPUs",
        _ => "a setting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sentences_with_their_numbers() {
        let interrupts = (1..=5).map(|n| (n.to_string(), format!("device {n}"), 10 - n)).collect();
        let all = [
            Change::Steal { cpu: 1, stolen_ns: 200_000_000, share: 0.2 },
            Change::Throttling { cpu: 1, times: 1 },
            Change::Setting {
                setting: Setting::Governor,
                cpu: Some(1),
                before: "performance".into(),
                after: "powersave".into(),
            },
            Change::DeviceInterrupts { cpu: 1, interrupts },
            Change::KernelInterrupts { cpu: 1, interrupts: vec![("TLB".into(), 4), ("RES".into(), 1)] },
            Change::IdleState { cpu: 1, state: "C6".into(), times: 3, exit_us: 133 },
        ];
        insta::assert_snapshot!(all.iter().map(sentence).collect::<Vec<_>>().join("\n"), @r"
        the hypervisor took CPU 1 away for 200 ms (20 % of the time): latencies of that cause are the host's, not this kernel's
        CPU 1 was throttled for heat once: improve the cooling
        the governor of CPU 1 changed from performance to powersave during the run
        devices interrupted the measured CPU 1: IRQ 1 (device 1) 9 times, IRQ 2 (device 2) 8 times, IRQ 3 (device 3) 7 times, others 11 times
        the measured CPU 1 took 4 TLB shootdowns, 1 rescheduling interrupts
        the measured CPU 1 entered the idle state C6 3 times, which takes up to 133 µs to leave
        ");
    }
}
