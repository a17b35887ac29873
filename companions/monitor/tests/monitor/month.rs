//! Days with real files and a clock that the test moves: eight, or as many as `JITTERLAB_DAYS` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jitterlab_fleet::delivery::Delivery;
use jitterlab_model::facts::{NO_REQUEST_US, Power};
use jitterlab_model::{Activation, Bench, Keep, RunInfo, TaskSpec};
use jitterlab_monitor::archive::{Archive, ClosedHour, Retention};
use jitterlab_monitor::clock::{Clock, Moment};
use jitterlab_monitor::counter::{CauseTimes, Counter, CounterRules};
use jitterlab_monitor::folder::Folder;
use jitterlab_monitor::hour::Totals;
use jitterlab_monitor::live::LiveFigures;
use jitterlab_monitor::messages::Message;
use jitterlab_monitor::recover::recover;
use tempfile::TempDir;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// 2026-11-01, at a quarter past midnight.
const BEGIN: i64 = 1_793_491_200 * SECOND + 900 * SECOND;

struct FakeClock(Mutex<Moment>);

impl FakeClock {
    fn pass(&self, ns: i64) {
        let mut now = self.0.lock().unwrap();
        now.mono_ns += ns;
        now.boot_ns += ns;
        now.utc_ns += ns;
    }

    fn suspend(&self, ns: i64) {
        let mut now = self.0.lock().unwrap();
        now.boot_ns += ns;
        now.utc_ns += ns;
    }

    fn step(&self, ns: i64) {
        self.0.lock().unwrap().utc_ns += ns;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Moment {
        *self.0.lock().unwrap()
    }

    fn current_boot_id(&self) -> String {
        "the-only-boot".into()
    }
}

/// A monitor whose hours are closed by the thread that measures.
struct Machine {
    clock: Arc<FakeClock>,
    folder: Folder,
    counter: Counter,
    archive: Archive,
    closed: Receiver<ClosedHour>,
    received: Receiver<Message>,
    tasks: Vec<i64>,
    /// The next due time of each task, and its number.
    next: Vec<(i64, u64)>,
}

impl Machine {
    fn start(clock: &Arc<FakeClock>, path: &Path, bytes: u64, periods: &[i64], stream: &str) -> Self {
        let folder = Folder::new(path, None);
        drop(folder.lock().unwrap());
        let (messages, received) = channel();
        let (sender, closed) = channel();
        let retention = Retention { bytes, age: Some(Duration::from_secs(400 * 86_400)) };
        let archive =
            Archive::new(folder.clone(), retention, clock.clone(), messages.clone(), Box::new(|_| ()));
        let end = recover(&folder, &archive, "cnc-07").unwrap();
        let rules = CounterRules {
            machine: "cnc-07".into(),
            slice_ns: HOUR,
            purposes: Vec::new(),
            why: CauseTimes::Never,
        };
        let live = Arc::new(LiveFigures::new("cnc-07"));
        let mut counter = Counter::new(rules, clock.clone(), folder.clone(), (sender, messages), live, end);
        let specs = periods.iter().enumerate().map(|(number, period_ns)| TaskSpec {
            name: format!("task{number}"),
            period_ns: *period_ns,
            ..TaskSpec::default()
        });
        let mut info = RunInfo::new(Bench::Host, "monotonic", specs);
        info.keep = Keep::Spikes { above_ns: 100_000 };
        counter.begin_stream(stream.into(), info);
        let begun = clock.now().mono_ns;
        let next = periods.iter().map(|_| (begun, 0)).collect();
        let tasks = periods.to_vec();
        Machine { clock: clock.clone(), folder, counter, archive, closed, received, tasks, next }
    }

