//! Writing a run out as what other tools read: one file per format.

mod csv;
mod cyclictest;
pub mod exposition;
mod hdr;
mod junit;
mod latencies;
mod linuxcnc;
mod openmetrics;
mod perfetto;
mod rows;
mod started;
mod verdicts;
mod words;

use std::fmt;
use std::io::{BufWriter, Write};
use std::str::FromStr;

pub use words::{about, text};

use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::require::Requirement;
use jitterlab_model::{Error, Fitness};
use jitterlab_motion::stepper::Drive;
use jitterlab_runs::{Run, Warned};

use crate::junit::Case;

/// What a run can be written out as.
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
    /// The same as the classic text of Prometheus.
    Prometheus,
    /// Activations on a time line, and what ran around the latest ones, as ui.perfetto.dev opens it.
    Perfetto,
    /// What was decided as test cases in JUnit's XML.
    Junit,
    /// What LinuxCNC is told of the threads of this computer, as a part of its INI file.
    LinuxCnc,
}

/// What is to be decided, for the format of verdicts, and what a thread of LinuxCNC is to drive.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Whether this purpose is served; all usual ones that a task tests where nothing is asked.
    pub purpose: Option<&'static Purpose>,
    /// Whether each of these requirements is met.
    pub requirements: Vec<Requirement>,
    /// So many values that break a requirement ever come together, as is known otherwise.
    pub burst_at_most: Option<u64>,
    /// The drive that is stepped; StepConf's defaults without one.
    pub drive: Option<Drive>,
}

/// How a format is written.
type Exporter = fn(&Run, &[usize], &Asked, &mut dyn Write) -> Result<Exported, Error>;

/// Every format, what it is called, and who writes it.
const EXPORTERS: [(Format, &str, Exporter); 8] = [
    (Format::Csv, "csv", |run, tasks, _, out| csv::write(run, tasks, out)),
    (Format::Cyclictest, "cyclictest", |run, tasks, _, out| cyclictest::write(run, tasks, out)),
    (Format::Hdr, "hdr", |run, tasks, _, out| hdr::write(run, tasks, out)),
    (Format::OpenMetrics, "openmetrics", |run, tasks, _, out| openmetrics::write(run, tasks, out)),
    (Format::Prometheus, "prometheus", |run, tasks, _, out| openmetrics::write_classic(run, tasks, out)),
    (Format::Perfetto, "perfetto", |run, tasks, _, out| perfetto::write(run, tasks, out)),
    (Format::Junit, "junit", junit::write),
    (Format::LinuxCnc, "linuxcnc", linuxcnc::write),
];

/// What was written, and what the format could not take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exported {
    /// Activations, latencies of histograms, verdicts, or threads.
    pub values: u64,
    /// Late starts with what ran around them.
    pub late_starts: u64,
    /// What is not in it, or not as it was.
    pub losses: Vec<Loss>,
    /// What was decided of what was asked, if something was.
    pub judged: Option<Fitness>,
}

/// Something that a format cannot hold, or that the run does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// Latencies below 0 (early wake-ups) that count as 0.
    Negative {
        /// How many.
        count: u64,
    },
    /// Latencies beyond the format's last bin, which are only counted.
    Overflow {
        /// How many.
        count: u64,
        /// Where the bins end.
        above_ns: i64,
    },
    /// Latencies of which the source itself tells only bounds: they are in no bin.
    Beyond {
        /// How many.
        count: u64,
    },
    /// The run keeps its spikes alone, so these are the activations that were written.
    OnlySpikes,
    /// Nothing of what the format holds is known of a task.
    LeftOut {
        /// Its name.
        task: String,
    },
    /// How long the run lasted, which the format wants said.
    NoLength,
    /// Another task has the name that this one would have in the format.
    Tagged {
        /// Its name.
        task: String,
        /// What it is called there.
        tag: String,
    },
    /// Activations that are not among the latest starts, which alone are written.
    Earlier {
        /// How many.
        count: u64,
    },
    /// A thread of LinuxCNC of which the run does not say how long its period may be.
    NoThread {
        /// Its entry in the INI file.
        entry: &'static str,
        /// Why not, as a sentence.
        why: String,
    },
}

impl Exported {
    /// Verdicts; together they say what was asked.
    fn decided(cases: &[Case], asked: &Asked) -> Self {
        let is_asked = asked.purpose.is_some() || !asked.requirements.is_empty();
        let worst = cases.iter().map(|case| case.fitness).max();
        Exported { values: cases.len() as u64, judged: worst.filter(|_| is_asked), ..Exported::default() }
    }

    fn lose(&mut self, count: u64, loss: impl FnOnce(u64) -> Loss) {
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

    /// How it is asked for.
    pub fn name(self) -> &'static str {
        EXPORTERS.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// Whether it holds verdicts, so that it is asked what is to be decided.
    pub fn decides(self) -> bool {
        self == Format::Junit
    }

    /// Writes the tasks of these numbers.
    ///
    /// # Errors
    /// The run cannot be read or is damaged, it does not hold what the format is of, or `out` does not take more.
    pub fn write(
        self,
        run: &Run,
        tasks: &[usize],
        asked: &Asked,
        out: &mut dyn Write,
    ) -> Result<Warned<Exported>, Error> {
        let mut out = BufWriter::new(out);
        let mut exported = Exported::default();
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
