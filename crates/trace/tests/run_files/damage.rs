//! Files that were cut or changed: an answer, never a panic, and never invented rows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]

use std::path::Path;

use crate::common::{all_rows, closed, info, quick_directory, row};
use jitterlab_model::warning::Warning;
use jitterlab_model::{Activation, Flags, Keep, StopReason};
use jitterlab_trace::{Columns, Error, FileProblem, RunReader, RunWriter, journal_path, recover};

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
                    assert!(e.is(FileProblem::NotARunFile), "{e}");
                    assert_eq!(most, 0);
                }
            }
        }
        assert_eq!(most, wanted.len());
        std::fs::remove_file(journal_path(&path)).ok();
    }
}

/// One changed bit costs one frame at most, is named, and keeps the journal.
#[test]
fn a_journal_with_any_changed_bit_gives_all_other_frames() {
    let directory = quick_directory();
    let wanted: Vec<_> = (0..60).map(|k| row(0, k)).collect();
    let bytes = journal(directory.path(), Keep::All, &wanted);
    let path = directory.path().join("flipped.parquet");
    let described = bytes.iter().rposition(|b| *b == b'}').unwrap();
    let (mut tried, mut least) = (0, wanted.len());
    for at in (0..described).step_by(41).chain(described..bytes.len()) {
        // A changed version cannot be told from a newer one.
        if (14..16).contains(&at) {
            continue;
        }
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(journal_path(&path), &changed).unwrap();
        let finished = recover(&path).unwrap();
        let reader = RunReader::open(&path).unwrap();
        let rows = &all_rows(&reader)[0];
        let lost = wanted.len() - rows.len();
        assert!(rows.iter().all(|a| wanted[a.index as usize].start_ns == a.start_ns), "byte {at}");
        let [part] = finished.skipped[..] else { panic!("byte {at}: {:?}", finished.skipped) };
        assert!(part.at <= at as u64 && (at as u64) < part.at + part.bytes, "byte {at}: {part:?}");
        assert!(
            part.rows.is_none_or(|rows| rows == lost as u64 || at < part.at as usize + 20),
            "byte {at}: {part:?}"
        );
        assert!(reader.info().warnings.iter().any(|w| matches!(w, Warning::JournalDamaged { .. })));
        let counted = reader.info().tasks[0].result.as_ref().unwrap();
        let at_end = rows.last().unwrap().index + 1 < wanted.len() as u64;
        let at_begin = rows[0].index > 0;
        assert!(at_end || at_begin || counted.dropped == lost as u64, "byte {at}: {counted:?}");
        assert_eq!(finished.journal, Some(journal_path(&path)));
        assert_eq!(std::fs::read(journal_path(&path)).unwrap(), changed);
        (tried, least) = (tried + 1, least.min(rows.len()));
        std::fs::remove_file(&path).unwrap();
    }
    println!("{tried} changed bits: at least {least} of {} rows", wanted.len());
    // Three frames of 20 rows each.
    assert!(tried > 200 && least >= wanted.len() - 20, "{tried} {least}");
}

/// Bytes that fell out, were doubled or overwritten with zeros, as disks do: whatever is whole is found again.
#[test]
fn whole_frames_are_found_again_behind_any_damage() {
    let directory = quick_directory();
    let wanted: Vec<_> = (0..60).map(|k| row(0, k)).collect();
    let bytes = journal(directory.path(), Keep::All, &wanted);
    let path = directory.path().join("copy");
    // The first frame of rows begins behind the two descriptions.
    let begin = bytes.iter().rposition(|b| *b == b'}').unwrap() + 1;
    let damaged = [
        [&bytes[..begin + 7], &bytes[begin + 10..]].concat(),
        [&bytes[..begin + 30], &bytes[begin + 10..]].concat(),
        [&bytes[..begin], &[0; 4096], &bytes[begin + 3..]].concat(),
        [&bytes[..16], &[255; 30], &bytes[46..]].concat(),
    ];
    for (number, bytes) in damaged.iter().enumerate() {
        std::fs::write(&path, bytes).unwrap();
        let target = directory.path().join(format!("{number}.parquet"));
        let finished = jitterlab_trace::recover_to(&path, &target, |_, _| ()).unwrap();
        assert!(finished.rows >= 40 && !finished.skipped.is_empty(), "{number}: {finished:?}");
        assert!(path.exists());
    }
    // Of a disk's blocks those that hold the description, one at a time: it stands in others too.
    let lost = directory.path().join("lost.parquet");
    for block in (0..begin / 4096 * 4096).step_by(4096) {
        let mut damaged = bytes.clone();
        damaged[block..block + 4096].fill(0);
        std::fs::write(journal_path(&lost), damaged).unwrap();
        assert_eq!(recover(&lost).unwrap().rows, 60, "block at {block}");
        std::fs::remove_file(&lost).unwrap();
    }
    std::fs::write(&path, &bytes).unwrap();
    let whole = recover(&path).unwrap();
    assert_eq!((whole.rows, &whole.skipped[..], whole.journal), (60, &[][..], Some(path.clone())));
    assert!(path.exists(), "a journal under another name was removed");
}

fn read_everything(path: &Path) -> Result<(), Error> {
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
        assert!(error.is(FileProblem::NotARunFile), "{error}");
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
