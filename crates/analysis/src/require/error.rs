//! Mistakes in requirements, with how to write one.

use jitterlab_model::Error;

const EXAMPLES: &str = "\"p99.99 < 80us\", \"max < 200us\", \"missed = 0\", \"missed < 0.01%\", \
                        \"period-error p99.9 < 50us\", \"execution max < 300us\" or \"p(latency > 100us) < 1e-6\"";

pub(super) fn not_a_requirement(text: &str) -> Error {
    Error::bad_use(format!("{text:?} is not a requirement")).remedy(format!("write it like {EXAMPLES}"))
}

pub(super) fn unknown_word(text: &str, what: &str) -> Error {
    Error::bad_use(format!("{what:?} in {text:?} cannot be required"))
        .remedy(format!("write it like {EXAMPLES}"))
}
