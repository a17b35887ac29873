//! Measurements of several parts, which go on where the same command was stopped.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_report::progress;
use jitterlab_trace::FinishedParts;
use serde::Serialize;

use crate::{interrupt, output};

/// Opens the parts that the same command line left in this directory; `read` is its input from elsewhere. Prints a note
/// where nothing can be kept.
pub fn open(command: &str, read: &impl Serialize) -> FinishedParts {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match FinishedParts::new(Path::new("."), command, &(words, read)) {
        Ok(parts) => {
            if let (found @ 1.., Some(path)) = (parts.found_count(), parts.path()) {
                output::print_note(&progress::continuation_note(found, path));
            }
            parts
        }
        Err(error) => {
            warn_not_kept(error);
            FinishedParts::without_file()
        }
    }
}

/// Closes kept parts: they are removed if the measurement is `complete` and no signal cut it short.
pub fn close(complete: bool, close: impl FnOnce(bool) -> Result<usize, Error>) {
    match close(complete && interrupt::received_signal().is_none()) {
        Ok(0) => {}
        Ok(_) => output::print_note(progress::CONTINUES_LATER),
        Err(error) => warn_not_kept(error),
    }
}

/// Keeps a part, or prints a note that no more can be kept.
pub fn keep(parts: &mut FinishedParts, part: &impl Serialize) {
    if let Err(error) = parts.keep(part, &[]) {
        warn_not_kept(error);
    }
}

fn warn_not_kept(error: Error) {
    let warning = Error::refused("what is measured is not kept for another call, should this one be stopped");
    output::print_warning(&warning.because(error).to_string());
}
