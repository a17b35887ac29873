//! Engines: programs that get SQL and Parquet files and answer with lines of JSON. Nothing of them is linked.
//!
//! To add one: its file here, and its line in [`Engine::find`] and [`Engine::run`].

mod duckdb;
mod job;
mod spark;

pub use job::{Job, Query, View};

use std::path::Path;
use std::{fs, io};

use jitterlab_model::Error;
use jitterlab_trace::flat::{FlatTable, Values};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::error::no_answer;
use crate::rows::{Row, rows_of};

/// Program that sums tables.
#[derive(Debug, Clone)]
pub enum Engine {
    /// DuckDB on this machine.
    DuckDb(duckdb::DuckDb),
    /// Spark, wherever its master is.
    Spark(spark::Spark),
}

/// Answers of an engine, as files that go with this.
pub struct Answers {
    folder: TempDir,
}

impl Engine {
    /// The engine that was asked for: a path of DuckDB, or a master of Spark (`spark://...`, `yarn`, `k8s://...`, `local...`); by
    /// default DuckDB where it is found first.
    ///
    /// # Errors
    /// It is not here.
    pub fn find(asked: Option<&str>) -> Result<Self, Error> {
        match asked {
            Some(master) if spark::is_master(master) => spark::Spark::find(master).map(Engine::Spark),
            asked => duckdb::DuckDb::find(asked).map(Engine::DuckDb),
        }
    }

    /// Answers all questions or none.
    ///
    /// # Errors
    /// The engine failed: no figure of it is used.
    pub fn answer(&self, job: &Job<'_>) -> Result<Answers, Error> {
        let folder = tempfile::tempdir().map_err(Error::file("create a folder in", std::env::temp_dir()))?;
        self.run(job, folder.path())?;
        Ok(Answers { folder })
    }

    fn run(&self, job: &Job<'_>, out: &Path) -> Result<(), Error> {
        match self {
            Engine::DuckDb(duckdb) => duckdb.run(job, out),
            Engine::Spark(spark) => spark.run(job, out),
        }
    }

    /// Answers a question of the user's own as text.
    ///
    /// # Errors
    /// The engine failed.
    pub fn print(&self, job: &Job<'_>) -> Result<Vec<u8>, Error> {
        match self {
            Engine::DuckDb(duckdb) => duckdb.print(job),
            Engine::Spark(spark) => spark.print(job),
        }
    }
}

impl Answers {
    /// Rows of an answer, in the order of its query.
    ///
    /// # Errors
    /// The engine left other columns than were asked for.
    pub fn rows<R: Row>(&self, name: &str) -> Result<Vec<R>, Error> {
        let path = self.folder.path().join(name);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_answer(name),
            _ => Error::file("read", &path)(error),
        })?;
        let other =
            || Error::defect(format!("an engine answered {name} with other columns than were asked for"));
        let mut values: Vec<Values> = FlatTable::new(R::COLUMNS).values;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Map<String, Value> = serde_json::from_slice(line).map_err(|_| other())?;
            for ((column, _), values) in R::COLUMNS.iter().zip(&mut values) {
                match (values, row.get(*column).unwrap_or(&Value::Null)) {
                    (Values::Texts(texts), Value::String(text)) => texts.push(text.clone()),
                    (Values::Texts(texts), Value::Null) => texts.push(String::new()),
                    (Values::Numbers(numbers), Value::Number(number)) => {
                        numbers.push(Some(number.as_i64().ok_or_else(other)?));
                    }
                    (Values::Numbers(numbers), Value::Null) => numbers.push(None),
                    _ => return Err(other()),
                }
            }
        }
        rows_of(values).ok_or_else(other)
    }
}
