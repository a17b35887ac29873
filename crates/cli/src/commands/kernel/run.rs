//! `jitterlab kernel run`: the same measurement on each of several kernels.

use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_analysis::kernels::{AlsoRun, KernelRuns, RunOnKernel};
use jitterlab_bench::kernel::job::Step;
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{KernelChoice, Measured};
use jitterlab_report::document::Content;

use super::boots::{RUN_STEP, boot_all, check_run_options, timing, timing_and_file};
use super::machine::MachineArgs;
use crate::exit::{Failure, Outcome, Status};
use crate::output::OutputArgs;

/// Run the same tasks and loads on kernel images, and compare
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, or debian:rt, debian:generic, debian:cloud; several are compared
    #[arg(long = "kernel", required = true, value_name = "KERNEL")]
    kernels: Vec<KernelChoice>,
    #[command(flatten)]
    machine: MachineArgs,
    /// A further command to run in each guest after the measurement; its output is shown
    #[arg(long, value_name = "COMMAND")]
    also: Vec<String>,
    /// How many kernels run at once [default: as many as there are processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    jobs: Option<u16>,
    /// The directory for the run files, which get the kernels' names
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    output: PathBuf,
    /// Write no run files
    #[arg(long)]
    no_file: bool,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    shown: OutputArgs,
    /// The options of `jitterlab run`, after --
    #[arg(last = true, value_name = "RUN-OPTIONS")]
    run_options: Vec<String>,
}

/// Measures on each kernel and compares.
pub fn execute(args: &Args) -> Outcome {
    let run = check_run_options(&args.run_options)?;
    let mut steps = vec![run_step(RUN_STEP, &args.run_options)];
    for (number, command) in args.also.iter().enumerate() {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let command =
            words.ok_or_else(|| Failure::bad_use(anyhow!("--also {command:?} is no command line")))?;
        steps.push(Step { name: also_step(number), command });
    }
    let session = args.machine.session(steps, Some(&run))?;
    let mut kernels = Vec::new();
    let mut failures = Vec::new();
    for (kernel, answer) in args.kernels.iter().zip(boot_all(&session, &args.kernels, args.jobs, args.quiet))
    {
        match answer.and_then(|measured| on_kernel(args, kernel, &measured)) {
            Ok(on_kernel) => kernels.push(on_kernel),
            Err(error) => failures.push(format!("{kernel}: {error:#}")),
        }
    }
    if !kernels.is_empty() {
        let ns_per_instruction = args.machine.time().ns_per_instruction();
        args.shown.show(Content::KernelRun(KernelRuns { ns_per_instruction, kernels }))?;
    }
    match failures.is_empty() {
        true => Ok(Status::Fine),
        false => Err(anyhow!(failures.join("\n")).into()),
    }
}

fn on_kernel(args: &Args, kernel: &KernelChoice, measured: &Measured) -> anyhow::Result<RunOnKernel> {
    let time = args.machine.time();
    let timing = match args.no_file {
        true => timing(measured, RUN_STEP, time)?,
        false => timing_and_file(measured, RUN_STEP, time, &args.output, &kernel.to_string())?,
    };
    let also = args.also.iter().enumerate().filter_map(|(number, command)| {
        let result = measured.boot.answer.steps.get(&also_step(number))?.clone();
        Some(AlsoRun { command: command.clone(), result })
    });
    Ok(RunOnKernel {
        kernel: measured.image.name.clone(),
        release: measured.image.release.clone(),
        version: measured.image.version.clone(),
        timing,
        also: also.collect(),
    })
}

/// What the step of a further command is called.
fn also_step(number: usize) -> String {
    format!("also-{}", number + 1)
}
