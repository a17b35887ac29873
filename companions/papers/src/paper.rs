//! The source documents as data: the items of each, its statements with their limits, and the numbers that it prints.
//!
//! One document is one file in `data/`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::statement::Statement;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// "xenomai-user threads (Athlon)".
    Athlon,
    /// "Temporal Event Management in EPOS".
    Epos,
    /// NIST's report on jitter and motor control.
    Nist,
    /// The University of Twente's report.
    Twente,
}

/// Way to reproduce an item of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reproducibility {
    /// The command measures or computes it, and prints the verdict.
    HasCommand,
    /// It is wrong: by the document's own numbers, or by the command's result.
    Refuted,
    /// It needs a kernel image that does not come with jitterlab.
    NeedsImage,
    /// It needs a machine or a part that not everybody has.
    NeedsHardware,
    /// No means of jitterlab can decide it.
    CannotBeTested,
    /// jitterlab could do it, and does not yet.
    NotBuilt,
}

/// A figure, table, equation or claim of a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its name within the document: `figure-3a`, `hogs`.
    pub name: String,
    /// Its content or statement.
    pub says: String,
    pub stands: Reproducibility,
    /// Reason for this, or the result to expect.
    pub why: String,
    /// The command that shows it; `None` where none does.
    pub command: Option<String>,
}

/// The part that the data files have in common.
#[derive(Default, Deserialize)]
struct Contents {
    items: Vec<Item>,
    statements: Vec<Statement>,
}

impl Paper {
    pub const ALL: [Paper; 4] = [Paper::Athlon, Paper::Epos, Paper::Nist, Paper::Twente];

    /// Name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Paper::Athlon => "athlon",
            Paper::Epos => "epos",
            Paper::Nist => "nist",
            Paper::Twente => "twente",
        }
    }

    fn data(self) -> &'static str {
        match self {
            Paper::Athlon => include_str!("../data/athlon.toml"),
            Paper::Epos => include_str!("../data/epos.toml"),
            Paper::Nist => include_str!("../data/nist.toml"),
            Paper::Twente => include_str!("../data/twente.toml"),
        }
    }

    /// Reads a part of the document's data; empty if the file lacks it, which the tests of each part show.
    pub(crate) fn read<T: DeserializeOwned + Default>(self) -> T {
        toml::from_str(self.data()).unwrap_or_default()
    }

    /// Everything in the document, in its order.
    #[must_use]
    pub fn items(self) -> Vec<Item> {
        self.read::<Contents>().items
    }

    /// Its statements that measurements or its own numbers decide.
    #[must_use]
    pub fn statements(self) -> Vec<Statement> {
        self.read::<Contents>().statements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_belongs_to_an_item_of_its_document() {
        for paper in Paper::ALL {
            let items = paper.items();
            let statements = paper.statements();
            assert!(!items.is_empty() && !statements.is_empty(), "{}", paper.name());
            for statement in statements {
                assert!(items.iter().any(|item| item.name == statement.item()), "{}", statement.name);
            }
        }
    }
}
