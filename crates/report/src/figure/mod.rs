//! Figures as files: SVG for papers, PNG for everything else, text for the terminal.
//!
//! One figure is one file beside this one, and one line in [`Kind::ALL`].

pub(crate) mod frame;
mod histogram;
pub mod load;
pub mod nist;
mod percentiles;
mod png;
mod response;
mod series;
pub mod terminal;

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Distribution;

use crate::page::PageRun;
pub use png::png;
pub use response::responses;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The run has no value of the quantity.
    #[error("nothing to draw: no run has a value of {0}")]
    Nothing(Quantity),
    /// The plotting library gave up.
    #[error("the figure could not be drawn ({0}); please report this")]
    Drawing(String),
    /// The SVG could not be turned into pixels.
    #[error("the figure could not be turned into PNG ({0}); SVG works: name the file .svg")]
    Png(String),
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Counts of values, counts logarithmic.
    Histogram,
    /// Values over time, every extreme drawn.
    Series,
    /// Values against the share of values that they are not below.
    Percentiles,
}

impl Kind {
    /// Every figure there is.
    pub const ALL: &[Kind] = &[Kind::Histogram, Kind::Series, Kind::Percentiles];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Histogram => "histogram",
            Kind::Series => "series",
            Kind::Percentiles => "percentiles",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|kind| kind.name() == text);
        found.copied().ok_or_else(|| format!("{text:?} is not a figure: choose one of {}", names()))
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

    fn of(self, task: &crate::page::PageTask) -> &Distribution {
        let stats = &task.figures.stats;
        match self {
            Quantity::Latency => &stats.latency,
            Quantity::Execution => &stats.execution,
            Quantity::PeriodError => &stats.period_error,
        }
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

/// The figure as SVG, 900 by 540 pixels, white, with axes, units and a caption that says what it rests on.
///
/// # Errors
/// There is nothing to draw.
pub fn svg(kind: Kind, quantity: Quantity, runs: &[PageRun]) -> Result<String, FigureError> {
    if runs.iter().flat_map(|run| &run.tasks).all(|task| quantity.of(task).count() == 0) {
        return Err(FigureError::Nothing(quantity));
    }
    let mut text = String::new();
    let drawn = match kind {
        Kind::Histogram => histogram::draw(&mut text, quantity, runs),
        Kind::Series => series::draw(&mut text, quantity, runs),
        Kind::Percentiles => percentiles::draw(&mut text, quantity, runs),
    };
    drawn.map_err(|error| FigureError::Drawing(error.to_string()))?;
    Ok(text)
}
