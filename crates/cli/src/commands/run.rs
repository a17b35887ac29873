//! `jitterlab run`: measure periodic tasks on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jitterlab_analysis::measured::{Around, MeasuredRun};
use jitterlab_bench::host::{DmaLatency, Finished, Measurement, Request, load};
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_model::{
    Compensation, CpuSet, Keep, LoadSpec, Overrun, Policy, ReadClock, RunInfo, SleepClock, StopReason,
    TaskSpec, WakeMethod, Work,
};
use jitterlab_report::document::Content;
use jitterlab_trace::RunWriter;

use crate::exit::{Failure, Outcome, Status};
use crate::interrupt;
use crate::output::{self, OutputArgs};
use crate::recording::{Recording, Watcher};

/// Measure how regular periodic tasks run on this machine
///
/// Without options: one task, every millisecond, SCHED_FIFO, on the processor that isolation and topology favour,
/// for 10 seconds.
#[derive(clap::Args)]
pub struct Args {
    /// A task as name=base,period=25us,offset=0us,cpu=1,policy=fifo:95,overrun=skip,work=none,wake=nanosleep,clock=tai,read=tsc,compensate=margin:20us;
    /// every part but period may be left out; may be given several times
    #[arg(long = "task", value_name = "SPEC", conflicts_with_all = ["period", "cpu", "policy", "overrun", "work", "wake", "clock", "read", "compensate"])]
    tasks: Vec<TaskSpec>,

    /// Period of the one task, as a time (250us) or a rate (4kHz)
    #[arg(long, value_parser = parse_period_ns, value_name = "TIME")]
    period: Option<i64>,
    /// Processor of the one task
    #[arg(long)]
    cpu: Option<u16>,
    /// Scheduling policy: other, batch, idle, fifo:1..99, rr:1..99, deadline:RUNTIME
    #[arg(long)]
    policy: Option<Policy>,
    /// What happens to due times that passed: skip, catch-up, re-phase
    #[arg(long)]
    overrun: Option<Overrun>,
    /// What the task does each time: none, spin:TIME, twente:DIVISIONS
    #[arg(long)]
    work: Option<Work>,
    /// How the task waits
    #[arg(long, value_parser = PossibleValuesParser::new(WakeMethod::ALL.iter().map(|wake| wake.name()))
        .try_map(|wake| wake.parse::<WakeMethod>()))]
    wake: Option<WakeMethod>,
    /// The clock it sleeps on: monotonic, realtime, tai
    #[arg(long)]
    clock: Option<SleepClock>,
    /// The clock its start and end are read from: monotonic, monotonic-raw, tsc
    #[arg(long)]
    read: Option<ReadClock>,
    /// Wake early and poll: repeat:TIME, margin:TIME, late:P, cost:RATIO, adaptive:P
    #[arg(long)]
    compensate: Option<Compensation>,

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
    #[arg(long, value_parser = parse_keep)]
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
/// The default spike threshold, when a run is too long to keep whole.
const SPIKE_ABOVE_NS: i64 = 100_000;

fn parse_keep(text: &str) -> Result<Keep, String> {
    match text.split_once(':') {
        None if text == "all" => Ok(Keep::All),
        None if text == "spikes" => Ok(Keep::Spikes { above_ns: SPIKE_ABOVE_NS }),
        Some(("spikes", time)) => {
            parse_duration_ns(time).map(|above_ns| Keep::Spikes { above_ns }).map_err(|e| e.to_string())
        }
        _ => Err(format!("{text:?} is neither all nor spikes[:TIME] such as spikes:100us")),
    }
}

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

    /// The tasks that were asked for, the short form included.
    pub fn specs(&self) -> Vec<TaskSpec> {
        if !self.tasks.is_empty() {
            return self.tasks.clone();
        }
        let default = TaskSpec::default();
        vec![TaskSpec {
            period_ns: self.period.unwrap_or(default.period_ns),
            cpu: self.cpu,
            policy: self.policy,
            overrun: self.overrun.unwrap_or_default(),
            work: self.work.unwrap_or_default(),
            wake: self.wake.unwrap_or_default(),
            clock: self.clock.unwrap_or_default(),
            read: self.read.unwrap_or_default(),
            compensate: self.compensate.unwrap_or_default(),
            ..default
        }]
    }
}

