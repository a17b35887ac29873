//! The source documents, repeated: their measurements as data, the measuring, and the resulting files.
//!
//! One document is one file here, and one file of data ([`paper`]): its items, statements and printed numbers. The numbers that
//! decide on the statements are gathered in [`claims`]; words and figures are in [`words`].

pub mod athlon;
pub mod claims;
mod early_calls;
pub mod epos;
mod epos_listings;
mod error;
mod host;
pub mod nist;
mod nist_control;
mod nist_jitter;
pub mod paper;
pub mod statement;
pub mod systems;
pub mod time_management;
pub mod twente;
mod twente_control;
mod twente_listing;
pub mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::words::{Found, PaperFigure, Reproduction, Step};
use jitterlab_model::Error;
use jitterlab_report::document;
use jitterlab_report::figure;
use jitterlab_report::page::{self, PageRun};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::atomic_file;

/// The file in its directory that a repetition ends with.
pub const RESULT: &str = "result.json";

/// Place and settings for the repetition of a document.
pub struct Workplace<'a> {
    /// Folder of run files, figures and results.
    pub directory: &'a Path,
    /// Machine or chip that it is measured on, for captions.
    pub machine: String,
    /// Length of each measurement.
    pub duration_ns: i64,
    /// Files that guests in virtual time get besides.
    pub with: &'a [String],
    /// Set when the user asks to stop.
    pub interrupted: &'a AtomicBool,
    /// Gets each step as it begins.
    pub tell: &'a mut dyn FnMut(&Step),
}

impl Workplace<'_> {
    /// Makes the directory.
    pub fn make(&self) -> Result<(), Error> {
        let path = self.directory;
        fs::create_dir_all(path).map_err(Error::file("make", path))
    }

    fn run_file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.parquet"))
    }

    /// Writes figures as SVG and PNG.
    fn draw(&self, figures: &[PaperFigure]) -> Result<(), Error> {
        for (name, charts) in figures.iter().filter(|(_, charts)| !charts.is_empty()) {
            let mut charts = charts.clone();
            charts.iter_mut().for_each(|chart| words::add_machine(chart, &self.machine));
            let svg = figure::svg(&charts)?;
            atomic_file::write(self.directory.join(format!("{name}.svg")), svg.as_bytes(), false)?;
            atomic_file::write(self.directory.join(format!("{name}.png")), &figure::png(&svg)?, false)?;
        }
        Ok(())
    }

    /// Writes the figures that the result holds, and the result as JSON.
    pub fn finish(&self, found: Found) -> Result<Reproduction, Error> {
        self.draw(&words::figures(&found))?;
        let reproduction = Reproduction::new(self.directory.into(), found);
        let json = document::json(&reproduction)?;
        atomic_file::write(self.directory.join(RESULT), json.as_bytes(), false)?;
        Ok(reproduction)
    }
}

/// Run files as figures show them.
fn read(files: &[PathBuf]) -> Result<Vec<PageRun>, Error> {
    let runs = files.iter().map(|file| Run::open(file, &Hints::default()));
    page::read(&runs.collect::<Result<Vec<_>, _>>()?, None)
}
