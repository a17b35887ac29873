//! Commands that measure or change the machine, or write files, are killed at any moment, with any other
//! programs running. The record until a second before is kept, and a written file is complete or missing. No
//! started process continues, and after `restore` the machine is as it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec};
use jitterlab_trace::{Columns, RunReader, RunWriter};
use tempfile::TempDir;

use crate::shared::machine::{State, alone, command, may_isolate, names, start};

/// A command, and the latest time after its start at which it is killed.
struct Attacked {
    words: &'static str,
    within_ms: u64,
}

const ATTACKED: [Attacked; 17] = [
    Attacked {
        words: "run -q -d 60s --policy other -o r.parquet --load cpu:1 --load fork:1 --load net:1",
        within_ms: 3_000,
    },
    Attacked { words: "run -q -d 60s --policy other -o r.parquet --load exec:FAMILY", within_ms: 3_000 },
    Attacked { words: "run -q -d 60s --why -o r.parquet", within_ms: 3_000 },
    Attacked { words: "run -q -d 500ms --isolate 1 --load disk:1 -o r.parquet", within_ms: 900 },
    Attacked { words: "run -q -d 500ms --isolate 1 -o r.parquet --load stress-ng:HDD", within_ms: 900 },
    Attacked { words: "compensate --policy other -d 60ms --rounds 6 -o c", within_ms: 3_000 },
    Attacked { words: "compare-wakeups --policy other -d 100ms --rounds 4", within_ms: 3_000 },
    Attacked { words: "matrix --cpus 0 --load none --load cpu:1@0 -r 4 -d 200ms -o m", within_ms: 3_000 },
    Attacked {
        words: "tune -q --budget 90s --policy other --only interrupts,timer-migration,real-time-throttling,huge-pages,\
                memory-statistics,unbound-work,wake-early",
        within_ms: 3_000,
    },
    Attacked {
        words: "tune -q --budget 90s --policy fifo:40 --only cpuset,kernel-threads,rcu-normal,network-threads,\
                network-coalescing,priority,wake-up,watchdogs,swappiness",
        within_ms: 3_000,
    },
    Attacked { words: "servo --live --policy other -d 300ms --way wake=timerfd", within_ms: 3_000 },
    Attacked { words: "watch -q --pid SELF -d 60s --find 300ms -o r.parquet", within_ms: 3_000 },
    Attacked { words: "kernel run -q --kernel debian:rt --count 1000", within_ms: 9_000 },
    Attacked { words: "mcu run -d 100s -o m", within_ms: 1_500 },
    Attacked { words: "recover known.parquet.part", within_ms: 600 },
    Attacked { words: "export known.parquet --as csv -o known.csv", within_ms: 600 },
    Attacked { words: "report known.parquet -o known.html", within_ms: 2_000 },
];

/// Experiments over settings, killed at any moment of their whole length.
const EXPERIMENTS: [Attacked; 3] = [
    Attacked { words: "tune -q --budget 90s --policy other --load cpu:1@0", within_ms: 30_000 },
    Attacked {
        words: "tune -q --budget 90s --only cpuset,other-threads,interrupts,kernel-threads,timer-migration,group-limits",
        within_ms: 30_000,
    },
    Attacked { words: "doctor cnc --by card --yes --budget 4m --load cpu:1", within_ms: 200_000 },
];

/// Processes that a load has started, which heed no request and belong to no group of it.
const FAMILY: &str = "trap '' TERM; setsid sleep 611 & (sleep 612 & sleep 613)";

/// Activations of the run that is read.
const KNOWN: u64 = 60_000;

impl Attacked {
    fn isolates(&self) -> bool {
        self.words.contains("--isolate")
    }

    /// A run to read, where one is read: as the journal of a run that was killed, or closed.
    fn prepare(&self, folder: &Path) {
        if !self.words.contains("known") {
            return;
        }
        let info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", [TaskSpec::default()]);
        let row = |index: u64| {
            let due_ns = index as i64 * 1_000_000;
            let start_ns = due_ns + (index as i64 * 7_919) % 50_000;
            Activation { index, due_ns, start_ns, end_ns: start_ns + 500, ..Activation::default() }
        };
        let mut writer = RunWriter::create(folder.join("known.parquet"), &info).unwrap();
        writer.append(0, &(0..KNOWN).map(row).collect::<Vec<_>>()).unwrap();
        if self.words.starts_with("recover") {
            drop(writer);
        } else {
            writer.finish(info).unwrap();
        }
    }

    fn start(&self, folder: &Path) -> Child {
        let own = std::process::id().to_string();
        let replaced =
            |word: &str| word.replace("SELF", &own).replace("HDD", "--hdd 1").replace("FAMILY", FAMILY);
        let words: Vec<String> = self.words.split(' ').map(replaced).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        start(folder, &words)
    }
}

/// Programs of the test's own, which an isolation moves and has to move back.
struct Moved(Vec<Child>);

