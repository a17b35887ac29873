//! Opening runs: the same options for every command that takes one.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use jitterlab_host::check::check_run;
use jitterlab_model::units::{Human, parse_period_ns};
use jitterlab_model::{EdgeKind, Error, TaskSpec};
use jitterlab_report::page::{self, PageRun};
use jitterlab_report::usage_hints;
use jitterlab_runs::{CaptureHints, Column, Hints, OneTask, PacketFilter, Progress, Run, Threshold};

/// What is shown of a run, and what helps to read the outputs of other tools.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading runs")]
pub struct RunArgs {
    /// Only this task [default: all]
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Period of another tool's task, if its output does not say: a time (250us) or a rate (4kHz) [default: the tool's usual
    /// one, with a warning]; given once for each task where they differ
    #[arg(long = "period", value_parser = parse_period_ns, value_name = "TIME")]
    periods: Vec<i64>,
    /// Unit of another tool's values, if its output does not say [default: the tool's usual one]
    #[arg(long, value_enum)]
    unit: Option<Unit>,
    /// What a column of a table (CSV) holds, where its head line does not say: ROLE=COLUMN[:UNIT], such as latency=3:us or
    /// start=t_wake:ns; roles are due, start, end, latency, interval, period-error, task and index
    #[arg(long, value_delimiter = ',', value_name = "ROLE=COLUMN")]
    columns: Vec<Column>,
    /// Channel of a capture (logic analyser, oscilloscope) that is a task [default: all that change]
    #[arg(long = "channel", value_delimiter = ',', value_name = "NAME")]
    channels: Vec<String>,
    /// Which edges of a capture begin an activation: rising, falling or both [default: rising]
    #[arg(long, value_name = "EDGE")]
    edge: Option<EdgeKind>,
    /// What is high of a captured voltage: a level (1.5V), or what is low and what is high (0.8V..2V) [default: found]
    #[arg(long, value_name = "VOLTS", allow_hyphen_values = true)]
    threshold: Option<Threshold>,
    /// Which packets of a capture (pcap) begin an activation: ethertype:0x88a4, mac:00:11:22:33:44:55 or udp:27181, with the
    /// answer as its end [default: those of EtherCAT or PROFINET]
    #[arg(long, value_name = "FILTER")]
    packets: Option<PacketFilter>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Unit {
    Ns,
    Us,
    Ms,
    S,
}

impl RunArgs {
    /// Opens anything that holds a run, with a progress display if that takes long.
    pub fn open(&self, path: &Path) -> Result<Run, Error> {
        open(path, &self.hints())
    }

    /// Opens a run; of a capture, every edge is taken as it came.
    pub fn open_edges(&self, path: &Path) -> Result<Run, Error> {
        let mut hints = self.hints();
        hints.capture.raw = true;
        open(path, &hints)
    }

    /// The one --period of a loop without a run; fails if it is given several times.
    pub fn period(&self) -> Result<Option<i64>, Error> {
        match self.periods.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(Error::bad_use(format!(
                "--period is given {} times, and one loop without a run has one: give it once; of several loops --execution \
                 TASK@PERIOD=TIMES says whose it is",
                several.len()
            ))),
        }
    }

    /// Hints of the user about another tool's output.
    pub fn hints(&self) -> Hints {
        let unit_ns = self.unit.map(|unit| match unit {
            Unit::Ns => 1,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        });
        let capture = CaptureHints {
            channels: self.channels.clone(),
            edge: self.edge.unwrap_or_default(),
            threshold: self.threshold,
            packets: self.packets,
            raw: false,
        };
        Hints { periods_ns: self.periods.clone(), unit_ns, columns: self.columns.clone(), capture }
    }

    /// Refuses --task if there is no run.
    pub fn check_task(&self, run: Option<&Path>) -> Result<(), Error> {
        if self.task.is_some() && run.is_none() {
            return Err(Error::bad_use("--task cannot be used without a run: name a run file"));
        }
        Ok(())
    }

    /// Opens a run and picks one task: the named one, else the one that `prefer` gives the smallest key.
    pub fn one_task<K: Ord>(&self, path: &Path, prefer: impl Fn(&TaskSpec) -> K) -> Result<OneTask, Error> {
        OneTask::new(self.open(path)?, self.task.as_deref(), prefer)
    }

    /// Reads of these runs what a page or a figure shows.
    pub fn page_runs(&self, runs: &[Run]) -> Result<Vec<PageRun>, Error> {
        page_runs(runs, self.task.as_deref())
    }
}

fn open(path: &Path, hints: &Hints) -> Result<Run, Error> {
    let run = Run::open(path, hints).map_err(|error| {
        let meant =
            path.to_str().filter(|_| !path.exists()).and_then(|name| usage_hints::suggest_option(name, ""));
        match meant {
            Some(meant) => error.remedy(meant),
            None => error,
        }
    })?;
    Ok(run.on_progress(show_read_progress))
}

/// Reads of runs what a page or a figure shows, of one task or of all, and checks their machines.
pub fn page_runs(runs: &[Run], task: Option<&str>) -> Result<Vec<PageRun>, Error> {
    let mut runs = page::read_page_runs(runs, task)?;
    runs.iter_mut().for_each(|run| run.checks = check_run(&run.info));
    Ok(runs)
}

/// Nothing is shown before this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows the progress of reading, on standard error if that is a terminal.
fn show_read_progress(progress: Progress) {
    if progress.taken < PATIENCE || !io::stderr().is_terminal() {
        return;
    }
    // A closed standard error has no reader.
    let _ = if progress.finished {
        write!(io::stderr(), "\r\x1b[K")
    } else {
        let (done, of) = (progress.done.max(1), progress.of.max(1));
        let left = progress.taken.as_nanos() as f64 * of.saturating_sub(done) as f64 / done as f64;
        write!(io::stderr(), "\r{} % read, {} left \x1b[K", 100 * done / of, Human(left))
    };
}
