//! The machine a run was measured on, in a few words.

use jitterlab_model::SystemFacts;
use jitterlab_model::facts::Preemption;

/// Kernel, real-time or not, processor, virtualisation: one line.
pub fn machine_line(facts: &SystemFacts) -> String {
    let mut parts = Vec::new();
    if let Some(release) = &facts.kernel.release {
        let preemption = match (facts.kernel.preemption, facts.kernel.preemption_dynamic) {
            (Some(Preemption::RealTime), _) => "PREEMPT_RT".into(),
            (Some(other), _) => format!("not PREEMPT_RT, preemption {other}"),
            (None, Some(true)) => "not PREEMPT_RT, preemption dynamic".into(),
            (None, _) => "preemption unknown".into(),
        };
        parts.push(format!("Linux {release} ({preemption})"));
    }
    if let Some(model) = &facts.processor.model {
        parts.push(model.clone());
    }
    match facts.cpus.len() {
        0 => {}
        1 => parts.push("1 CPU".into()),
        n => parts.push(format!("{n} CPUs")),
    }
    if facts.virtualisation.virtual_machine == Some(true) {
        let under = facts.virtualisation.hypervisor.as_deref().unwrap_or("an unnamed hypervisor");
        parts.push(format!("virtual machine under {under}"));
    }
    if let Some(container) = &facts.virtualisation.container {
        parts.push(format!("in a container ({container})"));
    }
    if parts.is_empty() { "the machine was not described".into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_not_told() {
        assert_eq!(machine_line(&SystemFacts::default()), "the machine was not described");
    }

    #[test]
    fn a_real_time_kernel_is_named() {
        let mut facts = SystemFacts::default();
        facts.kernel.release = Some("6.1.0-rt".into());
        facts.kernel.preemption = Some(Preemption::RealTime);
        facts.virtualisation.virtual_machine = Some(true);
        facts.virtualisation.hypervisor = Some("KVM".into());
        assert_eq!(machine_line(&facts), "Linux 6.1.0-rt (PREEMPT_RT), virtual machine under KVM");
    }
}
