//! `jitterlab compensate`: cost and gain of compensating jitter on this machine, measured and proven.

use std::path::PathBuf;

use jitterlab_analysis::compensation_trial::CompensationTrial;
use jitterlab_analysis::recommendation::{CompensationRequirement, DEFAULT_WISH};
use jitterlab_host::{self as host, CompensationPlan, DmaLatency, Experiment, TaskMeasurer};
use jitterlab_model::{Compensation, Error, TaskSpec, WakeMethod};
use jitterlab_report::chart::Drawing;
use jitterlab_report::figure::load;
use jitterlab_trace::FinishedParts;

use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::output::{self, OutputArgs};
use crate::task_args::TaskArgs;
use crate::{kept_parts, mistakes, values};

/// Wake early and poll: how early, what it costs, what it brings
///
/// Measures what a wake-up costs and how late early sleeps end, recommends the wake-up method and the margin for a
/// wanted share of late starts or a budget of processor time, and proves it by uncompensated and compensated turns
/// that alternate.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    task: TaskArgs,

    /// Share of the starts that may be late, such as 1e-4 [default: 1e-3, as far as 20% of a processor go]
    #[arg(long, value_parser = values::parse_share, value_name = "SHARE")]
    late: Option<f64>,
    /// Share of a processor that may be polled away, such as 20% or 0.2 [default: 20%, with --late any]
    #[arg(long, value_parser = values::parse_share, value_name = "SHARE")]
    polling: Option<f64>,

    /// How often the uncompensated and the compensated task have their turn in the proof
    #[arg(long, alias = "pairs", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// How long each turn is; the early sleeps of each wake-up method are measured half as long as all turns of one way
    #[arg(short, long, alias = "block", value_parser = mistakes::parse_duration, default_value = "1s", value_name = "TIME")]
    duration: i64,

    /// The two run files: FILE-uncompensated.parquet and FILE-compensated.parquet [default: jitterlab-DATE-TIME]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write no run files
    #[arg(long, conflicts_with = "output")]
    no_file: bool,
    /// Draw the load curve into this file, .svg or .png; replaced if it exists
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    shown: OutputArgs,
}

/// Wake-up methods to choose from where none is named, in order of preference.
const METHODS: [WakeMethod; 3] = [WakeMethod::Nanosleep, WakeMethod::Timerfd, WakeMethod::TimerSignal];

impl Args {
    fn task_spec(&self) -> Result<TaskSpec, Error> {
        let usual = TaskSpec { name: "compensated".into(), period_ns: 500_000, ..TaskSpec::default() };
        let task = self.task.single_task(usual)?;
        let chooses = task.compensate == Compensation::None;
        if chooses {
            Ok(task)
        } else {
            Err(Error::bad_use("compensate finds out how early to wake")
                .remedy("leave --compensate and compensate= out"))
        }
    }

    fn plan(&self) -> CompensationPlan {
        let wish = match (self.late, self.polling) {
            (None, None) => DEFAULT_WISH,
            (late, polling) => CompensationRequirement { late, budget: polling },
        };
        CompensationPlan {
            methods: self.task.wake().map_or_else(|| METHODS.to_vec(), |wake| vec![wake]),
            wish,
            rounds: self.rounds as usize,
            turn_ns: self.duration,
            files: (!self.no_file).then(|| ["uncompensated", "compensated"].map(|way| self.run_file(way))),
        }
    }

    /// Path of the run file of one way, `uncompensated` or `compensated`.
    fn run_file(&self, way: &str) -> PathBuf {
        let stem = self.output.clone().unwrap_or_else(|| host::default_file_name(&host::now_utc(), ""));
        let stem =
            if stem.extension().is_some_and(|e| e == "parquet") { stem.with_extension("") } else { stem };
        let name = stem.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        stem.with_file_name(format!("{name}-{way}.parquet"))
    }

    /// Checks the options, so that an error shows before a minute of measuring.
    fn check_options(&self, task: &TaskSpec, plan: &CompensationPlan) -> Result<(), Error> {
        if let Some(path) = &self.figure {
            output::check_figure_name(path, "--figure")?;
        }
        if let Some(path) = plan.files.iter().flatten().find(|path| path.exists()) {
            return Err(Error::bad_use(format!("{} exists already", path.display()))
                .remedy("remove it, or choose another --output"));
        }
        plan.check_task(task)
    }
}

/// Finds how early to wake, proves it by measuring without and with it, and prints the result.
pub fn execute(args: &Args) -> CommandResult {
    let (task, plan) = (args.task_spec()?, args.plan());
    args.check_options(&task, &plan)?;
    let open = || match args.no_file {
        true => FinishedParts::without_file(),
        false => kept_parts::open("compensate", &()),
    };
    let measure = |experiment: &mut Experiment<'_>| {
        let mut bench = TaskMeasurer::prepare(task, args.cpu_dma_latency, experiment)?;
        Ok(Some(plan.measure(&mut bench)?))
    };
    run_experiment(open, args.quiet, measure, |mut trial: CompensationTrial| {
        if let Some(path) = &args.figure {
            let chart =
                load::extra_load_curve(trial.period_ns, trial.service.often_ns, &trial.load_curve, None);
            output::write_figure(path, &Drawing::new(&[chart]))?;
            trial.files.push(path.display().to_string());
        }
        args.shown.show(&trial)?;
        Ok(Status::Fine)
    })
}
