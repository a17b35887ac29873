//! `jitterlab kernel run`: the same measurement on each of several kernels.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::results::{GuestCommandResult, KeptRun, KernelRun, RunOnKernel};
use jitterlab_console::exit::{CommandResult, Status};
use jitterlab_console::kept_parts;
use jitterlab_console::measure_args::MeasureArgs;
use jitterlab_console::output::{self, OutputArgs};
use jitterlab_host::scratch::ScratchFolder;
use jitterlab_kernel::image::Image;
use jitterlab_kernel::job::{Step, StepResult};
use jitterlab_kernel::session::jitterlab_run_step;
use jitterlab_kernel::{GuestRun, GuestTime, KernelChoice, KernelSession};
use jitterlab_model::Error;
use jitterlab_model::error::ErrorKind;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::FinishedParts;

use super::machine::MachineArgs;
use super::progress::ProgressLine;

/// Run the same tasks and loads on kernel images, and compare
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, or debian:rt, debian:generic, debian:cloud, debian:rt-arm64 ...; several are compared
    #[arg(long = "kernel", required = true, value_name = "KERNEL")]
    kernels: Vec<KernelChoice>,
    #[command(flatten)]
    machine: MachineArgs,
    /// A further command to run in each guest after the measurement; its output is shown, files it leaves are brought out
    #[arg(long, value_name = "COMMAND")]
    also: Vec<String>,
    /// How many kernels run at once [default: as many as there are processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    jobs: Option<u16>,
    /// The directory for the run files, which get the kernels' names, and for what --also leaves
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    output: PathBuf,
    /// Write no files
    #[arg(long)]
    no_file: bool,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    show: OutputArgs,
    #[command(flatten)]
    measure: MeasureArgs,
}

/// Measures on each kernel and compares.
pub fn execute(args: &Args) -> CommandResult {
    let mut steps = vec![measuring_step(&args.measure)?];
    for (name, command) in further_step_names(&args.also).zip(&args.also) {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let command =
            words.ok_or_else(|| Error::bad_use(format!("--also {command:?} is no command line")))?;
        steps.push(Step { name, command });
    }
    let session = args.machine.session(steps, Some(&args.measure))?;
    let mut parts =
        if args.no_file { FinishedParts::without_file() } else { kept_parts::open("kernel-run", &()) };
    let mut done: BTreeMap<usize, GuestResults<RunOnKernel>> = BTreeMap::new();
    while let Some(((number, kept), _)) = parts.next_kept::<(usize, GuestResults<KeptRun>)>() {
        let (also, files, run) = kept;
        // One whose file is gone is measured again.
        if let Ok(measured) = run.open() {
            done.insert(number, (also, files, measured));
        }
    }
    let (numbers, left): (Vec<usize>, Vec<KernelChoice>) =
        args.kernels.iter().cloned().enumerate().filter(|(number, _)| !done.contains_key(number)).unzip();
    let keeping = Mutex::new(&mut parts);
    let booted = run_on_kernels(&session, &left, args.jobs, args.quiet, |n, guest| {
        // One after the other: the names of their files are found by looking for free ones.
        let mut parts = keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let also = further_results(&args.also, &left[n], &guest);
        let mut files = Vec::new();
        let measured = args.save_and_read_run(&left[n], guest, &mut files);
        if let Some(run) = measured.as_ref().ok().and_then(KeptRun::new) {
            kept_parts::keep(&mut parts, &(numbers[n], (&also, &files, run)));
        }
        Ok((also, files, measured))
    });
    let (mut failed, mut failures) = (Vec::new(), Vec::new());
    for ((kernel, number), answer) in left.iter().zip(&numbers).zip(booted) {
        let error = match answer {
            Ok((also, files, Ok(measured))) => {
                done.insert(*number, (also, files, measured));
                continue;
            }
            Ok((also, files, Err(error))) => {
                failed.push((also, files));
                error
            }
            Err(error) => error,
        };
        failures.push(error.within(kernel));
    }
    let (done, kernels): (Vec<_>, Vec<_>) =
        done.into_values().map(|(also, files, measured)| ((also, files), measured)).unzip();
    let (also, files): (Vec<_>, Vec<_>) = done.into_iter().chain(failed).unzip();
    let (also, files) = (also.concat(), files.concat());
    if !kernels.is_empty() || !also.is_empty() {
        let ns_per_instruction = args.machine.time().ns_per_instruction();
        args.show.show(&KernelRun { ns_per_instruction, kernels, also, files })?;
    }
    kept_parts::close(failures.is_empty(), |complete| parts.close(complete));
    ending_of_failures(&failures)
}

