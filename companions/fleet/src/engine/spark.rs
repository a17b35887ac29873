//! Spark by `spark-submit`: a short driver that carries the same SQL.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use jitterlab_model::Error;
use serde::Serialize;

use crate::error::LOOK_AT_LOG;

use super::job::{Job, View};

const DRIVER: &str = include_str!("driver.py");

#[derive(Debug, Clone)]
pub struct Spark {
    submit: PathBuf,
    master: String,
}

/// Task of the driver, as JSON.
#[derive(Serialize)]
struct DriverTask<'a> {
    folder: &'a Path,
    views: Vec<(&'a str, Vec<String>, &'a str)>,
    steps: Vec<(&'a str, &'a str)>,
    queries: Vec<(&'a str, &'a str)>,
    out: &'a Path,
    own: Option<&'a str>,
}

/// True if this names a master of Spark.
pub(super) fn is_master(name: &str) -> bool {
    name == "yarn"
        || ["spark://", "k8s://", "local[", "local-cluster["]
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

impl Spark {
    /// Finds Spark's own program, in `SPARK_HOME` or in `PATH`.
    pub(super) fn find(master: &str) -> Result<Self, Error> {
        let home = env::var_os("SPARK_HOME").map(|home| PathBuf::from(home).join("bin"));
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = home.into_iter().chain(env::split_paths(&path).filter(|folder| folder.is_absolute()));
        let submit = folders.map(|folder| folder.join("spark-submit")).find(|program| program.is_file());
        let submit = submit.ok_or_else(|| {
            Error::not_measured(format!("--engine {master} needs spark-submit, which is not here"))
                .remedy("set SPARK_HOME, or pip install pyspark with Java 17 or later")
        })?;
        Ok(Spark { submit, master: master.into() })
    }

    /// Answers each query into a file of its name in `out`; returns what SQL of the user's own prints.
    pub(super) fn run(&self, job: &Job<'_>, out: &Path) -> Result<Vec<u8>, Error> {
        let folder = fs::canonicalize(job.folder).map_err(Error::file("open", job.folder))?;
        let view = |view: &View| {
            view.files.iter().map(|file| folder.join(file).to_string_lossy().into_owned()).collect()
        };
        let task = DriverTask {
            folder: &folder,
            views: job.views.iter().map(|of| (of.name, view(of), of.select.as_str())).collect(),
            steps: job.steps.iter().map(|query| (query.name, query.sql)).collect(),
            queries: job.queries.iter().map(|query| (query.name, query.sql)).collect(),
            out,
            own: job.user_sql,
        };
        let (driver, asked) = (out.join("driver.py"), out.join("task.json"));
        let task = serde_json::to_vec(&task).map_err(jitterlab_report::json::json_error)?;
        fs::write(&driver, DRIVER).map_err(Error::file("write", &driver))?;
        fs::write(&asked, task).map_err(Error::file("write", &asked))?;
        let mut command = Command::new(&self.submit);
        command.args(["--master", &self.master, "--name", "jitterlab fleet"]).stdin(Stdio::null());
        if self.master.starts_with("local") {
            command.args([
                "--conf",
                "spark.driver.bindAddress=127.0.0.1",
                "--conf",
                "spark.ui.enabled=false",
            ]);
            command.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        let output = command.arg(&driver).arg(&asked).output();
        let output = output.map_err(|error| {
            Error::refused(format!("cannot run {}", self.submit.display())).because(error)
        })?;
        // A driver that was killed leaves no mark that it finished.
        match output.status.success() && out.join("finished").is_file() {
            true => Ok(output.stdout),
            false => Err(job.failure("Spark", &output, LOOK_AT_LOG)),
        }
    }
}
