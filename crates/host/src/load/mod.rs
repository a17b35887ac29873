//! Loads: work that runs next to the tasks on purpose.
//!
//! Every worker is a process of its own, so that its page faults and its memory map are not the measured
//! process's. It is this program again, started with [`WORKER`] as its first argument. It ends when it is
//! asked to, when it fails, and when its parent is gone for whatever reason.
use std::time::{Duration, Instant};

use jitterlab_model::load::{Load, LoadRun, LoadSpec, LoadUnit, Placement};
use jitterlab_model::{CpuSet, Error, SystemFacts, Warning};

use self::error::{MOST_WORKERS, not_started_error, worker_count_error};
use self::process::WorkerProcess;
use super::cpu_choice;

mod cache;
mod command;
mod cpu;
mod disk;
mod error;
mod fork;
mod hog;
mod interrupts;
mod irq;
mod mem;
mod net;
mod preset;
mod proc;
mod process;
mod worker;

pub use preset::{PRESETS, Preset, parse_loads};
pub use worker::{WORKER, run_if_worker};

/// All kinds of load. A new one is a file in this folder and a line here.
const KINDS: &[Kind] = &[
    cpu::KIND,
    hog::KIND,
    mem::KIND,
    cache::KIND,
    disk::KIND,
    net::KIND,
    irq::KIND,
    fork::KIND,
    proc::KIND,
    command::STRESS_NG,
    command::EXEC,
];

/// A kind of load.
pub(super) struct Kind {
    /// Name in `--load`.
    name: &'static str,
    /// Usage in `--load`.
    usage: &'static str,
    /// Unit of its work.
    unit: Option<LoadUnit>,
    /// Number of workers that its arguments ask for, and the argument of each worker.
    share: fn(&str, &LoadSite<'_>) -> Result<WorkShare, Error>,
    /// Prepares a worker; `arguments` is [`WorkShare::arguments`].
    begin: fn(arguments: &str) -> std::io::Result<Box<dyn Work>>,
}

/// CPUs that a load will run on, and the machine's facts.
pub(super) struct LoadSite<'a> {
    cpus: &'a CpuSet,
    facts: &'a SystemFacts,
}

/// The work of a load, divided.
pub(super) struct WorkShare {
    workers: u32,
    /// Arguments of each worker.
    arguments: String,
}

/// Work of a worker until it is stopped.
pub(super) trait Work {
    /// Works for a few milliseconds, and returns the amount in the kind's unit.
    fn step(&mut self) -> std::io::Result<u64>;
}

/// Parses a number of workers; empty text gives the default.
fn parse_worker_count(text: &str, default: u32) -> Result<u32, Error> {
    match text.trim() {
        "" => Ok(default),
        n => match n.parse() {
            Ok(n @ 1..=MOST_WORKERS) => Ok(n),
            _ => Err(worker_count_error(n)),
        },
    }
}

/// One worker for each CPU, or as many as the argument says.
fn share_per_cpu(arguments: &str, site: &LoadSite<'_>) -> Result<WorkShare, Error> {
    let workers = parse_worker_count(arguments, u32::try_from(site.cpus.len()).unwrap_or(1))?;
    Ok(WorkShare { workers, arguments: String::new() })
}

/// One worker, or as many as the argument says.
fn share_of_one(arguments: &str, _: &LoadSite<'_>) -> Result<WorkShare, Error> {
    Ok(WorkShare { workers: parse_worker_count(arguments, 1)?, arguments: String::new() })
}

/// Parses a size such as `256M`, `64k` or `1G` into bytes, which must be above zero.
fn parse_size(text: &str) -> Result<u64, Error> {
    let bad = || Error::bad_use(format!("{text:?} is not a size such as 256M or 1G"));
    let (number, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| bad())?;
    number.checked_mul(1 << shift).filter(|n| (1..=1 << 46).contains(n)).ok_or_else(bad)
}

/// Name and usage of every kind of load; the report has the words for each.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.name, kind.usage))
}

