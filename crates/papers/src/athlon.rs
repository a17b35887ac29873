//! The Athlon report: a servo and a base thread on every pair of CPUs, idle, beside CPU hogs, and while somebody reads
//! the kernel's figures.

use jitterlab_analysis::matrix::{CellSetting, MatrixIndex, Proposal, propose};
use jitterlab_analysis::papers::athlon::{AthlonReproduction, HOGS, NO_LOAD, READING};
use jitterlab_bench::host::facts::{self, Root};
use jitterlab_bench::host::load::parse_loads;
use jitterlab_bench::host::matrix::{self as cells, OVERHEAD_NS};
use jitterlab_model::{CpuSet, Policy, SystemFacts, TaskSpec};
use jitterlab_report::matrix::CellStep;
use jitterlab_report::papers::{Found, Step};

use crate::{PapersError, Workplace, nist};

/// The report made one; a spread needs more.
const REPETITIONS: u32 = 3;
/// As many pairs as the report's machine had.
const PAIRS: usize = 16;

/// Measures what is missing of the report's cells, and NIST's figure 3 when nothing is.
///
/// # Errors
/// The machine has one CPU or cannot measure the tasks; a file cannot be written.
pub fn reproduce(at: &mut Workplace<'_>) -> Result<Found, PapersError> {
    let machine = facts::read(&Root::system());
    let mut index = match cells::read(at.directory)? {
        Some(index) => index,
        None => {
            let (index, proposal) = plan(&machine, at.duration_ns)?;
            if proposal.is_part() {
                (at.tell)(&Step::Chosen(proposal));
            }
            index
        }
    };
    let tell = &mut at.tell;
    cells::measure_cells(&mut index, at.directory, at.interrupted, &mut |index, number| {
        tell(&Step::Cell(CellStep::of(index, number, OVERHEAD_NS)));
    })?;
    let (tasks, duration_ns) = (index.tasks.clone(), index.duration_ns);
    let mut found =
        AthlonReproduction::of(machine, tasks, duration_ns, REPETITIONS, index.left(), index.matrix());
    if found.left == 0 {
        found.nist_figure_3 = Some(nist::loads(at, "nist-figure-3")?);
    }
    Ok(Found::Athlon(Box::new(found)))
}

/// The report's threads on a machine's CPUs, each cell for so long, and the choice of these CPUs.
fn plan(facts: &SystemFacts, duration_ns: i64) -> Result<(MatrixIndex, Proposal), PapersError> {
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
    let setting = |name: &str, loads: &str| -> Result<CellSetting, PapersError> {
        Ok(CellSetting { name: name.into(), loads: parse_loads(loads)?, isolate: None })
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
    Ok((MatrixIndex::new(tasks, settings, &proposal.cpus, REPETITIONS, duration_ns, 2012), proposal))
}
