//! Days of hours: whatever is repeated, late or killed, each slice counts once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jitterlab_analysis::Summary;
use jitterlab_fleet::delivery::list_slices_files;
use jitterlab_fleet::folder::Fleet;
use jitterlab_fleet::intake::check_files;
use jitterlab_fleet::sums::TaskSum;
use jitterlab_fleet::{Delivery, Tables};

use crate::answers::{engine, fleet, said};
use crate::samples::sample;

const MACHINES: usize = 4;
const DAYS: i64 = 10;

/// Slices of some machines over some days, a stream each.
fn months() -> Vec<Tables> {
    let machine = |number: usize| {
        let mut tables = sample(&format!("cnc-{number:02}"), 24 * DAYS);
        tables.set_stream(&format!("{number:016x}"));
        tables
    };
    (0..MACHINES).map(machine).collect()
}

/// Writes their deliveries into an inbox.
fn inbox(folder: &Path, tables: &[Tables]) -> Vec<PathBuf> {
    let parts = tables.iter().flat_map(|tables| Delivery::split(tables.clone()));
    parts.map(|part| part.write(folder).unwrap()).collect()
}

/// Figures of each machine from all that counts in a folder, without an engine.
fn figures(folder: &Path) -> Vec<Summary> {
    let fleet = Fleet::open(folder, None).unwrap();
    assert!(fleet.left_out.is_empty(), "{:?}", fleet.left_out);
    let mut all = Tables::default();
    for file in fleet.deliveries.iter().chain(&fleet.sums) {
        all.append(Delivery::read(&folder.join(file)).unwrap().tables);
    }
    TaskSum::from_tables(&all).iter().map(TaskSum::summary).collect()
}

fn expected(tables: &[Tables]) -> Vec<Summary> {
    tables.iter().flat_map(TaskSum::from_tables).map(|sum| sum.summary()).collect()
}

fn add(folder: &Path, from: &Path) -> String {
    let output = fleet(&["add", &folder.display().to_string(), &from.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    said(&output)
}

fn files(folder: &Path) -> usize {
    list_slices_files(folder).map_or(0, |files| files.len())
}

#[test]
fn finished_days_become_sums_and_a_late_hour_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let (all, from, late) =
        (folder.path().join("fleet"), folder.path().join("from"), folder.path().join("late"));
    let mut tables = months();
    let whole = expected(&tables);
    // An hour of the third day comes late.
    let is_late = |seq: i64| seq == 60;
    let mut hour = tables[2].clone();
    hour.slices.retain(|row| is_late(row.seq));
    hour.bins.retain(|row| is_late(row.seq));
    hour.limits.retain(|row| is_late(row.seq));
    tables[2].slices.retain(|row| !is_late(row.seq));
    tables[2].bins.retain(|row| !is_late(row.seq));
    tables[2].limits.retain(|row| !is_late(row.seq));
    inbox(&from, &tables);
    inbox(&late, &[hour]);
    add(&all, &from);
    assert_eq!(figures(&all), expected(&tables));
    let open = MACHINES * 2;
    assert_eq!((files(&all.join("in")), files(&all.join("days")) > 0), (open, true));
    for _ in 0..2 {
        let again = add(&all, &from);
        assert!(again.contains("0 slices") && again.contains("were here already"), "{again}");
        add(&all, &late);
        assert_eq!(figures(&all), whole);
    }
    assert_eq!(files(&all.join("in")), open + 1);
    // Somebody copies a delivery back by hand, under its own name and with other slices beside.
    let copied = inbox(&all.join("in"), &tables[..1]);
    assert_eq!(figures(&all), whole);
    add(&all, &late);
    assert!(copied.iter().filter(|file| file.is_file()).count() <= 2 && figures(&all) == whole);
    let mut part = tables[0].clone();
    part.slices.retain(|row| row.seq == 1);
    part.bins.retain(|row| row.seq == 1);
    part.limits.retain(|row| row.seq == 1);
    inbox(&all.join("in"), &[part]);
    let (_, left_out) = check_files(&all, true).unwrap();
    assert!(left_out.len() == 1 && left_out[0].why.to_string().contains("repeats"), "{left_out:?}");
    assert_eq!(figures(&all), whole);
    // Sums go on a stick as a whole.
    let stick = folder.path().join("stick");
    for _ in 0..2 {
        let packed = fleet(&["pack", &all.display().to_string(), &stick.display().to_string()]);
        assert_eq!(packed.status.code(), Some(0), "{}", said(&packed));
        assert_eq!(figures(&stick), whole);
    }
    let other = folder.path().join("other");
    add(&other, &late);
    let refused = fleet(&["add", &other.display().to_string(), &stick.join("days").display().to_string()]);
    assert_eq!(refused.status.code(), Some(0), "{}", said(&refused));
}

#[test]
fn a_slice_of_summed_days_with_other_figures_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let (all, from, other) =
        (folder.path().join("fleet"), folder.path().join("from"), folder.path().join("other"));
    let tables = months();
    inbox(&from, &tables);
    add(&all, &from);
    let mut changed = tables[0].clone();
    changed.slices.retain(|row| row.seq < 2);
    changed.bins.retain(|row| row.seq < 2);
    changed.limits.retain(|row| row.seq < 2);
    changed.slices.iter_mut().for_each(|row| row.gap_ms = 7);
    inbox(&other, &[changed]);
    let refused = fleet(&["add", &all.display().to_string(), &other.display().to_string()]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("contradict") && files(&all.join("aside")) == 1, "{}", said(&refused));
    assert_eq!(figures(&all), expected(&tables));
}

