//! `jitterlab predict`: prediction of the largest latency, and decisions on requirements.

use std::path::PathBuf;

use jitterlab_analysis::require::Requirement;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_runs::OutlookRequest;

use crate::exit::{CommandResult, Status};
use crate::output::OutputArgs;
use crate::run_args::RunArgs;

/// Say how much worse it can get, or judge a requirement
///
/// Facts that hold for any distribution always; an upper bound of the largest latency only if the run passes every
/// condition of an extrapolation. With --require: exit status 0 if every requirement is met with 95 % confidence,
/// 1 if one is broken, 3 if the data do not suffice. What comes in bursts is counted by bursts; a run with fewer than five
/// cannot say how large they are, and a requirement passes then only with --burst-at-most.
#[derive(clap::Args)]
pub struct Args {
    /// Run files, or outputs of other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How far to look ahead, such as 24h [default: 10 times the run]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    horizon: Option<i64>,
    /// Say how long to run to support this claim, such as "p(latency > 100us) < 1e-6"; may be given several times
    #[arg(long = "claim", value_name = "CLAIM")]
    claims: Vec<Requirement>,
    /// Only decide this requirement, such as "p99.99 < 80us" or "missed = 0"; may be given several times
    #[arg(long = "require", value_name = "REQUIREMENT")]
    requirements: Vec<Requirement>,
    /// Known of this machine: no more than so many values that break a requirement ever come together. Counts where the run
    /// has too few of them to say so itself
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    burst_at_most: Option<u64>,
    /// Check predictions against what came next: cut the run into windows of this length, predict 10 windows ahead from
    /// each, and count which bounds held
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME", conflicts_with_all = ["horizon", "claims", "requirements"])]
    backtest: Option<i64>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Predicts, or decides the requirements, for each file.
pub fn execute(args: &Args) -> CommandResult {
    let ahead = OutlookRequest {
        horizon_ns: args.horizon,
        claims: args.claims.clone(),
        requirements: args.requirements.clone(),
        burst_at_most: args.burst_at_most,
        backtest_ns: args.backtest,
    };
    let mut statuses = Vec::new();
    for path in &args.files {
        let outlook = args.run.open(path)?.outlook(args.run.task.as_deref(), &ahead)?;
        statuses.push(Status::from_fitness(args.output.show(&outlook)?));
    }
    Ok(Status::worst(statuses))
}
