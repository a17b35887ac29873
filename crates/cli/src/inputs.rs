//! Inputs of `report` and `plot`: runs, outputs of other tools, and results of other commands.

use std::path::{Path, PathBuf};

use jitterlab_analysis::matrix::MatrixResult;
use jitterlab_host::matrix;
use jitterlab_model::Error;
use jitterlab_report::document::Document;
use jitterlab_report::page::PageRun;
use jitterlab_trace::source;

use crate::run_args::RunArgs;

/// Everything that was named on the command line.
pub struct Inputs {
    pub runs: Vec<PageRun>,
    /// Results of other commands.
    pub documents: Vec<Document>,
}

/// Reads each path as a run, another tool's output, a directory of `matrix`, or a result of `--json`.
pub fn read(paths: &[PathBuf], args: &RunArgs) -> Result<Inputs, Error> {
    let mut documents = Vec::new();
    let mut runs = Vec::new();
    for path in paths {
        let document = if path.is_dir() {
            Some(read_matrix_directory(path))
        } else if path.extension().is_some_and(|extension| extension == "json") {
            Some(read_result(path))
        } else {
            None
        };
        let run = match document {
            Some(Ok(shown)) => {
                documents.push(shown);
                continue;
            }
            // Other tools leave directories and JSON too.
            Some(Err(failure)) => args.open(path).map_err(|_| failure)?,
            None => args.open(path)?,
        };
        runs.push(run);
    }
    Ok(Inputs { runs: args.page_runs(&runs)?, documents })
}

/// No result is larger.
const LARGEST_BYTES: u64 = 1 << 30;

/// Reads the result that another command printed with `--json`.
fn read_result(path: &Path) -> Result<Document, Error> {
    let text = source::read_text(path, LARGEST_BYTES).map_err(Error::file("read", path))?;
    let document = Document::read(&text).map_err(|error| error.within(path.display()))?;
    if document.sections.is_empty() {
        return Err(Error::bad_use(format!("{}: it holds figures of a run only", path.display()))
            .remedy("name the run file itself"));
    }
    Ok(document)
}

/// Reads the result that `matrix` left in a directory.
fn read_matrix_directory(folder: &Path) -> Result<Document, Error> {
    let index = matrix::read_index(folder)?.ok_or_else(|| {
        Error::bad_use(format!("{} is a directory, but none that `jitterlab matrix` left", folder.display()))
            .remedy("name run files, or such a directory")
    })?;
    Ok(Document::new(&MatrixResult::new(index, None)))
}
