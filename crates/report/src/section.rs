//! The one presentation of every result: sections of pieces, which the renderers (terminal, page, JSON,
//! Python) show without knowing their subject.
//!
//! To show a new kind of result, implement [`Present`](crate::document::Present) in its file of words. Text is escaped by
//! the renderers. Cells of tables are values: a renderer picks their digits, alignment and widths.

use jitterlab_model::Fitness;
use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::words::{count, microseconds_of_bins, share, signed_percent};

/// A part of a document with a heading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// Name within the document, in lower case with hyphens; its address on a page is `report.html#ID`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Question that the section answers and how to read it, in a sentence or two; shown on the page only.
    pub lead: String,
    /// Its content, in order.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub pieces: Vec<Piece>,
}

impl Section {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        lead: impl Into<String>,
        pieces: Vec<Piece>,
    ) -> Section {
        Section { id: id.into(), title: title.into(), lead: lead.into(), pieces }
    }

    /// Charts of the section in order, folded ones included; without those of choices.
    pub fn charts(&self) -> Vec<&Chart> {
        fn of(pieces: &[Piece]) -> Vec<&Chart> {
            let charts = pieces.iter().flat_map(|piece| match piece {
                Piece::Figure(chart) => vec![chart],
                Piece::Details { pieces, .. } => of(pieces),
                _ => Vec::new(),
            });
            charts.collect()
        }
        of(&self.pieces)
    }
}

/// An element of a section.
#[expect(clippy::large_enum_variant, reason = "a section has few pieces, and a figure's data lie elsewhere")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "piece", rename_all = "kebab-case")]
pub enum Piece {
    /// A paragraph.
    Text {
        /// Text of the paragraph.
        text: String,
    },
    /// A remark on the result, the gravest first: a terminal shows three of them and counts the others.
    Note {
        /// Text of the remark.
        text: String,
    },
    /// Names with their values, a line each.
    Facts {
        /// Topic of the facts; empty if the section names it.
        caption: String,
        /// Name and value of each.
        facts: Vec<(String, String)>,
    },
    Table(Table),
    /// A figure. A terminal shows low ones ([`Chart::GLANCE`]) at once, others with everything else that is folded.
    Figure(Chart),
    /// Figures that are seen one at a time.
    Choice {
        /// Label of the choice.
        label: String,
        /// The figures, the first one seen first.
        figures: Vec<FigureOption>,
    },
    /// Lines to be shown as they are, in a fixed-width font.
    Verbatim {
        /// Heading of the lines; may be empty.
        heading: String,
        /// The lines.
        text: String,
    },
    /// Pieces that are folded away until the reader opens them.
    Details {
        /// Summary, always visible.
        summary: String,
        /// Pieces that are folded away.
        pieces: Vec<Piece>,
    },
}

impl Piece {
    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Piece {
        Piece::Text { text: text.into() }
    }

    /// A remark.
    pub fn note(text: impl Into<String>) -> Piece {
        Piece::Note { text: text.into() }
    }

    /// Names with their values.
    pub fn facts<N: Into<String>, V: Into<String>>(
        caption: impl Into<String>,
        facts: impl IntoIterator<Item = (N, V)>,
    ) -> Piece {
        let facts = facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Piece::Facts { caption: caption.into(), facts }
    }

    /// A table under its caption.
    pub fn table<C: Into<Cell>>(
        caption: impl Into<String>,
        header: &[impl AsRef<str>],
        rows: impl IntoIterator<Item = Vec<C>>,
    ) -> Piece {
        Piece::Table(Table::new(caption, header, rows))
    }

    /// Pieces folded behind a summary.
    pub fn details(summary: impl Into<String>, pieces: Vec<Piece>) -> Piece {
        Piece::Details { summary: summary.into(), pieces }
    }
}

/// A table. The first column names the row; all others hold values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub caption: String,
    /// One heading for each column.
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The first rows, with the others folded behind them.
    pub(crate) fn with_rest_folded(mut self, shown: usize) -> Vec<Piece> {
        let rest = self.rows.split_off(shown.min(self.rows.len()));
        let summary = format!("The other {}", count(rest.len() as u64));
        let folded = Table { caption: summary.clone(), header: self.header.clone(), rows: rest };
        let is_folded = !folded.rows.is_empty();
        let details = is_folded.then(|| Piece::details(summary, vec![Piece::Table(folded)]));
        std::iter::once(Piece::Table(self)).chain(details).collect()
    }

    /// A table under its caption.
    pub fn new<C: Into<Cell>>(
        caption: impl Into<String>,
        header: &[impl AsRef<str>],
        rows: impl IntoIterator<Item = Vec<C>>,
    ) -> Table {
        Table {
            caption: caption.into(),
            header: header.iter().map(|cell| cell.as_ref().to_owned()).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect(),
        }
    }
}

/// A value of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// There is no such value.
    Nothing,
    /// Words, or a value that is written already.
    Text(String),
    /// A fitness, in words.
    Verdict {
        /// Fitness, which sets the colour.
        fitness: Fitness,
        text: String,
    },
    /// A value that is written already, coloured by its rank in the table.
    Shaded {
        /// From 0 for the best to 1 for the worst.
        shade: f64,
        text: String,
    },
    /// A whole number of things.
    Count(u64),
    /// A time; tables show microseconds.
    Time {
        ns: f64,
        /// Width of the bin that it was read from in nanoseconds; 0 if it is exact.
        #[serde(default)]
        bin_ns: f64,
    },
    /// A share from 0 to 1, shown in percent.
    Share(f64),
    /// A relative change: -0.5 is half less.
    Change(f64),
}

impl Cell {
    /// A time of this many nanoseconds.
    pub fn time(ns: f64) -> Cell {
        Cell::Time { ns, bin_ns: 0.0 }
    }

    /// A cell made of the value, or an empty one for `None`.
    pub fn optional<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or(Cell::Nothing, cell)
    }

    /// The value as every renderer writes it.
    pub fn to_text(&self) -> String {
        match self {
            Cell::Nothing => "-".into(),
            Cell::Text(text) | Cell::Verdict { text, .. } | Cell::Shaded { text, .. } => text.clone(),
            Cell::Count(number) => count(*number),
            Cell::Time { ns, bin_ns } => microseconds_of_bins(*ns, *bin_ns),
            Cell::Share(value) => share(*value),
            Cell::Change(value) => signed_percent(*value),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

/// One of several figures to choose from: charts below each other, which move together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureOption {
    /// Name among the others.
    pub label: String,
    pub charts: Vec<Chart>,
    /// Finer detail on the page; `None` if the charts hold all there is.
    pub detail: Option<SeriesDetail>,
    /// The point in the section's other figures that selects this one: a click at it shows this.
    #[serde(rename = "stands_at")]
    pub selecting_point: Option<[f64; 2]>,
}

/// The series that charts are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesDetail {
    /// Number of the run.
    pub run: usize,
    /// Number of the task within the run.
    pub task: usize,
    /// For each chart the column of the series that it shows.
    pub columns: Vec<usize>,
}
