//! The description of a run, as stored in journals and run files.

use std::path::Path;

use crate::error::{FileProblem, damaged, not_a_run_file};
use jitterlab_model::bounds::check_description;
use jitterlab_model::run::FORMAT_VERSION;
use jitterlab_model::{Error, RunInfo};

pub(crate) fn newer_format(path: &Path, found: u32, known: u32) -> Error {
    Error::damaged(format!(
        "{} has format version {found}, this jitterlab reads versions up to {known}",
        path.display()
    ))
    .remedy("use a newer jitterlab")
    .case(FileProblem::NewerFormat)
}

/// Reads the description of a run, and checks it against the bounds of the model.
pub(crate) fn parse_info(path: &Path, json: &[u8]) -> Result<RunInfo, Error> {
    let info = parse_unchecked(path, json)?;
    match check_description(&info) {
        Ok(()) => Ok(info),
        Err(why) => Err(damaged(path, why.within("it holds what cannot be"))),
    }
}

fn parse_unchecked(path: &Path, json: &[u8]) -> Result<RunInfo, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }
    let damaged = |error: serde_json::Error| match error.classify() {
        // It is JSON, only of something else: nothing broke.
        serde_json::error::Category::Data => not_a_run_file(
            path,
            Error::damaged(format!(
                "its description of a run is incomplete ({error}), as if another program had \
                 made it"
            )),
        ),
        _ => damaged(path, Error::damaged("the description of the run cannot be read").because(error)),
    };
    // A newer description may not even parse; its version is looked at first.
    let version: Version = serde_json::from_slice(json).map_err(damaged)?;
    if version.format > FORMAT_VERSION {
        return Err(newer_format(path, version.format, FORMAT_VERSION));
    }
    if version.format == 1 {
        let mut described: serde_json::Value = serde_json::from_slice(json).map_err(damaged)?;
        upgrade_from_format_1(&mut described);
        let json = serde_json::to_vec(&described).map_err(damaged)?;
        return serde_json::from_slice(&json).map_err(damaged);
    }
    serde_json::from_slice(json).map_err(damaged)
}

/// Turns a stop that format 1 explains by a sentence into an interruption, and the sentence into a warning. (Its other
/// sentences are read as they are.)
fn upgrade_from_format_1(described: &mut serde_json::Value) {
    let Some(explanation) = described.pointer("/stop/explanation").cloned() else { return };
    described["stop"] = serde_json::json!({ "reason": "interrupted" });
    if let Some(warnings) = described["warnings"].as_array_mut() {
        warnings.push(explanation);
    }
}
