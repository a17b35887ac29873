//! Engines: programs that get SQL and Parquet files and answer with lines of JSON. Nothing of them is linked.
//!
//! To add one: its file here, and its line in [`Engine::find`] and [`Engine::answer`].

mod duckdb;
mod job;
mod spark;

pub use job::{Job, Query, View};

use std::{fs, io};

use jitterlab_model::Error;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::error::missing_answer;

/// Program that sums tables.
#[derive(Debug, Clone)]
pub enum Engine {
    /// DuckDB on this machine.
    DuckDb(duckdb::DuckDb),
    /// Spark, wherever its master is.
    Spark(spark::Spark),
}

/// Answers of an engine, as files that are removed with this value.
pub struct Answers {
    folder: TempDir,
    /// The answer to SQL of the user's own.
    pub user_output: Vec<u8>,
}

impl Engine {
    /// Finds the engine: DuckDB at a path, or Spark for a master (`spark://...`, `yarn`, `k8s://...`, `local...`). By
    /// default DuckDB where it is found first.
    pub fn find(asked: Option<&str>) -> Result<Self, Error> {
        match asked {
            Some(master) if spark::is_master(master) => spark::Spark::find(master).map(Engine::Spark),
            asked => duckdb::DuckDb::find(asked).map(Engine::DuckDb),
        }
    }

    /// Runs a job's queries; returns all answers, or fails.
    pub fn answer(&self, job: &Job<'_>) -> Result<Answers, Error> {
        let folder = temporary_folder()?;
        let printed = match self {
            Engine::DuckDb(duckdb) => duckdb.run(job, folder.path()),
            Engine::Spark(spark) => spark.run(job, folder.path()),
        }?;
        Ok(Answers { folder, user_output: printed })
    }
}

/// Makes a temporary folder for files that go to an engine or come from it.
pub fn temporary_folder() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("create a folder in", std::env::temp_dir()))
}

impl Answers {
    /// Rows of the answer to a query, in its order.
    pub fn rows<R: DeserializeOwned>(&self, query: Query) -> Result<Vec<R>, Error> {
        let name = query.name;
        let path = self.folder.path().join(name);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing_answer(name),
            _ => Error::file("read", &path)(error),
        })?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(serde_json::from_slice).collect::<Result<_, _>>().map_err(|cause| {
            Error::defect(format!("an engine answered {name} with other columns than were asked for"))
                .because(cause)
        })
    }
}
