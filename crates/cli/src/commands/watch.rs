//! `jitterlab watch`: measure threads that run anyway.

use jitterlab_host::watch::{Target, ThreadWatch, WatchRequest};
use jitterlab_host::{self as host, RecordedRun};
use jitterlab_model::Keep;
use jitterlab_model::units::parse_duration_ns;

use crate::exit::{CommandResult, Status};
use crate::interrupt;
use crate::purpose_args::PurposeArgs;
use crate::record_args::RecordArgs;

/// Measure the periodic threads of a running program, unchanged
///
/// Finds the threads that wait periodically, how they wait and when they are due, by the kernel's own events (as root). The
/// run file is one like any other: analyze, predict, stepper, servo, why and report take it. With --for: exit status 1 when a
/// thread of that period does not serve the purpose, 3 when that cannot be told.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("whose").required(true))]
pub struct Args {
    /// The threads of this process
    #[arg(long, group = "whose", value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// Every thread of this name
    #[arg(long, group = "whose", value_name = "NAME")]
    thread: Option<String>,
    /// The processes of this systemd unit
    #[arg(long, group = "whose", value_name = "UNIT")]
    unit: Option<String>,
    /// The processes of this container, by its name, number or the path of its control group
    #[arg(long, group = "whose", value_name = "CONTAINER")]
    container: Option<String>,
    /// A command to start and watch, after --; what it prints goes to standard error, and it is ended with the watching
    #[arg(last = true, group = "whose", value_name = "COMMAND")]
    command: Vec<String>,

    /// Watch for this time
    #[arg(short, long, default_value = "10s", value_parser = parse_duration_ns, value_name = "TIME")]
    duration: i64,
    /// Look for periodic threads for this time first; each has to come eight times in it
    #[arg(long, default_value = "2s", value_parser = parse_duration_ns, value_name = "TIME")]
    find: i64,
    /// What the file keeps, as for jitterlab run [default: all while that stays below 2 GB, else spikes:100us]
    #[arg(long)]
    keep: Option<Keep>,
    #[command(flatten)]
    wanted: PurposeArgs,
    #[command(flatten)]
    record: RecordArgs,
}

impl Args {
    fn target(&self) -> Target {
        let named = |name: &Option<String>, of: fn(String) -> Target| name.clone().map(of);
        let target = self.pid.map(Target::Process).or(named(&self.thread, Target::Thread));
        let target = target.or(named(&self.unit, Target::Unit)).or(named(&self.container, Target::Container));
        target.unwrap_or_else(|| Target::Command(self.command.clone()))
    }
}

/// Finds the periodic threads of a program, records their starts, and prints the result.
pub fn execute(args: &Args) -> CommandResult {
    let interrupted = interrupt::listen_for_interrupt()?;
    let request = WatchRequest {
        target: args.target(),
        find_ns: args.find,
        duration_ns: Some(args.duration),
        command: std::env::args().collect(),
    };
    let mut found = ThreadWatch::start(&request, &interrupted)?;
    let specs: Vec<_> = found.info().tasks.iter().map(|task| task.spec.clone()).collect();
    found.set_keep(args.keep.unwrap_or_else(|| host::default_keep(&specs, Some(args.duration))));
    found.add_labels(args.record.labels());
    let writer = args.record.create_writer(found.info())?;
    args.record.note_unless_quiet(|| jitterlab_report::run::found_threads_text(found.info()));
    let mut progress = args.record.progress(found.info(), !args.command.is_empty());
    progress.purpose = args.wanted.purpose;
    let watched =
        host::record_watched(found, writer, &mut |underway| progress.update(underway), &interrupted);
    drop(progress);
    let RecordedRun { run, closed } = watched?;
    let run = run.with_verdict_for(args.wanted.purpose);
    let status = Status::from_fitness(args.record.show.show(&run)?);
    let saved = args.record.report_saved(&run);
    closed.and(saved).map(|()| status)
}
