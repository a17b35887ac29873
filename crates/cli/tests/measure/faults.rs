//! A failing file system: every call of a kind fails in turn, and after each failure the measured data are
//! still there.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use jitterlab_model::{Activation, Bench, RunInfo, StopReason, TaskResult, TaskSpec, Warning};
use jitterlab_trace::{RunReader, RunWriter, recover};
use tempfile::TempDir;

use crate::shared::known;

/// The calls, each with the error it answers.
const CALLS: [(&str, &str); 13] = [
    ("write,pwrite64,writev", "ENOSPC"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("rename,renameat,renameat2,link,linkat", "EIO"),
    ("unlink,unlinkat", "EROFS"),
    ("ftruncate,fallocate", "ENOSPC"),
    ("mmap", "ENOMEM"),
    ("clone,clone3", "EAGAIN"),
    ("lseek", "EIO"),
    ("openat", "EMFILE"),
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("statx,newfstatat", "EACCES"),
];
/// Number of the last calls, which are made by the hundred to read facts about the system: if files are
/// named, only calls on these fail.
const OF_FILES: usize = 4;
/// Few commands make more calls of a kind.
const MOST: u32 = 60;

/// Runs the program with the n-th call of each thread failing, among those to these files if any are named; nothing if
/// there was no such call.
fn with_fault(folder: &Path, call: (&str, &str), n: u32, files: &[&Path], args: &[&str]) -> Option<Output> {
    let log = folder.join("strace.log");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).arg("-e").arg(format!("trace={}", call.0));
    command.arg("-e").arg(format!("inject={}:error={}:when={n}", call.0, call.1));
    for file in files {
        command.arg("-P").arg(file);
    }
    let output =
        command.arg(env!("CARGO_BIN_EXE_jitterlab")).args(args).current_dir(folder).output().unwrap();
    let injected = fs::read_to_string(&log).unwrap().contains("(INJECTED)");
    fs::remove_file(log).unwrap();
    injected.then_some(output)
}

/// True if calls can be made to fail here.
fn possible() -> bool {
    let try_out = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let possible = try_out.is_ok_and(|output| output.status.success());
    assert!(possible || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "strace is missing");
    if !possible {
        eprintln!("skipped: calls are made to fail by strace, which is missing or not permitted");
    }
    possible
}

/// Lets every call fail in turn; `after` gets its description and the end of the command.
fn each_fault(
    folder: &Path,
    files: &[&Path],
    args: &[&str],
    mut before: impl FnMut(),
    after: impl Fn(&str, &Output),
) {
    let mut tried = 0;
    for (number, call) in CALLS.into_iter().enumerate() {
        let files = if number + OF_FILES < CALLS.len() { &[] } else { files };
        for n in 1..=MOST {
            before();
            let Some(output) = with_fault(folder, call, n, files, args) else { break };
            let said = String::from_utf8_lossy(&output.stderr);
            let what = format!("{} {n} fails: {}, {said}", call.0, output.status);
            // The loader of programs, and any code that needs memory, fails in its own way.
            if call.0 != "mmap" && !said.contains("error while loading shared libraries") {
                assert!(!said.contains("panicked"), "{what}");
                assert!(matches!(output.status.code(), Some(0..=3)), "{what}");
                assert!(output.status.code() == Some(0) || !said.is_empty(), "{what}");
            }
            after(&what, &output);
            tried += 1;
        }
    }
    println!("{}: {tried} faults", args[0]);
    assert!(tried > 10, "{tried} faults only");
}

fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_keeps_what_it_measured_whatever_fails() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (file, journal) = (folder.join("run.parquet"), folder.join("run.parquet.part"));
    let name = file.to_str().unwrap();
    let args = ["run", "-q", "-n", "60", "--policy", "other", "--json", "-o", name];
    each_fault(
        folder,
        &[&file, &journal, folder],
        &args,
        || clear(folder),
        |what, output| {
            if !file.exists() && journal.exists() {
                recover(&journal).unwrap_or_else(|error| panic!("{what}: the journal is lost: {error}"));
            }
            if !file.exists() {
                // The run never began, reports that if it has the memory for it, and left nothing.
                let said = output.status.code() == Some(3) || what.starts_with("mmap");
                assert!(said && output.stdout.is_empty(), "{what}: no file");
                assert_eq!(names(folder), [""; 0], "{what}");
                return;
            }
            let run = RunReader::open(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
            let ended = run.info().warnings.iter().any(|w| matches!(w, Warning::RecordingEnded { .. }));
            let ended = ended || run.info().stop == Some(StopReason::Crashed);
            // A busy machine misses some of the due times.
            let whole = |r: &TaskResult| r.executed == run.rows() && r.executed + r.missed >= 60;
            let whole = run.info().tasks[0].result.as_ref().is_some_and(whole);
            assert!(whole || ended, "{what}: {} rows, and nothing said", run.rows());
            let said = String::from_utf8_lossy(&output.stderr);
            let left = |name: &String| name == "run.parquet" || said.contains(name.as_str());
            assert!(names(folder).iter().all(left), "{what}: {:?}", names(folder));
        },
    );
}

#[test]
fn the_last_rows_that_the_disk_does_not_take_are_missed_aloud() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (file, journal) = (folder.join("run.parquet"), folder.join("run.parquet.part"));
    // Rows are written every quarter of a second: at the end for the second time.
    let args = ["run", "-q", "-n", "300", "--policy", "other", "-o", "run.parquet"];
    let output = with_fault(folder, CALLS[0], 2, &[&file, &journal], &args).unwrap();
    let run = RunReader::open(&file).unwrap();
    let whole = run.info().tasks[0].result.as_ref().is_some_and(|r| r.executed == run.rows());
    let in_file = run.info().warnings.iter().any(|w| matches!(w, Warning::RecordingEnded { .. }));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(whole || in_file && said.contains("recording ended"), "{} rows: {said}", run.rows());
}

#[test]
fn a_page_is_the_old_one_or_the_new_one_whatever_fails() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    known::run(folder, "run.parquet", 1_000_000, 50, |k| 2_000 + k);
    let measured = fs::read(folder.join("run.parquet")).unwrap();
    let args = ["report", "run.parquet", "-o", "page.html"];
    let before = || fs::write(folder.join("page.html"), "old").unwrap();
    each_fault(folder, &[], &args, before, |what, output| {
        let page = fs::read_to_string(folder.join("page.html")).unwrap();
        let is_new = page.trim_end().ends_with("</html>");
        assert!(is_new || page == "old", "{what}: neither the old page nor the new one");
        assert!(is_new || output.status.code() != Some(0), "{what}: the old page, and nothing said");
        assert_eq!(names(folder), ["page.html", "run.parquet"], "{what}");
        assert_eq!(fs::read(folder.join("run.parquet")).unwrap(), measured, "{what}");
    });
}

#[test]
fn a_journal_stays_until_all_of_it_is_recovered_whatever_fails() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let task = TaskSpec { period_ns: 1_000_000, ..TaskSpec::default() };
    let info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [task]);
    let mut writer = RunWriter::create(folder.join("run.parquet"), &info).unwrap();
    let row = |k: u64| Activation { index: k, due_ns: k as i64 * 1_000_000, ..Activation::default() };
    writer.append(0, &(0..40_000).map(row).collect::<Vec<_>>()).unwrap();
    drop(writer);
    let journal = fs::read(folder.join("run.parquet.part")).unwrap();
    let before = || {
        clear(folder);
        fs::write(folder.join("run.parquet.part"), &journal).unwrap();
    };
    each_fault(folder, &[], &["recover", "run.parquet.part"], before, |what, output| {
        let there = names(folder);
        let done = RunReader::open(folder.join("run.parquet")).is_ok_and(|run| run.rows() == 40_000);
        let kept = fs::read(folder.join("run.parquet.part")).is_ok_and(|bytes| bytes == journal);
        assert!(done || kept, "{what}: {there:?}");
        assert!(done || !folder.join("run.parquet").exists(), "{what}: a run file that lacks something");
        assert!(done || output.status.code() != Some(0), "{what}: nothing was said");
        assert!(there.iter().all(|name| name.starts_with("run.parquet")), "{what}: {there:?}");
    });
}
