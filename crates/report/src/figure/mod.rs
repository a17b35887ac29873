//! Figures of runs and results: as SVG for papers, as PNG for everything else, as text for the terminal.

pub(crate) mod caption;
pub mod glance;
mod histogram;
pub mod load;
pub mod nist;
mod percentiles;
mod png;
mod series;

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Distribution;

use crate::chart::{self, Chart, Terminal};
use crate::histogram::terminal_histogram;
use crate::page::{PageRun, PageTask, sections};
use crate::section::Section;
pub(crate) use histogram::cluster_words;
pub use png::png;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// There is no data for it.
    #[error("nothing to draw: {0} needs {1}")]
    Nothing(Name, &'static str),
    /// The plotting library gave up.
    #[error("the figure could not be drawn ({0}); please report this")]
    Drawing(String),
    /// The SVG could not be turned into pixels.
    #[error("the figure could not be turned into PNG ({0}); SVG works: name the file .svg")]
    Png(String),
}

/// Every figure: its name, and what it needs.
const NAMES: &[(&str, &str)] = &[
    ("histogram", "a run with values of the quantity"),
    ("series", "a run with values of the quantity"),
    ("percentiles", "a run with values of the quantity"),
    ("pairs", "a run of 100 activations in a row"),
    ("autocorrelation", "a run of some activations in a row"),
    ("spectrum", "a run of 64 activations in a row"),
    ("time-error", "a run of some activations in a row"),
    ("prediction", "a run that kept all activations"),
    ("comparison", "two runs of a task of the same name, of some thousand activations each"),
    ("compensation", "what `jitterlab compensate --json` prints"),
    ("load-curve", "what `jitterlab compensate --json` prints"),
    ("margin", "what `jitterlab compensate --json` prints"),
    ("torque", "what `jitterlab stepper --json` prints"),
    ("step-rate", "what `jitterlab stepper --json` prints"),
    ("servo-cost", "what `jitterlab servo --json` prints for a run"),
    ("step-response", "what `jitterlab servo --json` prints for a run"),
    ("matrix", "what `jitterlab matrix` left: name its directory"),
];

/// The name of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name(&'static str);

impl Name {
    /// Counts of values, counts logarithmic.
    pub const HISTOGRAM: Name = Name("histogram");
    /// Values over time, every extreme drawn.
    pub const SERIES: Name = Name("series");

    /// Every figure there is, with commas, for help and errors.
    pub fn list() -> String {
        NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(name, _)| Name(name))
            .ok_or_else(|| format!("{text:?} is not a figure: choose one of {}", Name::list()))
    }
}

/// Of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantity {
    /// Start minus due time.
    #[default]
    Latency,
    /// End minus start.
    Execution,
    /// Time between starts minus the period.
    PeriodError,
}

impl Quantity {
    /// Every quantity there is, in the order of a series' columns.
    pub const ALL: [Quantity; 3] = [Quantity::Latency, Quantity::Execution, Quantity::PeriodError];

    fn of(self, task: &PageTask) -> &Distribution {
        let stats = &task.figures.stats;
        match self {
            Quantity::Latency => &stats.latency,
            Quantity::Execution => &stats.execution,
            Quantity::PeriodError => &stats.period_error,
        }
    }

    fn column(self) -> usize {
        Quantity::ALL.iter().position(|q| *q == self).unwrap_or(0)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Quantity::Latency => "latency",
            Quantity::Execution => "execution time",
            Quantity::PeriodError => "period error",
        })
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "latency" => Ok(Quantity::Latency),
            "execution" => Ok(Quantity::Execution),
            "period" | "period-error" => Ok(Quantity::PeriodError),
            _ => Err(format!("{text:?} is not a quantity: choose one of latency, execution, period")),
        }
    }
}

/// The charts of a figure: one, or one for each task. `sections` are those of results that are no runs.
///
/// # Errors
/// There is nothing to draw.
pub fn charts(
    name: Name,
    quantity: Quantity,
    runs: &[PageRun],
    sections: &[Section],
) -> Result<Vec<Chart>, FigureError> {
    let charts: Vec<Chart> = match name.0 {
        "histogram" => histogram::chart(quantity, runs).into_iter().collect(),
        "series" => series::charts(quantity, runs),
        "percentiles" => percentiles::chart(quantity, runs).into_iter().collect(),
        name => {
            let own = sections::of(runs);
            let all = own.iter().chain(sections).flat_map(Section::charts);
            all.filter(|chart| chart.name == name).cloned().collect()
        }
    };
    let needs = NAMES.iter().find(|(n, _)| *n == name.0).map_or("data", |(_, needs)| needs);
    if charts.is_empty() { Err(FigureError::Nothing(name, needs)) } else { Ok(charts) }
}

/// The charts below each other as SVG, 900 pixels wide, white, with axes, units and captions that say what they rest on.
///
/// # Errors
/// The plotting library gives up.
pub fn svg(charts: &[Chart]) -> Result<String, FigureError> {
    chart::svg::svg(charts)
}

/// The figure for the terminal.
///
/// # Errors
/// There is nothing to draw.
pub fn text(
    name: Name,
    quantity: Quantity,
    runs: &[PageRun],
    sections: &[Section],
    terminal: Terminal,
) -> Result<String, FigureError> {
    let charts = charts(name, quantity, runs, sections)?;
    if name.0 == "histogram" {
        // On the terminal a line for each occupied bin tells more than bars do.
        let tasks = caption::drawables(quantity, runs).into_iter().map(|d| {
            terminal_histogram(quantity.of(d.task), terminal) + &terminal.caption(&caption::of(quantity, &d))
        });
        return Ok(tasks.collect::<Vec<_>>().join("\n"));
    }
    Ok(terminal.figures(&charts))
}