/// Usage of every kind, and the name of every preset.
fn usages_and_presets() -> String {
    let presets = PRESETS.iter().map(|preset| preset.name);
    KINDS.iter().map(|kind| kind.usage).chain(presets).collect::<Vec<_>>().join(", ")
}

fn find_kind(spec: &LoadSpec) -> Result<&'static Kind, Error> {
    KINDS.iter().find(|kind| kind.name == spec.kind).ok_or_else(|| {
        Error::bad_use(format!(
            "{:?} is not a load; there are {} (--load help describes them)",
            spec.kind,
            usages_and_presets()
        ))
    })
}

/// First word of the command that a load runs by way of the shell; `None` for other loads. Whether an `exec:`
/// means a program by it, only the shell knows.
pub fn external_program(spec: &LoadSpec) -> Option<&str> {
    match spec.kind.as_str() {
        kind if kind == command::STRESS_NG.name => Some(kind),
        kind if kind == command::EXEC.name => spec.arguments.split_whitespace().next(),
        _ => None,
    }
}

/// Loads with workers that are ready and wait for the beginning, or work.
pub struct Loads {
    loads: Vec<RunningLoad>,
    begun: Option<Instant>,
    /// True unless the kernel is known to only sample the time of interrupts.
    counts_interrupts: bool,
}

struct RunningLoad {
    spec: LoadSpec,
    cpus: CpuSet,
    unit: Option<LoadUnit>,
    start_after: Duration,
    workers: Vec<WorkerProcess>,
    /// Time that its CPUs have spent in interrupts: until it began, once it is stopped since then.
    interrupts_ns: Option<i64>,
    failure: Option<String>,
}

impl Loads {
    pub fn requested_load(&self) -> Load {
        Load::from_specs(self.loads.iter().map(|load| load.spec.clone()))
    }

    /// Starts a process for every worker and waits until each is ready to begin.
    ///
    /// # Errors
    /// Loads that do not exist or cannot run where they should, and workers that do not come up. Workers that did
    /// come up are ended again.
    pub fn prepare(
        specs: &[LoadSpec],
        facts: &SystemFacts,
        measured: &CpuSet,
        housekeeping: &CpuSet,
        duration: Option<Duration>,
    ) -> Result<Self, Error> {
        let mut loads = Vec::new();
        for spec in specs {
            let kind = find_kind(spec)?;
            let cpus = placement_cpus(spec, facts, measured, housekeeping)?;
            let share =
                (kind.share)(&spec.arguments, &LoadSite { cpus: &cpus, facts }).map_err(|problem| {
                    problem.within(format!("load {spec}")).remedy(format!("write {}", kind.usage))
                })?;
            let start_after = match (spec.start_percent, duration) {
                (0, _) => Duration::ZERO,
                (percent, Some(duration)) => duration * u32::from(percent) / 100,
                (_, None) => {
                    return Err(Error::bad_use(format!("load {spec} starts at a share of the run's length"))
                        .remedy("give the run a --duration"));
                }
            };
            let workers = (0..share.workers)
                .map(|_| {
                    WorkerProcess::spawn(kind.name, &share.arguments, &cpus)
                        .map_err(|why| not_started_error(spec, &why))
                })
                .collect::<Result<Vec<_>, _>>()?;
            loads.push(RunningLoad {
                spec: spec.clone(),
                cpus,
                unit: kind.unit,
                start_after,
                workers,
                interrupts_ns: None,
                failure: None,
            });
        }
        for load in &mut loads {
            for worker in &mut load.workers {
                worker.wait_until_ready().map_err(|why| not_started_error(&load.spec, &why))?;
            }
        }
        let option = facts.kernel.options.get("IRQ_TIME_ACCOUNTING");
        let counts_interrupts = option.is_none_or(|value| value == "y");
        Ok(Loads { loads, begun: None, counts_interrupts })
    }

