//! The Athlon report: a servo and a base thread on every pair of CPUs, idle, beside CPU hogs, and while somebody reads
//! the kernel's figures.

use jitterlab_analysis::matrix::{Plan, Proposal, placements, propose};
use jitterlab_analysis::papers::athlon::{HOGS, NO_LOAD, READING};
use jitterlab_bench::host::load::parse_loads;
use jitterlab_model::{CpuSet, LoadSpec, Policy, SystemFacts, TaskSpec};

use crate::PapersError;

/// The report made one; a spread needs more.
pub const REPETITIONS: u32 = 3;
/// As many pairs as the report's machine had.
const PAIRS: usize = 16;

/// What is measured.
#[derive(Debug, Clone)]
pub struct AthlonPlan {
    /// The report's threads.
    pub tasks: Vec<TaskSpec>,
    /// Each condition with its loads.
    pub conditions: Vec<(String, Vec<LoadSpec>)>,
    /// The cells.
    pub cells: Plan,
    /// Which CPUs, and why not all where there are more pairs than the report's.
    pub proposal: Proposal,
}

/// The report's threads on a machine's CPUs.
///
/// # Errors
/// It has one CPU.
pub fn plan(facts: &SystemFacts) -> Result<AthlonPlan, PapersError> {
    let usable = facts.usable();
    if usable.len() < 2 {
        return Err(PapersError::OneCpu);
    }
    let proposal = propose(facts, &usable, 2, PAIRS);
    // Where the report's hogs ran: on the CPUs that the system may use, two of them.
    let open = Some(usable.without(&facts.isolation.isolated.clone().unwrap_or_default()))
        .filter(|open| !open.is_empty())
        .unwrap_or(usable);
    let hogs: CpuSet = open.iter().take(2).collect();
    let condition = |name: &str, loads: &str| -> Result<(String, _), PapersError> {
        Ok((name.into(), parse_loads(loads)?))
    };
    let conditions: Vec<(String, Vec<LoadSpec>)> = vec![
        condition(NO_LOAD, "none")?,
        condition(HOGS, &format!("hog@{hogs}"))?,
        condition(READING, &format!("proc@{open}"))?,
    ];
    let task = |name: &str, period_ns: i64, priority: u8| TaskSpec {
        name: name.into(),
        period_ns,
        policy: Some(Policy::Fifo(priority)),
        ..TaskSpec::default()
    };
    let tasks = vec![task("servo", 1_000_000, 90), task("base", 25_000, 95)];
    let names: Vec<String> = conditions.iter().map(|(name, _)| name.clone()).collect();
    let cells = Plan::new(&placements(&proposal.cpus, tasks.len()), &names, REPETITIONS, 2012);
    Ok(AthlonPlan { tasks, conditions, cells, proposal })
}
