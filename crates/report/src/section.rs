//! What a page is made of beside its fixed parts: sections that appear when their data exist.
//!
//! To show a new kind of result, make a [`Section`] of it and hand it to [`render`](crate::page::render). Text is escaped by
//! the page; numbers are the caller's, ready to read, with their units.

use serde::Serialize;

use crate::chart::{Chart, Terminal};
use crate::head::Head;
use crate::table::columns;
use crate::wrap::wrap;

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
    /// The same on the terminal, where its heading and lead are not needed.
    #[must_use]
    pub fn text(&self, terminal: Terminal) -> String {
        let text: String = self.pieces.iter().map(|piece| piece.text(terminal)).collect();
        text.trim_start_matches('\n').to_owned()
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
    /// The answer in three lines.
    Answer(Head),
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

impl Piece {
    /// A paragraph.
    pub fn said(text: impl Into<String>) -> Piece {
        Piece::Text { text: text.into() }
    }

    /// A table under its caption.
    pub fn table(
        caption: impl Into<String>,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Piece {
        let header = header.iter().map(|cell| (*cell).to_owned()).collect();
        Piece::Table { caption: caption.into(), header, rows: rows.into_iter().collect() }
    }

    /// The same on the terminal.
    pub(crate) fn text(&self, terminal: Terminal) -> String {
        match self {
            Piece::Answer(head) => head.text(terminal),
            Piece::Text { text } => wrap(text),
            Piece::Table { caption, header, rows } => {
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                let caption = if caption.is_empty() { String::new() } else { wrap(caption) };
                format!("\n{caption}{}", columns(&header, rows.iter().cloned()))
            }
            Piece::Figure(chart) => format!("\n{}", terminal.figures([chart])),
            Piece::Choice { figures, .. } => figures
                .first()
                .map_or_else(String::new, |shown| format!("\n{}", terminal.figures(&shown.charts))),
            Piece::Details { summary, text } => format!("\n{summary}\n{text}"),
        }
    }
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
    /// The point of the section's other figures by which it is chosen, too: whoever clicks at that gets this.
    pub stands_at: Option<[f64; 2]>,
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
