//! The files that `doctor` leaves: the page, the runs it is made of, the settings that helped.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_motion::doctor::DoctorResult;
use jitterlab_report::document::Document;
use jitterlab_report::page::render;
use jitterlab_report::tune::kept;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::place;

use crate::{kept_files, run_args};

/// Where files go: here if something `can_be_kept`, or else a new directory among the temporary ones.
pub fn folder(can_be_kept: bool) -> Result<PathBuf, Error> {
    if can_be_kept {
        return Ok(PathBuf::new());
    }
    let folder = std::env::temp_dir().join(format!("jitterlab-doctor-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Writes the settings that are worth keeping beside the page, as files to look at and to copy; gives their directory.
pub fn settings(page: &Path, result: &DoctorResult) -> Result<Option<PathBuf>, Error> {
    let Some(tuned) = result.found.tuned.as_ref().filter(|_| result.worth_keeping()) else { return Ok(None) };
    let folder = page.with_extension("settings");
    let files = kept::files(tuned);
    kept_files::write(&folder, &files)?;
    Ok((!files.is_empty()).then_some(folder))
}

/// Writes the page.
pub fn page(page: &Path, force: bool, result: &DoctorResult) -> Result<(), Error> {
    let files = [Some(&result.found.before), result.found.after.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|run| run.file.as_deref());
    let runs = files.map(|file| Run::open(file, &Hints::default())).collect::<Result<Vec<_>, _>>()?;
    let html = render(&run_args::page_runs(&runs, None)?, &[Document::new(result)])?;
    place::write(page, html.as_bytes(), force)
}
