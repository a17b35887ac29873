//! Where a run is recorded, and what is shown meanwhile: the options of every command that makes a run file.

use std::path::PathBuf;

use jitterlab_host::{self as host, Underway};
use jitterlab_model::RunInfo;
use jitterlab_report::live::Wish;
use jitterlab_report::watch::{View, Watcher};
use jitterlab_trace::RunWriter;

use crate::error::CliError;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::{self, OutputArgs};

/// How a measurement is shown while it goes on.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Live {
    Screen,
    Lines,
    Off,
}

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
    /// How it is shown while it goes on: screen is all of a terminal that has 64 x 18 characters or more, with keys; lines are
    /// a few lines of it; elsewhere a plain line is printed every 5 s
    #[arg(long, value_enum, default_value = "screen", default_missing_value = "screen", num_args = 0..=1, value_name = "VIEW", conflicts_with = "quiet")]
    live: Live,
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
                host::writer(info).map_err(|error| output::warn(&CliError::NoRunFile(error).to_string())).ok()
            }
        })
    }

    /// A note beside the result, unless nothing is to be printed.
    pub fn note(&self, write: impl FnOnce() -> String) {
        if !self.quiet {
            output::note(self.show.written(write).trim_end());
        }
    }

    /// Shows a measurement while it goes on. What another program prints meanwhile spoils a whole screen.
    pub fn progress(&self, info: &RunInfo, beside_prints: bool) -> Progress {
        let view = match self.live {
            _ if self.quiet => View::Nothing,
            Live::Off => View::Nothing,
            _ if self.show.is_json() => View::Plain,
            Live::Screen if !beside_prints => View::Auto,
            Live::Screen | Live::Lines => View::Lines,
        };
        let watcher = Watcher::new(info.tasks.len(), view, self.show.terminal());
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
        if self.watcher.look(|| underway.so_far()) == Wish::Stop {
            interrupt::ask();
        }
        if let (false, Some(why)) = (self.recording_ended, underway.recording_ended()) {
            self.recording_ended = true;
            let said = self.watcher.say(CliError::RecordingEnded(why).to_string());
            said.iter().for_each(|said| output::warn(said));
        }
    }

    /// Leaves the screen to what comes now.
    pub fn finish(self) {
        self.watcher.finish().iter().for_each(|said| output::note(said));
    }
}