/// Killed anywhere, it has lost nothing and counts nothing twice; the next one finishes.
#[test]
fn a_kill_in_the_middle_loses_and_doubles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (from, all) = (folder.path().join("from"), folder.path().join("fleet"));
    let tables = months();
    inbox(&from, &tables);
    let whole = expected(&tables);
    let copy = |from: &Path, to: &Path| {
        let status = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
        assert!(status.success());
    };
    // Days that lie there already, which only become sums.
    fs::create_dir(&all).unwrap();
    copy(&from, &all.join("in"));
    let nothing = folder.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let begun = Instant::now();
    let first = folder.path().join("first");
    copy(&all, &first);
    add(&first, &nothing);
    let length = begun.elapsed();
    const KILLS: u32 = 16;
    let mut in_the_middle = 0;
    for kill in 0..KILLS {
        let one = folder.path().join(format!("killed-{kill}"));
        copy(&all, &one);
        let mut child = Command::new(env!("CARGO_BIN_EXE_jitterlab-fleet"))
            .args(["add".as_ref(), one.as_os_str(), nothing.as_os_str()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(length.min(Duration::from_secs(20)) * kill / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(figures(&one), whole, "kill {kill}");
        in_the_middle += usize::from(one.join("days").exists() && files(&one.join("in")) > MACHINES * 2);
        add(&one, &nothing);
        assert_eq!(figures(&one), whole, "after kill {kill}");
        // What a kill leaves is less than is worth a file.
        assert!(files(&one.join("in")) < MACHINES * 2 + 32);
        fs::remove_dir_all(&one).unwrap();
    }
    println!("{in_the_middle} of {KILLS} kills between the first sums and the last removed day");
}

#[test]
fn sums_answer_as_their_hours_do() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (hours, sums, nothing) =
        (folder.path().join("hours"), folder.path().join("sums"), folder.path().join("nothing"));
    let mut tables = months();
    // Streams of one machine at the same time: of these days, hours stay.
    let mut twice = sample("cnc-03", 24 * DAYS);
    twice.set_stream("ffffffffffffffff");
    twice.slices.retain(|row| (30..40).contains(&row.seq));
    twice.bins.retain(|row| (30..40).contains(&row.seq));
    twice.limits.retain(|row| (30..40).contains(&row.seq));
    tables.push(twice);
    fs::create_dir(&nothing).unwrap();
    for all in [&hours, &sums] {
        inbox(&all.join("in"), &tables);
    }
    add(&sums, &nothing);
    assert!(files(&sums.join("in")) < files(&hours.join("in")) / 2);
    for command in [
        &["--for", "servo-thread"][..],
        &["--since", "2026-11-29"],
        &["machine", "cnc-03"],
        &["days"],
        &["causes"],
        &["kernels"],
    ] {
        let answer = |all: &Path| {
            let all = all.display().to_string();
            let mut arguments = vec![command[0], &all];
            arguments.extend(&command[1..]);
            if command[0].starts_with("--") {
                arguments = [vec![all.as_str()], command.to_vec()].concat();
            }
            arguments.extend(["--json", "--engine", &engine]);
            let output = fleet(&arguments);
            assert!(
                output.status.code().is_some_and(|code| code != 2 && !output.stdout.is_empty()),
                "{}",
                said(&output)
            );
            String::from_utf8_lossy(&output.stdout).replace(all.as_str(), "FOLDER")
        };
        let (sums, hours) = (answer(&sums), answer(&hours));
        let other = sums.lines().zip(hours.lines()).find(|(sum, hour)| sum != hour);
        assert!(sums == hours, "{command:?}: {other:?}");
    }
}
