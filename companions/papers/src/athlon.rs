//! The Athlon report: a servo and a base thread on every pair of CPUs, idle, with CPU hogs, and while a
//! program reads the kernel's figures; and on four emulated processors.

use std::path::Path;

use crate::claims::athlon::{AthlonReproduction, HOGS, NO_LOAD, READING};
use crate::error::in_the_way;
use crate::words::{Found, Step};
use jitterlab_analysis::matrix::{CellSetting, MatrixIndex, Proposal, propose};
use jitterlab_host::facts::{self, Root};
use jitterlab_host::load::parse_loads;
use jitterlab_host::matrix as cells;
use jitterlab_host::{Experiment, Progress};
use jitterlab_kernel::job::Step as JobStep;
use jitterlab_kernel::machine::TURN_NS;
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{GuestTime, Machine};
use jitterlab_model::units::Exact;
use jitterlab_model::{CpuSet, Error, LoadRun, LoadSpec, Policy, SystemFacts, TaskSpec, WakeMethod};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::Parts;

use crate::Workplace;
use crate::systems::{self, Kernels, System};

/// The measured cells in the output of `matrix --json`.
#[derive(serde::Deserialize)]
struct MatrixPrinted {
    result: MatrixMeasured,
}

#[derive(serde::Deserialize)]
struct MatrixMeasured {
    index: MatrixIndex,
}

/// The report made one; a spread needs more.
const REPETITIONS: u32 = 3;
/// As many pairs as the report's machine had.
const PAIRS: usize = 16;

/// Measures the missing ones of the report's cells.
pub fn reproduce(at: &mut Workplace<'_>) -> Result<Found, Error> {
    let guest = at.run_file(GUEST);
    if guest.exists() {
        // Cells of emulated processors, which are no part of this machine's.
        return Err(in_the_way(&guest));
    }
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
    let mut progress = |now: &Progress| {
        if now.begins {
            tell(&Step::Trial(now.clone()));
        }
    };
    let mut experiment = Experiment::new(Parts::nowhere(), &mut progress, at.interrupted);
    cells::measure_cells(&mut index, at.directory, &mut experiment)?;
    let (tasks, duration_ns) = (index.tasks.clone(), index.duration_ns);
    let hog = hog_alone(at, &machine)?;
    let found =
        AthlonReproduction::new(machine, tasks, duration_ns, REPETITIONS, index.left(), index.matrix());
    Ok(Found::Athlon(Box::new(AthlonReproduction { hog, ..found })))
}

/// The report's hog on a CPU, as it is.
fn hog(cpu: u16) -> Result<Vec<LoadSpec>, Error> {
    parse_loads(&format!("exec:while true; do echo \"nothing\" > /dev/null; done@{cpu}"))
}

/// The load of the report's hog, beside a task elsewhere.
fn hog_alone(at: &mut Workplace<'_>, machine: &SystemFacts) -> Result<Option<LoadRun>, Error> {
    let mut usable = machine.usable().iter().collect::<Vec<_>>().into_iter();
    let (Some(hogged), Some(other)) = (usable.next(), usable.next()) else { return Ok(None) };
    let task =
        TaskSpec { name: "servo".into(), period_ns: 1_000_000, cpu: Some(other), ..TaskSpec::default() };
    let loads = hog(hogged)?;
    let words: Vec<String> = loads.iter().map(ToString::to_string).collect();
    let file = at.measure("hog", task, &words.join(" "))?;
    Ok(Run::open(&file, &Hints::default())?.info().loads.first().cloned())
}

/// The report's threads on a machine's CPUs, each cell for `duration_ns`, and the choice of these CPUs.
fn plan(facts: &SystemFacts, duration_ns: i64) -> Result<(MatrixIndex, Proposal), Error> {
    let usable = facts.usable();
    if usable.len() < 2 {
        return Err(Error::bad_use(
            "this machine has one CPU: there are no pairs to compare. `jitterlab run` \
             measures it",
        ));
    }
    let proposal = propose(facts, &usable, 2, PAIRS);
    // CPUs of the report's hogs: two of those that the system may use.
    let open = Some(usable.without(&facts.isolation.isolated.clone().unwrap_or_default()))
        .filter(|open| !open.is_empty())
        .unwrap_or(usable);
    let hogs: CpuSet = open.iter().take(2).collect();
    let setting = |name: &str, loads: &str| -> Result<CellSetting, Error> {
        Ok(CellSetting { name: name.into(), loads: parse_loads(loads)?, isolate: None })
    };
    let hogs: Result<Vec<_>, Error> = hogs.iter().map(hog).collect();
    let hogs = CellSetting { name: HOGS.into(), loads: hogs?.into_iter().flatten().collect(), isolate: None };
    // The report's threads ran under Xenomai.
    let wake =
        System::like_xenomai(System::all_on(facts)).map_or(WakeMethod::Nanosleep, |system| system.wake);
    let settings = vec![setting(NO_LOAD, "none")?, hogs, setting(READING, &format!("proc@{open}"))?];
    Ok((
        MatrixIndex::new(tasks(wake).into(), settings, &proposal.cpus, REPETITIONS, duration_ns, 2012),
        proposal,
    ))
}

