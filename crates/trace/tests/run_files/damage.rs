//! Files that were cut or changed: an answer, never a panic, and never invented rows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at anything unexpected")]
#![allow(unsafe_code, reason = "a test takes descriptors away, as programs do")]

use std::path::Path;

use crate::common::{all_rows, closed, info, quick_directory, row};
use jitterlab_model::warning::Warning;
use jitterlab_model::{Activation, Flags, Keep, RunCauses, StopReason, TaskResult};
use jitterlab_trace::{
    Columns, Error, FileProblem, JournalReader, RunFileWriter, RunReader, RunWriter, journal_path, recover,
};

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
        // The description takes most of it; there, some cuts represent all.
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
        // A changed version cannot be distinguished from a newer one.
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
        let finished = jitterlab_trace::recover_to(&path, Some(&target), |_, _| ()).unwrap();
        assert!(finished.rows >= 40 && !finished.skipped.is_empty(), "{number}: {finished:?}");
        assert!(path.exists());
    }
    // Blocks of a disk that hold the description, one at a time: it is in others too.
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

/// Content of a run file: its description, causes, slices and activations.
fn content(path: &Path) -> Result<String, Error> {
    let reader = RunReader::open(path)?;
    let mut text = format!("{:?}{:?}", reader.info(), reader.causes()?);
    reader.for_each_slice(|slice| text += &format!("{slice:?}"))?;
    reader.for_each_batch(Columns::ALL, |task, rows| text += &format!("{task}{rows:?}"))?;
    Ok(text)
}

/// Numbers that look random, the same each time.
fn pseudo_random(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// Bytes with damage that `number` chooses, the same each time. A bit, eight bytes, a block of zeros, two blocks in
/// each other's place, an end that is missing, or a block twice.
fn damaged(bytes: &[u8], number: u64) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let length = bytes.len();
    let [at, other, size] = [0, 1, 2].map(|n| pseudo_random(3 * number + n) as usize);
    let (at, other) = (at % length, other % length);
    let block = [1, 8, 64, 512, 4096][size % 5];
    match number % 6 {
        0 => damaged[at] ^= 1 << (number / 6 % 8),
        1 => (at..(at + 8).min(length)).for_each(|i| damaged[i] = pseudo_random(number + i as u64) as u8),
        2 => damaged[at..(at + block).min(length)].fill(0),
        3 => (0..block).for_each(|i| damaged.swap((at + i) % length, (other + i) % length)),
        4 => damaged.truncate(at),
        _ => damaged.extend_from_within(at..(at + block).min(length)),
    }
    damaged
}

