//! Why a requirement could not be understood.

use jitterlab_model::Error;

const EXAMPLES: &str = "\"p99.99 < 80us\", \"max < 200us\", \"missed = 0\", \"missed < 0.01%\", \
                        \"period-error p99.9 < 50us\", \"execution max < 300us\" or \"p(latency > 100us) < 1e-6\"";

/// Why a requirement could not be understood. The message says what to write instead.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// No comparison in it.
    #[error("{0:?} is not a requirement: write it like {EXAMPLES}")]
    NoComparison(String),
    /// What is compared is not known.
    #[error("{what:?} in {text:?} cannot be required: write it like {EXAMPLES}")]
    UnknownRequired {
        /// What was written.
        text: String,
        /// The part that is not known.
        what: String,
    },
    /// A quantile that is none.
    #[error("{0:?} is not a quantile: write p and a number above 0 and below 100, such as p99.99")]
    BadQuantile(String),
    /// A limit that is not a time.
    #[error("the limit of {text:?}: {error}")]
    BadTime {
        /// What was written.
        text: String,
        /// What is wrong with the time.
        error: Error,
    },
    /// A share that is none.
    #[error(
        "{share:?} in {text:?} is not a share: write a number from 0 to below 1 or a percentage, such as 1e-6 or 0.01%"
    )]
    BadShare {
        /// What was written.
        text: String,
        /// The part that is no share.
        share: String,
    },
}
