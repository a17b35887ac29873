//! Two questions of the Twente report beyond its figures: whether a loop is fit for the control of its robot, and whether a
//! thread of priority 99 leaves others their processor.

use std::path::Path;

use crate::Workplace;
use crate::claims::twente::{ControlFit, Starvation};
use crate::systems::System;
use jitterlab_analysis::median_interval::MedianInterval;
use jitterlab_host::facts::{self, Root};
use jitterlab_model::{Error, Policy, TaskSpec, Work};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Plant, Question, Stability};
use jitterlab_runs::{Hints, OneTask, Run};

/// The report's robot, a head with two axes.
const PLANT: &str = "jiwy";
/// Length of a run from which the control of that robot can be judged.
const LENGTH_NS: i64 = 15_000_000_000;

/// Judges the loop of each system of this machine under the load by a run that is long enough.
pub fn on_machine(
    at: &mut Workplace<'_>,
    systems: &[System],
    task: &TaskSpec,
    load: &str,
) -> Result<Vec<ControlFit>, Error> {
    let usual_ns = at.duration_ns;
    at.duration_ns = usual_ns.max(LENGTH_NS);
    let measured = systems.iter().map(|system| {
        let file = at.measure(&format!("control-{}", system.name), system.task(task), load)?;
        judged(system.name, &file)
    });
    let all = measured.collect();
    at.duration_ns = usual_ns;
    all
}

/// Judges the loop of a run by what its timing costs.
pub fn judged(system: &str, file: &Path) -> Result<ControlFit, Error> {
    let run = OneTask::new(Run::open(file, &Hints::default())?, None, |_| 0)?;
    let plant: Plant = catalog::known(PLANT)?;
    let question = Question::new(plant, run.stats.period_ns());
    let question = Question { overrun: run.spec().overrun.into(), ..question };
    let evaluation = question.evaluate(&run)?;
    let loss = match (&evaluation.stability, evaluation.believed()) {
        (Stability::Unstable, _) => {
            MedianInterval { median: f64::INFINITY, interval: Some((f64::INFINITY, f64::INFINITY)) }
        }
        (Stability::CannotTell { .. }, (median, _)) => MedianInterval { median, interval: None },
        (Stability::Stable, (median, interval)) => {
            MedianInterval { median, interval: interval.map(|of| (of.low, of.high)) }
        }
    };
    Ok(ControlFit { system: system.into(), loss })
}

/// Part of the time that the thread of priority 99 computes, less than the kernel's own limit for such threads: the machine stays
/// usable.
const WORK_NS: i64 = 80_000_000;
const WORK_PERIOD_NS: i64 = 100_000_000;

/// Measures an ordinary thread beside one that computes on the same processor, with the ordinary policy and with priority 99;
/// `None` where that is not permitted, or where no processor is left for everything else.
pub fn starvation(at: &mut Workplace<'_>) -> Result<Option<Starvation>, Error> {
    let usable = facts::read(&Root::system()).usable();
    let (Some(cpu), true) = (usable.iter().last(), usable.len() > 1) else { return Ok(None) };
    let mut shares = Vec::new();
    for (name, policy) in [("beside-ordinary", Policy::Other), ("beside-fifo-99", Policy::Fifo(99))] {
        let ordinary = TaskSpec {
            name: "ordinary".into(),
            period_ns: 1_000_000,
            cpu: Some(cpu),
            policy: Some(Policy::Other),
            ..TaskSpec::default()
        };
        let computing = TaskSpec {
            name: "computing".into(),
            period_ns: WORK_PERIOD_NS,
            work: Work::Spin { time_ns: WORK_NS },
            policy: Some(policy),
            ..ordinary.clone()
        };
        let file = at.measure_all(name, vec![ordinary, computing], "none")?;
        let run = Run::open(&file, &Hints::default())?;
        let [ordinary, computing] = run.info().tasks.as_slice() else { return Ok(None) };
        if computing.granted.as_ref().is_none_or(|granted| granted.policy != policy) {
            return Ok(None);
        }
        let Some(result) = &ordinary.result else { return Ok(None) };
        let all = (result.executed + result.missed).max(1);
        shares.push(result.missed as f64 / all as f64);
    }
    let [ordinary, fifo_99] = shares[..] else { return Ok(None) };
    Ok(Some(Starvation { ordinary, fifo_99 }))
}
