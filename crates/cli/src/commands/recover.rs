//! `jitterlab recover`: makes a run file of the journal of a killed measurement.

use std::path::PathBuf;

use jitterlab_model::Error;
use jitterlab_model::warning::Warning;
use jitterlab_report::recovery;
use jitterlab_trace::FinishedRun;

use crate::exit::{CommandResult, Status};
use crate::output;
use crate::record_args::ClosingProgress;
use crate::status_line::StatusLine;

/// Turn an interrupted run's journal (FILE.part) into a run file
///
/// Exit status 1: a part of a journal is damaged; the rest is in the run file, and the journal is kept.
#[derive(clap::Args)]
pub struct Args {
    /// The journal, or the run file it belongs to
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The run file to write, for one journal [default: the journal's name without .part]
    #[arg(short, long, value_name = "FILE", value_parser = output::parse_run_file)]
    output: Option<PathBuf>,
}

/// Recovers each file; one that cannot be recovered does not keep the others from it.
pub fn execute(args: &Args) -> CommandResult {
    if args.output.is_some() && args.files.len() > 1 {
        return Err(Error::bad_use("--output is for one journal").remedy("recover each by itself"));
    }
    let (mut failed, mut whole) = (None, true);
    for path in &args.files {
        let (line, mut closing) = (StatusLine::new(), ClosingProgress::new());
        let progress = |done, of| {
            let text = closing.update(ClosingProgress::PATIENCE, (done, of));
            text.iter().for_each(|text| line.show(text));
        };
        let recovered = jitterlab_trace::recover_to(path, args.output.as_deref(), progress);
        drop(line);
        match recovered {
            Ok(run) => {
                whole &= run.skipped.is_empty();
                output::print(&recovered_text(&run))?;
            }
            Err(error) => {
                if let Some(before) = failed.replace(error) {
                    output::print_note(&format!("error: {before}"));
                }
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None if whole => Ok(Status::Fine),
        None => Ok(Status::RequirementFailed),
    }
}

fn recovered_text(run: &FinishedRun) -> String {
    let damaged: Vec<Warning> = run.skipped.iter().map(|part| part.warning()).collect();
    recovery::recovery_text(&run.path, run.rows, run.bytes, &damaged, run.journal.as_deref())
}
