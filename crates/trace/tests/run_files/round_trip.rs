//! Every record is read back, whatever it is.

#![allow(clippy::unwrap_used, reason = "a test may stop at anything unexpected")]

use crate::common::{all_rows, closed, info, quick_directory, row};
use jitterlab_model::bounds::{EARLIEST_NS, LATEST_NS, SPAN_NS};
use jitterlab_model::warning::Warning;
use jitterlab_model::{Activation, Flags, Keep, TimingStats};
use jitterlab_trace::{Columns, Error, FileProblem, RunFileWriter, RunReader, RunWriter, journal_path};
use proptest::prelude::*;

/// A row on a usual grid, or one at the bounds of the model, with which the grid begins anew. Its number is its
/// distance from the row before.
fn any_row() -> impl Strategy<Value = Activation> {
    let far =
        (1u64..1 << 40, EARLIEST_NS..=LATEST_NS, -SPAN_NS..=SPAN_NS, 0..=SPAN_NS, any::<(u32, u16, u16)>());
    let far = far.prop_map(|(index, due_ns, latency, work, (missed, cpu, flags))| {
        let start_ns = due_ns + latency;
        let flags = Flags(flags).with(Flags::RE_PHASED);
        Activation { index, due_ns, start_ns, end_ns: start_ns + work, missed, cpu, flags }
    });
    let usual = (0u64..200).prop_map(|k| Activation { index: 1, flags: Flags::RE_PHASED, ..row(1, k) });
    prop_oneof![far, usual]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_activations_come_back(
        parts in prop::collection::vec((0usize..2, prop::collection::vec(any_row(), 0..40)), 0..6)
    ) {
        let directory = quick_directory();
        let path = directory.path().join("run.parquet");
        let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
        let mut expected = vec![Vec::<Activation>::new(); 2];
        for (task, mut rows) in parts {
            let mut last = expected[task].last().map_or(0, |a| a.index);
            for a in &mut rows {
                last += a.index;
                a.index = last;
            }
            writer.append(task, &rows).unwrap();
            expected[task].extend(rows);
        }
        let finished = writer.finish(closed(Keep::All)).unwrap();
        let reader = RunReader::open(&path).unwrap();
        prop_assert_eq!(reader.info(), &closed(Keep::All));
        prop_assert_eq!(all_rows(&reader), expected);
        prop_assert_eq!((finished.rows, finished.path), (reader.rows(), path.clone()));
        prop_assert!(!journal_path(&path).exists());
        prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_is_left_out_and_said(good in 0u64..40, late in SPAN_NS + 1..1 << 57) {
        let directory = quick_directory();
        let path = directory.path().join("run.parquet");
        let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
        let mut rows: Vec<_> = (0..good).map(|k| row(1, k)).collect();
        let next = row(1, good);
        rows.push(Activation { start_ns: next.due_ns + late, end_ns: next.due_ns + late, ..next });
        writer.append(1, &rows).unwrap();
        let finished = writer.finish(closed(Keep::All)).unwrap();
        let reader = RunReader::open(&path).unwrap();
        let said = &reader.info().warnings[..];
        prop_assert!(matches!(said, [Warning::JournalDamaged { rows: Some(1), .. }]), "{said:?}");
        rows.pop();
        prop_assert_eq!(&all_rows(&reader)[1], &rows);
        prop_assert_eq!(finished.skipped.len(), 1);
        prop_assert!(finished.journal.is_some_and(|journal| journal.exists()));
    }
}

#[test]
fn many_rows_of_two_tasks_lie_in_row_groups_of_one_task() {
    let directory = quick_directory();
    let path = directory.path().join("run.parquet");
    let mut writer = RunFileWriter::create(&path, 2).unwrap();
    let base: Vec<_> = (0..600_000).map(|k| row(0, k)).collect();
    let servo: Vec<_> = (0..15_000).map(|k| row(1, k)).collect();
    for (b, s) in base.chunks(4_000).zip(servo.chunks(100)) {
        writer.append(0, b).unwrap();
        writer.append(1, s).unwrap();
    }
    let finished = writer.finish(&closed(Keep::All)).unwrap();
    let reader = RunReader::open(&path).unwrap();
    assert_eq!(finished.rows, 615_000);
    assert_eq!(reader.rows(), 615_000);
    assert!(reader.row_groups().len() >= 4);
    assert_eq!(all_rows(&reader), [base.clone(), servo]);

    let mut rows = Vec::new();
    reader.visit_row_group(0, Columns::LATENCY, |part| rows.extend_from_slice(part)).unwrap();
    assert!(
        rows.iter()
            .zip(&base)
            .all(|(a, b)| a.latency_ns() == b.latency_ns() && a.end_ns == 0 && a.index == 0)
    );

    // Threads read at once without disturbing each other.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(all_rows(&reader)[0], base));
        }
    });
}