    /// Measures until the clock has passed this much further, in pieces as they come from the rings.
    fn run(&mut self, ns: i64) {
        let end_ns = self.clock.now().mono_ns + ns;
        while self.clock.now().mono_ns < end_ns {
            self.clock.pass((60 * SECOND).min(end_ns - self.clock.now().mono_ns));
            let now_ns = self.clock.now().mono_ns;
            for (task, period_ns) in self.tasks.iter().enumerate() {
                let (due_ns, index) = &mut self.next[task];
                let mut rows = Vec::new();
                while *due_ns < now_ns {
                    // Every thousandth start is late, some miss the next due times.
                    let late_ns = if *index % 1_000 == 999 { 150_000 } else { 5_000 + (*index % 977) as i64 };
                    let missed = u32::from(*index % 5_000 == 4_999) * 2;
                    let start_ns = *due_ns + late_ns;
                    let (index_now, due_now) = (*index, *due_ns);
                    rows.push(Activation {
                        index: index_now,
                        due_ns: due_now,
                        start_ns,
                        end_ns: start_ns + 900,
                        missed,
                        ..Activation::default()
                    });
                    *index += 1 + u64::from(missed);
                    *due_ns += period_ns * (1 + i64::from(missed));
                }
                self.counter.add_activations(task, &rows);
            }
            self.counter.tick();
            self.received.try_iter().for_each(drop);
            while let Ok(closed) = self.closed.try_recv() {
                self.archive.close_hour(closed);
            }
        }
    }

    fn stop(mut self) -> Totals {
        self.counter.end_stream(&[]);
        while let Ok(closed) = self.closed.try_recv() {
            self.archive.close_hour(closed);
        }
        self.folder.read_totals().unwrap()
    }

    /// Ends without a word, as a kill does: what waits in memory is lost.
    fn kill(self) {
        drop(self.counter);
    }
}

fn clock() -> Arc<FakeClock> {
    Arc::new(FakeClock(Mutex::new(Moment { mono_ns: 77 * SECOND, boot_ns: 77 * SECOND, utc_ns: BEGIN })))
}

/// Memory in use, in kB: what was asked for and not given back. Resident is, beyond it, what the allocator keeps.
fn in_use_kb() -> usize {
    // SAFETY: it reads the allocator's own counts.
    let counts = unsafe { libc::mallinfo2() };
    (counts.uordblks + counts.hblkhd) / 1_024
}

/// Resident memory and its peak, in kB.
fn resident_kb() -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    })
}

/// Every due time of every task is in the totals, or in a gap that they state.
fn check_all_accounted(totals: &Totals, periods: &[i64]) {
    let (begin_ns, end_ns) = totals.utc_ns;
    for (task, period_ns) in totals.tasks.iter().zip(periods) {
        let told_ns = task.due_times() as i64 * period_ns + totals.gap_ns;
        let off_ns = (end_ns - begin_ns - told_ns).abs();
        assert!(off_ns <= 2 * period_ns, "{}: {off_ns} ns of {told_ns} are not accounted for", task.name);
    }
}

/// Runs a test of this executable in a process of its own, where memory is its alone.
fn in_a_process_of_its_own(test: &str) -> bool {
    const ALONE: &str = "JITTERLAB_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let mut program = Command::new(std::env::current_exe().unwrap());
    let status = program.args(["--exact", test, "--nocapture"]).env(ALONE, "1").status().unwrap();
    assert!(status.success(), "{test}: {status}");
    true
}

#[test]
fn days_stay_within_their_room_and_count_every_due_time_once() {
    if in_a_process_of_its_own("month::days_stay_within_their_room_and_count_every_due_time_once") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let clock = clock();
    let periods = [SECOND, 2 * SECOND];
    // A day's journals are kept until its run file is written: about 8 MB for two tasks, whatever the limit.
    let bytes = 20_000_000;
    let days: usize = std::env::var("JITTERLAB_DAYS").ok().and_then(|days| days.parse().ok()).unwrap_or(8);
    let mut machine = Machine::start(&clock, folder.path(), bytes, &periods, "00000000000000aa");
    let (mut after_a_week, mut most_kb, mut most_bytes) = (0, 0, 0);
    for day in 0..days {
        machine.run(DAY - HOUR);
        match day {
            1 => clock.suspend(3 * HOUR),
            // Somebody sets the clock; the hours are cut on the one that only runs.
            2 => clock.step(2 * HOUR),
            3 => clock.step(-2 * HOUR),
            4 => fs::rename(folder.path().join("hours"), folder.path().join("gone")).unwrap(),
            5 => fs::rename(folder.path().join("gone"), folder.path().join("hours")).unwrap(),
            _ => {}
        }
        machine.run(HOUR);
        most_bytes = most_bytes.max(machine.folder.size_bytes());
        // After all that happens to the machine, every kind of work has been done once.
        if day == 6 {
            after_a_week = in_use_kb();
        }
        most_kb = most_kb.max(in_use_kb());
        println!("day {day}: {} kB in use, resident and at most {:?} kB", in_use_kb(), resident_kb());
    }
    let kept = machine.folder.files_with_ending("days", ".parquet");
    println!("{most_bytes} bytes of disk at most, {} days kept", kept.len());
    let totals = machine.stop();
    check_all_accounted(&totals, &periods);
    assert!((totals.gap_ns - 3 * HOUR).abs() <= 2 * SECOND, "{}", totals.gap_ns);
    assert!(totals.tasks[0].missed > 30 * days as u64, "{}", totals.tasks[0].missed);
    assert!(most_bytes <= bytes, "{most_bytes}");
    assert!(most_kb <= after_a_week + 1_024, "{most_kb} kB in use, {after_a_week} kB after a week");
    assert!(!kept.is_empty() && kept.len() < days, "{kept:?}");
}

