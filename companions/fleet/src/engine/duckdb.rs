//! DuckDB as a program: the one beside jitterlab, in `PATH`, or Python's.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, io, thread};

use jitterlab_model::Error;

use crate::error::{OTHER_QUERY, OTHER_VERSION};

use super::job::{Job, failed, quoted};

/// Where packages put it.
const INSTALLED: &str = "/usr/lib/jitterlab/duckdb";
/// Memory that it may take.
const MEMORY: &str = "1GB";
/// Python that does what the program does.
const SCRIPT: &str = include_str!("ask.py");

/// DuckDB.
#[derive(Debug, Clone)]
pub struct DuckDb {
    program: PathBuf,
    is_python: bool,
}

impl DuckDb {
    /// The one of this path, else the first that is found.
    pub(super) fn find(asked: Option<&str>) -> Result<Self, Error> {
        if let Some(path) = asked {
            let program = DuckDb { program: path.into(), is_python: false };
            return match program.answers() {
                true => Ok(program),
                false => {
                    Err(Error::bad_use(format!("--engine {path} is neither DuckDB nor a master of Spark"))
                        .remedy("name the program duckdb, or spark://HOST:7077, yarn, k8s://..., local[2]"))
                }
            };
        }
        let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.join("duckdb")));
        let path = env::var_os("PATH").unwrap_or_default();
        let in_path = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|f| f.join("duckdb"));
        let programs = beside.into_iter().chain([PathBuf::from(INSTALLED)]).chain(in_path);
        let mut found = programs.filter(|path| path.is_file());
        let program =
            found.find_map(|program| Some(DuckDb { program, is_python: false }).filter(DuckDb::answers));
        let python = || {
            let python = env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into());
            Some(DuckDb { program: python.into(), is_python: true }).filter(DuckDb::answers)
        };
        program.or_else(python).ok_or_else(|| {
            Error::not_measured("fleet sums with DuckDB, which is not here")
                .remedy("pip install duckdb-cli, or pipx where the system refuses that")
        })
    }

    fn answers(&self) -> bool {
        let mut command = Command::new(&self.program);
        match self.is_python {
            true => command.args(["-c", "import duckdb"]),
            false => command.args(["-init", "/dev/null", ":memory:", "SELECT 1"]),
        };
        let output = command.stdin(Stdio::null()).output();
        output
            .is_ok_and(|output| output.status.success() && (self.is_python || output.stdout.contains(&b'1')))
    }

    /// Answers each query into a file of its name.
    pub(super) fn run(&self, job: &Job<'_>, out: &Path) -> Result<(), Error> {
        let mut sql = preparation(job, out);
        for query in job.queries {
            let path = out.join(query.name);
            let _ = writeln!(
                sql,
                "COPY (\n{}\n) TO {} (FORMAT json);",
                query.sql.trim_end().trim_end_matches(';'),
                quoted(&path.to_string_lossy())
            );
        }
        self.execute(job, &sql, false).map(drop)
    }

    /// Answers the last query as text.
    pub(super) fn print(&self, job: &Job<'_>) -> Result<Vec<u8>, Error> {
        let out = tempfile::tempdir().map_err(Error::file("create a folder in", env::temp_dir()))?;
        let mut sql = preparation(job, out.path());
        for query in job.queries {
            let _ = writeln!(sql, "{};", query.sql.trim_end().trim_end_matches(';'));
        }
        self.execute(job, &sql, true).map(|output| output.stdout)
    }

    fn execute(&self, job: &Job<'_>, sql: &str, prints: bool) -> Result<Output, Error> {
        let mut command = Command::new(&self.program);
        match self.is_python {
            true => command.args(["-c", SCRIPT]).args(prints.then_some("csv")),
            false => command.args(["-init", "/dev/null", "-batch", "-bail", "-csv", ":memory:"]),
        };
        command.current_dir(job.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error: io::Error| {
            Error::refused(format!("cannot run {}", self.program.display())).because(error)
        };
        let mut child = command.spawn().map_err(cannot)?;
        let input = child.stdin.take();
        // Where it reads no further, its own message explains why.
        let output = thread::scope(|scope| {
            scope.spawn(|| input.map(|mut input| input.write_all(sql.as_bytes())));
            child.wait_with_output()
        });
        let output = output.map_err(cannot)?;
        match output.status.success() {
            true => Ok(output),
            false => Err(failed("DuckDB", &output, if prints { OTHER_QUERY } else { OTHER_VERSION })),
        }
    }
}

/// Settings and tables.
fn preparation(job: &Job<'_>, out: &Path) -> String {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut sql = format!(
        "SET memory_limit='{MEMORY}';\nSET threads={threads};\n\
         SET autoinstall_known_extensions=false;\nSET temp_directory={};\n",
        quoted(&out.join("spilled").to_string_lossy())
    );
    for view in job.views {
        let files: Vec<String> = view.files.iter().map(|file| quoted(&file.to_string_lossy())).collect();
        let rows =
            format!("read_parquet([{}], union_by_name=true, hive_partitioning=false)", files.join(","));
        let _ = writeln!(sql, "CREATE VIEW {} AS {};", view.name, view.select.replace("{rows}", &rows));
    }
    for step in job.steps {
        let _ = writeln!(sql, "CREATE TEMP TABLE {} AS {};", step.name, step.sql.trim_end());
    }
    sql
}
