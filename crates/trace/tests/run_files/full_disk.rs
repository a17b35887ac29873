//! A full disk ends recording with a clear message, once; what was recorded is kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{all_rows, closed, info, row};
use jitterlab_model::Keep;
use jitterlab_trace::{Error, FileProblem, RunReader, RunWriter, journal_path, recover};

/// A disk of a few megabytes in memory.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None`, with a message, where mounting is not permitted.
    fn mount(megabytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(directory.path()).output();
        if mounted.is_ok_and(|m| m.status.success()) {
            return Some(SmallDisk(directory));
        }
        eprintln!("skipped: a small disk (tmpfs) can only be mounted as root");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// Appends until recording ends, and a little on; returns the error and how many rows were appended before it.
fn append_until_it_ends(writer: &mut RunWriter, mut fill: impl FnMut(u64)) -> (Error, u64) {
    let begin = Instant::now();
    for k in (0..).step_by(1_000) {
        let rows: Vec<_> = (k..k + 1_000).map(|k| row(0, k)).collect();
        if let Err(error) = writer.append(0, &rows) {
            for _ in 0..3 {
                writer.append(0, &rows).unwrap();
            }
            return (error, k);
        }
        fill(k);
        std::thread::sleep(Duration::from_millis(1));
        assert!(begin.elapsed() < Duration::from_secs(60), "recording never ended on a full disk");
    }
    unreachable!("the loop has no end");
}

fn check_rows(path: &Path, appended: u64) -> usize {
    let rows = &all_rows(&RunReader::open(path).unwrap())[0];
    assert!(!rows.is_empty() && rows.len() as u64 <= appended);
    assert!(rows.iter().zip(0..).all(|(a, k)| *a == row(0, k)));
    rows.len()
}

#[test]
fn recording_ends_while_the_file_can_still_be_closed() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let path = disk.path().join("run.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    let (error, appended) = append_until_it_ends(&mut writer, |_| ());
    assert!(error.is(FileProblem::DiskFull), "{error}");
    assert!(error.to_string().contains("the run goes on"));
    let finished = writer.finish(closed(Keep::All)).unwrap();
    assert_eq!(finished.rows, check_rows(&path, appended) as u64);
    let warnings = format!("{:?}", RunReader::open(&path).unwrap().info().warnings);
    assert!(warnings.contains(&format!("recording ended after {} rows", finished.rows)), "{warnings}");
}

#[test]
fn a_disk_that_others_fill_keeps_the_journal_for_recover() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let path = disk.path().join("run.parquet");
    let filler: PathBuf = disk.path().join("filler");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    let written = || std::fs::metadata(journal_path(&path)).is_ok_and(|m| m.len() > 100_000);
    let (error, appended) = append_until_it_ends(&mut writer, |_| {
        if !filler.exists() && written() {
            let _ = std::fs::write(&filler, vec![1u8; 16 << 20]);
        }
    });
    assert!(error.is(FileProblem::DiskFull), "{error}");
    let error = writer.finish(closed(Keep::All)).unwrap_err();
    assert!(error.to_string().contains("jitterlab recover"), "{error}");
    assert!(journal_path(&path).exists() && !path.exists());

    std::fs::remove_file(&filler).unwrap();
    let finished = recover(&path).unwrap();
    assert_eq!(finished.rows, check_rows(&path, appended) as u64);
    assert!(!journal_path(&path).exists());
}
