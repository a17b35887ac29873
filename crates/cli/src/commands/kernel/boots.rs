//! The same session on several kernels, and the run files that come out of it.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use clap::Parser;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_bench::kernel::{GuestRun, GuestTime, KernelChoice, Session};
use jitterlab_model::RunInfo;
use jitterlab_runs::{Hints, Run};

use super::progress::Board;
use crate::commands::run;
use crate::error::CliError;
use crate::exit::Failure;

/// The step of a guest that measures with jitterlab.
pub const RUN_STEP: &str = "run";

/// The words after `--`, understood here so that a mistake does not cost a boot.
#[derive(Parser)]
#[command(no_binary_name = true, name = "jitterlab kernel ... --")]
struct RunWords {
    #[command(flatten)]
    run: run::Args,
}

/// Refuses options that the guest's `jitterlab run` would refuse, or that only make sense outside.
pub fn check_run_options(words: &[String]) -> Result<run::Args, Failure> {
    let args = RunWords::try_parse_from(words).map_err(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelp => error.exit(),
        _ => Failure::bad_use(anyhow!("{}", error.render().to_string().trim_end())),
    })?;
    args.run.check()?;
    if args.run.is_about_output() {
        return Err(Failure::bad_use(CliError::OutputOfInnerRun));
    }
    Ok(args.run)
}

/// Boots each kernel, `jobs` at a time (by default as many as make sense), and does the session's steps on it. The
/// answers are in the kernels' order.
pub fn boot_all(
    session: &Session,
    kernels: &[KernelChoice],
    jobs: Option<u16>,
    quiet: bool,
) -> Vec<Result<GuestRun>> {
    let jobs = jobs.map_or_else(|| sensible_jobs(session.machine.time), usize::from);
    let board = Board::new(kernels.iter().map(ToString::to_string).collect(), quiet);
    let mut answers = Vec::new();
    for (first, batch) in kernels.chunks(jobs).enumerate() {
        thread::scope(|scope| {
            let booting = |(n, kernel)| {
                let line = board.line(first * jobs + n);
                scope.spawn(move || session.on(kernel, &mut |text| line.note(text), &mut |p| line.show(p)))
            };
            let running: Vec<_> = batch.iter().enumerate().map(booting).collect();
            for thread in running {
                let answer = thread.join().map_err(|_| anyhow!("its boot broke down"));
                answers.push(answer.and_then(|measured| Ok(measured?)));
            }
        });
    }
    board.finish();
    answers
}

/// Emulating in real time, guests would disturb each other.
fn sensible_jobs(time: GuestTime) -> usize {
    match time {
        GuestTime::Real => 1,
        GuestTime::PerInstruction { .. } => thread::available_parallelism().map_or(1, usize::from),
    }
}

/// The figures of a guest's run, the step of that name, described as what it is.
pub fn figures(measured: &GuestRun, step: &str, time: GuestTime) -> Result<MeasuredRun> {
    let file = measured.run_file(step)?;
    read(file.path(), None, |info| measured.describe(info, time, std::env::args()))
}

/// As [`figures`], with the run file kept in `directory` under the kernel's name.
pub fn figures_and_file(
    measured: &GuestRun,
    step: &str,
    time: GuestTime,
    directory: &Path,
    name: &str,
) -> Result<MeasuredRun> {
    let file = measured.run_file(step)?;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let path = free_name(directory, name);
    jitterlab_trace::redescribe(file.path(), &path, |info| measured.describe(info, time, std::env::args()))?;
    read(&path, Some(&path), |_| ())
}

/// The figures of a run file; `kept` is where it stays.
fn read(path: &Path, kept: Option<&Path>, describe: impl FnOnce(&mut RunInfo)) -> Result<MeasuredRun> {
    let run = Run::open(path, &Hints::default())?;
    let (stats, warnings) = run.timing()?.into_parts();
    let mut info = RunInfo { warnings, ..run.info().clone() };
    describe(&mut info);
    Ok(MeasuredRun::new(info, &stats, kept.map(Path::to_path_buf)))
}

/// `debian-rt.parquet`, or the first such name with a number that is free.
fn free_name(directory: &Path, kernel: &str) -> PathBuf {
    let stem = Path::new(kernel).file_name().map_or(kernel.into(), |name| name.to_string_lossy());
    let stem: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' }).collect();
    let names =
        std::iter::once(format!("{stem}.parquet")).chain((2..).map(|n| format!("{stem}-{n}.parquet")));
    names.map(|name| directory.join(name)).find(|path| !path.exists()).unwrap_or_else(|| directory.join(stem))
}
