//! The files that `doctor` leaves: the page, its runs, the settings that helped, and the data for the next
//! examination.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_model::Error;
use jitterlab_motion::doctor::{DoctorResult, SavedExamination};
use jitterlab_report::document::Document;
use jitterlab_report::page::render;
use jitterlab_report::tune;
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::atomic_file;

use crate::{kept_files, run_args};

/// Folder for the files: the current one if something `can_be_kept`, or else a new temporary one.
pub fn create_folder(can_be_kept: bool) -> Result<PathBuf, Error> {
    if can_be_kept {
        return Ok(PathBuf::new());
    }
    let folder = std::env::temp_dir().join(format!("jitterlab-doctor-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Writes settings worth keeping into a directory next to the page; `None` if there are none. They are for looking at
/// and copying.
pub fn write_settings(page: &Path, result: &DoctorResult) -> Result<Option<PathBuf>, Error> {
    let Some(tuned) = result.findings.tuned.as_ref().filter(|_| result.has_setting_worth_keeping()) else {
        return Ok(None);
    };
    let folder = page.with_extension("settings");
    let files = tune::kept_files::settings_files(tuned);
    kept_files::write_settings(&folder, &files)?;
    Ok((!files.is_empty()).then_some(folder))
}

/// File that an examination leaves for the next one.
const FILE: &str = "jitterlab-doctor.json";

/// Reads the results that the last examination left in this directory.
pub fn read_saved_examination() -> Result<SavedExamination, Error> {
    kept_files::read_earlier_results(FILE)?.ok_or_else(|| {
        Error::bad_use(format!("there is no {FILE} here, so nothing was examined to go on from"))
            .remedy("go to its directory, or run jitterlab doctor without --continue")
    })
}

/// Keeps the data that the next examination continues from.
pub fn save_examination(folder: &Path, left: &SavedExamination) -> Result<(), Error> {
    kept_files::save_results(&folder.join(FILE), left)
}

/// Reads the run of an earlier call from its file.
pub fn read_run(file: &Path) -> Result<MeasuredRun, Error> {
    let run = Run::open(file, &Hints::default())?;
    let causes = run.causes().ok();
    let why = MeasuredRun::why(run.info(), causes.as_ref(), None);
    Ok(MeasuredRun { why, ..run.measured()? })
}

/// Writes the page.
pub fn write_page(page: &Path, force: bool, result: &DoctorResult) -> Result<(), Error> {
    let files = [Some(&result.findings.before), result.findings.after.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|run| run.file.as_deref());
    let runs = files.map(|file| Run::open(file, &Hints::default())).collect::<Result<Vec<_>, _>>()?;
    let html = render(&run_args::page_runs(&runs, None)?, &[Document::new(result)])?;
    atomic_file::write(page, html.as_bytes(), force)
}
