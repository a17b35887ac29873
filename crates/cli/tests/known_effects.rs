//! Effects that are put there are found: each ranked first, in the right direction, and proven. They take a minute each, so
//! they run where `JITTERLAB_TRIALS` names how many of each are wanted, as root on a machine of two processors or more.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

#[allow(dead_code, reason = "not all that is shared is needed here")]
mod known;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

fn trials() -> usize {
    std::env::var("JITTERLAB_TRIALS").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A program beside the trial, ended with it.
struct Beside(Child);

impl Beside {
    fn on(cpu: u16, command: &[&str]) -> Beside {
        let mut all = vec!["-c".to_owned(), cpu.to_string()];
        all.extend(command.iter().map(|word| (*word).to_owned()));
        Beside(Command::new("taskset").args(all).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const HOG: [&str; 3] = ["sh", "-c", "while :; do :; done"];

/// Tries the knob among two that do nothing here; tells what is wrong, if anything is.
fn wrong(knob: &str, more: &[&str], within: Option<&PathBuf>) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let only = format!("{knob},huge-pages,memory-statistics");
    let mut words = vec!["tune", "--cpu", "1", "--only", &only, "--budget", "1m", "-q", "--json"];
    words.extend(more);
    let mut command = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    if let Some(group) = within {
        let enter = format!("echo $$ > {}/tasks; exec \"$0\" \"$@\"", group.display());
        command = Command::new("sh");
        command.args(["-c", &enter, env!("CARGO_BIN_EXE_jitterlab")]);
    }
    let output = command.args(words).current_dir(folder.path()).output().unwrap();
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Some(String::from_utf8_lossy(&output.stderr).into_owned());
    };
    let (first, proven) = (&document["result"]["knobs"][0], &document["result"]["proven"]);
    let right = first["knob"] == knob && first["judgement"] == "helps" && proven["holds"] == true;
    (!right).then(|| format!("{first} {proven}"))
}

/// One trial at a time: each is about the same processor.
static ALONE: Mutex<()> = Mutex::new(());

/// Each trial anew; all of them have to succeed.
fn all_succeed(what: &str, trial: impl Fn() -> Option<String>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let failed: Vec<String> = (0..trials()).filter_map(|_| trial()).collect();
    assert!(failed.is_empty(), "{what}: {} of {} failed: {failed:#?}", failed.len(), trials());
}

#[test]
fn a_hog_is_moved_off_the_processor() {
    all_succeed("hog", || {
        let _hog = Beside::on(1, &HOG);
        wrong("other-threads", &["--policy", "other"], None)
    });
}

#[test]
fn a_storm_of_timer_interrupts_is_moved_off_the_processor() {
    all_succeed("storm", || {
        let _storm = Beside::on(1, &["stress-ng", "--timer", "1", "--timer-freq", "40000"]);
        wrong("other-threads", &[], None)
    });
}

#[test]
fn a_throttled_group_is_left_by_a_real_time_policy() {
    let group = PathBuf::from(format!("/sys/fs/cgroup/cpu/jitterlab-trial-{}", std::process::id()));
    all_succeed("throttling", || {
        fs::create_dir_all(&group).unwrap();
        for (file, value) in
            [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000"), ("cpu.rt_runtime_us", "900000")]
        {
            let _ = fs::write(group.join(file), value);
        }
        let hog = Beside::on(0, &HOG);
        fs::write(group.join("tasks"), hog.0.id().to_string()).unwrap();
        let wrong = wrong("policy", &["--policy", "other"], Some(&group));
        drop(hog);
        let _ = fs::remove_dir(&group);
        wrong
    });
}
