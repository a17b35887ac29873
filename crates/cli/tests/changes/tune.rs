//! Settings are tried on this machine, which is as it was afterwards, and kept settings can be removed again.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::shared::known::{answered, jitterlab, refused};
use crate::shared::machine::{alone, unless_starved};
use crate::shared::tracing::may_trace;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Values of some files that hold settings.
fn state() -> BTreeMap<&'static str, Option<String>> {
    let files = [
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/kernel/sched_rt_runtime_us",
        "/proc/sys/kernel/numa_balancing",
        "/proc/sys/vm/stat_interval",
        "/proc/sys/vm/swappiness",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/devices/virtual/workqueue/cpumask",
    ];
    files.into_iter().map(|file| (file, fs::read_to_string(file).ok())).collect()
}

#[test]
fn an_ended_experiment_leaves_the_machine_as_it_was_and_tells_all() {
    let _alone = alone();
    unless_starved(|| {
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            answered(folder.path(), &["restore"]);
        }
        let before = state();
        let args = [
            "tune",
            "--only",
            "wake-early,memory-statistics,governor",
            "--policy",
            "other",
            "--budget",
            "45s",
        ];
        let output = jitterlab(folder.path(), &[&args[..], &["-q", "--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(state(), before);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = &document["result"];
        assert_eq!(document["kind"], "tune");
        let tried: Vec<&str> =
            result["knobs"].as_array().unwrap().iter().map(|knob| knob["knob"].as_str().unwrap()).collect();
        let left: Vec<&str> =
            result["left"].as_array().unwrap().iter().map(|left| left["knob"].as_str().unwrap()).collect();
        assert!(tried.contains(&"wake-early"), "{tried:?} {left:?}");
        assert_eq!(tried.len() + left.len(), 3, "{tried:?} {left:?}");
        assert!(result["blocks"].as_u64().unwrap() > 1, "{result}");
        let leftover: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert!(leftover.is_empty(), "{leftover:?}");
    });
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["tune", "--only", "sorcery"], 2, &["sorcery", "governor"]);
    let short = ["tune", "--only", "wake-early", "--policy", "other", "--budget", "2s"];
    refused(folder.path(), &short, 2, &["--budget", "or more"]);
}

#[test]
fn only_what_was_kept_is_reverted() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("etc/sysctl.d")).unwrap();
    fs::create_dir_all(path("etc/tmpfiles.d")).unwrap();
    let mark = jitterlab_report::tune::kept_files::MARK;
    fs::write(path("etc/sysctl.d/99-jitterlab.conf"), format!("{mark}\nvm.stat_interval = 120\n")).unwrap();
    fs::write(path("etc/tmpfiles.d/jitterlab.conf"), "# mine\n").unwrap();
    let root = folder.path().to_str().unwrap();
    for _ in 0..2 {
        answered(folder.path(), &["restore", "--kept", root]);
        assert!(
            !path("etc/sysctl.d/99-jitterlab.conf").exists()
                && path("etc/tmpfiles.d/jitterlab.conf").exists()
        );
    }
}

