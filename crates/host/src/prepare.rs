//! Preparation before the first activation: processors, policies, and whether the tasks can run at all.

use std::fs;
use std::time::SystemTime;

use jitterlab_model::units::{Exact, Human};
use jitterlab_model::warning::{CpuPlacement, Mover};
use jitterlab_model::{Bench, CpuSet, Error, Policy, RunInfo, SystemFacts, TaskRun, TaskSpec, Warning, Work};
use jitterlab_rt::sys::sched;
use jitterlab_rt::xenomai::{self, Core};
use jitterlab_rt::{Linux, System, Workload, spare_processor};

use super::cpu_choice;

/// The priority of a task that asks for no policy: above the kernel's threaded interrupt handlers (50), below
/// the kernel's own migration and watchdog threads (99). Of several such tasks the one with the longer period
/// gets less (rate-monotonic order), but never as little as the handlers.
pub(super) const DEFAULT_PRIORITY: u8 = 80;
const LEAST_PRIORITY: u8 = 51;

/// Tasks with nothing left open.
pub(super) struct Prepared {
    pub tasks: Vec<TaskSpec>,
    /// The processors that tasks run on.
    pub measured: CpuSet,
    /// The processors for everything that is not measured.
    pub housekeeping: CpuSet,
    pub placement: CpuPlacement,
    pub warnings: Vec<Warning>,
}

/// Checks the tasks, and chooses their open settings. `taken` are CPUs that other jitterlabs keep free, with
/// their processes.
pub(super) fn prepare_tasks(
    facts: &SystemFacts,
    mut tasks: Vec<TaskSpec>,
    isolate: Option<&CpuSet>,
    taken: &[(u32, CpuSet)],
) -> Result<Prepared, Error> {
    if tasks.is_empty() {
        return Err(
            Error::bad_use("there is no task to measure").remedy("describe one with --task period=1ms")
        );
    }
    let asked: CpuSet = tasks.iter().filter_map(|task| task.cpu).collect();
    let asked = isolate.map_or(asked.clone(), |cpus| asked.or(cpus));
    if let Some((process, cpus)) = taken.iter().find(|(_, cpus)| cpus.overlaps(&asked)) {
        return Err(Error::refused(format!(
            "another jitterlab (process {}) keeps CPU {cpus} free for its own tasks right \
             now",
            *process
        ))
        .remedy("wait for its end, or choose other CPUs"));
    }
    let mut facts = facts.clone();
    let free = taken.iter().fold(facts.usable_cpus(), |free, (_, cpus)| free.without(cpus));
    if !taken.is_empty() && !free.is_empty() {
        facts.process.allowed_cpus = Some(free);
    }
    let facts = &facts;
    for (i, task) in tasks.iter().enumerate() {
        if tasks[..i].iter().any(|other| other.name == task.name) {
            return Err(Error::bad_use(format!("two tasks have the name {:?}", task.name))
                .remedy("give each its own with name="));
        }
        if let Some(cpu) = task.cpu {
            cpu_choice::check_cpu(facts, cpu)?;
        }
        check_fits_period(task)?;
    }
    for cpu in isolate.into_iter().flat_map(CpuSet::iter) {
        cpu_choice::check_cpu(facts, cpu)?;
    }
    let choice = match isolate {
        // CPUs that the run will isolate count as isolated.
        Some(cpus) => {
            let mut facts = facts.clone();
            facts.process.allowed_cpus = Some(facts.usable_cpus());
            facts.isolation.isolated = Some(facts.isolation.isolated.unwrap_or_default().or(cpus));
            cpu_choice::choose_cpus(&facts, &tasks)
        }
        None => cpu_choice::choose_cpus(facts, &tasks),
    };
    let mut periods: Vec<i64> = tasks.iter().filter(|t| t.policy.is_none()).map(|t| t.period_ns).collect();
    periods.sort_unstable();
    periods.dedup();
    for (task, cpu) in tasks.iter_mut().zip(&choice.cpus) {
        let shorter = periods.partition_point(|period| *period < task.period_ns);
        let shorter = u8::try_from(shorter).unwrap_or(u8::MAX);
        task.policy.get_or_insert(Policy::Fifo(DEFAULT_PRIORITY.saturating_sub(shorter).max(LEAST_PRIORITY)));
        // The kernel binds a deadline task to no processor but by an exclusive cpuset.
        if task.cpu.is_none() && !matches!(task.policy, Some(Policy::Deadline { .. })) {
            task.cpu = Some(*cpu);
        }
    }
    let allowed: Vec<u16> = facts.usable_cpus().iter().collect();
    spare_processor::check(&tasks, &allowed)?;
    let mut warnings = Vec::new();
    if !choice.measured_cpus().and(&choice.housekeeping).is_empty() {
        warnings.push(Warning::SharedCpu { cpus: choice.housekeeping.clone() });
    }
    Ok(Prepared {
        tasks,
        measured: choice.measured_cpus(),
        placement: choice.to_placement(),
        housekeeping: choice.housekeeping,
        warnings,
    })
}

