//! Ways to wait, measured in turns.

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::wakeup::{WayFigures, WayToWait, WayTrouble, WaysCompared};
use jitterlab_model::{Compensation, Error, Policy, TaskSpec, WakeMethod};

use super::block_measurement::{Block, TaskMeasurer};

/// The task with each way to wait to try, named: the given `parts`, or the wake-up methods. Parts are those
/// of a task (`wake=timerfd,clock=realtime`). Without any: the task's own method or, where it leaves it open,
/// every method of Linux, each also with the task's compensation as far as it can be compensated.
pub fn wake_up_variants(
    task: &TaskSpec,
    wake: Option<WakeMethod>,
    parts: &[String],
) -> Result<Vec<(String, TaskSpec)>, Error> {
    let named = |parts: &String| {
        let read = || -> Result<TaskSpec, Error> {
            let spec = with_deadline_runtime(task.with_properties(parts)?);
            spec.validate()?;
            Ok(TaskSpec { name: task.name.clone(), ..spec })
        };
        let spec = read().map_err(|error| Error::bad_use(format!("--way {parts}: {error}")))?;
        Ok((parts.clone(), spec))
    };
    if !parts.is_empty() {
        return parts.iter().map(named).collect();
    }
    let methods: Vec<WakeMethod> =
        wake.map_or_else(|| WakeMethod::linux_methods().collect(), |wake| vec![wake]);
    let mut all = Vec::new();
    for wake in methods {
        all.push((
            wake.to_string(),
            with_deadline_runtime(TaskSpec { wake, compensate: Compensation::None, ..task.clone() }),
        ));
        // Polling all the time leaves nothing to wake early from, and a wake-up that drifts no time to poll up to.
        if task.compensate != Compensation::None && !wake.traits().polls && !wake.traits().drifts {
            all.push((
                format!("{wake} {}", task.compensate),
                with_deadline_runtime(TaskSpec { wake, ..task.clone() }),
            ));
        }
    }
    Ok(all)
}

/// Gives a task a SCHED_DEADLINE runtime if its wake-up method needs it, and then binds it to no processor. A
/// tenth of the period is plenty for a task, not below the kernel's minimum, and half of it for polling as
/// well.
fn with_deadline_runtime(task: TaskSpec) -> TaskSpec {
    let is_deadline = |policy| matches!(policy, Some(Policy::Deadline { .. }));
    let parts = if task.compensate == Compensation::None { 10 } else { 2 };
    let policy = match task.policy {
        policy if is_deadline(policy) || !task.wake.traits().deadline => policy,
        _ => Some(Policy::Deadline { runtime_ns: (task.period_ns / parts).max(20_000) }),
    };
    TaskSpec { policy, cpu: if is_deadline(policy) { None } else { task.cpu }, ..task }
}

/// Makes the figures of one way to wait, with the trouble in its blocks.
fn way_figures(name: String, period_ns: i64, blocks: &[Block]) -> WayToWait {
    let lacking = blocks.iter().flat_map(|b| &b.refused).find(|r| r.what.starts_with("wake="));
    let overload = blocks.iter().find_map(|b| b.overload);
    let refused = lacking.map(|refusal| WayTrouble::Refused { refusal: refusal.clone() });
    let trouble = refused.or(overload.map(|overload| WayTrouble::Stopped { overload }));
    let views = Block::views(period_ns, blocks);
    // A run with another method in its place is no measurement of this one.
    let figures = (lacking.is_none() && !views.is_empty()).then(|| WayFigures::from_blocks(&views));
    WayToWait { name, figures, trouble }
}

/// Measures each way `rounds` times, `turn_ns` long, in turns. Cut short, it uses the whole rounds until
/// then.
pub fn compare(
    bench: &mut TaskMeasurer<'_, '_>,
    ways: Vec<(String, TaskSpec)>,
    rounds: u32,
    turn_ns: i64,
) -> Result<WaysCompared, Error> {
    let mut impossible = Vec::new();
    let (mut names, mut specs) = (Vec::new(), Vec::new());
    for (name, spec) in ways {
        match bench.check_measurable(&spec) {
            Ok(()) => {
                names.push(name);
                specs.push(spec);
            }
            Err(why) => {
                let trouble = Some(WayTrouble::Impossible { why });
                impossible.push(WayToWait { name, figures: None, trouble });
            }
        }
    }
    bench.experiment.set_total_time(i64::from(rounds) * specs.len() as i64 * turn_ns);
    bench.begin_step(TrialStep::Ways { count: specs.len(), rounds, turn_ns });
    let blocks = bench.measure_in_turns(&specs, rounds as usize, turn_ns)?;
    let period_ns = bench.spec.period_ns;
    let measured = names.into_iter().zip(&blocks).map(|(name, blocks)| way_figures(name, period_ns, blocks));
    Ok(WaysCompared {
        period_ns,
        rounds,
        turn_ns,
        interrupted: bench.experiment.is_interrupted(),
        ways: measured.chain(impossible).collect(),
    })
}
