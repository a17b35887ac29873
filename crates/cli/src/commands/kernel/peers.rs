//! `jitterlab kernel peers`: other tools beside jitterlab in the same boot.

use anyhow::{Result, anyhow};
use jitterlab_analysis::Summary;
use jitterlab_bench::kernel::job::Step;
use jitterlab_bench::kernel::peers::{PEERS, PeerTask};
use jitterlab_bench::kernel::session::run_step;
use jitterlab_bench::kernel::{KernelChoice, Measured};
use jitterlab_model::units::{Exact, parse_period_ns};
use jitterlab_model::{TaskRun, TaskSpec, TimingStats};
use jitterlab_report::kernels::{ToolFigures, tools};
use serde::Serialize;

use super::boots::{RUN_STEP, boot_all, figures};
use super::machine::MachineArgs;
use jitterlab_report::warnings::emulated;

use crate::exit::{Failure, Outcome, Status};
use crate::output;

/// Measure with a bare loop, cyclictest, jitterdebugger and rtla timerlat beside jitterlab, in the same boot of a kernel
///
/// What is not installed here is taken from Debian's packages, which are fetched and not installed. All tools run one
/// after the other on the same processor, with the same period and SCHED_FIFO priority.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel image, or debian:rt, debian:generic, debian:cloud; may be given several times
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
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    caution: &'a str,
    kernels: Vec<OneKernel<'a>>,
}

#[derive(Serialize)]
struct OneKernel<'a> {
    kernel: &'a str,
    release: &'a str,
    tools: &'a [ToolFigures],
}

/// Boots and compares.
pub fn execute(args: &Args) -> Outcome {
    if args.period % 1_000 != 0 {
        return Err(Failure::bad_use(anyhow!(
            "a period of {} is not a whole number of microseconds, and cyclictest and rtla know nothing finer",
            Exact(args.period)
        )));
    }
    let task = PeerTask { period_ns: args.period, priority: args.priority, cpu: 0, count: args.count };
    let mut steps = vec![own_step(&task)];
    steps.extend(PEERS.iter().map(|peer| peer.step(&task)));
    let mut session = args.machine.session(steps, None)?;
    for peer in &PEERS {
        let program = peer.program(&mut session.libraries, &mut |text| output::note(text));
        session.programs.extend(program.map_err(|error| anyhow!("{}: {error}", peer.name))?);
    }
    if let Some(command) = &args.background {
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words =
            words.ok_or_else(|| Failure::bad_use(anyhow!("--background {command:?} is no command line")))?;
        session.background = Some(words);
    }
    let mut kernels: Vec<(Measured, Vec<ToolFigures>)> = Vec::new();
    let mut failures = Vec::new();
    for (kernel, answer) in args.kernels.iter().zip(boot_all(&session, &args.kernels, None, args.quiet)) {
        let figures = answer.and_then(|measured| Ok((rows(args, &task, &measured)?, measured)));
        match figures {
            Ok((tools, measured)) => kernels.push((measured, tools)),
            Err(error) => failures.push(format!("{kernel}: {error:#}")),
        }
    }
    print(args, &kernels)?;
    match failures.is_empty() {
        true => Ok(Status::Fine),
        false => Err(anyhow!(failures.join("\n")).into()),
    }
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
fn rows(args: &Args, task: &PeerTask, measured: &Measured) -> Result<Vec<ToolFigures>> {
    let own = figures(measured, RUN_STEP, args.machine.time())?;
    let mut tools: Vec<ToolFigures> = own
        .summaries()
        .map(|summary| ToolFigures {
            tool: "jitterlab".into(),
            command: own_step(task).command.join(" "),
            remark: None,
            figures: Ok(summary.clone()),
        })
        .collect();
    tools.extend(PEERS.iter().map(|peer| ToolFigures {
        tool: peer.name.into(),
        command: peer.step(task).command.join(" "),
        remark: peer.remark.map(String::from),
        figures: peer.figures(task, &measured.boot.answer).map(|stats| summary(peer.name, &stats)),
    }));
    Ok(tools)
}

fn summary(name: &str, stats: &TimingStats) -> Summary {
    let spec = TaskSpec { name: name.into(), period_ns: stats.period_ns(), ..TaskSpec::default() };
    Summary::of(&TaskRun::new(spec), stats)
}

fn print(args: &Args, kernels: &[(Measured, Vec<ToolFigures>)]) -> Result<()> {
    if kernels.is_empty() {
        return Ok(());
    }
    let caution = emulated(args.machine.time().ns_per_instruction());
    if args.json {
        let kernels = kernels.iter().map(|(measured, tools)| OneKernel {
            kernel: &measured.image.name,
            release: &measured.image.release,
            tools,
        });
        let document = Document { schema: 1, caution: &caution, kernels: kernels.collect() };
        return Ok(output::print(&(serde_json::to_string_pretty(&document)? + "\n"))?);
    }
    let beside = args.background.as_ref().map_or("idle".into(), |command| format!("beside {command}"));
    let task = format!("{}, fifo:{}, {beside}", Exact(args.period), args.priority);
    let texts = kernels.iter().map(|(measured, rows)| {
        let kernel = format!("{}: Linux {}, {task}", measured.image.name, measured.image.release);
        tools(&kernel, rows)
    });
    let text: Vec<String> = texts.collect();
    Ok(output::print(&format!("{}\n{}", text.join("\n"), jitterlab_report::summary::wrap(&caution)))?)
}
