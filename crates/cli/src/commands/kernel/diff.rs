//! `jitterlab kernel diff`: which code paths a change of the kernel added, moved or removed.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use jitterlab_analysis::kernels::{KernelDiff, PathsOfTask};
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{GuestTime, KernelChoice};
use jitterlab_model::units::parse_duration_ns;
use jitterlab_report::document::Content;
use jitterlab_trace::{Columns, RunReader};

use super::boots::{RUN_STEP, boot_all, check_run_options};
use super::machine::MachineArgs;
use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::output::OutputArgs;

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
    #[command(flatten)]
    output: OutputArgs,
    /// The options of `jitterlab run` for kernels, after --
    #[arg(last = true, value_name = "RUN-OPTIONS")]
    run_options: Vec<String>,
}

/// The latencies of one kernel's tasks.
struct Side {
    tasks: Vec<(String, Vec<i64>)>,
}

/// Compares, booting what is not measured yet.
pub fn execute(args: &Args) -> Ending {
    if args.machine.time() == GuestTime::Real {
        return Err(Failure::bad_use(CliError::PathsInRealTime));
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

fn compare(args: &Args, old: Side, new: Side) -> Ending {
    let tasks = old.tasks.into_iter().zip(new.tasks).map(|((name, old), (other, new))| match name == other {
        true => Ok(PathsOfTask::of(name, old, new)),
        false => Err(CliError::DifferentTasks(name.clone(), other.clone()).into()),
    });
    let tasks = tasks.collect::<Result<Vec<_>>>()?;
    let differs = tasks.iter().any(|task| task.different(args.tolerance) > 0);
    args.output.show(Content::KernelDiff(KernelDiff {
        old: args.old.clone(),
        new: args.new.clone(),
        ns_per_instruction: args.machine.time().ns_per_instruction(),
        tolerance_ns: args.tolerance,
        differs,
        tasks,
    }))?;
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
        return Err(Failure::bad_use(CliError::NotVirtual(path.to_path_buf())));
    }
    Ok(latencies(path)?)
}

fn latencies(path: &Path) -> Result<Side> {
    let reader = RunReader::open(path)?;
    if reader.has_slices() {
        return Err(CliError::SpikesOnly(path.to_path_buf()).into());
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
