//! `jitterlab compare-wakeups`: every way to wait, measured in turns.

use std::str::FromStr as _;
use std::sync::atomic::Ordering;

use jitterlab_analysis::trial::TrialStep;
use jitterlab_analysis::wakeup::{WayFigures, WayToWait, WayTrouble, WaysCompared};
use jitterlab_bench::host::{self, DmaLatency, SessionProgress, Stage};
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_model::{Policy, TaskSpec, WakeMethod};
use jitterlab_report::document::Content;

use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::interrupt;
use crate::output::OutputArgs;
use crate::progress::Progress;

/// Compare the ways in which a task can wait: latency, drift, processor time, context switches
///
/// All of them are measured in turns, so that what else happens on the machine meets every one.
#[derive(clap::Args)]
pub struct Args {
    /// Period of the task, as a time (1ms) or a rate (1kHz)
    #[arg(long, value_parser = parse_period_ns, default_value = "1ms", value_name = "TIME")]
    period: i64,
    /// Processor of the task
    #[arg(long)]
    cpu: Option<u16>,
    /// Scheduling policy of all ways but deadline
    #[arg(long)]
    policy: Option<Policy>,
    /// Another way to compare, as part of a task: wake=timerfd,clock=realtime or compensate=margin:50us; may be
    /// given several times [default: the six wake-up methods]
    #[arg(long = "way", value_name = "PARTS")]
    ways: Vec<String>,
    /// How often each way has its turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// How long each turn is
    #[arg(long, value_parser = parse_duration_ns, default_value = "500ms", value_name = "TIME")]
    block: i64,
    /// Leave /dev/cpu_dma_latency alone (keep), or hold it at this many microseconds while measuring
    #[arg(long, default_value = "keep", value_name = "keep|US")]
    cpu_dma_latency: DmaLatency,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn task(&self) -> TaskSpec {
        TaskSpec { period_ns: self.period, cpu: self.cpu, policy: self.policy, ..TaskSpec::default() }
    }

    /// The ways to compare, with their names: those asked for, or one for each method.
    fn ways(&self, base: &TaskSpec) -> Result<Vec<(String, TaskSpec)>, Failure> {
        if self.ways.is_empty() {
            return Ok(WakeMethod::of_linux().map(|wake| (wake.to_string(), with(wake, base))).collect());
        }
        let parse = |parts: &String| {
            // Read as parts of a whole description, so that everything is checked as in `run`.
            let period = format!("period={}ns", self.period);
            let whole = format!("{period},policy={},{parts}", policy_for(parts, base));
            let given = TaskSpec::from_str(&whole)
                .map_err(|why| CliError::NotAWay { parts: parts.clone(), why: why.to_string() })?;
            let cpu = if matches!(given.policy, Some(Policy::Deadline { .. })) { None } else { base.cpu };
            Ok((parts.clone(), TaskSpec { name: base.name.clone(), cpu, ..given }))
        };
        self.ways.iter().map(parse).collect()
    }
}

/// SCHED_DEADLINE's runtime here: a tenth of the period, at least what the kernel takes.
fn deadline_policy(period_ns: i64) -> Policy {
    Policy::Deadline { runtime_ns: (period_ns / 10).max(10_000) }
}

fn policy_for(parts: &str, base: &TaskSpec) -> Policy {
    let ordinary = base.policy.unwrap_or(Policy::Other);
    if parts.contains("wake=deadline") { deadline_policy(base.period_ns) } else { ordinary }
}

/// The task with another way to wait; SCHED_DEADLINE is bound to no processor.
fn with(wake: WakeMethod, base: &TaskSpec) -> TaskSpec {
    match wake {
        wake if wake.traits().deadline => {
            TaskSpec { wake, policy: Some(deadline_policy(base.period_ns)), cpu: None, ..base.clone() }
        }
        _ => TaskSpec { wake, ..base.clone() },
    }
}

/// Figures of one way, or why there are none.
fn way(name: String, period_ns: i64, blocks: &[host::Block]) -> WayToWait {
    let lacking = blocks.iter().flat_map(|b| &b.refused).find(|r| r.what.starts_with("wake="));
    let overload = blocks.iter().find_map(|b| b.overload);
    let refused = lacking.map(|refusal| WayTrouble::Refused { refusal: refusal.clone() });
    let trouble = refused.or(overload.map(|overload| WayTrouble::Stopped { overload }));
    let views = host::Block::views(period_ns, blocks);
    // What ran with another method in its place is no measurement of this one.
    let figures = (lacking.is_none() && !views.is_empty()).then(|| WayFigures::of(&views));
    WayToWait { name, figures, trouble }
}

/// Measures and prints.
pub fn execute(args: &Args) -> Ending {
    if args.block <= 0 {
        return Err(CliError::EmptyBlock.into());
    }
    let interrupted = interrupt::requested()?;
    let stage = Stage::prepare(args.task(), args.cpu_dma_latency)?;
    let mut ways = Vec::new();
    let (mut names, mut specs) = (Vec::new(), Vec::new());
    for (name, spec) in args.ways(stage.spec())? {
        match stage.try_out(&spec) {
            Ok(()) => {
                names.push(name);
                specs.push(spec);
            }
            Err(why) => {
                ways.push(WayToWait { name, figures: None, trouble: Some(WayTrouble::Impossible { why }) });
            }
        }
    }
    let turns = i64::from(args.rounds) * specs.len() as i64;
    let mut progress = Progress::new(turns * args.block, args.quiet);
    progress.tell(SessionProgress::Begins(TrialStep::Ways { count: specs.len() }));
    let blocks = stage.interleave(
        &specs,
        args.rounds as usize,
        args.block,
        &mut |_| progress.tell(SessionProgress::Took(args.block)),
        &interrupted,
    )?;
    drop(progress);
    let measured = names.into_iter().zip(&blocks).map(|(name, blocks)| way(name, args.period, blocks));
    ways.splice(0..0, measured);
    args.output.show(Content::CompareWakeups(WaysCompared {
        period_ns: args.period,
        rounds: args.rounds,
        block_ns: args.block,
        interrupted: interrupted.load(Ordering::Relaxed),
        ways,
    }))?;
    Ok(Status::Fine)
}
