//! What was measured is never destroyed by writing something else, and nothing is written where it does not belong.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use jitterlab_model::{RunInfo, TaskSpec};
use jitterlab_trace::{RunReader, RunWriter};
use tempfile::TempDir;

#[allow(dead_code, reason = "each test program uses a part of it")]
mod known;
use known::{answered, jitterlab, refused};

/// A folder with a finished run and a run that is being recorded.
fn two_runs() -> (TempDir, RunWriter) {
    let folder = TempDir::new().unwrap();
    known::run(folder.path(), "run.parquet", 1_000_000, 50, |k| 2_000 + k);
    let live = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
    let writer = RunWriter::create(folder.path().join("live.parquet"), &live).unwrap();
    (folder, writer)
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const WRITERS: [&[&str]; 2] = [&["report", "run.parquet"], &["plot", "run.parquet"]];

#[test]
fn a_page_or_figure_never_replaces_a_measurement_unasked() {
    let (folder, writer) = two_runs();
    let folder = folder.path();
    let before = fs::read(folder.join("run.parquet")).unwrap();
    for (name, says) in [
        ("run.parquet", "--force"),
        ("live.parquet", "live.parquet.part"),
        ("live.parquet.part", "still being recorded"),
    ] {
        // A figure has an ending of its own; a link may still lead to a run.
        symlink(name, folder.join("link.svg")).unwrap();
        if name != "live.parquet" {
            refused(folder, &[WRITERS[1], &["-o", "link.svg"]].concat(), 3, &[says]);
        }
        fs::remove_file(folder.join("link.svg")).unwrap();
        fs::copy(folder.join("run.parquet"), folder.join("other.parquet")).unwrap();
        refused(folder, &["report", "other.parquet", "-o", name], 3, &[says]);
        fs::remove_file(folder.join("other.parquet")).unwrap();
    }
    refused(folder, &["report", "run.parquet", "-o", "live.parquet.part", "--force"], 3, &["recorded"]);
    assert_eq!(fs::read(folder.join("run.parquet")).unwrap(), before);
    let info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
    writer.finish(info).unwrap();
    assert_eq!(names(folder), ["live.parquet", "run.parquet"]);

    fs::copy(folder.join("run.parquet"), folder.join("old.parquet")).unwrap();
    answered(folder, &["report", "run.parquet", "-o", "old.parquet", "--force"]);
    assert!(RunReader::open(folder.join("old.parquet")).is_err());
}

#[test]
fn links_planted_beside_a_file_are_not_followed() {
    let (folder, _writer) = two_runs();
    let folder = folder.path();
    fs::write(folder.join("precious"), "mine").unwrap();
    for planted in ["r.html.part", "r.html.tmp", "f.svg.part", "t.parquet.tmp"] {
        symlink("precious", folder.join(planted)).unwrap();
    }
    answered(folder, &["report", "run.parquet", "-o", "r.html"]);
    answered(folder, &["plot", "run.parquet", "-o", "f.svg"]);
    answered(folder, &["run", "-q", "-n", "3", "-o", "t.parquet"]);
    assert_eq!(fs::read_to_string(folder.join("precious")).unwrap(), "mine");
    symlink("nowhere", folder.join("dangling.html")).unwrap();
    refused(folder, &["report", "run.parquet", "-o", "dangling.html"], 3, &["leads nowhere"]);
    refused(folder, &["run", "-q", "-n", "3", "-o", "dangling.html"], 3, &["exists already"]);
    assert!(!folder.join("nowhere").exists());
}

#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_permissions() {
    let (folder, _writer) = two_runs();
    let folder = folder.path();
    fs::create_dir(folder.join("pages")).unwrap();
    fs::write(folder.join("pages/page.html"), "old").unwrap();
    fs::set_permissions(folder.join("pages/page.html"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("pages/page.html", folder.join("page.html")).unwrap();
    answered(folder, &["report", "run.parquet", "-o", "page.html"]);
    assert!(fs::symlink_metadata(folder.join("page.html")).unwrap().is_symlink());
    assert!(fs::read_to_string(folder.join("pages/page.html")).unwrap().contains("</html>"));
    let mode = fs::metadata(folder.join("pages/page.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(names(&folder.join("pages")), ["page.html"]);
}

#[test]
fn devices_and_pipes_are_written_to() {
    let (folder, _writer) = two_runs();
    let folder = folder.path();
    symlink("/dev/null", folder.join("null")).unwrap();
    answered(folder, &["report", "run.parquet", "-o", "null"]);
    assert!(fs::metadata(folder.join("null")).unwrap().file_type().is_char_device());
    refused(folder, &["run", "-q", "-n", "3", "-o", "/dev/null"], 3, &["not a file"]);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());

    let fifo = folder.join("pipe.svg");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || {
            let mut text = String::new();
            File::open(fifo).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    });
    answered(folder, &["plot", "run.parquet", "-o", "pipe.svg"]);
    assert!(reader.join().unwrap().trim_end().ends_with("</svg>"));
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn a_dash_is_standard_output() {
    let (folder, _writer) = two_runs();
    let folder = folder.path();
    assert!(answered(folder, &["report", "run.parquet", "-o", "-"]).trim_end().ends_with("</html>"));
    assert!(answered(folder, &["plot", "run.parquet", "-o", "-"]).trim_end().ends_with("</svg>"));
    assert!(!folder.join("-").exists());
    assert_eq!(jitterlab(folder, &["run", "-o", "-"]).status.code(), Some(2));
}

#[test]
fn what_cannot_be_written_whole_leaves_nothing() {
    let (folder, _writer) = two_runs();
    let folder = folder.path();
    let before = names(folder);
    fs::create_dir(folder.join("page")).unwrap();
    refused(folder, &["report", "run.parquet", "-o", "page"], 3, &["cannot write page"]);
    refused(folder, &["report", "run.parquet", "-o", "gone/page.html"], 3, &["does not exist"]);
    fs::remove_dir(folder.join("page")).unwrap();
    assert_eq!(names(folder), before);
}
