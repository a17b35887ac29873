//! DuckDB as a program: the one beside jitterlab, in `PATH`, or Python's.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io, thread};

use jitterlab_model::Error;

use crate::error::OTHER_VERSION;

use super::job::{Job, quote_sql};

/// Path of the program that packages install.
const INSTALLED: &str = "/usr/lib/jitterlab/duckdb";
/// Memory that DuckDB may take.
const MEMORY: &str = "1GB";
/// Python script that does what the program does.
const SCRIPT: &str = include_str!("ask.py");

#[derive(Debug, Clone)]
pub struct DuckDb {
    program: PathBuf,
    is_python: bool,
}

impl DuckDb {
    /// Finds DuckDB at this path, else the first program or Python module of it that works.
    pub(super) fn find(asked: Option<&str>) -> Result<Self, Error> {
        if let Some(path) = asked {
            let program = DuckDb { program: path.into(), is_python: false };
            return match program.is_working() {
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
            found.find_map(|program| Some(DuckDb { program, is_python: false }).filter(DuckDb::is_working));
        let python = || {
            let python = env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into());
            Some(DuckDb { program: python.into(), is_python: true }).filter(DuckDb::is_working)
        };
        program.or_else(python).ok_or_else(|| {
            Error::not_measured("fleet sums with DuckDB, which is not here")
                .remedy("pip install duckdb-cli, or pipx where the system refuses that")
        })
    }

    /// True if the program runs and answers a query.
    fn is_working(&self) -> bool {
        let mut command = Command::new(&self.program);
        match self.is_python {
            true => command.args(["-c", "import duckdb"]),
            false => command.args(["-init", "/dev/null", ":memory:", "SELECT 1"]),
        };
        let output = command.stdin(Stdio::null()).output();
        output
            .is_ok_and(|output| output.status.success() && (self.is_python || output.stdout.contains(&b'1')))
    }

    /// Answers each query into a file of its name in `out`; returns what SQL of the user's own prints.
    pub(super) fn run(&self, job: &Job<'_>, out: &Path) -> Result<Vec<u8>, Error> {
        let mut command = Command::new(&self.program);
        match self.is_python {
            true => command.args(["-c", SCRIPT]).args(job.user_sql.map(|_| "csv")),
            false => command.args(["-init", "/dev/null", "-batch", "-bail", "-csv", ":memory:"]),
        };
        command.current_dir(job.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error: io::Error| {
            Error::refused(format!("cannot run {}", self.program.display())).because(error)
        };
        let mut child = command.spawn().map_err(cannot)?;
        let (input, sql) = (child.stdin.take(), sql_script(job, out));
        // Where it reads no further, its own message explains why.
        let output = thread::scope(|scope| {
            scope.spawn(|| input.map(|mut input| input.write_all(sql.as_bytes())));
            child.wait_with_output()
        });
        let output = output.map_err(cannot)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(job.failure("DuckDB", &output, OTHER_VERSION)),
        }
    }
}

/// SQL of settings, tables and queries of a job.
fn sql_script(job: &Job<'_>, out: &Path) -> String {
    let path = |name: &str| quote_sql(&out.join(name).to_string_lossy());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut sql = format!(
        "SET memory_limit='{MEMORY}';\nSET threads={threads};\n\
         SET autoinstall_known_extensions=false;\nSET temp_directory={};\n",
        path("spilled")
    );
    for view in job.views {
        let files: Vec<String> = view.files.iter().map(|file| quote_sql(&file.to_string_lossy())).collect();
        let rows =
            format!("read_parquet([{}], union_by_name=true, hive_partitioning=false)", files.join(","));
        let _ = writeln!(sql, "CREATE VIEW {} AS {};", view.name, view.select.replace("{rows}", &rows));
    }
    for step in job.steps {
        let _ = writeln!(sql, "CREATE TEMP TABLE {} AS {};", step.name, step.sql.trim_end());
    }
    for query in job.queries {
        let _ = writeln!(sql, "COPY (\n{}\n) TO {} (FORMAT json);", query.sql.trim_end(), path(query.name));
    }
    let own = job.user_sql.map(|own| format!("{};\n", own.trim_end().trim_end_matches(';')));
    sql + &own.unwrap_or_default()
}