    /// Lets every worker begin, at once or at the time its load starts.
    pub fn start(&mut self) {
        self.begun = Some(Instant::now());
        for load in &mut self.loads {
            // Of a load that starts later, the interrupts before it are none of its own.
            let counted = self.counts_interrupts && load.start_after.is_zero();
            load.interrupts_ns = counted.then(|| interrupts::interrupt_time_ns(&load.cpus)).flatten();
            for worker in &mut load.workers {
                worker.order_start(load.start_after);
            }
        }
    }

    /// Warnings about disk loads in memory, and about loads that run on a measured CPU without a request.
    pub fn placement_warnings(&self, measured: &CpuSet) -> Vec<Warning> {
        let in_memory =
            |load: &&RunningLoad| load.spec.kind == disk::KIND.name && disk::is_in_memory(&load.spec);
        let in_memory = self.loads.iter().filter(in_memory);
        let in_memory = in_memory.map(|load| Warning::LoadInMemory { load: load.spec.to_string() });
        in_memory.chain(self.unrequested_load_warning(measured)).collect()
    }

    fn unrequested_load_warning(&self, measured: &CpuSet) -> Option<Warning> {
        let unasked = |load: &&RunningLoad| {
            load.spec.placement == Placement::Housekeeping && !load.cpus.and(measured).is_empty()
        };
        let loads: Vec<String> =
            self.loads.iter().filter(unasked).map(|load| load.spec.to_string()).collect();
        (!loads.is_empty()).then(|| Warning::LoadOnMeasuredCpu { loads, cpus: measured.clone() })
    }

    /// Returns warnings about the loads that have failed since the last call.
    pub fn take_failures(&mut self) -> Vec<Warning> {
        let mut news = Vec::new();
        for load in self.loads.iter_mut().filter(|load| load.failure.is_none()) {
            let Some(reason) = load.workers.iter_mut().find_map(WorkerProcess::check_failure) else {
                continue;
            };
            let after = self.begun.map_or(Duration::ZERO, |begun| begun.elapsed());
            news.push(Warning::LoadFailed {
                load: load.spec.to_string(),
                after_ns: i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
                reason: reason.clone(),
            });
            load.failure = Some(reason);
        }
        news
    }

    /// Stops every worker and returns the results of each load.
    pub fn stop(&mut self) -> Vec<LoadRun> {
        for load in &mut self.loads {
            let since_start = load.interrupts_ns.zip(interrupts::interrupt_time_ns(&load.cpus));
            load.interrupts_ns = since_start.map(|(before_ns, now_ns)| now_ns - before_ns);
        }
        for worker in self.loads.iter_mut().flat_map(|load| &mut load.workers) {
            worker.order_stop();
        }
        let loads = std::mem::take(&mut self.loads);
        loads.into_iter().map(RunningLoad::finish).collect()
    }
}

impl RunningLoad {
    fn finish(self) -> LoadRun {
        let workers = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        let mut run = LoadRun {
            spec: self.spec,
            cpus: self.cpus,
            workers,
            active_ns: 0,
            cpu_time_ns: 0,
            system_time_ns: Some(0),
            interrupt_time_ns: self.interrupts_ns,
            done: 0,
            unit: self.unit,
            failure: self.failure,
        };
        for worker in self.workers {
            match worker.finish() {
                Ok(report) => {
                    run.active_ns = run.active_ns.max(report.active_ns);
                    run.cpu_time_ns += report.cpu_time_ns;
                    run.system_time_ns = run.system_time_ns.map(|ns| ns + report.system_time_ns);
                    run.done += report.done;
                    run.failure = run.failure.or(report.failure);
                }
                Err(reason) => run.failure = run.failure.or(Some(reason)),
            }
        }
        run
    }
}

