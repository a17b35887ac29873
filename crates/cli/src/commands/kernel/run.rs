//! `jitterlab kernel run`: the same measurement on each of several kernels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::anyhow;
use jitterlab_bench::kernel::job::{Step, StepResult};
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{KernelChoice, Measured};
use jitterlab_report::kernels::{OnKernel, comparison};
use serde::Serialize;

use super::boots::{RUN_STEP, boot_all, check_run_options, figures, figures_and_file, warnings_of_guest};
use super::machine::MachineArgs;
use jitterlab_report::warnings::emulated;

use crate::exit::{Failure, Outcome, Status};
use crate::output;
use crate::result::RunResult;

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
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
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
        steps.push(Step { name: format!("also-{}", number + 1), command });
    }
    let session = args.machine.session(steps, Some(&run))?;
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for (kernel, answer) in args.kernels.iter().zip(boot_all(&session, &args.kernels, args.jobs, args.quiet))
    {
        let result = answer.and_then(|measured| {
            let time = args.machine.time();
            let result = match args.no_file {
                true => figures(&measured, RUN_STEP, time)?,
                false => figures_and_file(&measured, RUN_STEP, time, &args.output, &kernel.to_string())?,
            };
            Ok((measured, result))
        });
        match result {
            Ok(both) => results.push(both),
            Err(error) => failures.push(format!("{kernel}: {error:#}")),
        }
    }
    print(args, &results)?;
    match failures.is_empty() {
        true => Ok(Status::Fine),
        false => Err(anyhow!(failures.join("\n")).into()),
    }
}

#[derive(Serialize)]
struct Document<'a, R> {
    schema: u32,
    caution: String,
    kernels: Vec<OneKernel<'a, R>>,
}

#[derive(Serialize)]
struct OneKernel<'a, R> {
    kernel: &'a str,
    release: &'a str,
    version: &'a str,
    also: BTreeMap<&'a String, &'a StepResult>,
    result: R,
}

fn print(args: &Args, results: &[(Measured, RunResult)]) -> anyhow::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    if args.json {
        let kernels = results.iter().map(|(measured, result)| OneKernel {
            kernel: &measured.image.name,
            release: &measured.image.release,
            version: &measured.image.version,
            also: measured.boot.answer.steps.iter().filter(|(name, _)| name.starts_with("also")).collect(),
            result: result.document(),
        });
        let document = Document {
            schema: 1,
            caution: emulated(args.machine.time().ns_per_instruction()),
            kernels: kernels.collect(),
        };
        return Ok(output::print(&(serde_json::to_string_pretty(&document)? + "\n"))?);
    }
    let mut text = String::new();
    if let [(_, result)] = results {
        text.push_str(&result.to_text(output::terminal(args.ascii)));
    } else {
        let kernels: Vec<OnKernel<'_>> = results
            .iter()
            .map(|(measured, result)| OnKernel {
                name: &measured.image.name,
                release: &measured.image.release,
                tasks: result.summaries().collect(),
                warnings: warnings_of_guest(&result.info).collect(),
            })
            .collect();
        text.push_str(&comparison(&emulated(args.machine.time().ns_per_instruction()), &kernels));
        text.extend(
            results
                .iter()
                .filter_map(|(_, result)| Some(format!("run file: {}\n", result.file()?.display()))),
        );
    }
    for (measured, _) in results {
        for (name, step) in measured.boot.answer.steps.iter().filter(|(name, _)| name.starts_with("also")) {
            let number: usize = name.trim_start_matches("also-").parse().unwrap_or(1);
            let command = args.also.get(number - 1).map_or("", String::as_str);
            text.push_str(&format!("\n{} $ {command}\n{}{}", measured.image.name, step.stdout, step.stderr));
            if let Some(failure) = &step.failure {
                text.push_str(&format!("({failure})\n"));
            }
        }
    }
    Ok(output::print(&text)?)
}
