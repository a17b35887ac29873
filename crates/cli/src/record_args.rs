//! Run file and progress display: the options of every command that makes a run file.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::purposes::Purpose;
use jitterlab_host::{self as host, RunInProgress};
use jitterlab_model::{Error, RunInfo, Warning};
use jitterlab_report::progress;
use jitterlab_trace::RunWriter;

use crate::output::{self, OutputArgs};
use crate::status_line::StatusLine;

/// The run file, and what is printed.
#[derive(clap::Args)]
#[command(next_help_heading = "Run file")]
pub struct RecordArgs {
    /// The run file to write [default: jitterlab-DATE-TIME.parquet]
    #[arg(short, long, value_name = "FILE", value_parser = output::parse_run_file)]
    output: Option<PathBuf>,
    /// Write no run file
    #[arg(long, conflicts_with_all = ["output", "keep"])]
    no_file: bool,
    /// A name and a value that the file and its exports carry, such as line=3; may be given several times
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = parse_label)]
    labels: Vec<(String, String)>,
    /// Print nothing while measuring
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub show: OutputArgs,
}

impl RecordArgs {
    /// Creates the requested run file, or one here; `None` if unwanted or, with a warning, if that fails.
    pub fn create_writer(&self, info: &RunInfo) -> Result<Option<RunWriter>, Error> {
        Ok(match &self.output {
            _ if self.no_file => None,
            Some(path) => Some(RunWriter::create(path, info)?),
            None => host::create_run_file(info)
                .map_err(|error| {
                    output::print_warning(
                        &Error::refused("no run file")
                            .because(error)
                            .remedy("name another place with --output")
                            .to_string(),
                    );
                })
                .ok(),
        })
    }

    /// The names and values for the run's description.
    pub fn labels(&self) -> impl Iterator<Item = (String, String)> {
        self.labels.iter().cloned()
    }

    /// Prints a note next to the result, unless nothing is to be printed.
    pub fn note_unless_quiet(&self, write: impl FnOnce() -> String) {
        if !self.quiet {
            output::print_note(self.show.fit_to_terminal(write).trim_end());
        }
    }

    /// Prints the path of a run, or, even with --quiet, that it was not saved.
    ///
    /// # Errors
    /// The file holds only a part of the run.
    pub fn report_saved(&self, run: &MeasuredRun) -> Result<(), Error> {
        let Some(file) = &run.file else {
            if !self.no_file {
                output::print_warning(jitterlab_report::summary::NOT_SAVED);
            }
            return Ok(());
        };
        self.note_unless_quiet(|| jitterlab_report::summary::saved_note(file));
        let ended = run.run.warnings.iter().find_map(|warning| match warning {
            Warning::RecordingEnded { reason } => Some(reason),
            _ => None,
        });
        ended.map_or(Ok(()), |reason| {
            Err(Error::refused(format!("{} holds only a part of the run", file.display()))
                .because(reason.as_str())
                .remedy("measure again with --output where there is room"))
        })
    }

    /// Progress display of a measurement, silent with --quiet; `beside_prints` if another program prints, too.
    pub fn progress(&self, info: &RunInfo, beside_prints: bool) -> Progress {
        let line = if beside_prints { StatusLine::line_by_line() } else { StatusLine::new() };
        Progress::new((!self.quiet).then_some(line), self.show, info.duration_ns)
    }
}

/// Reads a label, `NAME=VALUE`.
fn parse_label(text: &str) -> Result<(String, String), Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(Error::bad_use(format!("{text:?} is no label")).remedy("write NAME=VALUE, such as line=3")),
    }
}

/// Progress display of a measurement.
pub struct Progress {
    line: Option<StatusLine>,
    show: OutputArgs,
    every: Duration,
    next: Instant,
    recording_ended: bool,
    closing: ClosingProgress,
    /// Purpose whose limit is shown.
    pub purpose: Option<&'static Purpose>,
}

/// Progress display of writing a run file that takes long; silent for the first ten seconds.
pub struct ClosingProgress {
    /// Begin of the writing; `None` before it.
    begun: Option<Instant>,
    next: Duration,
}

impl ClosingProgress {
    /// Time below which writing is not displayed.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    pub fn new() -> Self {
        ClosingProgress { begun: None, next: ClosingProgress::PATIENCE }
    }

    /// Text on the closing of a file, once each `every`; `None` if it is not time for one.
    pub fn update(&mut self, every: Duration, (done, of): (u64, u64)) -> Option<String> {
        let taken = self.begun.get_or_insert_with(Instant::now).elapsed();
        (taken >= self.next).then(|| {
            self.next = taken + every;
            progress::run_file_progress_line(done, of)
        })
    }
}

impl Progress {
    const REDRAW_EVERY: Duration = Duration::from_millis(250);
    /// At least, where a line is printed each tenth.
    const LINE_EVERY: Duration = Duration::from_secs(1);
    /// Interval of lines if the duration is unknown.
    const LINE_EVERY_UNPLANNED: Duration = Duration::from_secs(10);

    /// Progress display of a measurement of this length, in this line, if any.
    pub fn new(line: Option<StatusLine>, show: OutputArgs, duration_ns: Option<i64>) -> Self {
        let tenth = Duration::from_nanos(duration_ns.map_or(0, |ns| ns.unsigned_abs() / 10));
        let every = match duration_ns {
            _ if line.as_ref().is_some_and(StatusLine::is_redrawn) => Progress::REDRAW_EVERY,
            Some(_) => tenth.max(Progress::LINE_EVERY),
            None => Progress::LINE_EVERY_UNPLANNED,
        };
        Progress {
            line,
            show,
            every,
            next: Instant::now() + every,
            recording_ended: false,
            closing: ClosingProgress::new(),
            purpose: None,
        }
    }

    /// Progress display on standard error if that is a terminal, else a silent one.
    pub fn for_people(show: OutputArgs, duration_ns: i64) -> Self {
        Progress::new(StatusLine::for_people(), show, Some(duration_ns))
    }

    /// Shows the progress if it is time to, and reports once that recording has ended.
    pub fn update(&mut self, underway: &RunInProgress<'_>) {
        if let (false, Some(why)) = (self.recording_ended, underway.recording_failure()) {
            self.recording_ended = true;
            self.line.iter().for_each(StatusLine::clear);
            output::print_warning(
                &Error::refused(format!("recording ended, the measurement goes on: {why}")).to_string(),
            );
        }
        if let Some(bytes) = underway.closing_progress() {
            let text = self.closing.update(self.every, bytes);
            self.line.as_ref().zip(text).inspect(|(line, text)| line.show(text));
            return;
        }
        let Some(line) = self.line.as_ref().filter(|_| Instant::now() >= self.next) else { return };
        self.next += self.every;
        let terminal = self.show.terminal();
        let mut text = progress::measurement_progress_line(&underway.progress(), self.purpose);
        if line.is_redrawn() {
            text = progress::trim_progress_line(&text, terminal.columns - 1);
        }
        line.show(&terminal.printable(text));
    }
}
