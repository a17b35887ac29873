//! Figures of runs and results: their list, the data that each needs, and the section that explains it.
//!
//! To add a figure of runs: a file in this folder with a function that makes its [`Piece`]s, a line in
//! [`FIGURES`], and its words in `dictionary/names.toml`. To add one of another result: a chart with its name in the result's sections, and a
//! line in [`FIGURES`]. The page, `plot` and the terminal find it there.

mod activity;
mod autocorrelation;
mod causes;
mod comparison;
pub mod histogram;
pub mod load;
pub mod overview;
mod pairs;
mod percentiles;
mod prediction;
pub(crate) mod series;
mod spectrum;
pub(crate) mod task;
mod time_error;

use std::fmt;
use std::str::FromStr;

use jitterlab_model::{Error, Quantity};

use crate::chart::Chart;
use crate::dictionary::entry;
use crate::document::Document;
use crate::parallel::run_in_parallel;
use crate::run_view::PageRun;
use crate::section::{Piece, Section};
pub(crate) use comparison::conclusion;
pub(crate) use series::STATUS;

/// A figure that can be asked for.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    name: &'static str,
    source: Source,
}

/// Source of a figure's charts.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Pieces about runs, under the figure's own heading.
    Pieces(fn(&[PageRun]) -> Vec<Piece>),
    /// A section that results have too.
    Section(fn(&[PageRun]) -> Option<Section>),
    /// Charts of one quantity.
    Quantity(fn(Quantity, &[PageRun]) -> Vec<Chart>),
    /// Charts of one quantity; in a section all of each task together.
    Series,
    /// Another result, whose sections hold it.
    Result,
}

/// Every figure, in the order of the page.
const FIGURES: &[Figure] = &[
    Figure::SERIES,
    Figure { name: "causes", source: Source::Section(causes::section) },
    Figure::HISTOGRAM,
    Figure { name: "percentiles", source: Source::Quantity(percentiles::charts) },
    Figure { name: "pairs", source: Source::Pieces(pairs::pairs_pieces) },
    Figure { name: "autocorrelation", source: Source::Pieces(autocorrelation::autocorrelation_pieces) },
    Figure { name: "spectrum", source: Source::Pieces(spectrum::spectrum_pieces) },
    Figure { name: "time-error", source: Source::Pieces(time_error::time_error_pieces) },
    Figure { name: "prediction", source: Source::Section(prediction::section) },
    Figure { name: "comparison", source: Source::Section(comparison::section) },
    from_result("compensation"),
    from_result("load-curve"),
    from_result("margin"),
    from_result("settings"),
    from_result("torque"),
    from_result("step-rate"),
    from_result("servo-cost"),
    from_result("step-response"),
    from_result("matrix"),
];

const fn from_result(name: &'static str) -> Figure {
    Figure { name, source: Source::Result }
}

/// The sections of all figures of these runs, in the order of the page.
pub(crate) fn sections(runs: &[PageRun]) -> Vec<Section> {
    // Pairs of neighbours, the last of the first, take as long as all that follow.
    let (first, later) = FIGURES.split_at(5);
    let drawn = |figures: &[Figure]| figures.iter().filter_map(|figure| figure.section(runs)).collect();
    let (mut sections, later): (Vec<Section>, Vec<Section>) =
        run_in_parallel(|| drawn(first), || drawn(later));
    sections.extend(later);
    sections
}

impl Figure {
    /// Values over time, every extreme drawn.
    pub const SERIES: Figure = Figure { name: "series", source: Source::Series };
    pub const HISTOGRAM: Figure = Figure { name: "histogram", source: Source::Quantity(histogram::charts) };

    /// Section of the figure of these runs; `None` if there is nothing to draw.
    fn section(self, runs: &[PageRun]) -> Option<Section> {
        let pieces = match self.source {
            Source::Section(section) => return section(runs),
            Source::Pieces(pieces) => pieces(runs),
            Source::Quantity(charts) => task::quantity_choice(|quantity| charts(quantity, runs).pop()),
            Source::Series => series::series_pieces(runs),
            Source::Result => Vec::new(),
        };
        let words = |table: &str| entry(table, self.name).unwrap_or(self.name);
        (!pieces.is_empty()).then(|| Section::new(self.name, words("figure"), words("figure-lead"), pieces))
    }

    /// Every figure there is, with commas, for help and errors.
    pub fn list() -> String {
        FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", ")
    }

    /// Draws the figure: one chart, or one for each task. `documents` are results that are no runs.
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
            Source::Quantity(charts) => charts(quantity, runs),
            Source::Series => series::charts(quantity, runs),
            Source::Section(_) | Source::Pieces(_) => named(&mut self.section(runs).iter()),
            Source::Result => named(&mut documents.iter().flat_map(|document| &document.sections)),
        };
        if charts.is_empty() {
            let needs = entry("figure-needs", self.name).unwrap_or("a run with values of the quantity");
            return Err(Error::not_measured(format!("nothing to draw: {} needs {needs}", self.name)));
        }
        Ok(charts)
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
