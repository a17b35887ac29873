//! `jitterlab compensate`: what compensating jitter costs and brings on this machine, measured and proven.

use std::path::PathBuf;

use jitterlab_analysis::recommendation::{DEFAULT_WISH, Wish};
use jitterlab_bench::host::{self, DmaLatency, Session, TrialPlan};
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_model::{Policy, TaskSpec, WakeMethod};
use jitterlab_report::document::Content;
use jitterlab_report::figure::{self, load};

use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::interrupt;
use crate::output::{self, OutputArgs};
use crate::progress::Progress;

/// Cut the jitter of a task by waking early and polling: measure what it costs, recommend how, prove it
///
/// Measures what a wake-up costs and how late early sleeps end, recommends the wake-up method and the margin for a
/// wanted share of late starts or a budget of processor time, and proves it by uncompensated and compensated blocks
/// in turns.
#[derive(clap::Args)]
pub struct Args {
    /// Period of the task, as a time (500us) or a rate (2kHz)
    #[arg(long, value_parser = parse_period_ns, default_value = "500us", value_name = "TIME")]
    period: i64,
    /// Processor of the task
    #[arg(long)]
    cpu: Option<u16>,
    /// Scheduling policy
    #[arg(long)]
    policy: Option<Policy>,
    /// How the task waits for its early wake-up [default: the best of nanosleep, timerfd and timer-signal]
    #[arg(long)]
    wake: Option<WakeMethod>,

    /// Share of the starts that may be late, such as 1e-4 [default: 1e-3, as far as 20% of a processor go]
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    late: Option<f64>,
    /// Share of a processor that may be polled away, such as 20% or 0.2
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    budget: Option<f64>,

    /// Pairs of blocks in the proof
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// How long each block is
    #[arg(long, value_parser = parse_duration_ns, default_value = "1s", value_name = "TIME")]
    block: i64,
    /// How long latencies of early sleeps are measured, for each wake-up method
    #[arg(long, value_parser = parse_duration_ns, default_value = "5s", value_name = "TIME")]
    sample: i64,

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

/// Wake-up methods to choose from, in order of preference.
const METHODS: [WakeMethod; 3] = [WakeMethod::Nanosleep, WakeMethod::Timerfd, WakeMethod::TimerSignal];

/// Reads `20%`, `0.2` or `1e-4`: a share above 0 and below 1.
fn parse_share(text: &str) -> Result<f64, CliError> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < scale => Ok(share / scale),
        _ => Err(CliError::NotAShare(text.into())),
    }
}

impl Args {
    fn task(&self) -> TaskSpec {
        TaskSpec {
            name: "compensated".into(),
            period_ns: self.period,
            cpu: self.cpu,
            policy: self.policy,
            wake: self.wake.unwrap_or_default(),
            ..TaskSpec::default()
        }
    }

    fn plan(&self) -> TrialPlan {
        let wish = match (self.late, self.budget) {
            (None, None) => DEFAULT_WISH,
            (late, budget) => Wish { late, budget },
        };
        TrialPlan {
            methods: self.wake.map_or_else(|| METHODS.to_vec(), |wake| vec![wake]),
            wish,
            sample_ns: self.sample,
            pairs: self.pairs as usize,
            block_ns: self.block,
            files: (!self.no_file).then(|| ["uncompensated", "compensated"].map(|way| self.file(way))),
        }
    }

    /// The run file of one of the two ways.
    fn file(&self, way: &str) -> PathBuf {
        let named = || {
            let stamp: String = host::now_utc().chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from(format!("jitterlab-{stamp}"))
        };
        let stem = self.output.clone().unwrap_or_else(named);
        let stem =
            if stem.extension().is_some_and(|e| e == "parquet") { stem.with_extension("") } else { stem };
        let name = stem.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        stem.with_file_name(format!("{name}-{way}.parquet"))
    }

    /// What cannot work is found before a minute of measuring.
    fn check(&self, task: &TaskSpec, plan: &TrialPlan) -> Result<(), Failure> {
        if let Some(path) = &self.figure {
            output::check_figure(path, "--figure")?;
        }
        if let Some(path) = plan.files.iter().flatten().find(|path| path.exists()) {
            return Err(CliError::Exists(path.clone()).into());
        }
        for (value, option) in [(plan.block_ns, "block"), (plan.sample_turn_ns(), "sample")] {
            if value < self.period {
                return Err(CliError::ShorterThanPeriod(option).into());
            }
        }
        Ok(plan.check(task)?)
    }
}

/// Measures, recommends and proves.
pub fn execute(args: &Args) -> Ending {
    let (task, plan) = (args.task(), args.plan());
    args.check(&task, &plan)?;
    let interrupted = interrupt::requested()?;
    let mut progress = Progress::new(plan.planned_ns(args.period), args.quiet);
    let mut tell = |told| progress.tell(told);
    let session = Session::prepare(task, args.cpu_dma_latency, &mut tell, &interrupted)?;
    let mut trial = plan.measure(session)?;
    if let Some(path) = &args.figure {
        let chart = load::curve(args.period, trial.service.often_ns, &trial.load_curve, None);
        output::write_figure(path, &figure::svg(&[chart])?)?;
        trial.files.push(path.display().to_string());
    }
    // Ends the line of the progress first.
    drop(progress);
    args.shown.show(Content::Compensation(trial))?;
    Ok(Status::Fine)
}
