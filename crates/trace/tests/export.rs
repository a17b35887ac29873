//! Run files written out as text.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

mod common;

use common::{closed, info, quick_directory, row};
use jitterlab_model::Keep;
use jitterlab_trace::{Hints, Import, RunReader, RunWriter, export, import};

fn run(directory: &std::path::Path, keep: Keep) -> RunReader {
    let path = directory.join(format!("{}.parquet", if keep == Keep::All { "all" } else { "spikes" }));
    let mut writer = RunWriter::create(&path, &info(keep)).unwrap();
    writer.append(0, &(0..10_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    writer.append(1, &(0..100).map(|k| row(1, k)).collect::<Vec<_>>()).unwrap();
    writer.finish(closed(keep)).unwrap();
    RunReader::open(&path).unwrap()
}

#[test]
fn csv_has_every_row_and_column() {
    let directory = quick_directory();
    let mut text = Vec::new();
    export::csv(&run(directory.path(), Keep::All), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (10_101, "task,index,due_ns,start_ns,end_ns,cpu,missed,flags"));
    let a = row(0, 4_999);
    assert_eq!(lines[5_000], format!("0,4999,{},{},{},0,12,0", a.due_ns, a.start_ns, a.end_ns));
}

#[test]
fn a_histogram_as_of_cyclictest_can_be_read_as_one() {
    let directory = quick_directory();
    for keep in [Keep::All, Keep::Spikes { above_ns: 100_000 }] {
        let path = directory.path().join("histogram.txt");
        let file = std::fs::File::create(&path).unwrap();
        export::cyclictest_histogram(&run(directory.path(), keep), file).unwrap();
        let back: Import = import(&path, &Hints { unit_ns: Some(1_000), ..Hints::default() }).unwrap();
        let counts: Vec<_> =
            (0..2).map(|t| back.tasks[t].stats(&back.info.tasks[t]).latency.count()).collect();
        assert_eq!(counts, [10_000, 100]);
        assert!(back.tasks[0].stats(&back.info.tasks[0]).latency.max_ns().unwrap() >= 302_000);
    }
}
