//! `jitterlab run`: measure periodic tasks on this machine.

use std::sync::atomic::AtomicBool;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_host::{self as host, Measurement, RecordedRun, Request, load};
use jitterlab_model::{Error, StopReason};
use jitterlab_trace::RunWriter;

use crate::exit::{CommandResult, Status};
use crate::measure_args::MeasureArgs;
use crate::purpose_args::PurposeArgs;
use crate::record_args::RecordArgs;
use crate::{interrupt, output};

/// Measure how regular periodic tasks run on this machine
///
/// Without options: one task, every millisecond, SCHED_FIFO, on the processor that isolation and topology favour,
/// for 10 seconds, judged for the usual purposes of such a task. With --for: exit status 1 when the machine does not
/// serve that purpose, 3 when that cannot be told.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    wanted: PurposeArgs,
    #[command(flatten)]
    record: RecordArgs,
}

impl Args {
    /// Measures once and shows the progress; records into `writer`, if any.
    fn measure(
        &self,
        measurement: Measurement,
        writer: Option<RunWriter>,
        interrupted: &AtomicBool,
    ) -> Result<RecordedRun, Error> {
        let mut progress = self.record.progress(measurement.info(), false);
        progress.purpose = self.wanted.purpose;
        let measured =
            host::record(measurement, writer, &mut |underway| progress.update(underway), interrupted);
        drop(progress);
        measured
    }
}

/// Measures and records a run, on request also one without isolation first, and prints the result.
pub fn execute(args: &Args) -> CommandResult {
    if args.measure.asks_for_loads() {
        let presets = load::PRESETS.iter().map(|preset| (preset.name, preset.loads));
        let help = || jitterlab_report::loads::load_help(load::kinds(), presets);
        output::print(&args.record.show.fit_to_terminal(help))?;
        return Ok(Status::Fine);
    }
    let interrupted = interrupt::listen_for_interrupt()?;
    let request = args.measure.request_for(args.wanted.task())?;
    let request = Request { interrupted: interrupted.clone(), ..request };
    let mut without_isolation = Vec::new();
    if request.isolate.is_some() {
        let measurement = Measurement::prepare(Request { isolate: None, why: false, ..request.clone() })?;
        args.record.note_unless_quiet(|| jitterlab_report::run::WITHOUT_ISOLATION_FIRST.into());
        without_isolation = args.measure(measurement, None, &interrupted)?.run.summaries().cloned().collect();
    }
    let mut measurement = Measurement::prepare(request)?;
    measurement.add_labels(args.record.labels());
    let writer = args.record.create_writer(measurement.info())?;
    args.record.note_unless_quiet(|| jitterlab_report::run::announcement(measurement.info()));
    let RecordedRun { run, closed } = args.measure(measurement, writer, &interrupted)?;
    let result = MeasuredRun { without_isolation, ..run.with_verdict_for(args.wanted.purpose) };
    let (stop, tasks) = (result.run.stop.clone(), result.run.tasks.clone());
    let status = Status::from_fitness(args.record.show.show(&result)?);
    let saved = args.record.report_saved(&result);
    closed.and(saved)?;
    match stop {
        Some(StopReason::Above { .. }) => Ok(Status::RequirementFailed),
        Some(StopReason::Overloaded { overload, .. }) => Err(overload.into()),
        Some(StopReason::WaitFailed { task, why }) => {
            let task = tasks.get(task).map_or_else(String::new, |task| task.spec.name.clone());
            Err(Error::refused(format!("{task} could not wait any more: {why}")))
        }
        _ => Ok(status),
    }
}
