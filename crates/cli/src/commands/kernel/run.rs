//! `jitterlab kernel run`: the same measurement on each of several kernels.

use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_analysis::kernels::{AlsoRan, KernelRun, RunOnKernel};
use jitterlab_bench::kernel::image::Image;
use jitterlab_bench::kernel::job::{Step, StepResult};
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{GuestRun, KernelChoice};
use jitterlab_report::document::Content;

use super::boots::{RUN_STEP, boot_all, check_run_options, figures, figures_and_file};
use super::machine::MachineArgs;
use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
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
    show: OutputArgs,
    /// The options of `jitterlab run`, after --
    #[arg(last = true, value_name = "RUN-OPTIONS")]
    run_options: Vec<String>,
}

/// Measures on each kernel and compares.
pub fn execute(args: &Args) -> Ending {
    let run = check_run_options(&args.run_options)?;
    let mut steps = vec![run_step(RUN_STEP, &args.run_options)];
    for (name, command) in also_steps(&args.also).zip(&args.also) {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let command = words.ok_or_else(|| {
            Failure::bad_use(CliError::NoCommandLine { option: "--also", command: command.clone() })
        })?;
        steps.push(Step { name, command });
    }
    let session = args.machine.session(steps, Some(&run))?;
    let time = args.machine.time();
    let (mut kernels, mut also, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (kernel, answer) in args.kernels.iter().zip(boot_all(&session, &args.kernels, args.jobs, args.quiet))
    {
        let on_kernel = answer.and_then(|guest| {
            also.extend(also_ran(&args.also, kernel, &guest));
            let measured = match args.no_file {
                true => figures(&guest, RUN_STEP, time)?,
                false => figures_and_file(&guest, RUN_STEP, time, &args.output, &kernel.to_string())?,
            };
            let Image { name, release, version, .. } = guest.image;
            Ok(RunOnKernel { kernel: name, release, version, measured })
        });
        match on_kernel {
            Ok(on_kernel) => kernels.push(on_kernel),
            Err(error) => failures.push(format!("{kernel}: {error:#}")),
        }
    }
    if !kernels.is_empty() || !also.is_empty() {
        let ns_per_instruction = time.ns_per_instruction();
        args.show.show(Content::KernelRun(KernelRun { ns_per_instruction, kernels, also }))?;
    }
    match failures.is_empty() {
        true => Ok(Status::Fine),
        false => Err(anyhow!(failures.join("\n")).into()),
    }
}

/// The names of the steps that run the further commands.
fn also_steps(commands: &[String]) -> impl Iterator<Item = String> {
    (1..=commands.len()).map(|number| format!("also-{number}"))
}

/// What became of the further commands in a guest.
fn also_ran(commands: &[String], kernel: &KernelChoice, guest: &GuestRun) -> Vec<AlsoRan> {
    let ran = commands.iter().zip(also_steps(commands)).map(|(command, step)| {
        let StepResult { status, failure, stdout, stderr } =
            guest.boot.answer.steps.get(&step).cloned().unwrap_or_default();
        AlsoRan { kernel: kernel.to_string(), command: command.clone(), status, stdout, stderr, failure }
    });
    ran.collect()
}
