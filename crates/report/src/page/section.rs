//! What a page is made of beside its fixed parts: sections that appear when their data exist.
//!
//! To show a new kind of result, make a [`Section`] of it (one function in a file of its own beside this one, or
//! wherever the result is at hand) and hand it to [`render`](super::render). Text is escaped by the page; numbers
//! are the caller's, ready to read, with their units.

use serde::Serialize;

use crate::chart::Chart;

/// A part of the page with a heading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// Name within the page, in lower case with hyphens; its address is `report.html#ID`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What the section answers and how to read it, in a sentence or two.
    pub lead: String,
    /// Its content, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Block {
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
    /// Text that is folded away until somebody wants it.
    Details {
        /// What is behind it.
        summary: String,
        /// Shown as it is, in a fixed-width fount.
        text: String,
    },
}
