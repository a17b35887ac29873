//! Measured data are never destroyed by writing something else, and nothing is written in a wrong place.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use jitterlab_model::{Activation, RunInfo, TaskSpec};
use jitterlab_trace::{RunReader, RunWriter};
use tempfile::TempDir;

use crate::shared::known::{self, answered, jitterlab, refused};

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

#[test]
fn a_page_or_figure_never_replaces_a_measurement_unasked() {
    let (folder, writer) = two_runs();
    let folder = folder.path();
    let before = fs::read(folder.join("run.parquet")).unwrap();
    for (name, status, says) in [
        ("run.parquet", 2, "--force"),
        ("live.parquet", 2, "live.parquet.part"),
        ("live.parquet.part", 3, "still being recorded"),
    ] {
        // A figure has an ending of its own; a link may still lead to a run.
        symlink(name, folder.join("link.svg")).unwrap();
        fs::copy(folder.join("run.parquet"), folder.join("other.parquet")).unwrap();
        if name != "live.parquet" {
            refused(folder, &["plot", "other.parquet", "-o", "link.svg"], status, &[says]);
        }
        fs::remove_file(folder.join("link.svg")).unwrap();
        refused(folder, &["report", "other.parquet", "-o", name], status, &[says]);
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
    refused(folder, &["report", "run.parquet", "-o", "dangling.html"], 2, &["leads nowhere"]);
    refused(folder, &["run", "-q", "-n", "3", "-o", "dangling.html"], 2, &["exists already"]);
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
    refused(folder, &["run", "-q", "-n", "3", "-o", "/dev/null"], 2, &["not a file"]);
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
    refused(folder, &["report", "run.parquet", "-o", "page"], 2, &["cannot write page"]);
    refused(folder, &["report", "run.parquet", "-o", "gone/page.html"], 2, &["does not exist"]);
    fs::remove_dir(folder.join("page")).unwrap();
    assert_eq!(names(folder), before);
}

#[test]
fn a_damaged_journal_is_recovered_around_the_damage_and_kept() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let info = RunInfo::new(
        jitterlab_model::Bench::Host,
        "CLOCK_MONOTONIC",
        [TaskSpec { period_ns: 1_000_000, ..TaskSpec::default() }],
    );
    let mut writer = RunWriter::create(folder.join("run.parquet"), &info).unwrap();
    let row = |k: u64| Activation { index: k, due_ns: k as i64 * 1_000_000, ..Activation::default() };
    // More than a frame holds.
    let rows: Vec<Activation> = (0..40_000).map(row).collect();
    writer.append(0, &rows).unwrap();
    drop(writer);
    let journal = folder.join("run.parquet.part");
    let mut bytes = fs::read(&journal).unwrap();
    let middle = bytes.len() * 3 / 4;
    bytes[middle] ^= 4;
    fs::write(&journal, &bytes).unwrap();

    let output = jitterlab(folder, &["recover", "run.parquet.part"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("damaged and left out") && text.contains("16 384 activations"), "{text}");
    assert!(text.contains("run.parquet.part is kept"), "{text}");
    assert_eq!(fs::read(&journal).unwrap(), bytes);
    assert_eq!(RunReader::open(folder.join("run.parquet")).unwrap().rows(), 40_000 - 16_384);
    // The journal may be recovered again elsewhere; nothing is replaced by it.
    refused(folder, &["recover", "run.parquet.part"], 2, &["exists already"]);
    assert_eq!(jitterlab(folder, &["recover", "run.parquet.part", "-o", "b.parquet"]).status.code(), Some(1));
}

/// A name that tries to control the terminal.
const HOSTILE: &str = "\u{1b}[30;40m\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}";

#[test]
fn foreign_text_does_nothing_to_the_terminal() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let task = TaskSpec { name: format!("evil{HOSTILE}"), period_ns: 1_000_000, ..TaskSpec::default() };
    let info = RunInfo::new(jitterlab_model::Bench::Host, "CLOCK_MONOTONIC", [task]);
    let name = format!("r{HOSTILE}.parquet");
    let mut writer = RunWriter::create(folder.join(&name), &info).unwrap();
    let row = |k: u64| Activation { index: k, due_ns: k as i64 * 1_000_000, ..Activation::default() };
    writer.append(0, &(0..2_000).map(row).collect::<Vec<_>>()).unwrap();
    writer.finish(info).unwrap();
    let gone = format!("gone{HOSTILE}");
    let harmless = |bytes: &[u8], what: &str| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let acts = text.find(|c: char| c.is_control() && !"\n\t".contains(c) || c == '\u{202e}');
        let around = acts.map(|at| text[at..].chars().take(40).collect::<String>());
        assert_eq!(around, None, "{what}");
    };
    for args in [
        &["analyze", &name][..],
        &["analyze", "--json", &name],
        &["predict", &name],
        &["plot", &name],
        &["plot", &name, "-o", "f.svg"],
        &["report", &name, "-o", "r.html"],
        &["analyze", &gone],
    ] {
        let output = jitterlab(folder, args);
        harmless(&output.stdout, &format!("stdout of {args:?}"));
        harmless(&output.stderr, &format!("stderr of {args:?}"));
        if args.contains(&"--json") {
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(json.to_string().contains("evil\\u001b"), "{json}");
        }
    }
    harmless(&fs::read(folder.join("f.svg")).unwrap(), "SVG");
    harmless(&fs::read(folder.join("r.html")).unwrap(), "page");
}
