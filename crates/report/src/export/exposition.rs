//! The text that Prometheus and its relatives read, in its two dialects.

use std::io::{self, Write};

use crate::printable::printable_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// OpenMetrics 1.0. Every sample carries this time, in seconds of the Unix epoch, where it is known: `promtool tsdb` needs it.
    OpenMetrics {
        /// The time of every sample.
        at: Option<String>,
    },
    /// The classic text, version 0.0.4, without times: node_exporter's textfile collector refuses them, and knows no type `info`.
    Classic,
}

/// Type of a family of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Labels that describe something; the sample is 1.
    Info,
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Counts up to edges.
    Histogram,
}

/// Metrics as text.
pub struct Exposition<'a> {
    out: &'a mut dyn Write,
    dialect: Dialect,
}

impl<'a> Exposition<'a> {
    pub fn new(out: &'a mut dyn Write, dialect: Dialect) -> Self {
        Exposition { out, dialect }
    }

    /// Begins a family; `name` has neither `_total` nor `_info`.
    pub fn begin_family(&mut self, name: &str, kind: MetricType, help: &str) -> io::Result<()> {
        let (suffix, kind) = match (kind, &self.dialect) {
            (MetricType::Info, Dialect::OpenMetrics { .. }) => ("", "info"),
            (MetricType::Info, Dialect::Classic) => ("_info", "gauge"),
            (MetricType::Counter, Dialect::OpenMetrics { .. }) => ("", "counter"),
            (MetricType::Counter, Dialect::Classic) => ("_total", "counter"),
            (MetricType::Gauge, _) => ("", "gauge"),
            (MetricType::Histogram, _) => ("", "histogram"),
        };
        writeln!(self.out, "# TYPE {name}{suffix} {kind}")?;
        if name.ends_with("_seconds") && matches!(self.dialect, Dialect::OpenMetrics { .. }) {
            writeln!(self.out, "# UNIT {name} seconds")?;
        }
        writeln!(self.out, "# HELP {name}{suffix} {help}")
    }

    /// Writes a sample; `name` is the family's with what its kind of sample adds.
    pub fn write_sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) -> io::Result<()> {
        let labels: Vec<String> =
            labels.iter().map(|(key, of)| format!("{key}=\"{}\"", escape_label(of))).collect();
        write!(self.out, "{name}{{{}}} {value}", labels.join(","))?;
        match &self.dialect {
            Dialect::OpenMetrics { at: Some(at) } => writeln!(self.out, " {at}"),
            _ => writeln!(self.out),
        }
    }

    /// True if a histogram may have a sum: OpenMetrics has none where values are below 0.
    pub fn has_sum(&self, has_negative: bool) -> bool {
        !has_negative || self.dialect == Dialect::Classic
    }

    /// Ends the text.
    pub fn finish(self) -> io::Result<()> {
        match self.dialect {
            Dialect::OpenMetrics { .. } => writeln!(self.out, "# EOF"),
            Dialect::Classic => Ok(()),
        }
    }
}

fn escape_label(text: &str) -> String {
    printable_name(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