#[test]
fn a_group_that_a_killed_command_left_is_offered_by_the_next_one_and_goes_with_restore() {
    let _alone = alone();
    // No process has this number: it is above the largest one.
    let group = Path::new("/sys/fs/cgroup/cpuset/jitterlab-rest-99999999");
    if !is_root() || fs::create_dir(group).is_err() {
        println!("skipped: it takes root and control groups of version 1");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = |args: &[&str]| String::from_utf8_lossy(&jitterlab(folder.path(), args).stderr).into_owned();
    for args in [&["check", "--brief"][..], &["stepper", "--list"]] {
        let said = said(args);
        assert!(said.contains("99999999") && said.contains("sudo jitterlab restore"), "{args:?}: {said}");
    }
    assert!(answered(folder.path(), &["restore"]).contains("process 99999999: 1 change undone"));
    assert!(!group.exists() && !said(&["check", "--brief"]).contains("99999999"));
}

/// A program that is ended with this.
struct Beside(Child);

impl Beside {
    fn begin(command: &mut Command) -> Self {
        Beside(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_thread_that_runs_already_is_tuned_as_it_is() {
    let _alone = alone();
    if !may_trace() || std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return;
    }
    unless_starved(|| {
        let folder = tempfile::tempdir().unwrap();
        let run = [
            "run",
            "-q",
            "--no-file",
            "-d",
            "5min",
            "--task",
            "name=tuned-one,period=2ms,cpu=1,policy=other",
        ];
        let _program =
            Beside::begin(Command::new(env!("CARGO_BIN_EXE_jitterlab")).args(run).current_dir(folder.path()));
        // It shares its processor with a program that never stops.
        let _hog =
            Beside::begin(Command::new("taskset").args(["-c", "1", "sh", "-c", "while :; do :; done"]));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let args = [
            "tune",
            "--watch",
            "tuned-one",
            "--only",
            "other-threads,policy",
            "--budget",
            "1min",
            "-q",
            "--json",
        ];
        let document: Value = serde_json::from_str(&answered(folder.path(), &args)).unwrap();
        let result = &document["result"];
        assert_eq!(result["watched"]["program"], "jitterlab", "{result:#}");
        assert_eq!((&result["knobs"][0]["knob"], result["cpu"].as_u64()), (&"other-threads".into(), Some(1)));
        let left = &result["left"][0];
        assert_eq!((&left["knob"], &left["why"]), (&"policy".into(), &"of-program".into()), "{result:#}");
        assert!(
            result["blocks"].as_u64().unwrap() > 1 && result["start"]["due"].as_u64().unwrap() > 100,
            "{result:#}"
        );
        println!("{:#}\n{:#}", result["knobs"], result["proven"]);
        refused(folder.path(), &["tune", "--watch", "no-such-thread"], 2, &["no-such-thread"]);
    });
}

#[test]
fn starts_are_kept_and_one_of_each_decides_nothing() {
    let _alone = alone();
    unless_starved(|| {
        let folder = tempfile::tempdir().unwrap();
        let words = ["tune", "--continue", "-q", "--json"];
        let first = [&words[..], &["--policy", "other", "--period", "500us", "--budget", "3300ms"]].concat();
        let measured = |args: &[&str]| -> Value {
            let document: Value = serde_json::from_str(&answered(folder.path(), args)).unwrap();
            assert_eq!(document["kind"], "starts");
            document["result"].clone()
        };
        let result = measured(&first);
        assert_eq!(
            (result["ways"].as_array().unwrap().len(), &result["seen"]),
            (1, &Value::Null),
            "{result:#}"
        );
        let blocks = result["starts"][0]["blocks"].as_u64().unwrap();
        assert!(blocks >= 4, "{result:#}");
        refused(folder.path(), &[&words[..], &["--way", "other"]].concat(), 2, &["restart it first"]);
        refused(
            folder.path(),
            &[&words[..], &["--period", "2ms"]].concat(),
            2,
            &["another task", "directory"],
        );
        // As if the machine had been restarted since with another command line.
        let file = folder.path().join("jitterlab-starts.json");
        let mut kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        kept["starts"][0]["boot"] = "another".into();
        kept["starts"][0]["way"]["command_line"] = "quiet isolcpus=1".into();
        fs::write(&file, kept.to_string()).unwrap();
        let result = measured(&words);
        assert_eq!(
            (result["pairs"].as_u64(), &result["judgement"]),
            (Some(1), &"undecided".into()),
            "{result:#}"
        );
        assert!(
            result["seen"].as_f64().is_some() && result["effects"].as_array().unwrap().is_empty(),
            "{result:#}"
        );
        fs::write(&file, "{").unwrap();
        refused(folder.path(), &words, 3, &["jitterlab-starts.json", "remove it"]);
    });
}

/// Runs jitterlab as if the machine had been restarted with a processor isolated; files of the kernel look otherwise to it
/// alone.
fn after_restart(folder: &Path, words: &[&str]) -> Value {
    fs::write(folder.join("boot"), "6f9619ff-8b86-4d01-b42d-00cf4fc964ff\n").unwrap();
    fs::write(folder.join("isolated"), "1\n").unwrap();
    let script = "mount --bind boot /proc/sys/kernel/random/boot_id
        mount --bind isolated /sys/devices/system/cpu/isolated
        exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script, env!("CARGO_BIN_EXE_jitterlab")]);
    examined(&mut command, folder, words)
}

#[test]
fn an_examination_after_a_restart_says_what_was_done_meanwhile() {
    let several = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if !is_root() || !several {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let folder = tempfile::tempdir().unwrap();
        let first = [
            "doctor",
            "cnc",
            "--by",
            "card",
            "--yes",
            "--no-tune",
            "--budget",
            "15s",
            "--load",
            "none",
            "--json",
        ];
        let program = || Command::new(env!("CARGO_BIN_EXE_jitterlab"));
        examined(&mut program(), folder.path(), &first);
        let again = ["doctor", "--continue", "--yes", "--no-tune", "--json"];
        let since = examined(&mut program(), folder.path(), &again)["since"].clone();
        assert_eq!(since["restarted"], false, "{since:#}");
        let result = after_restart(folder.path(), &again);
        let since = &result["since"];
        let has = |list: &Value| list.as_array().unwrap().iter().any(|id| id == "isolated-cpus");
        assert_eq!(since["restarted"], true, "{since:#}");
        assert!(has(&since["done"]) && !has(&since["open"]), "{since:#}");
        assert_eq!(since["purposes"][0]["purpose"], "servo-thread", "{since:#}");
        assert_eq!((&result["job"], &result["way"]), (&"cnc".into(), &"card".into()), "{since:#}");
    });
}

/// The result of `doctor`, whatever it decides.
fn examined(command: &mut Command, folder: &Path, words: &[&str]) -> Value {
    let output = command.args(words).current_dir(folder).output().unwrap();
    let document = serde_json::from_slice::<Value>(&output.stdout);
    assert!(document.is_ok(), "{}", String::from_utf8_lossy(&output.stderr));
    document.unwrap()["result"].clone()
}
