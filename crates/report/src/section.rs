//! What a page is made of beside its fixed parts: sections that appear when their data exist.
//!
//! To show a new kind of result, make a [`Section`] of it and hand it to [`render`](crate::page::render). Text is escaped by
//! the page; numbers are the caller's, ready to read, with their units.

use serde::Serialize;

use crate::chart::Chart;
use crate::typeset::microseconds;

/// A part of the page with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Name within the page, in lower case with hyphens; its address is `report.html#ID`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What the section answers and how to read it, in a sentence or two.
    pub lead: String,
    /// Its content, in order.
    pub pieces: Vec<Piece>,
}

impl Section {
    /// Spells all times as on the axes of its figures.
    pub(crate) fn typeset(&mut self) {
        for piece in &mut self.pieces {
            match piece {
                Piece::Text { text } => *text = microseconds(text),
                Piece::Table { caption, rows, .. } => {
                    *caption = microseconds(caption);
                    rows.iter_mut().flatten().for_each(|cell| *cell = microseconds(cell));
                }
                Piece::Figure(chart) => *chart = chart.clone().typeset(),
                Piece::Choice { figures, .. } => {
                    let charts = figures.iter_mut().flat_map(|figure| &mut figure.charts);
                    charts.for_each(|chart| *chart = chart.clone().typeset());
                }
                Piece::Details { .. } => {}
            }
        }
    }

    /// Its figures, in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Figure(chart) => Some(chart),
            _ => None,
        })
    }
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// A paragraph.
    Text {
        /// The words.
        text: String,
    },
    /// A table. The first column names the row; all others are set flush right.
    Table {
        /// What the table holds, with units.
        caption: String,
        /// One heading for each column.
        header: Vec<String>,
        /// The cells of each row.
        rows: Vec<Vec<String>>,
    },
    /// A figure.
    Figure(Chart),
    /// Figures of which one is seen at a time.
    Choice {
        /// What there is to choose.
        label: String,
        /// The figures, the first one seen first.
        figures: Vec<Shown>,
    },
    /// Text that is folded away until somebody wants it.
    Details {
        /// What is behind it.
        summary: String,
        /// Shown as it is, in a fixed-width fount.
        text: String,
    },
}

/// One of several figures to choose from: charts below each other, which move together.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// What it is called among the others.
    pub label: String,
    /// Its charts.
    pub charts: Vec<Chart>,
    /// Where the page has finer detail of them; `None` if they hold all there is.
    pub detail: Option<Detail>,
}

/// The series that charts are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detail {
    /// Number of the run.
    pub run: usize,
    /// Number of the task within the run.
    pub task: usize,
    /// For each chart the column of the series that it shows.
    pub columns: Vec<usize>,
}
