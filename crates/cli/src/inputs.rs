//! What `report` and `plot` take: runs, and the results of other commands.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use jitterlab_analysis::matrix::recommend;
use jitterlab_report::page::section::Section;
use jitterlab_report::page::{PageRun, documents};

use crate::exit::Failure;
use crate::matrix::Index;
use crate::page_runs;

/// Everything that was named on the command line.
pub struct Inputs {
    /// The runs.
    pub runs: Vec<PageRun>,
    /// What the other results show.
    pub sections: Vec<Section>,
}

/// Reads run files, directories that `matrix` left, and what other commands printed with `--json`.
pub fn read(paths: &[PathBuf]) -> Result<Inputs, Failure> {
    let mut files = Vec::new();
    let mut sections = Vec::new();
    for path in paths {
        if path.is_dir() {
            sections.push(matrix(path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            sections.push(document(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(Inputs { runs: page_runs::read(&files)?, sections })
}

/// What another command printed with `--json`.
fn document(path: &Path) -> Result<Section, Failure> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    documents::section(&text).map_err(|error| Failure::bad_use(anyhow!("{}: {error}", path.display())))
}

fn matrix(folder: &Path) -> Result<Section, Failure> {
    let index = Index::read(folder)?.ok_or_else(|| {
        Failure::bad_use(anyhow!(
            "{} is a directory, but none that `jitterlab matrix` left: name run files, or such a directory",
            folder.display()
        ))
    })?;
    let matrix = index.matrix();
    Ok(jitterlab_report::matrix::section(&matrix, &index.caption(), recommend(&matrix, None).as_ref()))
}