#[test]
fn a_limit_of_idle_states_that_others_set_is_another_environment() {
    let folder = TempDir::new().unwrap();
    let clock = clock();
    let periods = [SECOND, 2 * SECOND];
    let mut machine = Machine::start(&clock, folder.path(), 1 << 30, &periods, "00000000000000aa");
    let limits = [("00000000000000bb", 0), ("00000000000000cc", NO_REQUEST_US)];
    for (stream, dma_latency_us) in limits {
        machine.run(HOUR + 1_234 * SECOND);
        let power = Power { dma_latency_us: Some(dma_latency_us), ..Power::default() };
        assert!(machine.counter.change_power(stream.into(), &power));
    }
    machine.run(HOUR);
    let totals = machine.stop();
    check_all_accounted(&totals, &periods);
    assert_eq!(totals.gap_ns, 0);
    let slices = jitterlab_fleet::delivery::list_slices_files(&folder.path().join("outbox")).unwrap();
    let rows = slices.iter().flat_map(|path| Delivery::read(path).unwrap().tables.slices);
    let environments: BTreeMap<String, String> = rows.map(|row| (row.stream, row.env)).collect();
    let environments: Vec<&String> = environments.values().collect();
    assert_eq!(environments.len(), 3);
    assert!(environments[0] != environments[1] && environments[0] == environments[2], "{environments:?}");
}

#[test]
fn a_clock_that_is_set_back_costs_no_hour() {
    let folder = TempDir::new().unwrap();
    let clock = clock();
    let mut machine = Machine::start(&clock, folder.path(), 1 << 30, &[10 * SECOND], "00000000000000aa");
    machine.run(5 * HOUR);
    clock.step(-3 * HOUR);
    machine.run(5 * HOUR);
    let totals = machine.stop();
    assert_eq!(
        (totals.tasks[0].due_times() as i64 - 10 * HOUR / (10 * SECOND)).abs().max(2),
        2,
        "{totals:?}"
    );
}

#[test]
fn what_a_kill_leaves_is_counted_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    let clock = clock();
    let periods = [SECOND];
    let mut due = 0;
    for round in 0..9 {
        let stream = format!("{round:016x}");
        let mut machine = Machine::start(&clock, folder.path(), 1 << 30, &periods, &stream);
        machine.run(HOUR * (round % 3) + 1_000 * SECOND + 17 * round * SECOND);
        match round % 3 {
            0 => due = machine.stop().tasks[0].due_times(),
            _ => machine.kill(),
        }
        clock.pass(600 * SECOND);
    }
    let folder = Folder::new(folder.path(), None);
    let totals = folder.read_totals().unwrap();
    assert!(totals.tasks[0].due_times() >= due);
    check_all_accounted(&totals, &periods);
    // Eight breaks of ten minutes lie between the first hour and the last; a kill may leave the last hour uncounted.
    assert!(totals.gap_ns >= 6 * 600 * SECOND && totals.gap_ns < 9 * 660 * SECOND, "{}", totals.gap_ns);
    for path in folder.files_with_ending("days", ".parquet") {
        let run = jitterlab_trace::RunReader::open(&path).unwrap();
        assert!(run.info().tasks[0].result.is_some(), "{}", path.display());
    }
}
