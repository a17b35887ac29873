//! Answers of the program, compared with its earlier answers: exit status and first three lines, with
//! `--json` the kind and the head, of every command on inputs that never change.
//!
//! Each file of `corpus` is read by people: `$ ` and a command, then its exit status, then its output, from
//! standard error if standard output is empty. To add a command, write its line there, and record. After a
//! change of an answer on purpose, record it again, so that the change is looked at before it lands:
//!
//!     JITTERLAB_RECORD_CORPUS=1 cargo test -p jitterlab --test files corpus:: && git diff crates/cli/tests/files/corpus
//!
//! `JITTERLAB_PROGRAM` names another jitterlab to be asked, such as that of an older commit. Paths of
//! temporary folders and sizes of files are left out; answers that depend on the machine or need a
//! measurement are not asked for. A command behind `# needs PROGRAM` is skipped if that program is neither
//! installed nor, as a companion, next to jitterlab.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot do its steps has failed")]

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::half_done;
use crate::shared::known;

/// Number of lines of an answer that are kept.
const LINES: usize = 3;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// A latency that looks random, with a late one now and then.
fn latency_ns(index: i64, usual_ns: i64) -> i64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 52;
    usual_ns + noise as i64 + if index % 1_500 == 700 { 40_000 } else { 0 }
}

/// A folder with everything that the commands read.
fn inputs() -> TempDir {
    let folder = TempDir::new().unwrap();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, at) in [
        ("peers", crates.join("trace/tests/peers")),
        ("results", crates.join("../fuzz/corpus/results")),
        ("firmware", crates.join("../fuzz/corpus/firmware")),
        ("measured.parquet", here().join("half_done/run.parquet")),
        ("format-1.parquet", crates.join("runs/tests/format-1.parquet")),
    ] {
        symlink(at.canonicalize().unwrap(), folder.path().join(name)).unwrap();
    }
    // `recover` takes journals away.
    half_done::copy(folder.path());
    let run = |name: &str, period_ns, count, latency_ns: &dyn Fn(i64) -> i64| {
        known::run(folder.path(), name, period_ns, count, latency_ns);
    };
    run("servo.parquet", 1_000_000, 20_000, &|k| latency_ns(k, 3_000));
    run("later.parquet", 1_000_000, 20_000, &|k| latency_ns(k, 9_000));
    run("base.parquet", 50_000, 20_000, &|k| latency_ns(k, 3_000));
    run("stall.parquet", 50_000, 20_000, &|k| if k == 12_000 { 700_000 } else { 2_000 + k * 7 % 1_000 });
    run("bursts.parquet", 6_000_000, 4_000, &|k| if k % 200 == 100 { 180_000_000 } else { 0 });
    run("jitter.parquet", 6_000_000, 3_000, &|k| k * 7_919 % 3_000 * 1_000);
    run("short.parquet", 6_000_000, 5, &|_| 0);
    for (name, shift, above) in [("many.txt", 0, 12), ("later.txt", 3, 12), ("more.txt", 0, 5_000)] {
        fs::write(folder.path().join(name), of_many_threads(shift, above)).unwrap();
    }
    let whole = fs::read(folder.path().join("servo.parquet")).unwrap();
    fs::write(folder.path().join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    folder
}

fn program() -> PathBuf {
    std::env::var_os("JITTERLAB_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_jitterlab").into()).into()
}

fn answer(folder: &Path, command: &str) -> Output {
    Command::new(program())
        .args(shlex::split(command).unwrap())
        .current_dir(folder)
        .envs([("COLUMNS", "80"), ("LC_ALL", "C.UTF-8"), ("NO_COLOR", "1")])
        .envs(["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"].map(|name| (name, folder)))
        .output()
        .unwrap()
}

/// A line without the parts that differ each time.
fn lasting(line: &str, folder: &Path) -> String {
    let is_date = |word: &&str| word.len() >= 20 && word.starts_with("20") && word.contains("Z,");
    let line = match line.split(' ').find(is_date) {
        Some(date) => line.replace(date, "DATE,"),
        None => line.replace(&folder.display().to_string(), "FOLDER"),
    };
    match line.rsplit_once(": ") {
        Some((name, size)) if size.ends_with(" MB") || size.ends_with(" kB") => format!("{name}: SIZE"),
        _ => line,
    }
}

/// The answer to a command as it is recorded.
fn recorded(folder: &Path, command: &str) -> String {
    let Output { status, stdout, stderr } = answer(folder, command);
    let ended = status.code().unwrap_or_else(|| panic!("{command}: {status}"));
    let mut text = format!("exit {ended}\n");
    let document: Option<Value> = serde_json::from_slice(&stdout).ok();
    let (printed, lines) = match &document {
        Some(document) if document["kind"].is_string() => {
            writeln!(text, "kind {}", document["kind"].as_str().unwrap()).unwrap();
            (serde_json::to_string_pretty(&document["head"]).unwrap(), usize::MAX)
        }
        _ => {
            let printed = if stdout.is_empty() { stderr } else { stdout };
            (String::from_utf8_lossy(&printed).into_owned(), LINES)
        }
    };
    for line in printed.lines().take(lines) {
        writeln!(text, "{}", format!("| {}", lasting(line, folder)).trim_end()).unwrap();
    }
    text
}