#[test]
fn only_spikes_and_slices_are_kept_and_the_figures_stay_exact() {
    let directory = quick_directory();
    let path = directory.path().join("run.parquet");
    // From 58 s on, over the end of the minute: some histograms are kept by the minute.
    let row = |task, k| {
        let (a, later_ns) = (row(task, k), 57_000_000_000);
        let [due_ns, start_ns, end_ns] = [a.due_ns, a.start_ns, a.end_ns].map(|t| t + later_ns);
        Activation { due_ns, start_ns, end_ns, ..a }
    };
    let keep = Keep::Spikes { above_ns: 100_000 };
    let mut writer = RunWriter::create(&path, &info(keep)).unwrap();
    let mut wanted = [TimingStats::new(25_000), TimingStats::new(1_000_000)];
    for second in 0..5 {
        let rows = [(0, 40_000), (1, 1_000)]
            .map(|(task, n)| -> Vec<_> { (second * n..(second + 1) * n).map(|k| row(task, k)).collect() });
        for (task, rows) in rows.iter().enumerate() {
            writer.append(task, rows).unwrap();
            rows.iter().for_each(|a| wanted[task].push(a));
        }
        // The recorder cuts slices in pieces when it writes; they have to come together again.
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    writer.finish(closed(keep)).unwrap();
    let reader = RunReader::open(&path).unwrap();
    let rows = all_rows(&reader);
    assert_eq!((rows[0].len(), rows[1].len()), (40 * 17 - 8, 17 - 8));
    assert!(rows[0][0].flags.contains(Flags::AFTER_GAP) && rows[0][0].index == 4_999 - 8);

    let mut found = [TimingStats::new(25_000), TimingStats::new(1_000_000)];
    let mut seconds = [Vec::new(), Vec::new()];
    reader
        .for_each_slice(|slice| {
            slice.add_to(&mut found[slice.task]);
            seconds[slice.task].push(slice.start_ns / 1_000_000_000);
        })
        .unwrap();
    wanted.iter_mut().for_each(TimingStats::break_sequence);
    assert_eq!(found, wanted);
    assert_eq!(seconds, [[58, 59, 60, 61, 62], [58, 59, 60, 61, 62]]);
}

#[test]
fn nothing_is_overwritten_and_mistakes_are_named() {
    let directory = quick_directory();
    let path = directory.path().join("run.parquet");
    let message = |r: Result<RunWriter, Error>| r.err().unwrap().to_string();

    let mut writer = RunWriter::create(&path, &info(Keep::All)).unwrap();
    assert!(message(RunWriter::create(&path, &info(Keep::All))).contains("being recorded"));
    assert!(writer.append(2, &[]).err().unwrap().to_string().contains("has 2 tasks"));
    assert!(jitterlab_trace::recover(&path).is_err_and(|e| e.is(FileProblem::StillRecording)));
    assert!(RunReader::open(journal_path(&path)).is_err_and(|e| e.is(FileProblem::Unfinished)));
    writer.finish(closed(Keep::All)).unwrap();

    assert!(message(RunWriter::create(&path, &info(Keep::All))).contains("exists already"));
    assert!(
        message(RunWriter::create(directory.path().join("no/run"), &info(Keep::All)))
            .contains("does not exist")
    );
    let open = |path| RunReader::open(path).err().unwrap().to_string();
    assert!(open(directory.path().join("gone")).starts_with("no file "));
    assert!(open(directory.path().into()).contains("name a file in it"));
    std::fs::write(directory.path().join("text"), "PARquet").unwrap();
    assert!(open(directory.path().join("text")).contains("not a Parquet file"));
    assert!(
        jitterlab_trace::recover(directory.path().join("text"))
            .err()
            .unwrap()
            .to_string()
            .contains("journal")
    );
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let directory = quick_directory();
    let path = directory.path().join("run.parquet");
    let mut newer = closed(Keep::All);
    newer.format += 1;
    RunFileWriter::create(&path, 2).unwrap().finish(&newer).unwrap();
    let refused = RunReader::open(&path).unwrap_err();
    let numbers =
        format!("version {}, this jitterlab reads versions up to {}:", newer.format, newer.format - 1);
    assert!(refused.is(FileProblem::NewerFormat) && refused.to_string().contains(&numbers), "{refused}");
}
