//! What recovering a journal gave.

use std::path::Path;

use jitterlab_model::warning::Warning;

use crate::warnings::sentence;
use crate::words::{count, plural};

/// What is in the run file, what is missing, and whether the journal is still there.
#[must_use]
pub fn text(run: &Path, rows: u64, bytes: u64, damaged: &[Warning], journal: Option<&Path>) -> String {
    let mut text =
        format!("{}: {} recovered, {} bytes\n", run.display(), plural(rows, "activation"), count(bytes));
    for part in damaged {
        text.push_str(&format!("  {}\n", sentence(part)));
    }
    if let Some(journal) = journal {
        text.push_str(&format!("  {} is kept\n", journal.display()));
    }
    text
}
