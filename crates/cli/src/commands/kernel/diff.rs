//! `jitterlab kernel diff`: which code paths a change of the kernel added, moved or removed.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use jitterlab_analysis::code_paths::{Change, changes, code_paths};
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{GuestTime, KernelChoice};
use jitterlab_model::units::parse_duration_ns;
use jitterlab_report::kernels::{PathsOfTask, difference};
use jitterlab_trace::{Columns, RunReader};
use serde::Serialize;

use super::boots::{RUN_STEP, boot_all, check_run_options};
use super::machine::MachineArgs;
use jitterlab_report::warnings::emulated;

use crate::exit::{Failure, Outcome, Status};
use crate::output;

/// Tell which code paths appeared, moved or vanished from one kernel to another
///
/// Activations that take the same way through the kernel have nearly the same latency in virtual time. Exit status 1:
/// a path that 1 % of the activations take in either kernel appeared, vanished, or moved by more than the tolerance.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, debian:rt, debian:generic, debian:cloud, or a run file of `jitterlab kernel run`
    #[arg(value_name = "OLD")]
    old: String,
    /// The kernel or run file to compare with it
    #[arg(value_name = "NEW")]
    new: String,
    /// By how much a path may move
    #[arg(long, default_value = "100ns", value_parser = parse_duration_ns, value_name = "TIME")]
    tolerance: i64,
    #[command(flatten)]
    machine: MachineArgs,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The options of `jitterlab run` for kernels, after --
    #[arg(last = true, value_name = "RUN-OPTIONS")]
    run_options: Vec<String>,
}

/// The latencies of one kernel's tasks.
struct Side {
    tasks: Vec<(String, Vec<i64>)>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    caution: String,
    old: &'a str,
    new: &'a str,
    tolerance_ns: i64,
    differs: bool,
    tasks: Vec<TaskDocument<'a>>,
}

#[derive(Serialize)]
struct TaskDocument<'a> {
    task: &'a str,
    changes: &'a [Change],
}

/// Compares, booting what is not measured yet.
pub fn execute(args: &Args) -> Outcome {
    if args.machine.time() == GuestTime::Real {
        return Err(Failure::bad_use(anyhow!("code paths show in virtual time only: leave --time real out")));
    }
    let run = check_run_options(&args.run_options)?;
    let mut sides: [Option<Side>; 2] = [None, None];
    let mut kernels = Vec::new();
    for (side, name) in sides.iter_mut().zip([&args.old, &args.new]) {
        if is_run_file(Path::new(name)) {
            *side = Some(read(Path::new(name))?);
        } else {
            kernels.push(name.parse::<KernelChoice>().map_err(Failure::bad_use)?);
        }
    }
    let session = args.machine.session(vec![run_step(RUN_STEP, &args.run_options)], Some(&run))?;
    let booted = boot_all(&session, &kernels, None, args.quiet);
    for ((side, kernel), measured) in sides.iter_mut().filter(|side| side.is_none()).zip(&kernels).zip(booted)
    {
        let latencies = measured.and_then(|measured| latencies(measured.run_file(RUN_STEP)?.path()));
        *side = Some(latencies.with_context(|| kernel.to_string())?);
    }
    let [Some(old), Some(new)] = sides else { return Err(anyhow!("a kernel was not measured").into()) };
    compare(args, old, new)
}

fn compare(args: &Args, old: Side, new: Side) -> Outcome {
    let tasks = old.tasks.into_iter().zip(new.tasks).map(|((name, mut old), (other, mut new))| {
        if name != other {
            return Err(anyhow!(
                "the runs have different tasks, {name} and {other}: measure the same on both"
            ));
        }
        let largest = |latencies: &[i64]| latencies.iter().max().copied();
        Ok(PathsOfTask {
            old_max_ns: largest(&old),
            new_max_ns: largest(&new),
            changes: changes(&code_paths(&mut old), &code_paths(&mut new)),
            task: name,
        })
    });
    let tasks = tasks.collect::<Result<Vec<_>>>()?;
    let differs = tasks.iter().flat_map(|task| &task.changes).any(|change| change.matters(args.tolerance));
    let caution = emulated(args.machine.time().ns_per_instruction());
    if args.json {
        let tasks = tasks.iter().map(|t| TaskDocument { task: &t.task, changes: &t.changes }).collect();
        let (old, new, tolerance_ns) = (args.old.as_str(), args.new.as_str(), args.tolerance);
        let document = Document { schema: 1, caution, old, new, tolerance_ns, differs, tasks };
        output::print(&(serde_json::to_string_pretty(&document)? + "\n"))?;
    } else {
        output::print(&difference(&caution, &args.old, &args.new, args.tolerance, &tasks))?;
    }
    Ok(if differs { Status::RequirementFailed } else { Status::Fine })
}

/// Whether it begins as Parquet files do.
fn is_run_file(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && &magic == b"PAR1"
}

/// The latencies of a run file that was measured in virtual time.
fn read(path: &Path) -> Result<Side, Failure> {
    let reader = RunReader::open(path)?;
    let info = reader.info();
    if info.bench != jitterlab_model::Bench::Kernel || !info.clock.contains("icount") {
        return Err(Failure::bad_use(anyhow!(
            "{} was not measured in virtual time: give a run file of `jitterlab kernel run`, or a kernel",
            path.display()
        )));
    }
    Ok(latencies(path)?)
}

fn latencies(path: &Path) -> Result<Side> {
    let reader = RunReader::open(path)?;
    if reader.has_slices() {
        return Err(anyhow!("{} keeps spikes only: measure with --keep all", path.display()));
    }
    let tasks = reader.info().tasks.iter().map(|task| (task.spec.name.clone(), Vec::new()));
    let mut tasks: Vec<(String, Vec<i64>)> = tasks.collect();
    reader.for_each_batch(Columns::TIMING, |task, rows| {
        if let Some((_, latencies)) = tasks.get_mut(task) {
            latencies.extend(rows.iter().map(|row| row.latency_ns()));
        }
    })?;
    Ok(Side { tasks })
}
