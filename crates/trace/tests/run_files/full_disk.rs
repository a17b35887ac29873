//! A full disk ends recording with a clear message, once; the records are kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{all_rows, closed, info, row};
use jitterlab_model::Keep;
use jitterlab_trace::{Error, FileProblem, RunReader, RunWriter, journal_path, recover, recover_to};

/// A disk of a few megabytes in memory.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts a small disk; `None`, with a message, where that is not permitted.
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

/// A disk in a file, which an error makes read-only, as ext4 does by default on many systems.
struct FailingDisk {
    directory: tempfile::TempDir,
    error: PathBuf,
}

impl FailingDisk {
    /// Mounts a disk in a file; `None`, with a message, where that cannot be made.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let ran = |words: &[&str], path: &Path| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).arg(path).output().is_ok_and(|output| output.status.success())
        };
        let place = directory.path().join("disk");
        std::fs::create_dir(&place).unwrap();
        let options = ["mount", "-o", "loop,errors=remount-ro", image.to_str().unwrap()];
        if ran(&["mkfs.ext4", "-q"], &image) && ran(&options, &place) {
            let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
            let line = mounts.lines().find(|line| line.split(' ').nth(1) == place.to_str()).unwrap();
            let device = line.split(' ').next().unwrap().trim_start_matches("/dev/");
            let error = Path::new("/sys/fs/ext4").join(device).join("trigger_fs_error");
            let disk = FailingDisk { directory, error };
            if disk.error.exists() {
                return Some(disk);
            }
        }
        eprintln!("skipped: a disk in a file (ext4, loop) can only be mounted as root");
        None
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("disk")
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_disk_that_becomes_read_only_ends_recording_and_keeps_what_it_has() {
    let Some(disk) = FailingDisk::mount() else { return };
    let path = disk.path().join("run.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    let written = || std::fs::metadata(journal_path(&path)).is_ok_and(|m| m.len() > 100_000);
    let mut fails = false;
    let (error, appended) = append_until_it_ends(&mut writer, |_| {
        if !fails && written() {
            fails = std::fs::write(&disk.error, "a test").is_ok();
        }
    });
    assert!(error.to_string().contains("the run goes on"), "{error}");
    let error = writer.finish(closed(Keep::All)).unwrap_err().to_string();
    assert!(error.contains("kept in") && error.contains("-o FILE"), "{error}");
    // A file recovered from there goes elsewhere, and the journal stays.
    let elsewhere = disk.directory.path().join("elsewhere.parquet");
    let finished = recover_to(journal_path(&path), Some(&elsewhere), |_, _| ()).unwrap();
    assert_eq!(finished.rows, check_rows(&elsewhere, appended) as u64);
    assert_eq!(finished.journal, Some(journal_path(&path)));
    assert!(journal_path(&path).exists());
}
