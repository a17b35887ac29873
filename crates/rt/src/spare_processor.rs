//! Check that tasks which poll all the time leave the machine a processor.

use std::collections::BTreeSet;

use jitterlab_model::{Error, Policy, TaskSpec};

/// Checks that these tasks may run together on these processors (those allowed to the process). A task that polls all
/// the time under a real-time policy blocks its processor for everybody else, and one processor has to be left.
///
/// ```
/// use jitterlab_rt::spare_processor;
///
/// let task = "wake=spin,policy=fifo:50,cpu=1".parse()?;
/// assert!(spare_processor::check(&[task], &[1]).is_err());
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
///
/// # Errors
/// The reason why they may not.
pub fn check(tasks: &[TaskSpec], allowed: &[u16]) -> Result<(), Error> {
    let holds = |t: &&TaskSpec| {
        t.wake.traits().polls && matches!(t.policy, Some(Policy::Fifo(_) | Policy::RoundRobin(_)))
    };
    let polling: Vec<&TaskSpec> = tasks.iter().filter(holds).collect();
    if let Some(unbound) = polling.iter().find(|t| t.cpu.is_none()) {
        return Err(Error::bad_use(format!(
            "task {} polls all the time under a real-time policy and is bound to no \
             processor",
            unbound.name
        ))
        .remedy("add cpu=N"));
    }
    let held: BTreeSet<u16> = polling.iter().filter_map(|t| t.cpu).collect();
    if !polling.is_empty() && allowed.iter().all(|cpu| held.contains(cpu)) {
        let names: Vec<&str> = polling.iter().map(|t| t.name.as_str()).collect();
        return Err(Error::bad_use(format!(
            "polling all the time under a real-time policy, {} would hold every processor \
             this program may use and make the machine unreachable",
            names.join(", ")
        ))
        .remedy(
            "use policy=other, another wake= with compensate=margin:TIME, or allow one \
             processor more",
        ));
    }
    for task in polling {
        if let Some(other) = tasks.iter().find(|t| t.name != task.name && t.cpu == task.cpu) {
            let (task, cpu) = (task.name.clone(), task.cpu.unwrap_or_default());
            return Err(Error::bad_use(format!(
                "task {task} polls all the time on cpu={cpu}, where task {} could never run",
                other.name
            ))
            .remedy("give them different processors"));
        }
    }
    Ok(())
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
        assert_eq!(check(std::slice::from_ref(&spin), &[0, 1]), Ok(()));
        assert!(check(std::slice::from_ref(&spin), &[1]).unwrap_err().to_string().contains("unreachable"));
        let both = [spin.clone(), task("name=b,cpu=0,policy=rr:1,wake=spin")];
        assert!(check(&both, &[0, 1]).unwrap_err().to_string().contains("a, b"));
        assert_eq!(check(&both, &[0, 1, 2]), Ok(()));
    }

    #[test]
    fn polling_needs_a_processor_of_its_own() {
        let spin = task("name=a,policy=fifo:50,wake=spin");
        assert!(check(&[spin], &[0, 1]).unwrap_err().to_string().contains("cpu=N"));
        let shared = [task("name=a,cpu=1,policy=fifo:50,wake=spin"), task("name=b,cpu=1")];
        assert!(check(&shared, &[0, 1]).unwrap_err().to_string().contains("never run"));
    }

    #[test]
    fn ordinary_threads_may_poll_as_they_like() {
        assert_eq!(check(&[task("wake=spin,policy=other")], &[0]), Ok(()));
    }
}
