//! Sections from what other commands print with `--json`: checks, the figures of compensation and of what timing does to
//! motors and loops. Each reads only what it shows, so that fields may be added to the documents.

mod compensation;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::chart::Chart;
use crate::document::Document;
use crate::section::Section;

/// Why a document gives no section.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is no JSON, or lacks what its section shows.
    #[error("it cannot be read as a result of jitterlab: {0}")]
    Json(#[from] serde_json::Error),
    /// It is the result of another command.
    #[error(
        "it is no result that a report shows: name what `check`, `compensate`, `stepper` or `servo` print with --json"
    )]
    Unknown,
}

/// The section of a document.
///
/// # Errors
/// It is no document that a page shows.
pub fn section(text: &str) -> Result<Section, DocumentError> {
    if let Ok(document) = Document::read(text) {
        return document.sections().into_iter().next().ok_or(DocumentError::Unknown);
    }
    let document: Value = serde_json::from_str(text)?;
    let has = |field: &str| document.get(field).is_some();
    Ok(match () {
        () if has("load_curve") => compensation::section(serde_json::from_value(document)?),
        () => return Err(DocumentError::Unknown),
    })
}

/// The charts of these names of a result that is still at hand. None where it has none, and none in the (impossible)
/// case that it cannot be read back: figures come on top of what a command says in words.
pub fn charts(document: &impl Serialize, names: &[&str]) -> Vec<Chart> {
    let text = serde_json::to_string(document).unwrap_or_default();
    let section = section(&text).ok();
    let all = section.iter().flat_map(Section::charts);
    all.filter(|chart| names.contains(&chart.name)).cloned().collect()
}
