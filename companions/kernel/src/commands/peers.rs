//! `jitterlab kernel peers`: other tools beside jitterlab in the same boot.

use crate::results::{KernelPeers, PeersOnKernel, ToolResult};
use jitterlab_analysis::Summary;
use jitterlab_console::exit::Ending;
use jitterlab_console::output::OutputArgs;
use jitterlab_kernel::image::Image;
use jitterlab_kernel::job::Step;
use jitterlab_kernel::peers::{Measures, PEERS, PeerTask};
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{GuestRun, KernelChoice};
use jitterlab_model::units::{Exact, parse_period_ns};
use jitterlab_model::{Error, TaskRun, TaskSpec, TimingStats};

use super::guests::{RUN_STEP, boot, ending, figures};
use super::machine::MachineArgs;

/// Measure with a bare loop, cyclictest, jitterdebugger and rtla timerlat beside jitterlab, in the same boot of a kernel
///
/// What is not installed here is taken from Debian's packages, which are fetched and not installed. All tools run one
/// after the other on the same processor, with the same period and SCHED_FIFO priority.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, or debian:rt, debian:generic, debian:cloud, debian:rt-arm64 ...; may be given several times
    #[arg(long = "kernel", default_value = "debian:rt", value_name = "KERNEL")]
    kernels: Vec<KernelChoice>,
    /// Period of the task, whole microseconds
    #[arg(long, value_parser = parse_period_ns, default_value = "1ms", value_name = "TIME")]
    period: i64,
    /// Its SCHED_FIFO priority
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=98), value_name = "N")]
    priority: u8,
    /// How often it runs with each tool
    #[arg(short = 'n', long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    count: u64,
    /// A command that runs beside all tools, such as 'stress-ng --cpu 4'; it is put into the guest
    #[arg(long, value_name = "COMMAND")]
    background: Option<String>,
    #[command(flatten)]
    machine: MachineArgs,
    /// Print nothing while measuring
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Boots and compares.
pub fn execute(args: &Args) -> Ending {
    if args.period % 1_000 != 0 {
        return Err(Error::bad_use(format!(
            "a period of {} is not a whole number of microseconds, and cyclictest and rtla \
             know nothing finer",
            Exact(args.period)
        )));
    }
    let task = PeerTask { period_ns: args.period, priority: args.priority, cpu: 0, count: args.count };
    let mut steps = vec![own_step(&task)];
    steps.extend(PEERS.iter().map(|peer| peer.step(&task)));
    args.machine.without_turns()?;
    let mut session = args.machine.session(steps, None)?;
    session.peers = &PEERS;
    if let Some(command) = &args.background {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words =
            words.ok_or_else(|| Error::bad_use(format!("--background {command:?} is no command line")))?;
        session.background = Some(words);
    }
    let mut kernels = Vec::new();
    let mut failures = Vec::new();
    let booted = boot(&session, &args.kernels, None, args.quiet, |_, measured| {
        let tools = rows(args, &task, &measured)?;
        let Image { name, release, .. } = measured.image;
        Ok(PeersOnKernel { kernel: name, release, tools })
    });
    for (kernel, on_kernel) in args.kernels.iter().zip(booted) {
        match on_kernel {
            Ok(on_kernel) => kernels.push(on_kernel),
            Err(error) => failures.push(error.within(kernel)),
        }
    }
    if !kernels.is_empty() {
        args.output.show(&KernelPeers {
            period_ns: args.period,
            priority: args.priority,
            background: args.background.clone(),
            ns_per_instruction: args.machine.time().ns_per_instruction(),
            kernels,
        })?;
    }
    ending(&failures)
}

/// The same task with jitterlab.
fn own_step(task: &PeerTask) -> Step {
    let PeerTask { period_ns, priority, cpu, count } = *task;
    let options =
        format!("--period {} --policy fifo:{priority} --cpu {cpu} --count {count}", Exact(period_ns));
    let options: Vec<String> = options.split(' ').map(String::from).collect();
    run_step(RUN_STEP, &options)
}

/// A row for each tool, jitterlab first.
fn rows(args: &Args, task: &PeerTask, measured: &GuestRun) -> Result<Vec<ToolResult>, Error> {
    let own = figures(measured, args.machine.time())?;
    let mut tools: Vec<ToolResult> = own
        .summaries()
        .map(|summary| ToolResult {
            tool: "jitterlab".into(),
            command: own_step(task).command.join(" "),
            measures: Measures::UserThread,
            summary: Some(summary.clone()),
            failure: None,
        })
        .collect();
    tools.extend(PEERS.iter().map(|peer| {
        let measured = peer.figures(task, &measured.boot.answer).map(|stats| summary(peer.name, &stats));
        ToolResult {
            tool: peer.name.into(),
            command: peer.step(task).command.join(" "),
            measures: peer.measures,
            failure: measured.as_ref().err().cloned(),
            summary: measured.ok(),
        }
    }));
    Ok(tools)
}

fn summary(name: &str, stats: &TimingStats) -> Summary {
    let spec = TaskSpec { name: name.into(), period_ns: stats.period_ns(), ..TaskSpec::default() };
    Summary::of(&TaskRun::new(spec), stats)
}
