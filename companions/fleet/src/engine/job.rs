//! Jobs for engines, and the errors of their failures.

use std::borrow::Cow;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use jitterlab_model::Error;

use crate::error::MORE_ROOM;

/// Table that queries see.
#[derive(Debug, Clone)]
pub struct View {
    /// Its name in SQL.
    pub name: &'static str,
    /// Its files, from the folder on; their names hold nothing that SQL would read.
    pub files: Vec<PathBuf>,
    /// Selection from the files' rows: `SELECT ... FROM rows`.
    pub select: String,
}

/// Question for an engine.
#[derive(Debug, Clone)]
pub struct Query {
    /// Name of its answer.
    pub name: &'static str,
    /// Portable SQL.
    pub sql: Cow<'static, str>,
}

/// Everything an engine needs for some questions.
pub struct Job<'a> {
    /// Folder of the fleet.
    pub folder: &'a Path,
    /// Tables, in the order they build on each other.
    pub views: &'a [View],
    /// Tables of sums that several questions are about.
    pub steps: &'a [Query],
    /// Questions.
    pub queries: &'a [Query],
}

/// Failure of a program that ended badly: its last words, and what to do where it had no room, or else.
pub(super) fn failed(program: &str, output: &Output, otherwise: &str) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let last =
        lines().find(|line| line.contains("Error")).or_else(|| lines().next_back()).unwrap_or("").to_owned();
    let lacks_room =
        ["memory", "Memory", "space", "bad_alloc", "too large"].iter().any(|word| last.contains(word));
    // The kernel kills where memory runs out.
    let remedy = if lacks_room || output.status.signal().is_some() { MORE_ROOM } else { otherwise };
    let how = output.status.to_string();
    let what = format!("{program} did not answer ({how})");
    let error = Error::refused(what);
    if last.is_empty() { error.remedy(remedy) } else { error.because(last).remedy(remedy) }
}

/// A text as SQL has it: quoted, with quotes doubled.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
