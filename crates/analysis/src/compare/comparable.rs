//! Conditions of two runs: whether the runs may be compared at all, and what else differs.

use jitterlab_model::{Gap, RunInfo, TaskRun};
use serde::Serialize;

/// Weight of a difference between two runs' conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// The figures have different meanings: no comparison.
    Refuse,
    /// It may be the very change under test; otherwise it confounds the comparison.
    Warn,
}

/// A condition that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mismatch {
    /// Name of the condition, such as `period`.
    pub what: String,
    /// Its value in the first run.
    pub first: String,
    /// Its value in the other run.
    pub other: String,
    /// Its weight.
    pub weight: Weight,
}

/// Returns the conditions that differ between two runs' tasks. With more than one [`Weight::Warn`], a difference of the
/// figures cannot be attributed to one change.
pub fn condition_mismatches(first: (&RunInfo, &TaskRun), other: (&RunInfo, &TaskRun)) -> Vec<Mismatch> {
    let mut all = Vec::new();
    let mut look = |what: &str, weight: Weight, get: &dyn Fn(&RunInfo, &TaskRun) -> Option<String>| {
        if let (Some(a), Some(b)) = (get(first.0, first.1), get(other.0, other.1))
            && a != b
        {
            all.push(Mismatch { what: what.into(), first: a, other: b, weight });
        }
    };
    let exact = |ns: i64| jitterlab_model::units::Exact(ns).to_string();
    look("period", Weight::Refuse, &|_, t| Some(exact(t.period_ns().exactly()?)));
    // What was seen of a watched task is a finding, not a condition.
    look("overrun policy", Weight::Refuse, &|_, t| {
        t.overrun().exactly().filter(|_| t.watched.is_none()).map(|policy| policy.to_string())
    });
    look("what was measured", Weight::Refuse, &|_, t| {
        Some(if t.is_periodic() { "periodic" } else { "aperiodic" }.into())
    });
    // Another tool on the same machine measures the same by other means.
    let import = first.0.is_imported() || other.0.is_imported();
    if import {
        look("tool", Weight::Warn, &|r, _| Some(r.tool.clone()));
    } else {
        look("bench", Weight::Refuse, &|r, _| Some(r.bench.to_string()));
    }
    look("wake-up method", Weight::Warn, &|_, t| t.knows(Gap::Settings).then(|| t.spec.wake.to_string()));
    look("load", Weight::Warn, &|r, _| r.load.specs().map(|_| r.load.to_string()));
    look("work", Weight::Warn, &|_, t| t.knows(Gap::Settings).then(|| t.spec.work.to_string()));
    look("policy", Weight::Warn, &|_, t| t.granted.as_ref().map(|g| g.policy.to_string()));
    look("memory locked", Weight::Warn, &|_, t| t.granted.as_ref().map(|g| g.memory_locked.to_string()));
    look("clock", Weight::Warn, &|r, _| Some(r.clock.clone()));
    look("kernel", Weight::Warn, &|r, _| r.facts_before.as_ref()?.kernel.release.clone());
    look("kernel command line", Weight::Warn, &|r, _| r.facts_before.as_ref()?.kernel.command_line.clone());
    look("processor", Weight::Warn, &|r, _| r.facts_before.as_ref()?.processor.model.clone());
    look("clocksource", Weight::Warn, &|r, _| r.facts_before.as_ref()?.clock.source.clone());
    look("cpu_dma_latency", Weight::Warn, &|r, _| {
        Some(r.facts_before.as_ref()?.power.dma_latency_us?.to_string())
    });
    look("governor", Weight::Warn, &|r, t| {
        let cpu = *t.granted.as_ref()?.cpus.first()?;
        r.facts_before.as_ref()?.cpu(cpu)?.frequency.governor.clone()
    });
    look("tasks beside it", Weight::Warn, &|r, _| Some((r.tasks.len() - 1).to_string()));
    all
}