/// Damages run files of all activations, and of slices and spikes: each is refused, or read as it was.
fn damage_run_files(times: u64) {
    let directory = quick_directory();
    let spikes = small_file(directory.path());
    let whole = directory.path().join("all.parquet");
    let mut writer = RunWriter::create(&whole, &info(Keep::All)).unwrap();
    writer.append(0, &(0..10_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    writer.set_causes(&RunCauses::default()).unwrap();
    writer.finish(closed(Keep::All)).unwrap();
    let all = std::fs::read(&whole).unwrap();
    let path = directory.path().join("damaged.parquet");
    let (mut refused, mut same) = (0, 0);
    for (bytes, of) in [(spikes, "small.parquet"), (all, "all.parquet")] {
        let expected = content(&directory.path().join(of)).unwrap();
        for number in 0..times {
            std::fs::write(&path, damaged(&bytes, number)).unwrap();
            match content(&path) {
                Ok(found) => {
                    assert!(found == expected, "damage {number} of {of} went unnoticed");
                    same += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    println!("{refused} damaged files refused, {same} read as what they were");
    assert!(refused > same, "{refused} {same}");
}

/// Damages journals: rows that are read are those recorded, and missing ones are reported. They are of all activations,
/// and of slices and spikes.
fn damage_journals(times: u64) {
    let directory = quick_directory();
    let rows: Vec<_> = (0..200).map(|k| row(0, k)).collect();
    let path = directory.path().join("damaged.parquet");
    let (mut refused, mut whole, mut less) = (0, 0, 0);
    for keep in [Keep::All, Keep::Spikes { above_ns: 3_000 }] {
        let bytes = journal(directory.path(), keep, &rows);
        let read = |bytes: &[u8]| {
            std::fs::write(journal_path(&path), bytes).unwrap();
            let reader = JournalReader::open(journal_path(&path))?;
            let (mut rows, mut slices) = (Vec::new(), Vec::new());
            reader.for_each_batch(|_, batch| rows.extend_from_slice(batch))?;
            reader.for_each_slice(|slice| slices.push(slice.clone()))?;
            let is_damage = |warning: &Warning| matches!(warning, Warning::JournalDamaged { .. });
            Ok::<_, Error>((rows, slices, reader.info().warnings.iter().any(is_damage)))
        };
        let (all_rows, all_slices, _) = read(&bytes).unwrap();
        for number in 0..times {
            let Ok((rows, slices, is_said)) = read(&damaged(&bytes, number)) else {
                refused += 1;
                continue;
            };
            let times = |a: &Activation| (a.index, a.due_ns, a.start_ns, a.end_ns, a.missed);
            let known = |a: &Activation| all_rows.iter().any(|b| times(a) == times(b));
            assert!(rows.iter().all(known), "damage {number} of {keep:?} made rows up");
            assert!(rows.is_sorted_by(|a, b| a.index < b.index), "damage {number} of {keep:?}");
            assert!(slices.iter().all(|slice| all_slices.contains(slice)), "damage {number} of {keep:?}");
            let is_whole = rows.len() == all_rows.len() && slices == all_slices;
            // An end that is missing from the edge of a frame on leaves no trace: such is every run that was killed.
            let at_edge = number % 6 == 4;
            assert!(is_whole || is_said || at_edge, "damage {number} of {keep:?} is not said");
            if is_whole { whole += 1 } else { less += 1 }
        }
    }
    println!("{refused} damaged journals refused, {whole} read whole, {less} read in part");
    assert!(less > 0 && whole > 0);
}

#[test]
fn a_damaged_run_file_is_refused_or_says_the_same() {
    damage_run_files(600);
}

#[test]
fn a_damaged_journal_says_what_is_missing_and_makes_nothing_up() {
    damage_journals(300);
}

#[test]
#[ignore = "some minutes"]
fn ten_thousand_damages() {
    damage_run_files(3_500);
    damage_journals(1_500);
}

#[test]
fn what_cannot_be_is_damage_whatever_the_checksum_is_of() {
    let directory = quick_directory();
    let read = |name: &str, change: &dyn Fn(&mut Vec<Activation>), executed: u64| {
        let path = directory.path().join(name);
        let mut writer = RunFileWriter::create(&path, 2).unwrap();
        let mut rows: Vec<_> = (0..1_000).map(|k| row(0, k)).collect();
        change(&mut rows);
        writer.append(0, &rows).unwrap();
        let mut info = closed(Keep::All);
        info.tasks[0].result = Some(TaskResult { executed, ..TaskResult::default() });
        writer.finish(&info).unwrap();
        read_everything(&path).map_err(|e| e.to_string())
    };
    read("usual", &|_| (), 1_000).unwrap();
    let re_phased = |rows: &mut Vec<Activation>| {
        (rows[7].due_ns, rows[7].flags) = (rows[6].due_ns, Flags::RE_PHASED);
    };
    read("re-phased", &re_phased, 1_001).unwrap();
    let refused = |name, change: &dyn Fn(&mut Vec<Activation>), executed, why| {
        let error = read(name, change, executed).expect_err(name);
        assert!(error.contains("damaged") && error.contains(why), "{error}");
    };
    refused("end", &|rows| rows[7].end_ns = rows[7].start_ns - 1, 1_000, "activation 7 is due at");
    refused("due", &|rows| rows[7].due_ns = rows[6].due_ns, 1_000, "follows one due at");
    refused("number", &|rows| rows[7].index = 6, 1_000, "activation 6 comes after activation 6");
    refused("count", &|_| (), 999, "1000 activations of task \"base\", of which 999 ran");
}

#[test]
fn a_journal_that_is_cut_while_it_is_recorded_is_no_success() {
    let directory = quick_directory();
    let path = directory.path().join("cut.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    writer.append(0, &(0..1_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    std::fs::File::options().write(true).open(journal_path(&path)).unwrap().set_len(0).unwrap();
    writer.append(0, &(1_000..1_500).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    let error = writer.finish(closed(Keep::All)).expect_err("a run was lost in silence");
    // The description went with the first rows; without it the others have no times.
    assert!(error.is(FileProblem::Lost), "{error}");
    assert!(error.to_string().contains("holds 0 of the 1500 activations"), "{error}");
    assert!(journal_path(&path).exists());
    assert_eq!(RunReader::open(&path).unwrap().rows(), 0);
}

#[test]
fn a_journal_that_somebody_removed_is_closed_all_the_same() {
    let directory = quick_directory();
    let path = directory.path().join("removed.parquet");
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    writer.append(0, &(0..100).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    std::fs::remove_file(journal_path(&path)).unwrap();
    // Another's file of that name is left alone.
    std::fs::write(journal_path(&path), "mine").unwrap();
    let finished = writer.finish(closed(Keep::All)).unwrap();
    assert_eq!((finished.rows, finished.journal), (100, None));
    assert_eq!(std::fs::read(journal_path(&path)).unwrap(), b"mine");
}

#[test]
fn a_run_whose_directory_is_gone_is_saved_where_one_can_write() {
    let directory = quick_directory();
    let folder = directory.path().join("gone");
    std::fs::create_dir(&folder).unwrap();
    let name = format!("saved-{}.parquet", std::process::id());
    let mut writer = RunWriter::create(folder.join(&name), &info(Keep::All)).unwrap();
    writer.append(0, &(0..100).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let error = writer.finish(closed(Keep::All)).expect_err("it was closed nowhere").to_string();
    let saved = std::env::temp_dir().join(name);
    assert!(error.contains(&format!("everything recorded is in {}", saved.display())), "{error}");
    assert_eq!(RunReader::open(&saved).unwrap().rows(), 100);
    std::fs::remove_file(saved).unwrap();
}

/// Whoever made the run file was killed before the journal went.
#[test]
fn a_run_file_that_is_made_already_is_not_made_again() {
    let directory = quick_directory();
    let path = directory.path().join("run.parquet");
    let bytes = journal(directory.path(), Keep::All, &(0..60).map(|k| row(0, k)).collect::<Vec<_>>());
    let leave = || std::fs::write(journal_path(&path), &bytes).unwrap();
    leave();
    let made = recover(&path).unwrap();
    let file = std::fs::read(&path).unwrap();
    leave();
    assert_eq!(recover(&path).unwrap(), made);
    assert!(!journal_path(&path).exists() && std::fs::read(&path).unwrap() == file);
    // Another run's file is left alone, and so is the journal.
    leave();
    std::fs::write(&path, small_file(directory.path())).unwrap();
    assert!(recover(&path).expect_err("another file").is(FileProblem::Exists));
    assert!(journal_path(&path).exists());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn a_program_that_closes_descriptors_gets_nothing_written_into_its_own_files() {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let directory = quick_directory();
    let (path, own) = (directory.path().join("run.parquet"), directory.path().join("own"));
    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    writer.append(0, &(0..1_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let journal = std::fs::canonicalize(journal_path(&path)).unwrap();
    let descriptors: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == journal))
        .map(|entry| entry.file_name().to_str().unwrap().parse().unwrap())
        .collect();
    assert!(!descriptors.is_empty());
    let mut opened = Vec::new();
    for descriptor in descriptors {
        // The number goes to the program's own file in one step: other tests open files meanwhile.
        let file = std::fs::File::create(own.with_extension(descriptor.to_string())).unwrap();
        dup2(file.as_raw_fd(), descriptor);
        // SAFETY: the number was just given to this file; the recorder never closes a descriptor that is not its own.
        opened.push(unsafe { OwnedFd::from_raw_fd(descriptor) });
    }
    writer.append(0, &(1_000..2_000).map(|k| row(0, k)).collect::<Vec<_>>()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let finished = writer.finish(closed(Keep::All)).unwrap();
    assert_eq!(finished.rows, 1_000);
    assert!(finished.ended.is_some_and(|why| why.contains("descriptor")));
    for file in opened {
        assert_eq!(std::fs::File::from(file).metadata().unwrap().len(), 0);
    }
}

fn dup2(from: i32, to: i32) {
    // SAFETY: both are descriptors of this process.
    assert_eq!(unsafe { nix::libc::dup2(from, to) }, to);
}
