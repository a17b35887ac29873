//! Why a question about a motor or a loop could not be answered. Every message says what to write instead.

use crate::quantity::QuantityError;

/// Everything that can be wrong with a data sheet, a plant or a question.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MotionError {
    /// A file that is not TOML or not of the wanted layout.
    #[error("{name} is not a valid {kind} file: {reason}")]
    Layout {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// The file or preset.
        name: String,
        /// What the parser said, in one line.
        reason: String,
    },
    /// A quantity that could not be read.
    #[error("{name}: {error}")]
    Quantity {
        /// The file or preset.
        name: String,
        /// What is wrong.
        error: QuantityError,
    },
    /// A value outside the range in which it means something.
    #[error("{what} is {value}: {remedy}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// Its value with unit.
        value: String,
        /// What it has to be.
        remedy: &'static str,
    },
    /// A figure that the data sheet lacks and the question needs.
    #[error(
        "{motor} has no {what}, which {purpose} needs: add `{key} = \"{example}\"` to its file or give it as an option"
    )]
    Missing {
        /// The motor's name.
        motor: String,
        /// The quantity.
        what: &'static str,
        /// The key in the file.
        key: &'static str,
        /// A value that would be accepted.
        example: &'static str,
        /// What it is needed for.
        purpose: &'static str,
    },
    /// A name that is neither a preset, nor one of the user's, nor a file.
    #[error("no {kind} is called {name:?}: use one of {known}, or the path of a TOML file")]
    Unknown {
        /// `motor`, `drive` or `plant`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A file that could not be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A question that this motor, plant or run cannot answer; the sentence says why and what would help.
    #[error("{0}")]
    Impossible(String),
}

impl MotionError {
    /// A value out of range.
    pub(crate) fn range(what: &'static str, value: &dyn std::fmt::Display, remedy: &'static str) -> Self {
        MotionError::Range { what, value: value.to_string(), remedy }
    }
}
