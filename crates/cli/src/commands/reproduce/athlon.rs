//! The Athlon report: a servo and a base thread on every pair of CPUs, idle and beside CPU hogs, and its three
//! observations: better on one CPU, hogs of little use, the base thread harmed by reading /proc.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::matrix::{Plan, placements, propose};
use jitterlab_analysis::papers::athlon::{AthlonReproduction, HOGS, NO_LOAD, READING};
use jitterlab_bench::host::facts::{self, Root};
use jitterlab_bench::host::load;
use jitterlab_model::{CpuSet, Policy, SystemFacts, TaskSpec};
use jitterlab_report::papers::Found;

use super::nist_loads;
use crate::commands::matrix::OVERHEAD_NS;
use crate::exit::Failure;
use crate::matrix::{Index, Setting, measure_cells};
use crate::{interrupt, output};

/// The report made one; a spread needs more.
const REPETITIONS: u32 = 3;
/// As many pairs as the report's machine had.
const PAIRS: usize = 16;
/// Measures what is missing, and NIST's figure 3 when nothing is.
pub fn reproduce(directory: &Path, duration_ns: i64) -> Result<Found, Failure> {
    let facts = facts::read(&Root::system());
    let mut index = match Index::read(directory)? {
        Some(index) => index,
        None => plan(&facts, duration_ns)?,
    };
    let interrupted = interrupt::requested().context("cannot listen for Ctrl-C")?;
    measure_cells(&mut index, directory, OVERHEAD_NS, &interrupted)?;
    let (tasks, duration_ns) = (index.tasks.clone(), index.duration_ns);
    let mut found =
        AthlonReproduction::of(facts, tasks, duration_ns, REPETITIONS, index.left(), index.matrix());
    if found.left == 0 {
        found.nist_figure_3 = Some(nist_loads::reproduce(directory, "nist-figure-3", duration_ns)?);
    }
    Ok(Found::Athlon(Box::new(found)))
}

/// The report's threads on this machine's CPUs.
fn plan(facts: &SystemFacts, duration_ns: i64) -> Result<Index, Failure> {
    let usable = facts.usable();
    if usable.len() < 2 {
        return Err(Failure::bad_use(anyhow!(
            "this machine has one CPU: there are no pairs to compare. `jitterlab run` measures it"
        )));
    }
    let proposal = propose(facts, &usable, 2, PAIRS);
    if let Some(reason) = &proposal.reason {
        output::note(&format!("measuring {reason}; `jitterlab matrix` takes others"));
    }
    // Where the report's hogs ran: on the CPUs that the system may use, two of them.
    let open = Some(usable.without(&facts.isolation.isolated.clone().unwrap_or_default()))
        .filter(|open| !open.is_empty())
        .unwrap_or(usable);
    let hogs: CpuSet = open.iter().take(2).collect();
    let setting = |name: &str, loads: &str| -> Result<Setting, Failure> {
        let loads = load::parse_loads(loads).map_err(Failure::bad_use)?;
        Ok(Setting { name: name.into(), loads, isolate: None })
    };
    let settings = vec![
        setting(NO_LOAD, "none")?,
        setting(HOGS, &format!("hog@{hogs}"))?,
        setting(READING, &format!("proc@{open}"))?,
    ];
    let task = |name: &str, period_ns: i64, priority: u8| TaskSpec {
        name: name.into(),
        period_ns,
        policy: Some(Policy::Fifo(priority)),
        ..TaskSpec::default()
    };
    let tasks = vec![task("servo", 1_000_000, 90), task("base", 25_000, 95)];
    let names: Vec<String> = settings.iter().map(|setting| setting.name.clone()).collect();
    let plan = Plan::new(&placements(&proposal.cpus, tasks.len()), &names, REPETITIONS, 2012);
    Ok(Index::new(tasks, settings, duration_ns, plan))
}
