//! `jitterlab why`: why the activations of a run were late.

use std::io;
use std::path::PathBuf;

use jitterlab_analysis::causes::ListedEvents;
use jitterlab_report::export::{self, ExportOptions, Format};

use crate::exit::{CommandResult, Status};
use crate::output::{self, OutputArgs};
use crate::run_args::RunArgs;

/// Say why activations were late
///
/// Of runs that were measured with `jitterlab run --why`, or watched.
#[derive(clap::Args)]
pub struct Args {
    /// A run file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only this activation, in full: 1 is the latest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    event: Option<u32>,
    /// Write what ran around the latest activations to standard output, as jitterlab export does
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["event", "json"])]
    export: Option<Export>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Export formats for other programs.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Export {
    /// JSON trace events: ui.perfetto.dev, chrome://tracing.
    Perfetto,
    /// trace.dat: KernelShark, trace-cmd report.
    TraceDat,
}

/// Activations that are listed one by one.
const LISTED: usize = 10;

/// Prints the causes of late activations, or writes the traces around them in another format.
pub fn execute(args: &Args) -> CommandResult {
    let run = args.run.open(&args.file)?;
    if let Some(export) = args.export {
        let format = match export {
            Export::Perfetto => Format::Perfetto,
            Export::TraceDat => Format::TraceDat,
        };
        let tasks = run.task_numbers(args.run.task.as_deref())?;
        let (exported, warnings) =
            format.write(&run, &tasks, &ExportOptions::default(), &mut io::stdout().lock())?.into_parts();
        output::print_note(&export::summary_text(format, &exported, &warnings));
        return Ok(Status::Fine);
    }
    let listed = args.event.map_or(ListedEvents::Worst(LISTED), |rank| ListedEvents::Rank(rank as usize));
    let why = run.why(args.run.task.as_deref(), listed)?;
    args.output.show(&why)?;
    Ok(Status::Fine)
}
