//! Remains of a killed program of today, and a run that it measured, can be opened by later programs, or they
//! give a reason. `half_done` holds the remains of version 0.1.0: a matrix of three cells, killed in the
//! second; a `tune` that had found the causes and measured two of its blocks; a run with its causes.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::shared::known::answered;

/// Copies the remains into this folder, as `half-done`.
pub fn copy(folder: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/half_done");
    for part in ["matrix", "tune"] {
        let to = folder.join("half-done").join(part);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn a_matrix_goes_on_behind_its_finished_cell() {
    let folder = TempDir::new().unwrap();
    copy(folder.path());
    let matrix = folder.path().join("half-done/matrix");
    let finished = fs::read(matrix.join("cell-0000.parquet")).unwrap();
    let said = answered(folder.path(), &["matrix", "-o", "half-done/matrix"]);
    assert!(said.contains("load: none, 3 repetitions"), "{said}");
    assert_eq!(fs::read(matrix.join("cell-0000.parquet")).unwrap(), finished, "it was measured again");
    assert!(matrix.join("cell-0001.parquet").exists() && matrix.join("cell-0002.parquet").exists());
}

/// The same words as at the begin of the tune.
fn tune(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args(["tune", "-q", "--budget", "10m", "--policy", "other", "--period", "20ms", "--load", "none"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Renames the causes found to their name at this start of the machine: measurements from before a restart
/// are not continued.
fn as_of_this_start(folder: &Path) {
    let causes = || {
        let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("jitterlab-tune-causes-"))
    };
    let recorded = folder.join("recorded");
    fs::rename(causes().unwrap(), &recorded).unwrap();
    let mut begun = tune(folder);
    let began = Instant::now();
    while causes().is_none() && began.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(1));
    }
    begun.kill().unwrap();
    begun.wait().unwrap();
    fs::rename(recorded, causes().unwrap()).unwrap();
}

#[test]
fn a_tune_goes_on_behind_the_causes_it_had_found() {
    let folder = TempDir::new().unwrap();
    copy(folder.path());
    let folder = folder.path().join("half-done/tune");
    as_of_this_start(&folder);
    let mut tune = tune(&folder);
    let mut said = BufReader::new(tune.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let interrupt = Command::new("kill").args(["-INT", &tune.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    said.read_to_string(&mut first).unwrap();
    tune.wait().unwrap();
    assert!(first.starts_with("going on behind the 1 part "), "{first}");
}