fn placement_cpus(
    spec: &LoadSpec,
    facts: &SystemFacts,
    measured: &CpuSet,
    housekeeping: &CpuSet,
) -> Result<CpuSet, Error> {
    match &spec.placement {
        Placement::All => Ok(facts.usable_cpus()),
        Placement::Housekeeping if !housekeeping.without(measured).is_empty() => {
            Ok(housekeeping.without(measured))
        }
        // With a single CPU, a load can only run there.
        Placement::Housekeeping if facts.usable_cpus().len() == 1 => Ok(facts.usable_cpus()),
        Placement::Housekeeping => {
            Err(Error::bad_use(format!("load {spec}: no CPU is left beside the measured {measured}"))
                .remedy(format!("write {spec}@{measured} to let it run there all the same")))
        }
        Placement::Cpus(cpus) => {
            for cpu in cpus.iter() {
                cpu_choice::check_cpu(facts, cpu).map_err(|error| error.within(format!("load {spec}")))?;
            }
            Ok(cpus.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::read;
    use crate::facts::tests::fixture::Machine;

    #[test]
    fn sizes_and_numbers_are_read() {
        assert_eq!(
            (parse_size("256M"), parse_size("4k"), parse_size("1G"), parse_size("7")),
            (Ok(256 << 20), Ok(4096), Ok(1 << 30), Ok(7))
        );
        assert!(
            parse_size("").is_err()
                && parse_size("M").is_err()
                && parse_size("0").is_err()
                && parse_size("9999999999G").is_err()
        );
        assert_eq!((parse_worker_count("", 3), parse_worker_count(" 2", 3)), (Ok(2 + 1), Ok(2)));
        assert!(
            parse_worker_count("0", 1).is_err()
                && parse_worker_count("x", 1).is_err()
                && parse_worker_count("99999", 1).is_err()
        );
    }

    #[test]
    fn loads_share_the_only_cpu_and_say_so() {
        let site = |load: &str, measured: &str| {
            let mut facts = read(&Machine::named("container").root());
            facts.process.allowed_cpus = Some("5".parse().unwrap());
            let spec: LoadSpec = load.parse().unwrap();
            let measured: CpuSet = measured.parse().unwrap();
            let cpus = placement_cpus(&spec, &facts, &measured, &facts.usable_cpus()).unwrap();
            let running = RunningLoad {
                spec,
                cpus,
                unit: None,
                start_after: Duration::ZERO,
                workers: Vec::new(),
                interrupts_ns: None,
                failure: None,
            };
            let loads = Loads { begun: None, counts_interrupts: false, loads: vec![running] };
            (loads.loads[0].cpus.to_string(), loads.unrequested_load_warning(&measured))
        };
        let said = Warning::LoadOnMeasuredCpu { loads: vec!["mem:2".into()], cpus: "5".parse().unwrap() };
        assert_eq!(site("mem:2", "5"), ("5".into(), Some(said)));
        assert_eq!(site("mem:2@5", "5"), ("5".into(), None), "asked for");
    }

    fn error(load: &str, measured: &str, housekeeping: &str) -> String {
        let facts = read(&Machine::named("container").root());
        let specs = [load.parse().unwrap()];
        let (measured, housekeeping) = (measured.parse().unwrap(), housekeeping.parse().unwrap());
        Loads::prepare(&specs, &facts, &measured, &housekeeping, None)
            .err()
            .map_or_else(String::new, |e| e.to_string())
    }

    #[test]
    fn mistakes_are_named_before_anything_starts() {
        assert!(error("gpu:1", "5", "4").contains("cpu[:N]"));
        assert!(error("cpu:many", "5", "4").contains("write cpu[:N]"));
        assert!(error("cpu:1@9", "5", "4").contains("0-7"));
        assert!(error("cpu:1@1", "5", "4").contains("4-5"));
        assert!(error("cpu:1", "5", "5").contains("cpu:1@5"));
        assert!(error("cpu:1+50%", "5", "4").contains("--duration"));
        assert!(error("mem:1,huge", "5", "4").contains("256M"));
        assert!(error("exec", "5", "4").contains("exec:COMMAND"));
    }

    #[test]
    fn every_kind_is_named_once() {
        for kind in KINDS {
            assert!(kind.usage.starts_with(kind.name));
            assert!(jitterlab_report::loads::kind_text(kind.name).is_some(), "{}", kind.name);
            assert_eq!(KINDS.iter().filter(|other| other.name == kind.name).count(), 1);
        }
    }
}