impl Moved {
    fn start() -> Self {
        let bound =
            |cpus: &str| Command::new("taskset").args(["-c", cpus, "sleep", "100000"]).spawn().unwrap();
        Moved(["0", "1", "0-1"].into_iter().filter(|_| may_isolate()).map(bound).collect())
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Processes that were started with this folder for temporary files, with their command lines.
fn left_running(folder: &Path) -> BTreeMap<u32, String> {
    let mark = format!("TMPDIR={}", folder.display()).into_bytes();
    let marked = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    let what = |process: u32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        (process, String::from_utf8_lossy(&words).replace('\0', " "))
    };
    let processes = names("/proc").into_iter().filter_map(|name| name.parse().ok());
    processes.filter(marked).map(what).filter(|(_, words)| !words.is_empty()).collect()
}

/// True if a process has ended or is about to: it has a pending SIGKILL, or it is exiting.
fn ends(process: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return true };
    let pending = |name: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(set.trim(), 16).ok()
    };
    let killed = ["SigPnd:", "ShdPnd:"].iter().filter_map(|name| pending(name)).any(|set| set >> 8 & 1 == 1);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(9 - 3)?.parse().ok());
    // PF_EXITING of the kernel's sched.h.
    killed || flags.is_none_or(|flags: u64| flags & 4 != 0)
}

/// A different moment each time, the same in each test.
fn moment(round: u64, within_ms: u64) -> Duration {
    Duration::from_millis((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % within_ms)
}

/// Kills the command at that moment; returns the time that it had recorded until then. `None` if it had ended
/// before: it was refused because of another jitterlab, or was too fast.
fn killed(attacked: &Attacked, folder: &Path, moment: Duration) -> Option<Duration> {
    let mut run = attacked.start(folder);
    let isolation = format!("/run/jitterlab/isolation-{}.journal", run.id());
    let mut begin = Instant::now();
    // The kill is to hit an isolation, not the time before it.
    while attacked.isolates() && !Path::new(&isolation).exists() && run.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
        begin = Instant::now();
    }
    let journal = folder.join("r.parquet.part");
    let mut recording = None;
    while begin.elapsed() < moment {
        if recording.is_none() && journal.exists() {
            recording = Some(Instant::now());
        }
        sleep(Duration::from_millis(1));
    }
    let recorded = recording.map_or(Duration::ZERO, |begun| begun.elapsed());
    let ended = run.try_wait().unwrap().is_some();
    run.kill().unwrap();
    run.wait().unwrap();
    (!ended).then_some(recorded)
}

/// The number of rows of a run, and its duration.
fn length(file: &Path) -> (u64, Duration) {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let run = RunReader::open(file).unwrap();
    run.for_each_batch(Columns::ALL, |_, rows| {
        first = rows.iter().map(|row| row.due_ns).fold(first, i64::min);
        last = rows.iter().map(|row| row.due_ns).fold(last, i64::max);
    })
    .unwrap();
    (run.rows(), Duration::from_nanos(last.saturating_sub(first).max(0).unsigned_abs()))
}

/// Checks that no started process continues. Those that would run for long have been signalled by the kernel;
/// the others end by themselves, loads with all their descendants.
fn nothing_goes_on(folder: &Path, what: &str) {
    let long = |words: &str| ["qemu-system", "apt-"].iter().any(|name| words.starts_with(name));
    for (process, words) in left_running(folder).into_iter().filter(|(_, words)| long(words)) {
        assert!(ends(process), "{what}: {words} was not told to end");
    }
    let begin = Instant::now();
    while !left_running(folder).is_empty() && begin.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(10));
    }
    assert_eq!(left_running(folder), BTreeMap::new(), "{what}");
}

/// Checks that the folder holds a measurement or a complete result. Returns the part of `recorded` that is
/// missing in a run.
fn kept(attacked: &Attacked, folder: &Path, what: &str, recorded: Duration) -> Duration {
    let is_kept = |name: &String| {
        ["c", "m", "known.csv", "known.html", "jitterlab-doctor.html", "jitterlab-doctor.json"]
            .contains(&name.as_str())
            || [".parquet", ".part", ".parts"].iter().any(|end| name.ends_with(end))
    };
    let there = names(folder.to_str().unwrap());
    assert!(there.iter().all(is_kept), "{what}: {there:?}");
    let lines =
        |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.lines().count() as u64);
    assert!(lines("known.csv").is_none_or(|lines| lines == KNOWN + 1), "{what}: half a table");
    let page = fs::read_to_string(folder.join("known.html")).ok();
    assert!(page.is_none_or(|page| page.trim_end().ends_with("</html>")), "{what}: half a page");
    // Killed between making the file and its first byte, a journal has nothing to recover. One next to its
    // complete run file was about to be removed.
    for name in ["r.parquet", "known.parquet"] {
        let journal = folder.join(format!("{name}.part"));
        let whole = folder.join(name).exists();
        if !whole && fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0) {
            let recovered = command(folder, &["recover", &format!("{name}.part")]).output().unwrap();
            assert_eq!(recovered.status.code(), Some(0), "{what}: {recovered:?}");
        }
    }
    if attacked.words.contains("known") {
        assert_eq!(length(&folder.join("known.parquet")).0, KNOWN, "{what}");
    }
    // A watched thread comes when it likes.
    match folder.join("r.parquet") {
        run if run.exists() && !attacked.words.starts_with("watch") => {
            recorded.saturating_sub(length(&run).1)
        }
        _ => Duration::ZERO,
    }
}