/// Runs longer than this many bytes of file keep spikes only, unless told otherwise.
const KEEP_ALL_BYTES: i64 = 2_000_000_000;
const BYTES_PER_ACTIVATION: i64 = 4;

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        for (given, option) in [(self.duration == Some(0), "duration"), (self.count == Some(0), "count")] {
            if given {
                return Err(Failure::bad_use(anyhow!(
                    "a {option} of 0 measures nothing: leave --{option} out or raise it"
                )));
            }
        }
        let tasks = self.specs();
        for task in &tasks {
            task.validate().map_err(Failure::bad_use)?;
        }
        let duration_ns =
            self.duration.or(if self.count.is_some() { None } else { Some(DEFAULT_DURATION_NS) });
        let keep = self.keep.unwrap_or_else(|| default_keep(&tasks, duration_ns));
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

    /// The recorder, unless none is wanted or, without `--output`, the current directory cannot be written.
    fn recorder(&self, info: &RunInfo) -> Result<Option<RunWriter>, Failure> {
        if self.no_file {
            return Ok(None);
        }
        if let Some(path) = &self.output {
            return Ok(Some(RunWriter::create(path, info)?));
        }
        let stamp: String = info.started.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let path = PathBuf::from(format!("jitterlab-{stamp}.parquet"));
        RunWriter::create_numbered(&path, info).map(Some).or_else(|error| {
            output::note(&format!("no run file: {error}; name another place with --output"));
            Ok(None)
        })
    }
}

/// The loads of all `--load` options.
pub fn loads(options: &[String]) -> Result<Vec<LoadSpec>, Failure> {
    let read = options.iter().map(|text| load::parse_loads(text)).collect::<Result<Vec<_>, _>>();
    Ok(read.map_err(Failure::bad_use)?.concat())
}

/// Everything, while the file stays of a size that is pleasant to keep and to send.
fn default_keep(tasks: &[TaskSpec], duration_ns: Option<i64>) -> Keep {
    let rows: i64 = tasks.iter().map(|t| duration_ns.unwrap_or(0) / t.period_ns).sum();
    if rows.saturating_mul(BYTES_PER_ACTIVATION) <= KEEP_ALL_BYTES {
        Keep::All
    } else {
        Keep::Spikes { above_ns: SPIKE_ABOVE_NS }
    }
}

/// Sets the tasks up, and says whether the request or the system is at fault if that fails.
pub fn prepare(request: Request) -> Result<Measurement, Failure> {
    Ok(Measurement::prepare(request)?)
}

/// Measures once.
fn measure(
    args: &Args,
    measurement: Measurement,
    writer: Option<RunWriter>,
    interrupted: &AtomicBool,
) -> Result<MeasuredRun, Failure> {
    let mut recording = Recording::new(measurement.info(), writer);
    let planned_ns = measurement.info().duration_ns;
    let mut watcher = Watcher::new(recording.figures(), planned_ns, args.quiet, args.show.is_json());
    let finished = measurement.run(&mut recording, &mut |progress| watcher.look(progress), interrupted)?;
    watcher.finish();
    let Finished { info, above } = finished;
    let closed = recording.close(info)?;
    let around = above.map(|above| Around {
        task: above.task,
        index: above.activation.index,
        activations: above.around,
    });
    Ok(MeasuredRun { around, ..MeasuredRun::new(closed.info, &closed.stats, closed.file) })
}

/// Measures and reports.
pub fn execute(args: &Args) -> Outcome {
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
            output::note("first without isolation, for comparison");
        }
        without_isolation = measure(args, measurement, None, &interrupted)?.summaries().cloned().collect();
    }
    let measurement = prepare(Request { interrupted: interrupted.clone(), ..args.request()? })?;
    let writer = args.recorder(measurement.info())?;
    if !args.quiet {
        output::note(jitterlab_report::run::announcement(measurement.info()).trim_end());
    }
    let result = MeasuredRun { without_isolation, ..measure(args, measurement, writer, &interrupted)? };
    let (stop, tasks) = (result.run.stop.clone(), result.run.tasks.clone());
    args.show.show(Content::Run(Box::new(result)))?;
    match stop {
        Some(StopReason::Above { .. }) => Ok(Status::RequirementFailed),
        Some(StopReason::Overloaded { overload, .. }) => Err(anyhow!(overload).into()),
        Some(StopReason::WaitFailed { task, why }) => {
            let task = tasks.get(task).map_or("?", |task| task.spec.name.as_str());
            Err(anyhow!("{task} could not wait any more: {why}").into())
        }
        _ => Ok(Status::Fine),
    }
}
