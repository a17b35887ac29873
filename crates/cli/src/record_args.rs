//! Where a run is recorded, and what is shown meanwhile: the options of every command that makes a run file.

use std::path::PathBuf;

use jitterlab_bench::host::{self, Underway};
use jitterlab_model::RunInfo;
use jitterlab_report::watch::Watcher;
use jitterlab_trace::RunWriter;

use crate::error::CliError;
use crate::exit::Failure;
use crate::output::{self, OutputArgs};

/// The run file, and what is printed.
#[derive(clap::Args)]
pub struct RecordArgs {
    /// The run file to write [default: jitterlab-DATE-TIME.parquet]
    #[arg(short, long, value_name = "FILE", value_parser = output::run_file)]
    output: Option<PathBuf>,
    /// Write no run file
    #[arg(long, conflicts_with_all = ["output", "keep"])]
    no_file: bool,
    /// Print nothing while measuring
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub show: OutputArgs,
}

impl RecordArgs {
    /// The file that was asked for, or else one of its own here; none if nothing can be written here.
    pub fn writer(&self, info: &RunInfo) -> Result<Option<RunWriter>, Failure> {
        Ok(match &self.output {
            _ if self.no_file => None,
            Some(path) => Some(RunWriter::create(path, info)?),
            None => {
                host::writer(info).map_err(|error| output::note(&CliError::NoRunFile(error).to_string())).ok()
            }
        })
    }

    /// A note beside the result, unless nothing is to be printed.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            output::note(text.trim_end());
        }
    }

    /// Shows a measurement while it goes on.
    pub fn progress(&self, info: &RunInfo) -> Progress {
        let watcher = Watcher::new(info.tasks.len(), self.quiet, self.show.is_json());
        Progress { watcher, recording_ended: false }
    }
}

/// What is shown of a measurement that goes on.
pub struct Progress {
    watcher: Watcher,
    recording_ended: bool,
}

impl Progress {
    /// Shows it if it is time to, and says once if nothing is recorded any more.
    pub fn look(&mut self, underway: &Underway<'_>) {
        self.watcher.look(|| underway.so_far());
        if let (false, Some(why)) = (self.recording_ended, underway.recording_ended()) {
            self.recording_ended = true;
            output::note(&CliError::RecordingEnded(why).to_string());
        }
    }

    /// Leaves the screen to what comes now.
    pub fn finish(self) {
        self.watcher.finish();
    }
}
