//! The source documents as data: the items of each, its statements with their limits, and the numbers that it prints.
//!
//! One document is one file in `data/`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::statement::{Evidence, Statement, StatementVerdict};
use crate::values::{fill_cell, fill_fields, to_json};
use jitterlab_report::chart::{Chart, Layer};
use jitterlab_report::section::{Cell, Piece};

/// The documents whose experiments can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// "xenomai-user threads (Athlon)", LinuxCNC: both test series and the observations. With --virtual
    /// on four emulated processors with a real-time kernel
    #[default]
    Athlon,
    /// "Temporal Event Management in EPOS": table 1, figures 5 and 7, on a simulated microcontroller. With
    /// --virtual its delay of 15 ms there and on Linux, with and without a tick
    Epos,
    /// "Timing of periodic non-realtime and realtime threads", University of Twente: figures 1 to 12, on every system here
    Twente,
    /// "Real-time Operating System Timing Jitter and its Impact on Motor Control", NIST 2001: table 1 (computed),
    /// figures 1 to 6; with --virtual figure 3 on kernels
    Nist,
}

/// Way to reproduce an item of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reproducibility {
    /// The command measures or computes it, and prints the verdict.
    HasCommand,
    /// The statement is wrong: by the document's own numbers, by a test, or by documentation.
    Refuted,
    /// A kernel image is needed that does not come with jitterlab.
    NeedsImage,
    /// A machine or a part is needed that not everybody has.
    NeedsHardware,
    /// No means of jitterlab can decide it.
    CannotBeTested,
}

/// A figure, table, equation or claim of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Name within the document: `figure-3a`, `hogs`.
    #[serde(skip_serializing)]
    pub name: String,
    /// Name among all documents, which never changes: `nist/figure-3a`, `athlon/hogs`.
    #[serde(skip_deserializing)]
    pub id: String,
    #[serde(skip_deserializing)]
    pub document: Paper,
    pub says: String,
    #[serde(rename(serialize = "stands"))]
    pub reproducibility: Reproducibility,
    /// Reason for the reproducibility, or the result to expect.
    pub why: String,
    /// The command that shows it; `None` where none does.
    pub command: Option<String>,
    /// True if the command shows it both with `--virtual` and without.
    #[serde(default, skip_serializing)]
    pub both_ways: bool,
    #[serde(skip_deserializing)]
    pub results: Vec<ItemResult>,
}

/// Result of the last repetition of a document for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ItemResult {
    pub in_virtual_time: bool,
    /// Verdict on the statement; `None` for an item that is shown and states nothing.
    #[serde(rename = "standing")]
    pub verdict: Option<StatementVerdict>,
}

/// A result of the document as a section.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heading {
    pub title: String,
    /// The question that it answers.
    pub lead: String,
    pub next: String,
}

/// A table of the document's results. Its texts have fields, and so have its title and its note.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TableText {
    title: String,
    /// Follows the table.
    note: Option<String>,
    /// True if it is folded away behind its title.
    folded: bool,
    header: Vec<String>,
    /// A row for each value.
    each: Vec<String>,
    /// The rows for all values together.
    rows: Vec<Vec<String>>,
}

