//! The source documents, repeated: their measurements as data, the measuring, and the resulting files.
//!
//! One document is one file here, with its measurements and the numbers that decide on its statements, and one file of data
//! ([`paper`]): its items, statements and printed numbers. Tables and figures are in [`words`].

pub mod athlon;
mod early_calls;
pub mod epos;
mod epos_faults;
mod error;
mod loads;
mod measure;
pub mod nist;
mod nist_control;
mod nist_jitter;
pub mod paper;
pub mod statement;
pub mod systems;
pub mod time_management;
mod torques;
pub mod twente;
mod values;
pub mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::statement::Evidence;
use crate::systems::{Kernels, System};
use crate::words::{PaperFigure, Reproduction, Results};
use jitterlab_host::Progress;
use jitterlab_host::scratch::ScratchFolder;
use jitterlab_model::Error;
use jitterlab_report::chart::Drawing;
use jitterlab_report::page::{self, PageRun};
use jitterlab_report::{document, progress};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::atomic_file;

/// The file in its directory that a repetition ends with.
pub const RESULT: &str = "result.json";

/// Place and settings for the repetition of a document.
pub struct Reproducer<'a> {
    pub directory: &'a Path,
    /// Machine or chip that it is measured on, for captions.
    pub machine: String,
    /// Kernels that are booted in virtual time; `None` to measure on this machine.
    pub kernels: Option<&'a Kernels>,
    pub duration_ns: i64,
    /// Set when the user asks to stop.
    pub interrupted: &'a AtomicBool,
    /// Called with each step in words as it begins.
    pub announce: &'a mut dyn FnMut(&str),
}

impl Reproducer<'_> {
    fn systems(&self) -> Vec<System> {
        self.kernels.map_or_else(System::all_of_this_machine, Kernels::systems)
    }

    fn run_file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.parquet"))
    }

    /// True if this run file exists already; then announces that it is kept.
    fn reuse_run_file(&mut self, file: &Path) -> bool {
        let is_there = file.exists();
        if is_there {
            (self.announce)(&words::kept_file_text(file));
        }
        is_there
    }

    /// Removes these run files of an earlier, complete repetition; an error if they exist without its result.
    fn remove_old_runs(&self, names: &[String]) -> Result<(), Error> {
        let files = names.iter().map(|name| self.run_file(name)).filter(|file| file.exists());
        for file in files {
            if !self.directory.join(RESULT).exists() {
                return Err(error::path_in_the_way_error(&file));
            }
            fs::remove_file(&file).map_err(Error::file("remove", &file))?;
        }
        Ok(())
    }

    /// Callback that announces the steps of an experiment as they begin.
    fn step_announcer(&mut self) -> impl FnMut(&Progress) {
        |now: &Progress| {
            if now.begins {
                (self.announce)(&progress::step_with_time_left(&now.step, now.remaining_ns));
            }
        }
    }

    /// Writes figures as SVG and PNG, with the machine in their captions.
    fn write_figures(&self, figures: &[PaperFigure]) -> Result<(), Error> {
        for (name, charts) in figures.iter().filter(|(_, charts)| !charts.is_empty()) {
            let mut charts = charts.clone();
            let measured = format!(" Measured on {}.", self.machine);
            charts.iter_mut().for_each(|chart| chart.caption.push_str(&measured));
            let drawing = Drawing::new(&charts);
            let files = [("svg", drawing.svg().into_bytes()), ("png", drawing.png()?)];
            for (kind, content) in files {
                atomic_file::write(self.directory.join(format!("{name}.{kind}")), &content, false)?;
            }
        }
        Ok(())
    }

    /// Writes the figures of the results, and all results as JSON; returns them with their verdicts.
    fn write_results<R: Results>(&self, results: &R, evidence: Vec<Evidence>) -> Result<Reproduction, Error> {
        self.write_figures(&results.figures())?;
        let reproduction = Reproduction::new(self.directory, results, evidence)?;
        let json = document::to_json(&reproduction)?;
        atomic_file::write(self.directory.join(RESULT), json.as_bytes(), false)?;
        Ok(reproduction)
    }
}

/// Writes a text to a file in a new temporary directory, which goes with the first value.
fn scratch_file(name: &str, text: &str) -> Result<(ScratchFolder, PathBuf), Error> {
    let scratch = ScratchFolder::new()
        .map_err(|cause| Error::refused("cannot make a temporary directory").because(cause))?;
    let file = scratch.path().join(name);
    fs::write(&file, text).map_err(Error::file("write", &file))?;
    Ok((scratch, file))
}

fn open_page_runs(files: &[PathBuf]) -> Result<Vec<PageRun>, Error> {
    let runs = files.iter().map(|file| Run::open(file, &Hints::default()));
    page::read_page_runs(&runs.collect::<Result<Vec<_>, _>>()?, None)
}
