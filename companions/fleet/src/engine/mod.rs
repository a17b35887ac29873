//! Engines: programs that get SQL and Parquet files and answer with lines of JSON. Nothing of them is linked.
//!
//! To add one: its file here, and its line in [`Engine::find`] and [`Engine::answer`].

mod duckdb;
mod job;
mod spark;

pub use job::{Job, Query, View};

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
    /// The answer to SQL of the user's own.
    pub printed: Vec<u8>,
}

impl Engine {
    /// The engine that was asked for: a path of DuckDB, or a master of Spark (`spark://...`, `yarn`, `k8s://...`, `local...`); by
    /// default DuckDB where it is found first.
    pub fn find(asked: Option<&str>) -> Result<Self, Error> {
        match asked {
            Some(master) if spark::is_master(master) => spark::Spark::find(master).map(Engine::Spark),
            asked => duckdb::DuckDb::find(asked).map(Engine::DuckDb),
        }
    }

    /// Answers all questions or none.
    pub fn answer(&self, job: &Job<'_>) -> Result<Answers, Error> {
        let folder = folder_beside()?;
        let printed = match self {
            Engine::DuckDb(duckdb) => duckdb.run(job, folder.path()),
            Engine::Spark(spark) => spark.run(job, folder.path()),
        }?;
        Ok(Answers { folder, printed })
    }
}

/// Folder for what goes to an engine or comes from it.
pub fn folder_beside() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("create a folder in", std::env::temp_dir()))
}

impl Answers {
    /// Rows of the answer that has their name, in the order of its query.
    pub fn rows<R: Row>(&self) -> Result<Vec<R>, Error> {
        let name = R::TABLE;
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
