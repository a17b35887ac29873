//! Jobs for engines, and the errors of their failures.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use jitterlab_model::Error;

use crate::error::{MORE_ROOM, OTHER_QUERY};

/// Table that queries see.
#[derive(Debug, Clone)]
pub struct View {
    pub name: &'static str,
    /// Files of the table, from the folder on; their names hold nothing that SQL would read.
    pub files: Vec<PathBuf>,
    /// Selection from the files' rows: `SELECT ... FROM {rows}`.
    pub select: String,
}

/// Question for an engine, in portable SQL.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    pub name: &'static str,
    pub sql: &'static str,
}

/// Everything an engine needs for some questions.
pub struct Job<'a> {
    /// Folder of the fleet.
    pub folder: &'a Path,
    /// Tables, in the order they build on each other.
    pub views: &'a [View],
    /// Tables of sums that questions are about, in the same order.
    pub steps: &'a [Query],
    pub queries: &'a [Query],
    /// SQL of the user's own, whose answer is printed as CSV.
    pub user_sql: Option<&'a str>,
}

impl Job<'_> {
    /// Error of a program that failed: the last line that it printed, and a remedy, `otherwise` unless it had no room.
    pub(super) fn failure(&self, program: &str, output: &Output, otherwise: &str) -> Error {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
        let last = lines().find(|line| line.contains("Error")).or_else(|| lines().next_back()).unwrap_or("");
        let lacks_room =
            ["memory", "Memory", "space", "bad_alloc", "too large"].iter().any(|word| last.contains(word));
        let remedy = match self.user_sql {
            // The kernel kills where memory runs out.
            _ if lacks_room || output.status.signal().is_some() => MORE_ROOM,
            Some(_) => OTHER_QUERY,
            None => otherwise,
        };
        let error = Error::refused(format!("{program} did not answer ({})", output.status));
        if last.is_empty() { error.remedy(remedy) } else { error.because(last.to_owned()).remedy(remedy) }
    }
}

/// A text as SQL has it: quoted, with quotes doubled.
pub(super) fn quote_sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
