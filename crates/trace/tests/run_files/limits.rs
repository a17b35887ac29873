//! The tables of limits in the documents, against the limits in the code.

#![allow(clippy::unwrap_used, reason = "a test may stop at anything unexpected")]

use std::path::Path;

use jitterlab_model::bounds::{COLUMNS, EDGES, LINE, TASKS, VOLTAGES};
use jitterlab_model::{Bench, RunInfo, TaskSpec};
use jitterlab_trace::{Hints, RunFileWriter, RunReader, import_bytes};

use crate::common::quick_directory;

#[test]
fn documents_say_the_limits_that_there_are() {
    for (document, limits) in [
        ("run-file.md", &[("tasks", TASKS)][..]),
        ("imports.md", &[("edges", EDGES), ("voltages", VOLTAGES), ("columns", COLUMNS)]),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats").join(document);
        let text = std::fs::read_to_string(path).unwrap();
        for (name, most) in limits {
            assert!(text.contains(&format!("| {name} | {most} |")), "{document}: {name} {most}");
        }
    }
}

#[test]
fn no_more_tasks_are_read() {
    let directory = quick_directory();
    for (count, is_read) in [(TASKS, true), (TASKS + 1, false)] {
        let path = directory.path().join(count.to_string());
        let info = RunInfo::new(Bench::Host, "monotonic", vec![TaskSpec::default(); count]);
        RunFileWriter::create(&path, count).unwrap().finish(&info).unwrap();
        assert_eq!(RunReader::open(&path).is_ok(), is_read, "{count}");
        let rows: String = (0..count).map(|n| format!("t{n},1\n")).collect();
        let table = format!("task,latency_us\n{rows}");
        let read = import_bytes("table.csv", table.as_bytes(), &Hints::default());
        assert_eq!(read.is_ok(), is_read, "{count}: {:?}", read.err());
    }
}

#[test]
fn no_longer_line_is_read() {
    let histogram = |columns: usize| format!("# Histogram\n000001{}\n", " 000001".repeat(columns));
    let read = |columns| import_bytes("wide.txt", histogram(columns).as_bytes(), &Hints::default());
    assert!(read(TASKS + 1).is_err_and(|why| why.to_string().contains("more than 16384 tasks")));
    assert!(read(LINE).is_err_and(|why| why.to_string().contains("a line of more than 1 MiB")));
}

#[test]
fn no_more_edges_are_read() {
    // As Saleae's software exports a channel: when it changed, in seconds.
    let capture = |edges: usize| {
        let head = [&b"<SALEAE>"[..], &[0; 4 + 4 + 4 + 8 + 8], &(edges as u64).to_le_bytes()].concat();
        let times = (0..edges).flat_map(|edge| (edge as f64 * 1e-5).to_le_bytes());
        head.into_iter().chain(times).collect::<Vec<u8>>()
    };
    let few = import_bytes("few.bin", &capture(100), &Hints::default()).unwrap();
    assert_eq!(few.tasks.len(), 1);
    let many = import_bytes("many.bin", &capture(EDGES + 1), &Hints::default());
    let why = many.expect_err("too many edges").to_string();
    assert!(why.contains(&format!("more than {EDGES} edges")), "{why}");
}
