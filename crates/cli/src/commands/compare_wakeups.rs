//! `jitterlab compare-wakeups`: every way to wait, measured in turns.

use jitterlab_analysis::wakeup::WaysCompared;
use jitterlab_host::wakeups::{compare, wake_up_variants};
use jitterlab_host::{DmaLatency, Experiment, TaskMeasurer};
use jitterlab_model::{Error, TaskSpec};

use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::output::OutputArgs;
use crate::task_args::TaskArgs;
use crate::{kept_parts, mistakes};

/// Compare the ways in which a task can wait
///
/// All of them are measured in turns, so that what else happens on the machine meets every one: each wake-up method, or the
/// one of --wake, and with --compensate each also compensated.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// A way to compare instead of these, as part of a task: wake=timerfd,clock=realtime or compensate=margin:50us; may be
    /// given several times
    #[arg(long = "way", value_name = "PARTS")]
    ways: Vec<String>,
    /// How often each way has its turn; less than 6 show no way to be worse
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// How long each turn is
    #[arg(short, long, alias = "block", value_parser = mistakes::parse_duration, default_value = "500ms", value_name = "TIME")]
    duration: i64,
    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measures the wake-up methods in turns and prints their comparison.
pub fn execute(args: &Args) -> CommandResult {
    if args.duration <= 0 {
        return Err(
            Error::bad_use("a duration of 0 measures nothing").remedy("leave --duration out or raise it")
        );
    }
    let task = args.task.single_task(TaskSpec::default())?;
    // Understood before anything is prepared.
    wake_up_variants(&task, args.task.wake(), &args.ways)?;
    let measure = |experiment: &mut Experiment<'_>| {
        let mut bench = TaskMeasurer::prepare(task, args.cpu_dma_latency, experiment)?;
        let ways = wake_up_variants(&bench.spec, args.task.wake(), &args.ways)?;
        Ok(Some(compare(&mut bench, ways, args.rounds, args.duration)?))
    };
    run_experiment(
        || kept_parts::open("compare-wakeups", &()),
        args.quiet,
        measure,
        |compared: WaysCompared| {
            args.output.show(&compared)?;
            Ok(Status::Fine)
        },
    )
}
