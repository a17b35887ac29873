//! `jitterlab run`: measure periodic tasks on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_bench::host::{DmaLatency, Measurement, Request, load};
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{CpuSet, Keep, LoadSpec, StopReason, TaskSpec};
use jitterlab_report::document::Content;
use jitterlab_trace::RunWriter;

use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::output::{self, OutputArgs};
use crate::recording::{self, Watching};
use crate::task_args::TaskArgs;
use crate::{interrupt, kept};

/// Measure how regular periodic tasks run on this machine
///
/// Without options: one task, every millisecond, SCHED_FIFO, on the processor that isolation and topology favour,
/// for 10 seconds.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    task: TaskArgs,

    /// Stop after this time [default: 10s, unless --count is given]
    #[arg(short, long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<i64>,
    /// Stop each task after this many activations
    #[arg(short = 'n', long)]
    count: Option<u64>,
    /// Stop at the first latency of this or more, and show it with the activations before it
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    stop_above: Option<i64>,

    /// What the file keeps: all activations, or spikes[:TIME] (per-second histograms, and each activation with a
    /// latency of TIME or more with its neighbours) [default: all while that stays below 2 GB, else spikes:100us]
    #[arg(long, value_parser = kept::parse)]
    keep: Option<Keep>,
    /// The run file to write [default: jitterlab-DATE-TIME.parquet]
    #[arg(short, long, value_name = "FILE", value_parser = output::run_file)]
    output: Option<PathBuf>,
    /// Write no run file
    #[arg(long, conflicts_with_all = ["output", "keep"])]
    no_file: bool,

    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,

    /// What runs beside the tasks: KIND[:ARGS][@CPUS], such as cpu:4, mem:2,256M@0 or disk:1, a preset such as
    /// twente, or 'stress -c 4 -m 2'; may be given several times. --load help lists all
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Keep everything movable off these CPUs while measuring, and measure once without for comparison
    #[arg(long, value_name = "CPUS")]
    isolate: Option<CpuSet>,

    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    show: OutputArgs,
}

const DEFAULT_DURATION_NS: i64 = 10_000_000_000;

impl Args {
    /// Refuses what makes no sense on any machine.
    pub fn check(&self) -> Result<(), Failure> {
        self.request().map(drop)
    }

    /// Whether it says where or how the result is shown.
    pub fn is_about_output(&self) -> bool {
        self.output.is_some() || self.no_file || self.show.is_given() || self.quiet
    }

    /// The loads that were asked for.
    pub fn loads(&self) -> Result<Vec<LoadSpec>, Failure> {
        loads(&self.load)
    }

    /// The tasks that were asked for.
    pub fn specs(&self) -> Vec<TaskSpec> {
        self.task.specs()
    }
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        for (given, option) in [(self.duration == Some(0), "duration"), (self.count == Some(0), "count")] {
            if given {
                return Err(Failure::bad_use(CliError::MeasuresNothing(option)));
            }
        }
        let tasks = self.specs();
        for task in &tasks {
            task.validate().map_err(Failure::bad_use)?;
        }
        let duration_ns =
            self.duration.or(if self.count.is_some() { None } else { Some(DEFAULT_DURATION_NS) });
        let keep = self.keep.unwrap_or_else(|| kept::by_default(&tasks, duration_ns));
        Ok(Request {
            tasks,
            duration_ns,
            count: self.count,
            stop_above_ns: self.stop_above,
            keep,
            dma_latency: self.cpu_dma_latency,
            loads: self.loads()?,
            isolate: self.isolate.clone(),
            command: std::env::args().collect(),
            interrupted: Arc::default(),
        })
    }
}

/// The loads of all `--load` options.
pub fn loads(options: &[String]) -> Result<Vec<LoadSpec>, Failure> {
    let read = options.iter().map(|text| load::parse_loads(text)).collect::<Result<Vec<_>, _>>();
    Ok(read.map_err(Failure::bad_use)?.concat())
}

impl Args {
    /// Measures once, showing how it goes.
    fn measure(
        &self,
        measurement: Measurement,
        writer: Option<RunWriter>,
        interrupted: &AtomicBool,
    ) -> Result<MeasuredRun, Failure> {
        let watch = Watching { quiet: self.quiet, json: self.show.is_json() };
        Ok(recording::measure(measurement, writer, watch, interrupted)?)
    }
}

/// Sets the tasks up, and says whether the request or the system is at fault if that fails.
pub fn prepare(request: Request) -> Result<Measurement, Failure> {
    Ok(Measurement::prepare(request)?)
}

/// Measures and reports.
pub fn execute(args: &Args) -> Ending {
    if args.load.iter().any(|load| load == "help") {
        let presets = load::PRESETS.iter().map(|preset| (preset.name, preset.loads));
        output::print(&jitterlab_report::loads::help(load::kinds(), presets))?;
        return Ok(Status::Fine);
    }
    let interrupted = interrupt::requested()?;
    let mut without_isolation = Vec::new();
    if args.isolate.is_some() {
        let measurement =
            prepare(Request { isolate: None, interrupted: interrupted.clone(), ..args.request()? })?;
        if !args.quiet {
            output::note(jitterlab_report::run::WITHOUT_ISOLATION_FIRST);
        }
        without_isolation = args.measure(measurement, None, &interrupted)?.summaries().cloned().collect();
    }
    let measurement = prepare(Request { interrupted: interrupted.clone(), ..args.request()? })?;
    let writer = match args.no_file {
        true => None,
        false => recording::writer(args.output.as_deref(), measurement.info())?,
    };
    if !args.quiet {
        output::note(jitterlab_report::run::announcement(measurement.info()).trim_end());
    }
    let result = MeasuredRun { without_isolation, ..args.measure(measurement, writer, &interrupted)? };
    let (stop, tasks) = (result.run.stop.clone(), result.run.tasks.clone());
    args.show.show(Content::Run(Box::new(result)))?;
    match stop {
        Some(StopReason::Above { .. }) => Ok(Status::RequirementFailed),
        Some(StopReason::Overloaded { overload, .. }) => Err(anyhow!(overload).into()),
        Some(StopReason::WaitFailed { task, why }) => {
            let task = tasks.get(task).map_or_else(String::new, |task| task.spec.name.clone());
            Err(CliError::WaitFailed { task, why }.into())
        }
        _ => Ok(Status::Fine),
    }
}
