//! The Athlon report: a servo and a base thread on every pair of CPUs, idle and beside CPU hogs, and its three
//! observations: better on one CPU, hogs of little use, the base thread harmed by reading /proc.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::matrix::athlon::{self, HOGS, NO_LOAD};
use jitterlab_analysis::matrix::{
    Matrix, Observation, Plan, Quantity, condition_effect, exceptions, placements, propose, same_cpu,
};
use jitterlab_bench::host::facts::{self, Root};
use jitterlab_bench::host::load;
use jitterlab_model::{CpuSet, Policy, SystemFacts, TaskSpec};
use jitterlab_report::figure;
use jitterlab_report::machine::machine_line;
use jitterlab_report::matrix::{svg, tables};
use jitterlab_report::summary::wrap;

use super::nist_loads;
use crate::commands::matrix::OVERHEAD_NS;
use crate::exit::{Failure, Outcome, Status};
use crate::matrix::{Index, Setting, measure_cells};
use crate::{interrupt, output};

/// The condition of the report's note: somebody looks at the kernel's figures while the threads run.
const READING: &str = "proc";
/// The report made one; a spread needs more.
const REPETITIONS: u32 = 3;
/// As many pairs as the report's machine had.
const PAIRS: usize = 16;
/// What LinuxCNC's latency test calls max jitter.
const JITTER: [(&str, Quantity); 1] = [("largest period error (max jitter)", Quantity::Jitter)];

/// Measures what is missing, and prints today's tables beside the report's.
pub fn reproduce(directory: &Path, duration_ns: i64) -> Outcome {
    let facts = facts::read(&Root::system());
    let mut index = match Index::read(directory)? {
        Some(index) => index,
        None => plan(&facts, duration_ns)?,
    };
    let interrupted = interrupt::requested().context("cannot listen for Ctrl-C")?;
    measure_cells(&mut index, directory, OVERHEAD_NS, &interrupted)?;
    let today = index.matrix();
    let drawing = svg(&today, &index.caption())?;
    output::write_file(&directory.join("matrix.svg"), drawing.as_bytes())?;
    output::write_file(&directory.join("matrix.png"), &figure::png(&drawing)?)?;
    output::print(&text(&today, &facts))?;
    if index.left() > 0 {
        output::note(&format!("{} cells are left: call it again to go on", index.left()));
        return Ok(Status::Fine);
    }
    nist_loads::reproduce(directory, "nist-figure-3", duration_ns)
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

fn text(today: &Matrix, facts: &SystemFacts) -> String {
    let colours = output::is_terminal();
    let report = athlon::matrix();
    let mut text = wrap(&format!(
        "This machine, {}: largest of {REPETITIONS} repetitions; the report's CPUs 2 and 3 were isolated, here {}.",
        machine_line(facts),
        match &facts.isolation.isolated {
            Some(isolated) if !isolated.is_empty() => format!("CPU {isolated} is"),
            _ => "none is".into(),
        }
    ));
    text.push_str(&tables(today, &JITTER, colours));
    text.push('\n');
    text.push_str(&wrap("The report: Athlon II X4 640, 3 GHz, Linux 3.2.21 with Xenomai, one measurement of two minutes for each cell."));
    text.push_str(&tables(&report, &JITTER, colours));
    text.push_str("\nThe report's observations, tested on its numbers and on today's\n");
    let asked = [
        (
            "on one CPU",
            same_cpu(&report, NO_LOAD, Quantity::Jitter),
            same_cpu(today, NO_LOAD, Quantity::Jitter),
        ),
        (
            "on one CPU, hogs",
            same_cpu(&report, HOGS, Quantity::Jitter),
            same_cpu(today, HOGS, Quantity::Jitter),
        ),
        ("hogs", hogs_help(&report), hogs_help(today)),
        ("reading /proc", None, reading_harms(today)),
    ];
    for (_, then, now) in asked {
        if let Some(observation) = &then {
            text.push_str(&wrap(&format!("report: {}.", observation.sentence)));
        }
        match &now {
            Some(observation) => text.push_str(&wrap(&format!("today: {}.", observation.sentence))),
            None => text.push_str(&wrap("today: cannot tell: nothing was measured.")),
        }
    }
    text.push_str(&wrap(
        "The report says of reading /proc/xenomai/stat that the base thread's jitter \"typically jumps to\" 250 to 350 us, from below 10; it gives no table.",
    ));
    text.push_str(&standing_out("report", &report));
    text.push_str(&standing_out("today", today));
    text
}

fn hogs_help(matrix: &Matrix) -> Option<Observation> {
    condition_effect(matrix, "Do CPU hogs help?", (NO_LOAD, HOGS), &[0, 1], Quantity::Jitter, true)
}

fn reading_harms(matrix: &Matrix) -> Option<Observation> {
    let question = "Does reading /proc during the run harm the base thread?";
    condition_effect(matrix, question, (NO_LOAD, READING), &[1], Quantity::Jitter, false)
}

/// Which CPUs are an exception to "best on one CPU", as CPU 0 was in the report.
fn standing_out(whose: &str, matrix: &Matrix) -> String {
    if matrix.cpus_of(0).len() < 3 {
        return wrap(&format!(
            "{whose}: with fewer than three CPUs no CPU can be an exception among the same-CPU cells."
        ));
    }
    let found: Vec<String> = exceptions(matrix, NO_LOAD, Quantity::Jitter)
        .iter()
        .map(|(cpu, factor)| format!("CPU {cpu} is {factor:.1} times as bad as the others"))
        .collect();
    let found = if found.is_empty() { "none stands out".into() } else { found.join(", ") };
    wrap(&format!("{whose}: among the same-CPU cells without load, {found}."))
}