#[test]
fn killed_commands_leave_what_they_recorded_and_nothing_else() {
    attack(&ATTACKED, 1);
}

/// Takes minutes for each kill of doctor: `--ignored`, with JITTERLAB_KILLS=50 of each.
#[test]
#[ignore = "takes minutes for each kill of doctor"]
fn killed_experiments_leave_no_setting_no_group_and_no_journal() {
    attack(&EXPERIMENTS, 3);
}

/// Kills each command `usual` times; more by hand: JITTERLAB_KILLS=20 of each.
fn attack(attacked: &[Attacked], usual: u64) {
    let rounds: u64 = std::env::var("JITTERLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let _alone = alone();
    let _moved = Moved::start();
    let before = State::now();
    let mut kills: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut undone, mut most_lost) = (0, Duration::ZERO);
    for (number, attacked) in attacked.iter().enumerate() {
        let is_missing =
            attacked.words.starts_with("mcu") && Command::new("avr-g++").arg("--version").output().is_err();
        if attacked.isolates() && !may_isolate() || is_missing {
            continue;
        }
        // Others may isolate or measure on the same CPU for a while.
        let (mut round, mut tried, mut within_ms) = (0, 0, attacked.within_ms);
        while round < rounds && tried < 20 * rounds {
            let folder = TempDir::new().unwrap();
            let folder = folder.path();
            attacked.prepare(folder);
            let what = format!("{}, round {round}", attacked.words);
            let moment = moment(tried * 31 + number as u64, within_ms);
            tried += 1;
            let recorded = killed(attacked, folder, moment);
            nothing_goes_on(folder, &what);
            let restored = command(folder, &["restore"]).output().unwrap();
            assert_eq!(restored.status.code(), Some(0), "{what}: {restored:?}");
            undone += u32::from(String::from_utf8_lossy(&restored.stdout).contains("undone"));
            let begin = Instant::now();
            let mut changed = State::now().changed(&before);
            // Changes that were left behind stay; those of other programs are undone by themselves.
            while !changed.is_empty() && begin.elapsed() < Duration::from_secs(60) {
                sleep(Duration::from_millis(200));
                changed = State::now().changed(&before);
            }
            assert_eq!(changed, [""; 0], "{what}");
            most_lost = most_lost.max(kept(attacked, folder, &what, recorded.unwrap_or_default()));
            if recorded.is_some() {
                round += 1;
                *kills.entry(attacked.words).or_default() += 1;
            } else {
                // It had ended by itself: earlier, then.
                within_ms = (within_ms / 2).max(1);
            }
        }
        assert!(round == rounds || attacked.isolates(), "{}: it ends by itself", attacked.words);
    }
    let all: u64 = kills.values().sum();
    println!(
        "{all} kills, {undone} of them undone by restore; at most {most_lost:?} of a run were lost: {kills:#?}"
    );
    assert!(most_lost < Duration::from_secs(1), "{most_lost:?} of a run were lost");
}

/// Signals that the kernel holds for this user: each timer reserves one (proc_pid_status(5), SigQ).
fn reserved(of_its_user: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{of_its_user}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigQ:")).unwrap();
    line.trim().split('/').next().unwrap().parse().unwrap()
}

/// The Twente report claims that timers of timer_create survive a crash of their program.
#[test]
fn the_timers_of_a_killed_program_go_with_it() {
    // A user ID of this test alone, so that no other process's signals are counted.
    const NOBODY_ELSE: u32 = 61_417;
    let own = |program: &str, words: &str| {
        let mut command = Command::new(program);
        command.args(words.split(' ')).current_dir("/").uid(NOBODY_ELSE).stdout(Stdio::null()).spawn()
    };
    let program = env!("CARGO_BIN_EXE_jitterlab");
    let (Ok(mut witness), Ok(mut run)) =
        (own("sleep", "60"), own(program, "run -q --no-file -d 60s --policy other --wake timer-signal"))
    else {
        println!("skipped: it takes another user, who may run this program");
        return;
    };
    let within_a_minute = |holds: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !holds() && began.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(10));
        }
        holds()
    };
    let made = within_a_minute(&|| reserved(witness.id()) > 0);
    run.kill().unwrap();
    run.wait().unwrap();
    let left = reserved(witness.id());
    witness.kill().unwrap();
    witness.wait().unwrap();
    assert!(made, "no timer was made");
    assert_eq!(left, 0);
}
