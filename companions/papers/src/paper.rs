//! The source documents as data: the items of each, its statements with their limits, and the numbers that it prints.
//!
//! One document is one file in `data/`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::statement::{Statement, StatementVerdict};

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
    /// It is wrong: by the document's own numbers, by a test, or by documentation.
    Refuted,
    /// It needs a kernel image that does not come with jitterlab.
    NeedsImage,
    /// It needs a machine or a part that not everybody has.
    NeedsHardware,
    /// No means of jitterlab can decide it.
    CannotBeTested,
}

/// A figure, table, equation or claim of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its name within the document: `figure-3a`, `hogs`.
    #[serde(skip_serializing)]
    pub name: String,
    /// Names it for good: `nist/figure-3a`, `athlon/hogs`.
    #[serde(skip_deserializing)]
    pub id: String,
    #[serde(skip_deserializing)]
    pub document: Paper,
    /// Its content or statement.
    pub says: String,
    pub stands: Reproducibility,
    /// Reason for this, or the result to expect.
    pub why: String,
    /// The command that shows it; `None` where none does.
    pub command: Option<String>,
    /// True if the command shows it both with `--virtual` and without.
    #[serde(default, skip_serializing)]
    pub both_ways: bool,
    /// Results of its last repetitions here.
    #[serde(skip_deserializing)]
    pub results: Vec<ItemResult>,
}

/// Result of the last repetition of a document for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ItemResult {
    pub in_virtual_time: bool,
    /// Verdict on the statement; `None` for an item that is shown and states nothing.
    pub standing: Option<StatementVerdict>,
}

/// A result of the document as a section.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heading {
    pub title: String,
    /// The question that it answers.
    pub lead: String,
    /// The command to go on with.
    pub next: String,
}

impl Paper {
    /// Name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.parts().0
    }

    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Paper::Athlon => ("athlon", include_str!("../data/athlon.toml")),
            Paper::Epos => ("epos", include_str!("../data/epos.toml")),
            Paper::Nist => ("nist", include_str!("../data/nist.toml")),
            Paper::Twente => ("twente", include_str!("../data/twente.toml")),
        }
    }

    /// Reads a part of the document's data; the default if the file lacks it, which the tests of each part show.
    pub(crate) fn part<T: DeserializeOwned + Default>(self, name: &str) -> T {
        let data: Option<toml::Table> = toml::from_str(self.parts().1).ok();
        data.and_then(|mut data| data.remove(name)?.try_into().ok()).unwrap_or_default()
    }

    /// Everything in the document, in its order.
    #[must_use]
    pub fn items(self) -> Vec<Item> {
        let mut items: Vec<Item> = self.part("items");
        for item in &mut items {
            item.id = format!("{}/{}", self.name(), item.name);
            item.document = self;
        }
        items
    }

    /// Its statements that measurements or its own numbers decide.
    #[must_use]
    pub fn statements(self) -> Vec<Statement> {
        self.part("statements")
    }

    /// A paragraph or caption of its results.
    pub(crate) fn words(self, name: &str) -> String {
        self.part::<BTreeMap<String, String>>("words").remove(name).unwrap_or_default()
    }

    /// The heading of one of its results.
    pub(crate) fn heading(self, result: &str) -> Heading {
        self.part::<BTreeMap<String, Heading>>("sections").remove(result).unwrap_or_default()
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
}
