//! Recording the kernel's events leaves nothing behind, even by a killed run once `restore` was called, and
//! leaves other people's tracing as it was. Without the right to trace the run continues, and reports that.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::executable;
use crate::shared::known::answered;
use crate::shared::machine::{alone, unless_starved};
use crate::shared::tracing::may_trace;

/// By hand more than the tests can wait for: JITTERLAB_KILLS=100.
fn kills() -> u64 {
    std::env::var("JITTERLAB_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// A tracefs mounted for the test alone, with another user's instance in it.
struct Somebody {
    fs: TempDir,
    instance: PathBuf,
}

impl Somebody {
    fn begin() -> Self {
        let fs = TempDir::new().unwrap();
        let mounted = Command::new("mount").args(["-t", "tracefs", "nodev"]).arg(fs.path()).status();
        assert!(mounted.unwrap().success());
        let instance = fs.path().join(format!("instances/somebody-{}", std::process::id()));
        fs::create_dir(&instance).unwrap();
        fs::write(instance.join("events/sched/sched_switch/enable"), "1").unwrap();
        Somebody { fs, instance }
    }

    /// Settings that must not change: those of the other instance, and those of the top-level tracing.
    fn settings(&self) -> Vec<String> {
        let theirs =
            ["events/sched/sched_switch/enable", "trace_clock", "tracing_on", "tracing_cpumask", "set_event"];
        let of_all = ["set_event", "trace_clock", "tracing_on", "current_tracer"];
        let theirs = theirs.map(|name| self.instance.join(name));
        let of_all = of_all.map(|name| self.fs.path().join(name));
        theirs.iter().chain(&of_all).map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// Number of events that the other instance sees from now on.
    fn sees(&self) -> usize {
        fs::write(self.instance.join("trace"), "").unwrap();
        sleep(Duration::from_millis(300));
        fs::read_to_string(self.instance.join("trace")).unwrap().matches("sched_switch:").count()
    }

    fn instances_of(&self, process: u32) -> usize {
        let entries = fs::read_dir(self.fs.path().join("instances")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(&format!("jitterlab-{process}-"))).count()
    }
}

impl Drop for Somebody {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
        let _ = Command::new("umount").arg("--lazy").arg(self.fs.path()).status();
    }
}

const RUN: &str = "run --why -q -d 20s --no-file --policy other";
/// The watched program ends with the watch.
const WATCH: &str = concat!(
    "watch -q -d 20s --find 300ms --no-file -- ",
    env!("CARGO_BIN_EXE_jitterlab"),
    " run -q -d 30s --no-file --policy other"
);

#[test]
fn what_is_killed_leaves_nothing_and_other_tracers_go_on() {
    if !may_trace() {
        return;
    }
    let _alone = alone();
    unless_starved(|| {
        let (folder, somebody) = (TempDir::new().unwrap(), Somebody::begin());
        let before = somebody.settings();
        let (mut left, kills) = (0, kills());
        for kill in 0..kills {
            let args = if kill % 2 == 0 { RUN } else { WATCH };
            let mut run = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
                .args(args.split(' '))
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let begun = Instant::now();
            while somebody.instances_of(run.id()) == 0 {
                assert!(begun.elapsed() < Duration::from_secs(30), "it never began to record");
            }
            // While it is set up, and while it records.
            sleep(Duration::from_millis(kill * kill * 97 % 400));
            assert!(somebody.sees() > 0);
            run.kill().unwrap();
            run.wait().unwrap();
            left += u64::from(somebody.instances_of(run.id()) > 0);
            let said = answered(folder.path(), &["restore"]);
            assert_eq!(somebody.instances_of(run.id()), 0, "{said}");
        }
        println!("{left} of {kills} that were killed left instances, and restore took all of them away");
        assert!(left > 0, "no kill met a recording");
        assert_eq!(somebody.settings(), before);
        assert!(somebody.sees() > 0);
    });
}

#[test]
fn without_the_right_to_trace_the_run_goes_on_and_says_so() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !may_trace() || !has("setpriv") {
        println!("skipped: without the kernel's events or setpriv, nobody can lose the right to them");
        return;
    }
    let _alone = alone();
    let folder = TempDir::new().unwrap();
    let everybody = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    everybody(folder.path());
    let program = folder.path().join("jitterlab");
    executable::copy(env!("CARGO_BIN_EXE_jitterlab"), &program);
    let nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "./jitterlab"]);
        command.args(args).current_dir(folder.path()).env("HOME", folder.path()).output().unwrap()
    };
    let run =
        nobody(&["run", "--why", "-q", "--json", "-d", "300ms", "--policy", "other", "-o", "run.parquet"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let refused = document["result"]["run"]["refused"].as_array().unwrap();
    let events = refused.iter().find(|refusal| refusal["what"] == "the kernel's trace events").unwrap();
    assert!(events["remedy"].as_str().unwrap().contains("root"), "{events}");
    assert!(document["result"]["why"].is_null() && document["result"]["tasks"].is_array());
    let why = nobody(&["why", "run.parquet"]);
    let said = String::from_utf8_lossy(&why.stderr);
    assert!(why.status.code() == Some(3) && said.contains("run --why"), "{said}");
    let watch = nobody(&["watch", "--pid", "1"]);
    let said = String::from_utf8_lossy(&watch.stderr);
    assert!(watch.status.code() == Some(3) && said.contains("root"), "{said}");
}
