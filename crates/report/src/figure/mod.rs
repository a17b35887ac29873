//! Figures of runs and results: their list, the data that each needs, and the section that explains it.
//!
//! To add a figure of runs: a file in this folder with a function that makes a [`Section`] of runs, and a
//! line in [`FIGURES`]. To add one of another result: a chart with its name in the result's sections, and a
//! line in [`FIGURES`]. The page, `plot` and the terminal find it there.

mod autocorrelation;
mod causes;
mod comparison;
mod font;
pub mod glance;
pub mod histogram;
mod lanes;
pub mod load;
mod pairs;
mod percentiles;
mod png;
mod prediction;
pub(crate) mod series;
mod spectrum;
pub(crate) mod task;
mod time_error;

use std::fmt;
use std::str::FromStr;

use jitterlab_model::{Error, Quantity};

use crate::chart::{self, Chart};
use crate::document::Document;
use crate::run_view::PageRun;
use crate::section::Section;
pub(crate) use comparison::conclusion;
pub use png::png;
pub(crate) use series::STATUS;

/// A figure that can be asked for.
#[derive(Clone, Copy)]
pub struct Figure {
    name: &'static str,
    needs: &'static str,
    source: Source,
}

/// Source of a figure's charts.
#[derive(Clone, Copy)]
enum Source {
    /// The section that shows it of runs.
    Runs(fn(&[PageRun]) -> Option<Section>),
    /// Such a section, and its charts of one quantity.
    Quantity(fn(&[PageRun]) -> Option<Section>, fn(Quantity, &[PageRun]) -> Vec<Chart>),
    /// Another result, whose sections hold it.
    Result,
}

/// Every figure, in the order of the page.
const FIGURES: &[Figure] = &[
    Figure::SERIES,
    of_runs("causes", "a run of `jitterlab run --why` or `jitterlab watch`", causes::section),
    Figure::HISTOGRAM,
    of_quantity("percentiles", percentiles::section, percentiles::charts),
    of_runs("pairs", "a run of 100 activations in a row", pairs::section),
    of_runs("autocorrelation", "a run of some activations in a row", autocorrelation::section),
    of_runs("spectrum", "a run of 64 activations in a row", spectrum::section),
    of_runs("time-error", "a run of some activations in a row", time_error::section),
    of_runs("prediction", "a run that kept all activations", prediction::section),
    of_runs(
        "comparison",
        "two runs of a task of the same name, long against the time for which its latencies stay alike",
        comparison::section,
    ),
    of_result("compensation", "what `jitterlab compensate --json` prints"),
    of_result("load-curve", "what `jitterlab compensate --json` prints"),
    of_result("margin", "what `jitterlab compensate --json` prints"),
    of_result("settings", "what `jitterlab tune --json` prints"),
    of_result("torque", "what `jitterlab stepper --json` prints"),
    of_result("step-rate", "what `jitterlab stepper --json` prints"),
    of_result("servo-cost", "what `jitterlab servo --json` prints for a run"),
    of_result("step-response", "what `jitterlab servo --json` prints for a run"),
    of_result("matrix", "what `jitterlab matrix` left: name its directory"),
];

const fn of_runs(
    name: &'static str,
    needs: &'static str,
    section: fn(&[PageRun]) -> Option<Section>,
) -> Figure {
    Figure { name, needs, source: Source::Runs(section) }
}

const fn of_quantity(
    name: &'static str,
    section: fn(&[PageRun]) -> Option<Section>,
    charts: fn(Quantity, &[PageRun]) -> Vec<Chart>,
) -> Figure {
    Figure { name, needs: "a run with values of the quantity", source: Source::Quantity(section, charts) }
}

const fn of_result(name: &'static str, needs: &'static str) -> Figure {
    Figure { name, needs, source: Source::Result }
}

/// The sections of all figures of these runs, in the order of the page.
pub(crate) fn sections(runs: &[PageRun]) -> Vec<Section> {
    let section = |figure: &Figure| match figure.source {
        Source::Runs(section) | Source::Quantity(section, _) => section(runs),
        Source::Result => None,
    };
    FIGURES.iter().filter_map(section).collect()
}

impl Figure {
    /// Values over time, every extreme drawn.
    pub const SERIES: Figure = of_quantity("series", series::section, series::charts);
    pub const HISTOGRAM: Figure = of_quantity("histogram", histogram::section, histogram::charts);

    /// Every figure there is, with commas, for help and errors.
    pub fn list() -> String {
        FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", ")
    }

    /// Its charts: one, or one for each task. `documents` are results that are no runs.
    pub fn charts(
        self,
        quantity: Quantity,
        runs: &[PageRun],
        documents: &[Document],
    ) -> Result<Vec<Chart>, Error> {
        let named = |sections: &mut dyn Iterator<Item = &Section>| -> Vec<Chart> {
            let all = sections.flat_map(Section::charts);
            all.filter(|chart| chart.name == self.name).cloned().collect()
        };
        let charts = match self.source {
            Source::Quantity(_, charts) => charts(quantity, runs),
            Source::Runs(section) => named(&mut section(runs).iter()),
            Source::Result => named(&mut documents.iter().flat_map(|document| &document.sections)),
        };
        if charts.is_empty() {
            return Err(Error::not_measured(format!("nothing to draw: {} needs {}", self.name, self.needs)));
        }
        Ok(charts)
    }
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for Figure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = FIGURES.iter().find(|figure| figure.name == text);
        // A beginning that is that of one figure only.
        let mut begun = FIGURES.iter().filter(|figure| !text.is_empty() && figure.name.starts_with(text));
        match (found, begun.next(), begun.next()) {
            (Some(found), ..) => Ok(*found),
            (None, Some(meant), None) => Err(Error::bad_use(format!("{text:?} is not a figure"))
                .remedy(format!("did you mean {}?", meant.name))),
            _ => Err(Error::bad_use(format!("{text:?} is not a figure"))
                .remedy(format!("choose one of {}", Figure::list()))),
        }
    }
}

/// The charts below each other as SVG, 900 pixels wide, white, with axes, units and explanatory captions.
pub fn svg(charts: &[Chart]) -> Result<String, Error> {
    chart::svg::svg(charts)
}
