//! Commands that measure or change the machine are killed at any moment: what was recorded until a second before is kept, and
//! after `restore` the machine is as it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jitterlab_trace::{Columns, RunReader};
use tempfile::TempDir;

#[allow(dead_code, reason = "not all that is shared is needed here")]
mod machine;

use machine::{State, command, may_isolate, names, start};

/// A command, and how long after its beginning it is killed at most.
struct Attacked {
    words: &'static str,
    within_ms: u64,
}

const ATTACKED: [Attacked; 11] = [
    Attacked {
        words: "run -q -d 60s --policy other -o r.parquet --load cpu:1,fork:1,net:1",
        within_ms: 3_000,
    },
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
    Attacked { words: "servo --live --policy other -d 300ms --way wake=timerfd", within_ms: 3_000 },
    Attacked { words: "watch -q --pid SELF -d 60s --find 300ms -o r.parquet", within_ms: 3_000 },
    Attacked { words: "kernel run -q --kernel debian:rt --count 1000", within_ms: 9_000 },
];

impl Attacked {
    fn isolates(&self) -> bool {
        self.words.contains("--isolate")
    }

    fn start(&self, folder: &Path) -> Child {
        let own = std::process::id().to_string();
        let words: Vec<String> =
            self.words.split(' ').map(|word| word.replace("SELF", &own).replace("HDD", "--hdd 1")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        start(folder, &words)
    }
}

/// Processes that were started with this folder for what is temporary.
fn left_running(folder: &Path) -> Vec<String> {
    let mark = format!("TMPDIR={}", folder.display()).into_bytes();
    let marked = |process: &String| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok()).filter(marked).collect()
}

/// A different moment each time, the same in each test.
fn moment(round: u64, within_ms: u64) -> Duration {
    Duration::from_millis((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % within_ms)
}

/// Kills the command at that moment; how long it had recorded until then.
fn killed(attacked: &Attacked, folder: &Path, moment: Duration) -> Duration {
    let mut run = attacked.start(folder);
    let mut begin = Instant::now();
    // An isolation is to be hit, not what comes before it.
    while attacked.isolates() && !Path::new("/run/jitterlab").exists() && run.try_wait().unwrap().is_none() {
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
    run.kill().unwrap();
    run.wait().unwrap();
    recorded
}

/// What a recovered run lasted.
fn length(file: &Path) -> Duration {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let run = RunReader::open(file).unwrap();
    run.for_each_batch(Columns::ALL, |_, rows| {
        first = rows.iter().map(|row| row.due_ns).fold(first, i64::min);
        last = rows.iter().map(|row| row.due_ns).fold(last, i64::max);
    })
    .unwrap();
    Duration::from_nanos(last.saturating_sub(first).max(0).unsigned_abs())
}

#[test]
fn killed_commands_leave_what_they_recorded_and_nothing_else() {
    // More by hand: JITTERLAB_KILLS=20 of each command.
    let rounds: u64 = std::env::var("JITTERLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let before = State::now();
    let (mut kills, mut undone, mut most_lost) = (0, 0, Duration::ZERO);
    for (number, attacked) in ATTACKED.iter().enumerate() {
        if attacked.isolates() && !may_isolate() {
            continue;
        }
        for round in 0..rounds {
            let folder = TempDir::new().unwrap();
            let folder = folder.path();
            let what = format!("{}, round {round}", attacked.words);
            let recorded = killed(attacked, folder, moment(round * 31 + number as u64, attacked.within_ms));
            kills += 1;
            // What it had started is told by the kernel to end, or, as apt-cache, ends by itself.
            let begin = Instant::now();
            while !left_running(folder).is_empty() && begin.elapsed() < Duration::from_secs(60) {
                sleep(Duration::from_millis(10));
            }
            assert_eq!(left_running(folder), [""; 0], "{what}");
            let restored = command(folder, &["restore"]).output().unwrap();
            assert_eq!(restored.status.code(), Some(0), "{what}: {restored:?}");
            undone += u32::from(String::from_utf8_lossy(&restored.stdout).contains("undone"));
            let begin = Instant::now();
            let mut changed = State::now().changed(&before);
            // What is left behind stays; what other programs change meanwhile they put back.
            while !changed.is_empty() && begin.elapsed() < Duration::from_secs(60) {
                sleep(Duration::from_millis(200));
                changed = State::now().changed(&before);
            }
            assert_eq!(changed, [""; 0], "{what}");
            let kept = |name: &String| {
                ["c", "m"].contains(&name.as_str())
                    || [".parquet", ".part", ".parts"].iter().any(|end| name.ends_with(end))
            };
            let there = names(folder.to_str().unwrap());
            assert!(there.iter().all(kept), "{what}: {there:?}");
            // Killed between making the file and its first byte, there is nothing to recover.
            if fs::metadata(folder.join("r.parquet.part")).is_ok_and(|journal| journal.len() > 0) {
                let recovered = command(folder, &["recover", "r.parquet.part"]).output().unwrap();
                assert_eq!(recovered.status.code(), Some(0), "{what}: {recovered:?}");
                // A watched thread comes when it likes.
                if !attacked.words.starts_with("watch") {
                    most_lost = most_lost.max(recorded.saturating_sub(length(&folder.join("r.parquet"))));
                }
            }
        }
    }
    println!("{kills} kills, {undone} of them undone by restore; at most {most_lost:?} of a run were lost");
    assert!(most_lost < Duration::from_secs(1), "{most_lost:?} of a run were lost");
}