fn check_fits_period(task: &TaskSpec) -> Result<(), Error> {
    if let Some(Policy::Deadline { runtime_ns }) = task.policy
        && runtime_ns > task.period_ns
    {
        return Err(Error::bad_use(format!(
            "task {}: a runtime of {} exceeds the period of {}",
            task.name,
            Exact(runtime_ns),
            Exact(task.period_ns)
        ))
        .remedy("choose policy=deadline:TIME with a TIME below the period"));
    }
    let takes_ns = shortest_run_ns(task.work);
    if takes_ns >= task.period_ns {
        return Err(Error::bad_use(format!(
            "task {}: {} takes {} here, its period is {}",
            task.name,
            task.work,
            Human(takes_ns as f64),
            Exact(task.period_ns)
        ))
        .remedy("lengthen the period or shorten the work"));
    }
    Ok(())
}

/// Shortest of five runs of the work, in ns; long work is run in part.
fn shortest_run_ns(work: Work) -> i64 {
    const TRIED: u32 = 10_000;
    let (tried, times) = match work {
        Work::None => return 0,
        Work::Spin { time_ns } => return time_ns,
        Work::Twente { divisions } if divisions > TRIED => {
            (Work::Twente { divisions: TRIED }, f64::from(divisions) / f64::from(TRIED))
        }
        Work::Twente { .. } => (work, 1.0),
    };
    let mut workload = Workload::new(tried);
    let once = |workload: &mut Workload| {
        let start = Linux.now_ns();
        workload.run(&Linux, start);
        Linux.now_ns() - start
    };
    let shortest = (0..5).map(|_| once(&mut workload)).min().unwrap_or(0);
    (shortest as f64 * times) as i64
}

/// Prepares the Xenomai cores that tasks ask for. It may restart this process, so nothing is held yet.
pub(super) fn prepare_cores(tasks: &[TaskSpec]) -> Result<(), Error> {
    tasks.iter().filter_map(|task| Core::for_wake(task.wake)).try_for_each(xenomai::prepare)
}

/// Warning about a task that left the core's real-time mode; `None` if it did not.
pub(super) fn core_warning(task: &TaskRun) -> Option<Warning> {
    let core = task.result.as_ref()?.core.as_ref().filter(|core| core.outside > 0)?;
    Some(Warning::OutsideCore {
        task: task.spec.name.clone(),
        core: core.core.clone(),
        activations: core.outside,
        mode_switches: core.mode_switches,
        last_cause: core.last_cause.clone(),
    })
}

/// Warning if activations of a task that is bound to one processor ran on others. `taken` are CPUs that other
/// jitterlabs keep free, with their processes.
pub(super) fn left_cpu_warning(
    task: &TaskRun,
    elsewhere: u64,
    after: &SystemFacts,
    taken: &[(u32, CpuSet)],
) -> Option<Warning> {
    let cpu = bound_cpu(task).filter(|_| elsewhere > 0)?;
    let only = [cpu].into_iter().collect();
    let usable = after.cpus.iter().any(|there| there.id == cpu)
        && after.process.cpuset_cpus.as_ref().is_none_or(|cpus| cpus.overlaps(&only));
    let cause = match taken.iter().find(|(_, cpus)| cpus.overlaps(&only)) {
        Some((process, _)) => Mover::Isolation { process: *process },
        None if usable => Mover::Program,
        None => Mover::CpuGone,
    };
    Some(Warning::LeftCpu { task: task.spec.name.clone(), cpu, activations: elsewhere, cause })
}

/// The processor that a task's thread was given, if it is one only.
pub(super) fn bound_cpu(task: &TaskRun) -> Option<u16> {
    match task.granted.as_ref()?.cpus[..] {
        [cpu] => Some(cpu),
        _ => None,
    }
}

/// The calling thread, and those it makes, on other processors; back where it was when this is dropped.
pub(super) struct MovedThread {
    before: Option<Vec<u16>>,
}

impl MovedThread {
    /// Moves the calling thread to these processors. A failure has been reported by their choice already.
    pub(super) fn to(cpus: &CpuSet) -> MovedThread {
        let before = sched::cpus().ok();
        let cpus: Vec<u16> = cpus.iter().collect();
        let _ = sched::set_cpus(&cpus);
        MovedThread { before }
    }
}

impl Drop for MovedThread {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched::set_cpus(before);
        }
    }
}

/// The description of a run that begins now on this machine, by this command.
pub(super) fn new_run_info(command: Vec<String>) -> RunInfo {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    RunInfo {
        tool: concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into(),
        command,
        started: now_utc(),
        host: Some(host).filter(|host| !host.is_empty()),
        epoch_offset_ns: Some(since_epoch.as_nanos() as i64 - Linux.now_ns()),
        ..RunInfo::new(Bench::Host, "monotonic", [])
    }
}

/// Now, in UTC, as RFC 3339.
pub fn now_utc() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