impl Paper {
    pub fn name(self) -> &'static str {
        self.name_and_data().0
    }

    /// Name of a repetition, which is also its default folder.
    pub fn folder(self, in_virtual_time: bool) -> String {
        format!("{}{}", self.name(), if in_virtual_time { "-virtual" } else { "" })
    }

    fn name_and_data(self) -> (&'static str, &'static str) {
        match self {
            Paper::Athlon => ("athlon", include_str!("../data/athlon.toml")),
            Paper::Epos => ("epos", include_str!("../data/epos.toml")),
            Paper::Nist => ("nist", include_str!("../data/nist.toml")),
            Paper::Twente => ("twente", include_str!("../data/twente.toml")),
        }
    }

    /// Reads a part of the document's data; the default if the file lacks it.
    pub(crate) fn data_part<T: DeserializeOwned + Default>(self, name: &str) -> T {
        let data: Option<toml::Table> = toml::from_str(self.name_and_data().1).ok();
        data.and_then(|mut data| data.remove(name)?.try_into().ok()).unwrap_or_default()
    }

    pub fn items(self) -> Vec<Item> {
        let mut items: Vec<Item> = self.data_part("items");
        for item in &mut items {
            item.id = format!("{}/{}", self.name(), item.name);
            item.document = self;
        }
        items
    }

    pub fn statements(self) -> Vec<Statement> {
        self.data_part("statements")
    }

    /// Evidence on a statement from the document's own numbers in its data; `None` for an unknown statement.
    pub(crate) fn printed_evidence(self, name: &'static str) -> Option<Evidence> {
        let statement = self.statements().into_iter().find(|statement| statement.name == name)?;
        Some(Evidence::new(name, &statement.decides, statement.printed))
    }

    /// The entry of this name in a part of the data; `None` without one.
    pub(crate) fn entry<T: DeserializeOwned>(self, part: &str, name: &str) -> Option<T> {
        self.data_part::<BTreeMap<String, T>>(part).remove(name)
    }

    pub(crate) fn heading(self, result: &str) -> Heading {
        self.entry("sections", result).unwrap_or_default()
    }

    /// A paragraph of the document's results, with these values in its fields.
    pub(crate) fn paragraph(self, name: &str, values: impl Serialize) -> String {
        fill_fields(&self.entry::<String>("words", name).unwrap_or_default(), &to_json(values))
    }

    /// A table of the document's results with these values, followed by its note; nothing without rows.
    pub(crate) fn table(self, name: &str, values: impl Serialize) -> Vec<Piece> {
        let text: TableText = self.entry("tables", name).unwrap_or_default();
        let values = to_json(values);
        let cells =
            |texts: &Vec<String>, of| texts.iter().map(|text| fill_cell(text, of)).collect::<Vec<Cell>>();
        let each = values.as_array().filter(|_| !text.each.is_empty()).into_iter().flatten();
        let each = each.map(|of| cells(&text.each, of));
        let rows: Vec<_> = each.chain(text.rows.iter().map(|texts| cells(texts, &values))).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let title = fill_fields(&text.title, &values);
        let caption = if text.folded { "" } else { &title };
        let mut pieces = vec![Piece::table(caption, &text.header, rows)];
        pieces.extend(text.note.map(|note| Piece::text(fill_fields(&note, &values))));
        if text.folded { vec![Piece::details(title, pieces)] } else { pieces }
    }

    /// A figure of the results with these layers and values in its caption; `None` if the data lack it.
    pub(crate) fn chart(self, name: &str, values: impl Serialize, layers: Vec<Layer>) -> Option<Chart> {
        let chart: Chart = self.entry("charts", name)?;
        Some(Chart { caption: fill_fields(&chart.caption, &to_json(values)), layers, ..chart })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_belongs_to_an_item_of_its_document() {
        for paper in Paper::value_variants() {
            let items = paper.items();
            let statements = paper.statements();
            assert!(!items.is_empty() && !statements.is_empty(), "{}", paper.name());
            for statement in statements {
                assert!(items.iter().any(|item| item.name == statement.item()), "{}", statement.name);
            }
        }
    }

    #[test]
    fn every_table_has_a_heading_for_each_of_its_cells_and_every_figure_is_read() {
        for paper in Paper::value_variants() {
            let tables: BTreeMap<String, TableText> = paper.data_part("tables");
            assert_eq!(tables.is_empty(), *paper == Paper::Athlon);
            for (name, table) in tables {
                assert!(
                    table
                        .rows
                        .iter()
                        .chain([&table.each])
                        .all(|row| row.is_empty() || row.len() == table.header.len()),
                    "{name}"
                );
            }
            assert_eq!(
                paper.data_part::<BTreeMap<String, Chart>>("charts").is_empty(),
                *paper == Paper::Athlon
            );
        }
    }
}
