//! Export of a run for other tools: one file per format.

mod csv;
mod cyclictest;
mod description;
pub mod exposition;
mod hdr;
mod junit;
mod latencies;
mod linuxcnc;
mod openmetrics;
mod perfetto;
mod rows;
mod trace_dat;
mod verdicts;
mod words;

use std::fmt;
use std::io::{BufWriter, Write};
use std::str::FromStr;

pub use words::{format_help, summary_text};

use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::require::Requirement;
use jitterlab_model::{Error, Fitness};
use jitterlab_motion::stepper::Drive;
use jitterlab_runs::{Run, Warned};

use crate::junit::TestCase;

/// Formats that a run can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, a line per activation.
    Csv,
    /// The latency's histogram as cyclictest's `-h` prints it.
    Cyclictest,
    /// A log of HdrHistogram: the latency's histogram of each second.
    Hdr,
    /// The figures and the latency's histogram as OpenMetrics text.
    OpenMetrics,
    /// The figures and the latency's histogram as the classic text of Prometheus.
    Prometheus,
    /// Activations on a time line, and the activity around the worst ones, as ui.perfetto.dev opens it.
    Perfetto,
    /// Activity around the worst starts, as KernelShark and trace-cmd open it.
    TraceDat,
    /// Decisions as test cases in JUnit's XML.
    Junit,
    /// Settings of LinuxCNC for the threads of this computer, as a part of its INI file.
    LinuxCnc,
}

/// Questions for the format of verdicts, and the drive for threads of LinuxCNC.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// Purpose to judge; without one or requirements, all usual purposes that a task tests.
    pub purpose: Option<&'static Purpose>,
    pub requirements: Vec<Requirement>,
    /// Largest number of values that break a requirement together, known from elsewhere.
    pub burst_at_most: Option<u64>,
    /// The drive that is stepped; StepConf's defaults without one.
    pub drive: Option<Drive>,
}

type Exporter = fn(&Run, &[usize], &ExportOptions, &mut dyn Write) -> Result<ExportSummary, Error>;

/// Every format with its name and its writer.
const EXPORTERS: [(Format, &str, Exporter); 9] = [
    (Format::Csv, "csv", |run, tasks, _, out| csv::write(run, tasks, out)),
    (Format::Cyclictest, "cyclictest", |run, tasks, _, out| cyclictest::write(run, tasks, out)),
    (Format::Hdr, "hdr", |run, tasks, _, out| hdr::write(run, tasks, out)),
    (Format::OpenMetrics, "openmetrics", |run, tasks, _, out| openmetrics::write(run, tasks, out)),
    (Format::Prometheus, "prometheus", |run, tasks, _, out| openmetrics::write_classic(run, tasks, out)),
    (Format::Perfetto, "perfetto", |run, tasks, _, out| perfetto::write(run, tasks, out)),
    (Format::TraceDat, "trace-dat", |run, tasks, _, out| trace_dat::write(run, tasks, out)),
    (Format::Junit, "junit", junit::write),
    (Format::LinuxCnc, "linuxcnc", linuxcnc::write),
];

/// Amount of data written, and losses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportSummary {
    /// Activations, latencies of histograms, verdicts, or threads.
    pub values: u64,
    /// Late starts with the activity around them.
    pub late_starts: u64,
    /// Data that are missing or changed.
    pub losses: Vec<Loss>,
    /// Worst fitness of the purposes and requirements asked for, if any were.
    pub worst_fitness: Option<Fitness>,
}

/// Data that a format cannot hold, or that the run does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// TaskLatencies below 0 (early wake-ups) that count as 0.
    Negative { count: u64 },
    /// TaskLatencies beyond the format's last bin, which are only counted.
    Overflow {
        count: u64,
        /// Upper end of the bins.
        above_ns: i64,
    },
    /// TaskLatencies that the source reports only by bounds: they are in no bin.
    Beyond { count: u64 },
    /// The run keeps its spikes alone, so these are the activations that were written.
    OnlySpikes,
    /// A task without data for the format.
    LeftOut { task: String },
    /// The run's length is unknown, and the format wants it.
    NoLength,
    /// Another task has the name that this one would have in the format.
    Tagged { task: String, tag: String },
    /// Activations that are not among the worst starts, which alone are written.
    Earlier { count: u64 },
    /// A thread of LinuxCNC without a period, because the run does not give one.
    NoThread {
        /// Entry of the thread in the INI file.
        entry: &'static str,
        /// Reason, as a sentence.
        why: String,
    },
}

impl ExportSummary {
    /// Summary of test cases: their number, and the worst fitness if a question was asked.
    fn from_cases(cases: &[TestCase], asked: &ExportOptions) -> Self {
        let is_asked = asked.purpose.is_some() || !asked.requirements.is_empty();
        let worst = cases.iter().map(|case| case.fitness).max();
        ExportSummary {
            values: cases.len() as u64,
            worst_fitness: worst.filter(|_| is_asked),
            ..ExportSummary::default()
        }
    }

    fn record_loss(&mut self, count: u64, loss: impl FnOnce(u64) -> Loss) {
        if count > 0 {
            self.losses.push(loss(count));
        }
    }
}

impl Format {
    /// All of them, in the order of tables.
    pub fn all() -> impl Iterator<Item = Format> {
        EXPORTERS.into_iter().map(|(format, ..)| format)
    }

    pub fn name(self) -> &'static str {
        EXPORTERS.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// True if it holds verdicts and so needs questions to decide.
    pub fn has_verdicts(self) -> bool {
        self == Format::Junit
    }

    /// Writes the tasks of these numbers; returns what was written and lost, with the run's warnings.
    pub fn write(
        self,
        run: &Run,
        tasks: &[usize],
        asked: &ExportOptions,
        out: &mut dyn Write,
    ) -> Result<Warned<ExportSummary>, Error> {
        let mut out = BufWriter::new(out);
        let mut exported = ExportSummary::default();
        for (_, _, write) in EXPORTERS.iter().filter(|(format, ..)| *format == self) {
            exported = write(run, tasks, asked, &mut out)
                .map_err(|e| e.while_at("cannot write the whole export"))?;
        }
        out.flush().map_err(|e| Error::from(e).while_at("cannot write the whole export"))?;
        Ok(run.warned(exported))
    }
}

impl fmt::Display for Format {
    /// As it is asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = EXPORTERS.iter().find(|(_, name, _)| *name == text);
        found.map(|(format, ..)| *format).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is no format that is written"))
                .remedy(format!("choose one of {}", EXPORTERS.map(|(_, name, _)| name).join(", ")))
        })
    }
}
