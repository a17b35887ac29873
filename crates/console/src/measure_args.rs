//! Subject and length of a measurement: the options that `run` shares with commands that run it elsewhere.

use jitterlab_host::{DmaLatency, Request, default_keep, load};
use jitterlab_model::units::{Exact, parse_duration_ns};
use jitterlab_model::{CpuSet, Error, Keep, LoadSpec, TaskSpec};

use crate::mistakes;
use crate::task_args::TaskArgs;

/// Tasks, loads and the end of a measurement.
#[derive(clap::Args)]
#[command(next_help_heading = "Measurement")]
pub struct MeasureArgs {
    #[command(flatten)]
    task: TaskArgs,

    /// Stop after this time [default: 10s, unless --count is given]
    #[arg(short, long, value_parser = mistakes::parse_duration, value_name = "TIME")]
    duration: Option<i64>,
    /// Stop each task after this many activations [default: any number]
    #[arg(short = 'n', long)]
    count: Option<u64>,
    /// Stop at the first latency of this or more, and show it with the activations before it [default: none]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    stop_above: Option<i64>,
    /// Say why activations were late, by the kernel's own events (as root; makes latencies some microseconds longer;
    /// always with --stop-above)
    #[arg(long)]
    why: bool,
    /// What the file keeps: all activations, or spikes[:TIME] (per-second histograms, and each activation with a
    /// latency of TIME or more with its neighbours) [default: all while that stays below 2 GB, else spikes:100us]
    #[arg(long)]
    keep: Option<Keep>,
    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,
    /// What runs beside the tasks: KIND[:ARGS][@CPUS], such as cpu:4, mem:2,256M@0 or disk:1, a preset such as
    /// twente, or 'stress -c 4 -m 2'; may be given several times. --load help lists all [default: none]
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Keep everything movable off these CPUs while measuring, and measure once without for comparison [default: none]
    #[arg(long, value_name = "CPUS")]
    isolate: Option<CpuSet>,
}

const DEFAULT_DURATION_NS: i64 = 10_000_000_000;

impl MeasureArgs {
    /// Returns the requested tasks.
    pub fn specs(&self) -> Vec<TaskSpec> {
        self.specs_for(TaskSpec::default())
    }

    fn specs_for(&self, usual: TaskSpec) -> Vec<TaskSpec> {
        self.task.specs(vec![usual])
    }

    /// Returns the requested loads.
    pub fn loads(&self) -> Result<Vec<LoadSpec>, Error> {
        parse_loads(&self.load)
    }

    /// Returns true if only a list of loads is wanted.
    pub fn asks_for_loads(&self) -> bool {
        self.load.iter().any(|load| load == "help")
    }

    /// Makes the request for the bench; refuses options that make no sense on any machine.
    pub fn request(&self) -> Result<Request, Error> {
        self.request_for(TaskSpec::default())
    }

    /// Makes the request, for this task if none is described; refuses a duration or count of 0.
    pub fn request_for(&self, usual: TaskSpec) -> Result<Request, Error> {
        for (given, option) in [(self.duration == Some(0), "duration"), (self.count == Some(0), "count")] {
            if given {
                return Err(Error::bad_use(format!("a {option} of 0 measures nothing"))
                    .remedy(format!("leave --{option} out or raise it")));
            }
        }
        let tasks = self.specs_for(usual);
        for task in &tasks {
            task.validate()?;
        }
        let duration_ns = self.duration.or(self.count.is_none().then_some(DEFAULT_DURATION_NS));
        Ok(Request {
            duration_ns,
            count: self.count,
            stop_above_ns: self.stop_above,
            keep: self.keep.unwrap_or_else(|| default_keep(&tasks, duration_ns)),
            dma_latency: self.cpu_dma_latency,
            loads: self.loads()?,
            isolate: self.isolate.clone(),
            why: self.why,
            ..Request::for_tasks(tasks)
        })
    }

    /// Returns the request as options of another `jitterlab run`.
    pub fn to_options(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        for task in self.specs() {
            option("task", Some(task.to_string()));
        }
        option("duration", self.duration.map(|ns| Exact(ns).to_string()));
        option("count", self.count.map(|count| count.to_string()));
        option("stop-above", self.stop_above.map(|ns| Exact(ns).to_string()));
        option("keep", self.keep.map(|keep| keep.to_string()));
        option("cpu-dma-latency", Some(self.cpu_dma_latency.to_string()));
        for load in &self.load {
            option("load", Some(load.clone()));
        }
        option("isolate", self.isolate.as_ref().map(|cpus| cpus.to_string()));
        words.extend(self.why.then(|| "--why".to_owned()));
        words
    }
}

pub fn parse_loads(options: &[String]) -> Result<Vec<LoadSpec>, Error> {
    if let Some(number) = options.iter().find(|text| text.parse::<u32>().is_ok()) {
        return Err(Error::bad_use(format!("{number:?} is no load"))
            .remedy(format!("did you mean cpu:{number}? (--load help describes them)")));
    }
    let read = options.iter().map(|text| load::parse_loads(text)).collect::<Result<Vec<_>, _>>();
    Ok(read?.concat())
}
