//! Changes of the machine's state during a measurement, in sentences.

use jitterlab_model::facts::Change;

use crate::dictionary::{self, event_fields, event_name, word};
use crate::words::count;

/// Interrupts that are named one by one.
const MAX_NAMED: usize = 3;

/// An event as a sentence.
pub fn change_sentence(change: &Change) -> String {
    let mut quantities = event_fields(change);
    let interrupts: Vec<String> = match change {
        Change::DeviceInterrupts { interrupts, .. } => device_list(interrupts),
        Change::KernelInterrupts { interrupts, .. } => {
            let kind = |(id, n): &(String, u64)| {
                format!("{} {}", count(*n), word("kernel-interrupt", id).unwrap_or(id))
            };
            interrupts.iter().map(kind).collect()
        }
        _ => Vec::new(),
    };
    quantities.insert("interrupts".into(), interrupts.join(", ").into());
    dictionary::sentence("change", event_name(&quantities, "event"), &quantities)
}

fn device_list(interrupts: &[(String, String, u64)]) -> Vec<String> {
    let times = |n: u64| if n == 1 { "once".into() } else { format!("{} times", count(n)) };
    let named =
        interrupts.iter().take(MAX_NAMED).map(|(id, name, n)| format!("IRQ {id} ({name}) {}", times(*n)));
    let rest: u64 = interrupts.iter().skip(MAX_NAMED).map(|(.., n)| *n).fold(0, u64::saturating_add);
    named.chain((rest > 0).then(|| format!("others {}", times(rest)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::facts::Setting;

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
        insta::assert_snapshot!(all.iter().map(change_sentence).collect::<Vec<_>>().join("\n"), @r"
        the hypervisor took CPU 1 away for 200 ms (20 % of the time): latencies of that cause are the host's, not this kernel's
        CPU 1 was throttled for heat once: improve the cooling
        the governor of CPU 1 changed from performance to powersave during the run
        devices interrupted the measured CPU 1: IRQ 1 (device 1) 9 times, IRQ 2 (device 2) 8 times, IRQ 3 (device 3) 7 times, others 11 times
        the measured CPU 1 took 4 TLB shootdowns, 1 rescheduling interrupts
        the measured CPU 1 entered the idle state C6 3 times, which takes up to 133 µs to leave
        ");
    }
}