/// True if a program is in the path or, as a companion, next to jitterlab.
fn is_here(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = program().parent().unwrap().to_owned();
    std::env::split_paths(&path).chain([beside]).any(|folder| folder.join(name).exists())
}

/// Asks the commands of a file, and holds the answers against it or records them.
fn hold(name: &str) {
    let file = here().join(format!("corpus/{name}.txt"));
    let before = fs::read_to_string(&file).unwrap();
    let folder = inputs();
    let folder = folder.path().canonicalize().unwrap();
    let (mut now, mut lacks) = (String::new(), None);
    for part in before.trim_end().split("\n\n") {
        let asked: Vec<&str> = part.lines().take_while(|line| line.starts_with(['#', '$'])).collect();
        let behind = |mark: &'static str| asked.iter().filter_map(move |line| line.strip_prefix(mark));
        let command = behind("$").next().unwrap_or_else(|| panic!("{name}: no command in\n{part}"));
        match behind("# needs ").find(|program| !is_here(program)) {
            Some(program) => {
                lacks = Some(program);
                writeln!(now, "{part}\n").unwrap();
            }
            None => writeln!(now, "{}\n{}", asked.join("\n"), recorded(&folder, command)).unwrap(),
        }
    }
    let now = now.trim_end().to_owned() + "\n";
    if let Some(program) = lacks {
        println!("skipped: what needs {program}, which is not here");
    }
    if std::env::var_os("JITTERLAB_RECORD_CORPUS").is_some() {
        return fs::write(&file, now).unwrap();
    }
    let differ: Vec<String> = before
        .split("\n\n")
        .zip(now.split("\n\n"))
        .filter(|(before, now)| before.trim_end() != now.trim_end())
        .map(|(before, now)| format!("before:\n{before}\nnow:\n{now}"))
        .collect();
    assert!(
        differ.is_empty(),
        "{name}: if that is meant, record it (see {})\n{}",
        file!(),
        differ.join("\n\n")
    );
}

#[test]
fn every_output_of_another_tool_is_asked() {
    let asked = fs::read_to_string(here().join("corpus/peers.txt")).unwrap();
    for entry in fs::read_dir(here().join("../../../trace/tests/peers")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(asked.contains(&format!("peers/{name}")), "{name} is asked by no command of peers.txt");
    }
}

/// A histogram of cyclictest with `THREADS` threads. All but the first few are later by `shift`, and `above`
/// values lie above the last bin of thread 5.
fn of_many_threads(shift: usize, above: u64) -> String {
    const THREADS: usize = 64;
    let (mut text, mut totals) =
        (String::from("# cyclictest -l100000 -m -S -p90 -i200 -h30 -q\n# Histogram\n"), vec![0; THREADS]);
    for bin in 0..30usize {
        write!(text, "{bin:06}").unwrap();
        for (thread, total) in totals.iter_mut().enumerate() {
            let usual = bin.checked_sub(if thread > 3 { shift } else { 0 });
            let count = usual
                .and_then(|bin| [0, 0, 500, 40_000, 50_000, 8_000, 1_200, 200, 90].get(bin))
                .unwrap_or(&0);
            *total += count;
            write!(text, " {count:06}").unwrap();
        }
        text.push('\n');
    }
    let line = |name: &str, of: &dyn Fn(usize) -> u64| {
        let each: Vec<String> = (0..THREADS).map(|thread| format!("{:05}", of(thread))).collect();
        format!("# {name}: {}\n", each.join(" "))
    };
    let over = |thread: usize| if thread == 5 { above } else { 10 + thread as u64 % 3 };
    text += &line("Total", &|thread| totals[thread]);
    text += &line("Min Latencies", &|_| 2);
    text += &line("Avg Latencies", &|_| 4);
    text += &line("Max Latencies", &|thread| 40 + thread as u64 * 7 % 23);
    text += &line("Histogram Overflows", &over);
    text += "# Histogram Overflow at cycle number:\n";
    for thread in 0..THREADS {
        let listed = (0..10).map(|k| format!("{:05}", 120 + 1_000 * k + thread as u64 * k * k));
        writeln!(
            text,
            "# Thread {thread}: {} # {:05} others",
            listed.collect::<Vec<_>>().join(" "),
            over(thread) - 10
        )
        .unwrap();
    }
    text
}

macro_rules! held {
    ($($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            hold(stringify!($name));
        })+

        #[test]
        fn every_file_of_the_corpus_is_held() {
            let held = [$(stringify!($name)),+];
            for entry in fs::read_dir(here().join("corpus")).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap();
                assert!(held.contains(&name), "{name} is held by no test");
            }
        }
    };
}

held! {
    analyze, compare, experiments, export, help, mcu, mistakes, others, pages, peers, predict, reproduce, results, servo, stepper, why,
}
