//! Injected effects are found: each ranked first, in the right direction. They take some 35 s each, so they
//! run only with `JITTERLAB_TRIALS`, the number of each, as root on a machine of two processors or more:
//!
//!     JITTERLAB_TRIALS=20 cargo test -p jitterlab --test causes known_effects -- --nocapture

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::shared::machine::alone;
use crate::storm;

fn trials() -> usize {
    std::env::var("JITTERLAB_TRIALS").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A program next to the trial, ended with it and with all its descendants.
struct Beside(Child);

impl Beside {
    fn on(cpu: u16, script: &str) -> Beside {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", script]).process_group(0);
        Beside(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

const HOG: &str = "while :; do :; done";

/// Number of times that a trial is continued after another jitterlab blocked it.
const TRIES: usize = 40;

/// Setup of a trial: the knob to find among two without effect here, and further options.
struct Trial<'a> {
    knob: &'a str,
    more: &'a str,
    within: Option<&'a Path>,
}

/// Outcome of a trial.
struct Outcome {
    first: bool,
    proven: bool,
    /// Settings without an effect that were reported to have one.
    false_calls: usize,
    told: String,
}

impl Trial<'_> {
    fn run(&self) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        let words = format!(
            "tune --cpu 1 --period 500us --only {},huge-pages,memory-statistics --budget 36s -q --json {}",
            self.knob, self.more
        );
        let program = env!("CARGO_BIN_EXE_jitterlab");
        let mut command = Command::new(program);
        if let Some(group) = self.within {
            command = Command::new("sh");
            command.args([
                "-c",
                &format!("echo $$ > {}/tasks; exec \"$0\" \"$@\"", group.display()),
                program,
            ]);
        }
        command.args(words.split_whitespace()).current_dir(folder.path());
        let mut output = command.output().unwrap();
        // Another jitterlab may isolate the same processor for a while: the same command continues.
        for _ in 0..TRIES {
            if !String::from_utf8_lossy(&output.stderr).contains("another jitterlab") {
                break;
            }
            std::thread::sleep(Duration::from_secs(3));
            output = command.output().unwrap();
        }
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert!(document.is_object(), "{}", String::from_utf8_lossy(&output.stderr));
        let (knobs, proven) = (&document["result"]["knobs"], &document["result"]["proven"]);
        let calls =
            |knob: &&Value| ["helps", "harms", "helps-and-harms"].iter().any(|j| knob["judgement"] == *j);
        let idle = knobs.as_array().unwrap().iter().filter(|knob| knob["knob"] != self.knob);
        let change = knobs[0]["effects"][0]["change"].as_f64();
        Outcome {
            first: knobs[0]["knob"] == self.knob && change.is_some_and(|change| change < 1.0),
            proven: proven["holds"] == true,
            false_calls: idle.filter(calls).count(),
            told: format!(
                "{} {} {:.3} of {} ns, proven {}",
                knobs[0]["knob"],
                knobs[0]["judgement"],
                change.unwrap_or(f64::NAN),
                document["result"]["start"]["tail_ns"],
                proven["holds"]
            ),
        }
    }
}

/// Repeats the trials; in all of them the knob has to be first, in the right direction.
fn all_are_first(what: &str, trial: impl Fn() -> Outcome) {
    if trials() == 0 {
        return println!("skipped: takes half a minute for each trial; set JITTERLAB_TRIALS to have it");
    }
    let _alone = alone();
    let (mut first, mut proven, mut false_calls) = (0, 0, 0);
    for number in 1..=trials() {
        let outcome = trial();
        first += usize::from(outcome.first);
        proven += usize::from(outcome.proven);
        false_calls += usize::from(outcome.false_calls > 0);
        println!("{what} {number}: {}", outcome.told);
    }
    let all = trials();
    println!("{what}: {first} of {all} first, {proven} proven, {false_calls} with a false call");
    assert_eq!(first, all, "{what}");
    // With 5 % of such trials, more than this are seen in one of a thousand.
    assert!(
        false_calls <= 1 + all / 5,
        "{what}: {false_calls} of {all} call something that does nothing an effect"
    );
}

#[test]
fn a_hog_is_moved_off_the_processor() {
    all_are_first("hog", || {
        let _hog = Beside::on(1, HOG);
        Trial { knob: "other-threads", more: "--policy other", within: None }.run()
    });
}

#[test]
fn a_storm_of_timer_interrupts_is_moved_off_the_processor() {
    all_are_first("storm", || {
        let _storm = Beside::on(1, &storm::script());
        std::thread::sleep(Duration::from_millis(300));
        Trial { knob: "other-threads", more: "", within: None }.run()
    });
}

/// A control group that gets a fifth of a processor, and may run real-time threads; removed afterwards.
struct Group(PathBuf);

impl Group {
    fn make() -> Self {
        let group = Group(format!("/sys/fs/cgroup/cpu/jitterlab-trial-{}", std::process::id()).into());
        fs::create_dir_all(&group.0).unwrap();
        for (file, value) in
            [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000"), ("cpu.rt_runtime_us", "900000")]
        {
            fs::write(group.0.join(file), value).unwrap();
        }
        group
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_throttled_group_is_left_by_a_real_time_policy() {
    if trials() == 0 {
        return;
    }
    // One for all trials: the real-time budget of a removed group is returned much later.
    let group = Group::make();
    all_are_first("throttling", || {
        let hog = Beside::on(0, HOG);
        fs::write(group.0.join("tasks"), hog.0.id().to_string()).unwrap();
        let outcome = Trial { knob: "policy", more: "--policy other", within: Some(&group.0) }.run();
        drop(hog);
        outcome
    });
}
