//! The same questions on Spark, whose executors and driver are killed meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::answers::{engine, fleet, run_file, said};
use crate::samples::activations;

/// Processors and executors: two of one core and 1500 MB each, as processes of their own.
const MASTER: &str = "local-cluster[2,1,1500]";

/// Spark's home, if it and Java are here; a test that needs it is skipped with a sentence otherwise.
fn spark() -> Option<PathBuf> {
    let home = std::env::var_os("SPARK_HOME").map(PathBuf::from).or_else(|| {
        let python = std::env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into());
        let said = "import pyspark, os; print(os.path.dirname(pyspark.__file__))";
        let output = Command::new(python).args(["-c", said]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().into())
    });
    let java = Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success());
    let home = home.filter(|home| java && home.join("bin/spark-submit").is_file());
    if home.is_none() {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "Spark is not here");
        println!("skipped: spark-submit is not here (pip install pyspark, with Java 17)");
    }
    home
}

/// Processes below one whose command line holds this text.
fn below(parent: u32, text: &str) -> Vec<u32> {
    let read = |pid: u32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let all: Vec<u32> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let parent_of = |pid: u32| {
        let stat = read(pid, "stat");
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    let descends = |pid: &u32| {
        std::iter::successors(Some(*pid), |pid| Some(parent_of(*pid)).filter(|p| *p > 1)).any(|p| p == parent)
    };
    all.into_iter().filter(|pid| read(*pid, "cmdline").contains(text)).filter(descends).collect()
}

/// Executors, as processes.
const EXECUTOR: &str = "CoarseGrainedExecutorBackend";

/// Spark that is asked about a folder.
struct Asked(Child);

impl Asked {
    fn new(home: &Path, folder: &str) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_jitterlab-fleet"));
        program.args([folder, "--json", "--engine", MASTER]).env("SPARK_HOME", home);
        let python = std::env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into());
        program.env("PYSPARK_PYTHON", python).stdout(Stdio::piped()).stderr(Stdio::piped());
        Asked(program.spawn().unwrap())
    }

    /// Kills `how_many` processes below it whose command lines hold `text`, except those in `but`, once they are there.
    /// Returns their numbers; none if the answer comes first.
    fn kill(&mut self, text: &str, how_many: usize, but: &[u32]) -> Vec<u32> {
        let begin = Instant::now();
        while self.0.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(180) {
            let mut found = below(self.0.id(), text);
            found.retain(|pid| !but.contains(pid));
            if found.len() >= how_many {
                std::thread::sleep(Duration::from_secs(2));
                found.truncate(how_many);
                let pids = found.iter().map(u32::to_string);
                let status = Command::new("kill").arg("-9").args(pids).status().unwrap();
                return if status.success() { found } else { Vec::new() };
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Vec::new()
    }

    fn answer(self) -> Output {
        self.0.wait_with_output().unwrap()
    }
}

#[test]
fn spark_answers_as_duckdb_does_whatever_executors_are_killed() {
    let (Some(engine), Some(home)) = (engine(), spark()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let all = path("fleet");
    for machine in 0..3 {
        let rows = activations(machine, 12_000, 1_000_000);
        run_file(Path::new(&path("run")), &format!("cnc-{machine}"), "6.12", 1_795_730_400, &rows);
        assert_eq!(fleet(&["add", &all, &path("run")]).status.code(), Some(0));
        fs::remove_file(path("run")).unwrap();
    }
    let expected = fleet(&[&all, "--json", "--engine", &engine]);
    assert_eq!(expected.status.code(), Some(0), "{}", said(&expected));
    let answers = |asked: Asked, killed: &str| {
        let output = asked.answer();
        assert_eq!(output.status.code(), Some(0), "{killed} killed: {}", said(&output));
        assert_eq!(output.stdout, expected.stdout, "{killed} killed");
    };
    // One, then both that are there afterwards; in a run of their own if the answer comes first.
    let mut asked = Asked::new(&home, &all);
    let one = asked.kill(EXECUTOR, 1, &[]);
    assert_eq!(one.len(), 1, "no executor to kill");
    let both = asked.kill(EXECUTOR, 2, &one);
    answers(asked, "one and both");
    if both.is_empty() {
        let mut asked = Asked::new(&home, &all);
        assert_eq!(asked.kill(EXECUTOR, 2, &[]).len(), 2, "no executors to kill");
        answers(asked, "both");
    }
    let mut asked = Asked::new(&home, &all);
    assert_eq!(asked.kill("org.apache.spark.deploy.SparkSubmit", 1, &[]).len(), 1, "no driver to kill");
    let output = asked.answer();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(3), true), "{}", said(&output));
}
