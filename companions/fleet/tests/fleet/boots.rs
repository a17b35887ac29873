//! Clocks that were set late, and machines of one name.

use std::path::{Path, PathBuf};

use jitterlab_fleet::delivery::list_slices_files;
use jitterlab_fleet::{Delivery, Tables};

use crate::answers::{engine, fleet, said};
use crate::samples::sample;

const HOUR_NS: i64 = 3_600_000_000_000;

/// Slices of a start of a machine; the first so many with a clock that shows what it may.
fn of_boot(machine: &str, stream: &str, boot: &str, hours: i64, wrong: i64, time: Option<i64>) -> Tables {
    let mut tables = sample(machine, hours);
    tables.set_stream(stream);
    let is_wrong = |seq: i64| seq < wrong;
    for row in &mut tables.slices {
        row.boot = boot.into();
        row.mono_ns = Some(40_000_000_000 + row.seq * HOUR_NS);
        row.clock_ok = Some(i64::from(!is_wrong(row.seq)));
        row.start_s = if is_wrong(row.seq) { time } else { row.start_s };
    }
    tables.bins.iter_mut().filter(|row| is_wrong(row.seq)).for_each(|row| row.start_s = time);
    tables.limits.iter_mut().filter(|row| is_wrong(row.seq)).for_each(|row| row.start_s = time);
    tables
}

fn write(tables: &Tables, folder: &Path, wanted: impl Fn(i64) -> bool) -> PathBuf {
    let mut tables = tables.clone();
    tables.slices.retain(|row| wanted(row.seq));
    tables.bins.retain(|row| wanted(row.seq));
    tables.limits.retain(|row| wanted(row.seq));
    Delivery::split(tables).iter().for_each(|part| drop(part.write(folder).unwrap()));
    folder.into()
}

fn times(folder: &Path) -> Vec<(i64, Option<i64>)> {
    let files = list_slices_files(&folder.join("in")).unwrap();
    let rows = files.iter().flat_map(|file| Delivery::read(file).unwrap().tables.slices);
    let mut times: Vec<(i64, Option<i64>)> =
        rows.filter(|row| row.quantity == 0).map(|row| (row.seq, row.start_s)).collect();
    times.sort_unstable();
    times
}

#[test]
fn a_clock_that_was_set_late_gives_the_hours_before_their_time() {
    let right: Vec<_> = (0..4).map(|seq| (seq, Some(1_795_730_400 + 3_600 * seq))).collect();
    // Set at the second hour: before, it shows nothing that can be, or what the image was made at.
    for wrong in [None, Some(1_764_000_000)] {
        let tables = of_boot("cnc", "00000000000000aa", "boot", 4, 2, wrong);
        for order in [[0, 1], [1, 0]] {
            let folder = tempfile::tempdir().unwrap();
            let all = folder.path().join("fleet");
            let early = write(&tables, &folder.path().join("early"), |seq| seq < 2);
            let late = write(&tables, &folder.path().join("late"), |seq| seq >= 2);
            for part in order.map(|part| [&early, &late][part]) {
                let output = fleet(&["add", &all.display().to_string(), &part.display().to_string()]);
                assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            }
            assert_eq!(times(&all), right, "{wrong:?}, {order:?}");
            let again = fleet(&["add", &all.display().to_string(), &early.display().to_string()]);
            assert!(said(&again).contains("2 were here already"), "{}", said(&again));
            assert_eq!(times(&all), right);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("fleet");
    let never = of_boot("cnc", "00000000000000aa", "boot", 2, 2, None);
    let other = of_boot("cnc", "00000000000000bb", "another boot", 2, 0, None);
    let from = write(&never, &folder.path().join("from"), |_| true);
    write(&other, &from, |_| true);
    let output = fleet(&["add", &all.display().to_string(), &from.display().to_string()]);
    assert!(said(&output).contains("2 without a time"), "{}", said(&output));
    assert_eq!(times(&all).iter().filter(|time| time.1.is_none()).count(), 2);
}

#[test]
fn starts_tell_two_machines_of_one_name_from_one_measured_twice() {
    let Some(engine) = engine() else { return };
    let load = |tables: &mut Tables| {
        tables
            .machines
            .iter_mut()
            .for_each(|row| (row.load, row.env) = ("cpu".into(), "00000000000000ff".into()));
        tables.slices.iter_mut().for_each(|row| row.env = "00000000000000ff".into());
        tables.bins.iter_mut().for_each(|row| row.env = "00000000000000ff".into());
    };
    for (boot, changes, expected) in [
        ("one", false, "measured twice"),
        ("one", true, "measured twice"),
        ("two", false, "cnc~2"),
        ("two", true, "cnc~2"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let all = folder.path().join("fleet");
        write(&of_boot("cnc", "00000000000000aa", "one", 4, 0, None), &all.join("in"), |_| true);
        let mut other = of_boot("cnc", "00000000000000bb", boot, 4, 0, None);
        if changes {
            load(&mut other);
        }
        write(&other, &all.join("in"), |seq| seq > 0);
        let output = fleet(&[&all.display().to_string(), "--engine", &engine, "--details"]);
        assert!(said(&output).contains(expected), "{boot} {changes}: {}", said(&output));
        let machines = if boot == "one" { "of 1 machine" } else { "of 2 machines" };
        assert!(said(&output).contains(machines), "{boot} {changes}: {}", said(&output));
    }
}
