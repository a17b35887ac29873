//! Memory that runs out: one sentence and exit status 3, nothing half written, sources untouched.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::extremes::runs;

/// Commands that read a run, with their output files.
const COMMANDS: [(&[&str], Option<&str>); 6] = [
    (&["analyze", "run.parquet"], None),
    (&["report", "run.parquet", "-o", "page.html"], Some("page.html")),
    (&["export", "run.parquet", "--as", "csv", "-o", "rows.csv"], Some("rows.csv")),
    (&["recover", "left.parquet.part", "-o", "left.parquet"], Some("left.parquet")),
    (&["servo", "run.parquet"], None),
    (&["compare", "--anyway", "run.parquet", "run.parquet"], None),
];

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    assert!(runs::write(folder.path(), "run.parquet", &runs::usual()));
    runs::leave_journal(folder.path(), "left.parquet", &runs::usual());
    folder
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs a command under some limit. Returns true if it ended for want of memory, or the fault in its end.
fn tried(folder: &Path, command: &mut Command, writes: Option<&str>, what: &str) -> Result<bool, String> {
    let before = files(folder);
    let output: Output = command.current_dir(folder).env("XDG_CONFIG_HOME", folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let ended = |code| output.status.code() == Some(code);
    let wanting = ended(3) && said.contains("no memory left");
    // Threads and files need memory of the system's, too, and their errors have sentences of their own.
    let refused = ended(3) && said.contains("error: ") && !said.contains("panicked");
    let mut after = files(folder);
    let made = writes.and_then(|name| after.remove(&folder.join(name)));
    let restored = before.iter().all(|(path, bytes)| match path.extension() {
        // A journal goes when its run file is whole.
        Some(part) if part == "part" && made.is_some() => true,
        _ => after.get(path) == Some(bytes),
    });
    let added: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    for (path, bytes) in &before {
        fs::write(path, bytes).unwrap();
    }
    writes.map(|name| fs::remove_file(folder.join(name)));
    match () {
        () if !(ended(0) || ended(1) || refused) => Err(format!("{what}: {}: {said}", output.status)),
        () if !restored || !added.is_empty() => Err(format!("{what}: files changed: {added:?}")),
        () if made.is_some() && !ended(0) => Err(format!("{what}: {} and a file: {said}", output.status)),
        () => Ok(wanting),
    }
}

#[test]
fn every_allocation_may_fail() {
    if !cfg!(debug_assertions) {
        return;
    }
    let folder = folder();
    let (mut faults, mut wanting) = (Vec::new(), 0);
    for (args, writes) in COMMANDS {
        // The first ones one by one, later ones further apart, to behind the last.
        let mut number = 1u64;
        while number < 1 << 40 {
            let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
            command.args(args).env("JITTERLAB_FAILING_ALLOCATION", number.to_string());
            match tried(folder.path(), &mut command, writes, &format!("{args:?}, allocation {number}")) {
                Ok(true) => wanting += 1,
                Ok(false) => break,
                Err(fault) => faults.push(fault),
            }
            number += 1 + number / 5;
        }
    }
    println!("{wanting} failed allocations");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(wanting > 100, "{wanting}");
}

/// The program with this address space.
fn within(kib: u64, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kib} && exec \"$@\""), "sh"]);
    // The allocator sets address space aside for each thread, which is no memory yet.
    command.arg(env!("CARGO_BIN_EXE_jitterlab")).args(args).env("MALLOC_ARENA_MAX", "1");
    command
}

#[test]
fn any_limit_of_the_address_space_is_answered() {
    let folder = folder();
    let (mut faults, mut wanting) = (Vec::new(), 0);
    let starts = |kib: &u64| within(*kib, &["--version"]).output().unwrap().status.success();
    // Below this limit the system's loader fails, before the program runs.
    let least = (20_000..).step_by(500).find(starts).unwrap();
    for (number, (args, writes)) in (0..).zip(COMMANDS) {
        for step in 0..5 {
            let kib = least + 300 * (6 * step + number);
            match tried(folder.path(), &mut within(kib, args), writes, &format!("{args:?} in {kib} KiB")) {
                Ok(want) => wanting += usize::from(want),
                Err(fault) => faults.push(fault),
            }
        }
    }
    println!("{wanting} runs out of memory");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(wanting > 5, "{wanting}");
}