/// The report's threads, which wait so.
fn tasks(wake: WakeMethod) -> [TaskSpec; 2] {
    let task = |name: &str, period_ns: i64, priority: u8| TaskSpec {
        name: name.into(),
        period_ns,
        policy: Some(Policy::Fifo(priority)),
        wake,
        ..TaskSpec::default()
    };
    [task("servo", 1_000_000, 90), task("base", 25_000, 95)]
}

/// Length of a cell on emulated processors where no other is asked for: 4 000 activations of the base thread.
pub const VIRTUAL_CELL_NS: i64 = 100_000_000;
/// The report's processors and the isolated ones among them.
const CPUS: (u16, &str) = (4, "isolcpus=2,3");
/// The steps of the boot: all cells, and a run whose file describes the guest.
const CELLS: &str = "cells";
const GUEST: &str = "guest";

/// The report's 32 cells, three times, on four emulated processors of a kernel with Xenomai where one is given, else with
/// PREEMPT_RT, in one boot.
pub fn virtual_time(at: &mut Workplace<'_>, kernels: &Kernels) -> Result<Found, Error> {
    at.make()?;
    let file = at.run_file(GUEST);
    let index = match cells::read(at.directory)? {
        Some(index) if file.exists() => {
            (at.tell)(&Step::Kept(at.directory.into()));
            index
        }
        // Cells of this machine, which took their time.
        Some(_) => {
            return Err(in_the_way(at.directory));
        }
        None => emulated(at, kernels, &file)?,
    };
    let info = Run::open(&file, &Hints::default())?.info().clone();
    let (tasks, duration_ns) = (index.tasks.clone(), index.duration_ns);
    let machine = info.facts_before.unwrap_or_default();
    let found =
        AthlonReproduction::new(machine, tasks, duration_ns, REPETITIONS, index.left(), index.matrix());
    Ok(Found::Athlon(Box::new(found.in_turns(TURN_NS))))
}

fn emulated(at: &mut Workplace<'_>, kernels: &Kernels, file: &Path) -> Result<MatrixIndex, Error> {
    let (cpus, isolated) = CPUS;
    let duration = Exact(at.duration_ns).to_string();
    let mut cells: Vec<String> =
        ["jitterlab", "matrix", "--json", "--output", "/tmp/cells"].map(String::from).into();
    let rounds = REPETITIONS.to_string();
    cells.extend(["--rounds", &rounds, "--budget", "24h", "--duration", &duration].map(String::from));
    let system =
        System::like_xenomai(kernels.systems()).ok_or_else(|| Error::defect("no real-time system"))?;
    // /proc/xenomai/stat is there under Cobalt alone.
    let reading = (system.wake == WakeMethod::Cobalt).then_some(READING);
    let loads = [NO_LOAD, HOGS].into_iter().chain(reading);
    cells.extend(loads.flat_map(|load| ["--load".into(), String::from(load)]));
    let tasks = tasks(system.wake);
    cells.extend(tasks.iter().flat_map(|task| ["--task".into(), task.to_string()]));
    cells.extend(["--cpus".into(), CpuSet::from_iter(0..cpus).to_string()]);
    let guest = ["--period", "1ms", "--count", "1"].map(String::from);
    let machine = Machine { cpus, parameters: vec![isolated.into()], ..Machine::default() };
    let steps = vec![run_step(GUEST, &guest), JobStep { name: CELLS.into(), command: cells }];
    let mut session = systems::session(machine, steps, at.with)?;
    session.bring_cores(&tasks);
    let kernel = system.kernel.as_ref().unwrap_or(&kernels.preempt_rt);
    (at.tell)(&Step::Booting { system: system.name.into(), kernel: kernel.to_string() });
    let tell = &mut at.tell;
    let measured = session.on(kernel, &mut |text| tell(&Step::Preparing(text.into())), &mut |_| ())?;
    let said = measured.output(CELLS)?;
    let printed: MatrixPrinted = serde_json::from_slice(said.as_bytes()).map_err(|_| {
        Error::defect(format!(
            "the guest did not send the cells it measured but {:?}",
            said.lines().next().unwrap_or_default()
        ))
    })?;
    let index = printed.result.index;
    cells::write(&index, at.directory)?;
    let guest = measured.run_file(GUEST)?;
    jitterlab_trace::redescribe(guest.path(), file, |info| {
        measured.describe(info, GuestTime::default(), std::env::args());
    })?;
    Ok(index)
}
