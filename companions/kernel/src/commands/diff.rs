//! `jitterlab kernel diff`: which code paths a change of the kernel added, moved or removed.

use std::path::Path;

use crate::results::{KernelDiff, PathsOfTask};
use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::measure_args::MeasureArgs;
use jitterlab_console::output::OutputArgs;
use jitterlab_kernel::{GuestTime, KernelChoice};
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Error, RunCauses};
use jitterlab_runs::Run;

use super::guests::{RUN_STEP, boot, run, step};
use super::machine::MachineArgs;

/// Tell which code paths appeared, moved or vanished from one kernel to another
///
/// Activations that take the same way through the kernel have nearly the same latency in virtual time. Exit status 1:
/// a path that 1 % of the activations take in either kernel appeared, vanished, or moved by more than the tolerance.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, debian:rt, debian:generic, debian:cloud, debian:rt-arm64 ..., or a run file of `jitterlab kernel run`
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
    #[command(flatten)]
    measure: MeasureArgs,
}

/// What was measured on a kernel.
struct Side {
    /// The latencies of its tasks.
    latencies: Vec<(String, Vec<i64>)>,
    /// Why they were late, where that was found out.
    causes: Option<RunCauses>,
}

impl Side {
    fn of(run: &Run) -> Result<Self, Error> {
        Ok(Side { latencies: run.latencies()?, causes: run.causes().ok() })
    }
}

/// Compares, booting what is not measured yet.
pub fn execute(args: &Args) -> Ending {
    if args.machine.time() == GuestTime::Real {
        return Err(Error::bad_use("code paths show in virtual time only").remedy("leave --time real out"));
    }
    let step = step(&args.measure)?;
    let mut sides: [Option<Side>; 2] = [None, None];
    let mut kernels = Vec::new();
    for (side, name) in sides.iter_mut().zip([&args.old, &args.new]) {
        if is_run_file(Path::new(name)) {
            let run = run(Path::new(name))?;
            run.check_virtual_time()?;
            *side = Some(Side::of(&run)?);
        } else {
            kernels.push(name.parse::<KernelChoice>()?);
        }
    }
    args.machine.without_turns()?;
    let session = args.machine.session(vec![step], Some(&args.measure))?;
    let booted = boot(&session, &kernels, None, args.quiet, |_, guest| {
        Side::of(&run(guest.run_file(RUN_STEP)?.path())?)
    });
    let missing = sides.iter_mut().filter(|side| side.is_none());
    for ((side, kernel), measured) in missing.zip(&kernels).zip(booted) {
        *side = Some(measured.map_err(|error| error.within(kernel))?);
    }
    let [Some(old), Some(new)] = sides else { return Err(Error::not_measured("a kernel was not measured")) };
    compare(args, old, new)
}

fn compare(args: &Args, old: Side, new: Side) -> Ending {
    let causes = old.causes.zip(new.causes);
    let of_task = |number: usize, paths: PathsOfTask| {
        let (old, new) = causes.as_ref()?;
        let (old, new) = old.tasks.get(number).zip(new.tasks.get(number))?;
        Some(paths.with_causes((args.old.clone(), old), (args.new.clone(), new)))
    };
    let both = old.latencies.into_iter().zip(new.latencies).enumerate();
    let tasks = both.map(|(number, ((name, old), (other, new)))| match name == other {
        true => {
            let paths = PathsOfTask::of(name, old, new);
            Ok(of_task(number, paths.clone()).unwrap_or(paths))
        }
        false => Err(Error::bad_use(format!("the runs have different tasks, {name} and {other}"))
            .remedy("measure the same on both")),
    });
    let tasks = tasks.collect::<Result<Vec<_>, Error>>()?;
    let differs = tasks.iter().any(|task| task.different(args.tolerance) > 0);
    args.output.show(&KernelDiff {
        old: args.old.clone(),
        new: args.new.clone(),
        ns_per_instruction: args.machine.time().ns_per_instruction(),
        tolerance_ns: args.tolerance,
        differs,
        tasks,
    })?;
    Ok(if differs { Status::RequirementFailed } else { Status::Fine })
}

/// Whether it begins as Parquet files do.
fn is_run_file(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && &magic == b"PAR1"
}
