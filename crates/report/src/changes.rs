//! Changes of the machine's state during a measurement, in sentences.

use jitterlab_model::facts::Change;

use crate::dictionary::{self, event_fields, event_name};

/// A change of the machine during a run, as a sentence.
pub fn change_sentence(change: &Change) -> String {
    let quantities = event_fields(change);
    dictionary::sentence("change", event_name(&quantities, "event"), &quantities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::facts::Setting;

    #[test]
    fn events_are_sentences_with_their_numbers() {
        let all = [
            Change::Steal { cpu: 1, stolen_ns: 200_000_000, share: 0.2 },
            Change::Throttling { cpu: 1, times: 1 },
            Change::Setting {
                setting: Setting::Governor,
                cpu: Some(1),
                before: "performance".into(),
                after: "powersave".into(),
            },
        ];
        insta::assert_snapshot!(all.iter().map(change_sentence).collect::<Vec<_>>().join("\n"), @r"
        the hypervisor took CPU 1 away for 200 ms (20 % of the time): latencies of that cause are the host's, not this kernel's
        CPU 1 was throttled for heat once: improve the cooling
        the governor of CPU 1 changed from performance to powersave during the run
        ");
    }
}
