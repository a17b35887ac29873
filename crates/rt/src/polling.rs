//! Polling must leave the machine a processor.

use std::collections::BTreeSet;

use jitterlab_model::{Policy, TaskSpec, WakeMethod};

/// Why these tasks may not run together on these processors (those the process is allowed on), as a sentence;
/// `None` if they may: a task that polls all the time under a real-time policy keeps everybody else off its
/// processor, and one has to be left.
pub fn refusal(tasks: &[TaskSpec], allowed: &[u16]) -> Option<String> {
    let holds = |t: &&TaskSpec| {
        t.wake == WakeMethod::Spin && matches!(t.policy, Some(Policy::Fifo(_) | Policy::RoundRobin(_)))
    };
    let polling: Vec<&TaskSpec> = tasks.iter().filter(holds).collect();
    let names = |tasks: &[&TaskSpec]| tasks.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(unbound) = polling.iter().find(|t| t.cpu.is_none()) {
        return Some(format!(
            "task {} polls all the time under a real-time policy and is bound to no processor: add cpu=N",
            unbound.name
        ));
    }
    let held: BTreeSet<u16> = polling.iter().filter_map(|t| t.cpu).collect();
    let left = allowed.iter().any(|cpu| !held.contains(cpu));
    if !polling.is_empty() && !left {
        return Some(format!(
            "polling all the time under a real-time policy, {} would hold every processor this program may use and make the machine unreachable: use policy=other, another wake= with compensate=margin:TIME, or allow one processor more",
            names(&polling)
        ));
    }
    polling.iter().find_map(|p| {
        let other = tasks.iter().find(|t| t.name != p.name && t.cpu == p.cpu)?;
        Some(format!(
            "task {} polls all the time on cpu={}, where task {} could never run: give them different processors",
            p.name,
            p.cpu.unwrap_or_default(),
            other.name
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(text: &str) -> TaskSpec {
        text.parse().unwrap()
    }

    #[test]
    fn one_processor_has_to_be_left() {
        let spin = task("name=a,cpu=1,policy=fifo:50,wake=spin");
        assert_eq!(refusal(std::slice::from_ref(&spin), &[0, 1]), None);
        assert!(refusal(std::slice::from_ref(&spin), &[1]).unwrap().contains("unreachable"));
        let both = [spin.clone(), task("name=b,cpu=0,policy=rr:1,wake=spin")];
        assert!(refusal(&both, &[0, 1]).unwrap().contains("a, b"));
        assert_eq!(refusal(&both, &[0, 1, 2]), None);
    }

    #[test]
    fn polling_needs_a_processor_of_its_own() {
        let spin = task("name=a,policy=fifo:50,wake=spin");
        assert!(refusal(&[spin], &[0, 1]).unwrap().contains("cpu=N"));
        let shared = [task("name=a,cpu=1,policy=fifo:50,wake=spin"), task("name=b,cpu=1")];
        assert!(refusal(&shared, &[0, 1]).unwrap().contains("never run"));
    }

    #[test]
    fn ordinary_threads_may_poll_as_they_like() {
        assert_eq!(refusal(&[task("wake=spin,policy=other")], &[0]), None);
    }
}
