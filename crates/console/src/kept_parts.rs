//! Measurements of several parts, which go on where the same command was stopped.

use std::path::Path;

use jitterlab_model::Error;
use jitterlab_report::progress;
use jitterlab_trace::FinishedParts;
use serde::Serialize;

use crate::{interrupt, output};

/// Opens the parts that the same command, word by word, left in this directory; `read` is its input from elsewhere.
/// Prints a note where nothing can be kept.
pub fn open(command: &str, read: &impl Serialize) -> FinishedParts {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match FinishedParts::new(Path::new("."), command, &(words, read)) {
        Ok(parts) => {
            if let (found @ 1.., Some(path)) = (parts.found_count(), parts.path()) {
                output::note(&progress::goes_on(found, path));
            }
            parts
        }
        Err(error) => {
            not_kept(error);
            FinishedParts::without_file()
        }
    }
}

/// Ends it: when it is `complete`, and no signal cut it short, the kept parts go.
pub fn close(complete: bool, close: impl FnOnce(bool) -> Result<usize, Error>) {
    match close(complete && interrupt::signal().is_none()) {
        Ok(0) => {}
        Ok(_) => output::note(progress::GOES_ON_LATER),
        Err(error) => not_kept(error),
    }
}

/// Keeps a part, or prints a note that no more can be kept.
pub fn keep(parts: &mut FinishedParts, part: &impl Serialize) {
    if let Err(error) = parts.keep(part, &[]) {
        not_kept(error);
    }
}

fn not_kept(error: Error) {
    let warning = Error::refused("what is measured is not kept for another call, should this one be stopped");
    output::warn(&warning.because(error).to_string());
}
