//! The program itself, killed at random.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use jitterlab_fleet::SliceRow;
use jitterlab_fleet::delivery::Delivery;
use jitterlab_monitor::folder::Folder;
use jitterlab_trace::RunReader;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab-monitor");
const PERIOD_NS: i64 = 2_000_000;
/// As many as `JITTERLAB_KILLS` says.
const KILLS: u64 = 8;

#[test]
fn kills_lose_nothing_that_is_not_in_a_stated_gap() {
    let kills = std::env::var("JITTERLAB_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let folder = TempDir::new().unwrap();
    let start = || {
        Command::new(PROGRAM)
            .args([
                "--task=name=loop,period=2ms,policy=other",
                "--slice=1s",
                "--listen=off",
                "--why=never",
                "--folder",
            ])
            .arg(folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..kills {
        let mut monitor = start();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(Duration::from_millis(100 + (random >> 33) % 2_900));
        monitor.kill().unwrap();
        monitor.wait().unwrap();
    }
    let mut monitor = start();
    thread::sleep(Duration::from_millis(2_500));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(monitor.id() as i32), nix::sys::signal::SIGTERM)
        .unwrap();
    monitor.wait().unwrap();

    let folder = Folder::new(folder.path(), None);
    let totals = folder.read_totals().unwrap();
    let (begin_ns, end_ns) = totals.utc_ns;
    let told_ns = totals.tasks[0].due_times() as i64 * PERIOD_NS + totals.gap_ns;
    let off_ns = end_ns - begin_ns - told_ns;
    println!(
        "{kills} kills: {} due times, {} ms of gaps, {off_ns} ns off",
        totals.tasks[0].due_times(),
        totals.gap_ns / 1_000_000
    );
    // The time of day is read anew at each start: it may have been adjusted meanwhile.
    assert!(off_ns.abs() <= PERIOD_NS * (kills as i64 + 1), "{off_ns} ns of {told_ns} are not accounted for");
    // Run files and deliveries are made apart from the totals: each due time is in one of them, too.
    let days = folder.files_with_ending("days", ".parquet");
    let results =
        days.iter().map(|day| RunReader::open(day).unwrap().info().tasks[0].result.clone().unwrap());
    let in_days: u64 = results.map(|result| result.executed + result.missed).sum();
    assert_eq!(in_days, totals.tasks[0].due_times());
    let slices = jitterlab_fleet::delivery::list_slices_files(folder.outbox()).unwrap();
    let rows = slices.iter().flat_map(|path| Delivery::read(path).unwrap().tables.slices);
    let mut rows: Vec<SliceRow> = rows.filter(|row| row.quantity == 0).collect();
    rows.sort_by_key(|row| row.mono_ns);
    assert_eq!(rows.iter().filter_map(|row| row.due).sum::<i64>(), totals.tasks[0].due_times() as i64);
    for pair in rows.windows(2) {
        let end_ms = pair[0].mono_ns.unwrap() / 1_000_000 + pair[0].length_ms;
        assert!(end_ms <= pair[1].mono_ns.unwrap() / 1_000_000 + 1, "counted twice: {pair:?}");
    }
    let left = folder.files_with_ending("journal", "");
    assert!(left.is_empty(), "left of hours that are over: {left:?}");
}
