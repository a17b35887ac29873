//! Missing data of a run, as sentences with the remedy.

use std::path::Path;

use jitterlab_model::{Error, Gap};

/// Data that a run lacks for an answer, as far as callers decide by it ([`Error::is`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Only distributions are known, and the question is about single activations.
    Activations,
    /// Nobody looked for causes.
    Causes,
}

/// Error for a question about single activations; `kept` names what there is: `spikes` or `a histogram`.
pub(crate) fn needs_activations(path: &Path, kept: &str) -> Error {
    Error::not_measured(format!("{} keeps only {kept}, and this needs every activation", path.display()))
        .remedy("measure with `jitterlab run --keep all`")
        .case(Missing::Activations)
}

pub(crate) fn no_causes_error(path: &Path) -> Error {
    Error::not_measured(format!("{} does not say why activations were late", path.display()))
        .remedy("measure with `jitterlab run --why`, as root")
        .case(Missing::Causes)
}

pub(crate) fn no_tasks_error(path: &Path) -> Error {
    Error::not_measured(format!("{} has no tasks", path.display()))
}

/// Error for a task whose source leaves every figure open.
pub(crate) fn nothing_known_error(path: &Path, gap: Gap) -> Error {
    match gap {
        Gap::Unit => Error::not_measured(format!("{}: the unit of its values is not known", path.display()))
            .remedy("say it with --unit"),
        _ => Error::not_measured(format!(
            "{}: its figures contradict each other, so nothing is judged by them",
            path.display()
        ))
        .remedy("`jitterlab analyze` says which"),
    }
}