/// Results of the further commands in a guest, the files they left, and the measurement.
type GuestResults<T> = (Vec<GuestCommandResult>, Vec<PathBuf>, T);

impl Args {
    /// Keeps a guest's files unless --no-file and reads the measurement; `files` gets those of further commands.
    fn save_and_read_run(
        &self,
        kernel: &KernelChoice,
        guest: GuestRun,
        files: &mut Vec<PathBuf>,
    ) -> Result<RunOnKernel, Error> {
        let (time, named) = (self.machine.time(), kernel.to_string());
        let scratch = self.no_file.then(ScratchFolder::new).transpose()?;
        let folder = scratch.as_ref().map_or(self.output.as_path(), ScratchFolder::path);
        let kept = guest.save_run_file(RUN_STEP, time, folder, &named);
        let others =
            if self.no_file { Vec::new() } else { guest.save_other_files(RUN_STEP, time, folder, &named) };
        for other in others {
            match other {
                Ok(path) => files.push(path),
                Err(error) => output::print_warning(&format!("{kernel}: {error}")),
            }
        }
        let mut measured = Run::open(&kept?, &Hints::default())?.measured()?;
        measured.file = measured.file.filter(|_| !self.no_file);
        let Image { name, release, version, .. } = guest.image;
        Ok(RunOnKernel { kernel: name, release, version, measured })
    }
}

/// The names of the steps that run the further commands.
fn further_step_names(commands: &[String]) -> impl Iterator<Item = String> {
    (1..=commands.len()).map(|number| format!("also-{number}"))
}

/// Results of the further commands in a guest.
fn further_results(commands: &[String], kernel: &KernelChoice, guest: &GuestRun) -> Vec<GuestCommandResult> {
    let ran = commands.iter().zip(further_step_names(commands)).map(|(command, step)| {
        let StepResult { status, failure, stdout, stderr } =
            guest.answer.steps.get(&step).cloned().unwrap_or_default();
        GuestCommandResult {
            kernel: kernel.to_string(),
            command: command.clone(),
            status,
            stdout,
            stderr,
            failure,
        }
    });
    ran.collect()
}

/// The step of a guest that measures with jitterlab.
const RUN_STEP: &str = "run";

/// The step of this measurement. Options that a run here would refuse do not cost a boot.
fn measuring_step(measure: &MeasureArgs) -> Result<Step, Error> {
    measure.request()?;
    Ok(jitterlab_run_step(RUN_STEP, &measure.to_options()))
}

/// Boots each kernel, `jobs` at a time, and runs the steps; the results of `each`, in the kernels' order.
/// By default as many boot as make sense. `each` is called for each guest as soon as it is done.
fn run_on_kernels<T: Send>(
    session: &KernelSession,
    kernels: &[KernelChoice],
    jobs: Option<u16>,
    quiet: bool,
    each: impl Fn(usize, GuestRun) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let board = ProgressLine::new(kernels.iter().map(ToString::to_string).collect(), quiet);
    // Emulating in real time, guests would disturb each other.
    let sensible = || match session.machine.time {
        GuestTime::Real => 1,
        GuestTime::PerInstruction { .. } => thread::available_parallelism().map_or(1, usize::from),
    };
    let jobs = jobs.map_or_else(sensible, usize::from);
    let mut answers = Vec::new();
    for (first, batch) in kernels.chunks(jobs).enumerate() {
        thread::scope(|scope| {
            let (board, each) = (&board, &each);
            let booting = |(n, kernel)| {
                let guest = first * jobs + n;
                let mut note = move |text: &str| board.show_note(guest, text);
                let mut show = move |progress| board.show_progress(guest, progress);
                scope.spawn(move || each(guest, session.run_on(kernel, &mut note, &mut show)?))
            };
            let running: Vec<_> = batch.iter().enumerate().map(booting).collect();
            answers.extend(
                running.into_iter().map(|thread| {
                    thread.join().unwrap_or_else(|_| Err(Error::defect("its boot broke down")))
                }),
            );
        });
    }
    board.finish();
    answers
}

/// Ending of a command with failures on some kernels: bad use if each of them is, else "not measured".
fn ending_of_failures(failures: &[Error]) -> CommandResult {
    if failures.is_empty() {
        return Ok(Status::Fine);
    }
    let by_mistake = failures.iter().all(Error::is_bad_use);
    let kind = if by_mistake { ErrorKind::BadUse } else { ErrorKind::NotMeasured };
    let said: Vec<String> = failures.iter().map(ToString::to_string).collect();
    Err(Error::new(kind, said.join("\n")))
}
