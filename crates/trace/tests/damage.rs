//! Files that were cut or changed: an answer, never a panic, and never invented rows.

#![allow(clippy::unwrap_used, reason = "a test may stop at anything unexpected")]

mod common;

use std::path::Path;

use common::{all_rows, closed, info, quick_directory, row};
use jitterlab_model::{Activation, Flags, Keep, StopReason};
use jitterlab_trace::{Columns, RunReader, RunWriter, TraceError, journal_path, recover};

fn journal(directory: &Path, keep: Keep, rows: &[Activation]) -> Vec<u8> {
    let path = directory.join("whole.parquet");
    let mut writer = RunWriter::create(&path, &info(keep)).unwrap();
    for part in rows.chunks(20) {
        writer.append(0, part).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    drop(writer);
    let bytes = std::fs::read(journal_path(&path)).unwrap();
    std::fs::remove_file(journal_path(&path)).unwrap();
    bytes
}

#[test]
fn a_journal_cut_anywhere_gives_its_whole_frames() {
    let directory = quick_directory();
    let wanted: Vec<_> = (0..60).map(|k| row(0, k)).collect();
    for keep in [Keep::All, Keep::Spikes { above_ns: 0 }] {
        let bytes = journal(directory.path(), keep, &wanted);
        let path = directory.path().join("cut.parquet");
        let mut most = 0;
        // The description takes most of it; there, some cuts stand for all.
        let described = bytes.iter().rposition(|b| *b == b'}').unwrap();
        for end in (0..described).step_by(29).chain(described..=bytes.len()) {
            std::fs::write(journal_path(&path), &bytes[..end]).unwrap();
            match recover(&path) {
                Ok(finished) => {
                    let reader = RunReader::open(&path).unwrap();
                    let rows = &all_rows(&reader)[0];
                    assert_eq!(rows[..], wanted[..rows.len()]);
                    assert!(rows.len() >= most);
                    most = rows.len();
                    assert_eq!(reader.info().stop, Some(StopReason::Crashed));
                    if keep == Keep::All {
                        let counted = reader.info().tasks[0].result.as_ref().map_or(0, |r| r.executed);
                        assert_eq!((counted, finished.rows), (most as u64, most as u64));
                    }
                    std::fs::remove_file(&path).unwrap();
                }
                Err(e) => {
                    assert!(matches!(e, TraceError::NotARunFile { .. }), "{e}");
                    assert_eq!(most, 0);
                }
            }
        }
        assert_eq!(most, wanted.len());
        std::fs::remove_file(journal_path(&path)).ok();
    }
}

fn read_everything(path: &Path) -> Result<(), TraceError> {
    let reader = RunReader::open(path)?;
    reader.for_each_slice(|_| ())?;
    reader.for_each_batch(Columns::ALL, |_, _| ())
}

fn small_file(directory: &Path) -> Vec<u8> {
    let path = directory.join("small.parquet");
    let keep = Keep::Spikes { above_ns: 3_000 };
    let mut writer = RunWriter::create(&path, &info(keep)).unwrap();
    writer.append(0, &(0..100).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    writer.append(1, &[Activation { flags: Flags::POLLED, missed: 3, cpu: 5, ..row(1, 4_999) }]).unwrap();
    writer.finish(closed(keep)).unwrap();
    read_everything(&path).unwrap();
    std::fs::read(&path).unwrap()
}

#[test]
fn a_run_file_cut_anywhere_says_so() {
    let directory = quick_directory();
    let bytes = small_file(directory.path());
    let path = directory.path().join("cut.parquet");
    for end in 0..bytes.len() {
        std::fs::write(&path, &bytes[..end]).unwrap();
        let error = read_everything(&path).expect_err("a cut file was read as a whole one");
        assert!(matches!(error, TraceError::NotARunFile { .. }), "{error}");
    }
}

#[test]
fn a_run_file_with_any_changed_byte_never_panics() {
    let directory = quick_directory();
    let bytes = small_file(directory.path());
    let path = directory.path().join("changed.parquet");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] = changed[at].wrapping_mul(31).wrapping_add(111);
        std::fs::write(&path, &changed).unwrap();
        let _ = read_everything(&path);
    }
}
