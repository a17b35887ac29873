//! Writing a run out as what other tools read: one file per format.

mod arrow;
mod csv;
mod cyclictest;
mod error;
mod hdr;
mod latencies;
mod markdown;
mod openmetrics;
mod perfetto;
mod rows;
mod started;

use std::fmt;
use std::io::{BufWriter, Write};
use std::str::FromStr;

pub use arrow::Batches;
pub use error::{ExportError, NotAFormat};

use crate::{Run, Warned};

/// What a run can be written out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, a line per activation.
    Csv,
    /// An Arrow IPC file, which is Feather version 2: the columns of the run file.
    Arrow,
    /// The latency's histogram as cyclictest's `-h` prints it.
    Cyclictest,
    /// A log of HdrHistogram: the latency's histogram of each second.
    Hdr,
    /// The figures and the latency's histogram as OpenMetrics text.
    OpenMetrics,
    /// The figures of each task as a table in Markdown.
    Markdown,
    /// The latest activations with what ran around them, as ui.perfetto.dev opens it.
    Perfetto,
}

/// How a format is written.
type Exporter = fn(&Run, &[usize], &mut dyn Write) -> Result<Exported, ExportError>;

/// Every format, what it is called, and who writes it.
const EXPORTERS: [(Format, &str, Exporter); 7] = [
    (Format::Csv, "csv", csv::write),
    (Format::Arrow, "arrow", arrow::write),
    (Format::Cyclictest, "cyclictest", cyclictest::write),
    (Format::Hdr, "hdr", hdr::write),
    (Format::OpenMetrics, "openmetrics", openmetrics::write),
    (Format::Markdown, "markdown", markdown::write),
    (Format::Perfetto, "perfetto", perfetto::write),
];

/// What was written, and what the format could not take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exported {
    /// Activations, latencies of histograms, or late starts.
    pub values: u64,
    /// What is not in it, or not as it was.
    pub losses: Vec<Loss>,
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
}

impl Exported {
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

    /// Whether it is text, which a terminal can show.
    pub fn is_text(self) -> bool {
        self != Format::Arrow
    }

    /// Writes the tasks of these numbers.
    ///
    /// # Errors
    /// The run cannot be read or is damaged, it does not hold what the format is of, or `out` does not take more.
    pub fn write(
        self,
        run: &Run,
        tasks: &[usize],
        out: &mut dyn Write,
    ) -> Result<Warned<Exported>, ExportError> {
        let mut out = BufWriter::new(out);
        let mut exported = Exported::default();
        for (_, _, write) in EXPORTERS.iter().filter(|(format, ..)| *format == self) {
            exported = write(run, tasks, &mut out)?;
        }
        out.flush()?;
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
    type Err = NotAFormat;

    fn from_str(text: &str) -> Result<Self, NotAFormat> {
        let found = EXPORTERS.iter().find(|(_, name, _)| *name == text);
        found.map(|(format, ..)| *format).ok_or_else(|| NotAFormat {
            asked: text.into(),
            known: EXPORTERS.map(|(_, name, _)| name).join(", "),
        })
    }
}
