//! The backends against libraries of our own that export the same symbols (tests/xenomai/*.c). Each case is a
//! process of its own, since a core is prepared once for a process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test without its stand-ins has failed")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jitterlab_model::{Activation, Error, Flags, Policy, TaskSpec, WakeMethod};

use super::Core;
use super::calls::prepare_with_root;
use crate::{Linux, System, TaskThread, ThreadOptions};

const EVL_STATE: &str = "sys/devices/virtual/evl/control/state";
const EVL_ABI: &str = "sys/devices/virtual/evl/control/abi";

/// Fake /proc, /sys, /dev and libraries.
struct Machine(tempfile::TempDir);

impl Machine {
    /// `None`, with a word of why, where nothing can be compiled.
    fn new() -> Option<Self> {
        if Command::new("cc").arg("--version").output().is_err() {
            assert!(env::var("JITTERLAB_REQUIRE_ALL").is_err(), "no C compiler here");
            println!("skipped: no C compiler here");
            return None;
        }
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.put("proc/xenomai/version", "3.3.1\n");
        machine.put("dev/evl/control", "");
        machine.put(EVL_STATE, "running\n");
        machine.put(EVL_ABI, "32\n");
        fs::create_dir(machine.path("lib")).unwrap();
        Some(machine)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn put(&self, file: &str, text: &str) {
        let file = self.path("root").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Compiles one of the libraries.
    fn library(&self, source: &str, name: &str, options: &[&str]) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xenomai").join(source);
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(self.path("lib").join(name))
            .arg(source)
            .arg(format!("-Wl,-soname,{name}"))
            .args(options)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }

    /// Runs [`child`] in a process of its own and returns its report.
    fn run(&self, core: &str, script: &[(&str, &str)]) -> String {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "xenomai::tests::child", "--ignored", "--nocapture"])
            .env("LD_LIBRARY_PATH", self.path("lib"))
            .env("FAKE_ROOT", self.path("root"))
            .env("FAKE_CORE", core)
            .envs(script.iter().copied())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let report = said.split_once("report: ").map(|(_, report)| report.lines().next().unwrap_or_default());
        report.unwrap_or_else(|| panic!("{output:?}")).to_owned()
    }
}

const PERIOD_NS: i64 = 1_000_000;
const COUNT: u64 = 20;

/// Runs a task on the core and reports its result in one line.
#[test]
#[ignore = "run by the other tests as a process of its own"]
fn child() {
    let Some(root) = env::var_os("FAKE_ROOT") else { return };
    let wake: WakeMethod = env::var("FAKE_CORE").unwrap().parse().unwrap();
    let core = Core::for_wake(wake).unwrap();
    let report = match prepare_with_root(Path::new(&root), core) {
        Err(error) => error.to_string(),
        Ok(()) => run_task(wake).unwrap_or_else(|error| error.to_string()),
    };
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let foreign = maps.contains("libforeign") || env::var_os("LD_PRELOAD").is_some();
    println!("\nreport: {report}{}", if foreign { " foreign" } else { "" });
}

fn run_task(wake: WakeMethod) -> Result<String, Error> {
    let spec = TaskSpec {
        name: "servo".into(),
        period_ns: PERIOD_NS,
        policy: Some(Policy::Fifo(70)),
        wake,
        ..TaskSpec::default()
    };
    let options =
        ThreadOptions { lock_memory: false, ring: 64, count: Some(COUNT), ..ThreadOptions::default() };
    let mut thread = TaskThread::spawn(&spec, &options, &Arc::new(AtomicBool::new(false)))?;
    let mut drain = thread.take_drain().unwrap();
    // Far ahead of the core's clock, so that it never shows a time before a due time by itself.
    thread.start(Linux.now_ns() + 1_000_000_000, None);
    let result = thread.finish()?.result;
    let mut rows: Vec<Activation> = Vec::new();
    drain.pop_into(&mut rows, usize::MAX);
    let marked = rows.iter().filter(|a| a.flags.contains(Flags::NOT_REAL_TIME)).count();
    let core = result.core.unwrap();
    Ok(format!(
        "executed {} missed {} latency {}..{} marked {marked} outside {} switches {} cause {}",
        result.executed,
        result.missed,
        result.min_latency_ns,
        result.max_latency_ns,
        core.outside,
        core.mode_switches,
        core.last_cause.unwrap_or_default()
    ))
}

/// Both cores, with their library in place.
fn both() -> Option<Machine> {
    let machine = Machine::new()?;
    machine.library("cobalt.c", "libcobalt.so.2", &[]);
    machine.library("evl.c", "libevl.so", &[]);
    Some(machine)
}

#[test]
fn tasks_run_on_the_cores_clock_and_early_wake_ups_stay_negative() {
    let Some(machine) = both() else { return };
    for core in ["cobalt", "evl"] {
        // A reading costs 10 ns: the one that gives the start.
        let on_time = machine.run(core, &[]);
        assert_eq!(on_time, "executed 20 missed 0 latency 10..10 marked 0 outside 0 switches 0 cause ");
        let early = machine.run(core, &[("FAKE_GRAVITY_NS", "2000")]);
        assert_eq!(early, "executed 20 missed 0 latency -1990..-1990 marked 0 outside 0 switches 0 cause ");
        let interrupted = machine.run(core, &[("FAKE_INTERRUPTIONS", "3")]);
        assert_eq!(interrupted, on_time);
    }
}

#[test]
fn losing_real_time_is_seen_in_each_activation_and_counted_with_its_cause() {
    let Some(machine) = both() else { return };
    let relaxed = [("FAKE_RELAXED_EVERY", "5")];
    assert!(machine.run("cobalt", &relaxed).ends_with("marked 4 outside 4 switches 4 cause a system call"));
    assert!(machine.run("evl", &relaxed).ends_with("marked 4 outside 4 switches 4 cause a fault"));
}

#[test]
fn what_linux_is_asked_before_and_after_the_measurement_is_no_mode_switch_of_it() {
    let Some(machine) = both() else { return };
    for (core, library) in [("cobalt", "libcobalt.so.2"), ("evl", "libevl.so")] {
        let library = machine.path("lib").join(library);
        let report = machine.run(core, &[("LD_PRELOAD", library.to_str().unwrap())]);
        assert_eq!(
            report, "executed 20 missed 0 latency 10..10 marked 0 outside 0 switches 0 cause  foreign",
            "{core}"
        );
    }
}

#[test]
fn a_stopped_core_is_called_stopped_and_how_to_start_it_is_said() {
    let Some(machine) = both() else { return };
    machine.put(EVL_STATE, "stopped\n");
    let stopped = machine.run("evl", &[]);
    assert!(stopped.contains("it is stopped") && stopped.contains("evl start"), "{stopped}");
    // A core that reports no state is tried.
    fs::remove_file(machine.path("root").join(EVL_STATE)).unwrap();
    assert!(machine.run("evl", &[]).starts_with("executed 20"));
}

#[test]
fn a_library_for_another_abi_is_told_with_both() {
    let Some(machine) = both() else { return };
    machine.put(EVL_ABI, "36\n");
    let other = machine.run("evl", &[("FAKE_INIT", "8")]);
    assert!(other.contains("ABI 32") && other.contains("ABI 36"), "{other}");
    fs::remove_file(machine.path("root").join(EVL_ABI)).unwrap();
    let other = machine.run("evl", &[("FAKE_INIT", "8")]);
    assert!(other.contains("this kernel has ABI unknown"), "{other}");
}

#[test]
fn a_library_is_found_under_the_name_that_programs_need_it_by() {
    let Some(machine) = Machine::new() else { return };
    machine.library("evl.c", "libevl.so.4", &[]);
    assert!(machine.run("evl", &[]).starts_with("executed 20"));
    // The error of a library that does not load comes before that of one that is nowhere.
    fs::write(machine.path("lib/libevl.so.4"), "no library").unwrap();
    let broken = machine.run("evl", &[]);
    assert!(broken.contains("libevl.so.4: ") && !broken.contains("No such file"), "{broken}");
}

#[test]
fn a_kernel_without_the_core_is_named_first() {
    let Some(machine) = both() else { return };
    fs::remove_dir_all(machine.path("root")).unwrap();
    let cobalt = machine.run("cobalt", &[]);
    assert!(cobalt.contains("/proc/xenomai/version") && cobalt.contains("CONFIG_XENOMAI"), "{cobalt}");
    let evl = machine.run("evl", &[]);
    assert!(evl.contains("/dev/evl/control") && evl.contains("CONFIG_EVL"), "{evl}");
}

#[test]
fn a_library_that_is_missing_or_too_old_is_named() {
    let Some(machine) = Machine::new() else { return };
    let missing = machine.run("cobalt", &[]);
    assert!(missing.contains("libcobalt.so.2") && missing.contains("LD_LIBRARY_PATH"), "{missing}");
    machine.library("cobalt.c", "libcobalt.so.2", &["-DWITHOUT_INIT"]);
    let old = machine.run("cobalt", &[]);
    assert!(old.contains("xenomai_init_dso") && old.contains("3.0.5"), "{old}");
}

#[test]
fn an_initialisation_that_ends_the_process_ends_a_child_only() {
    let Some(machine) = both() else { return };
    let refused = machine.run("cobalt", &[("FAKE_NO_PERMISSION", "1")]);
    assert!(
        refused.contains("interface unavailable") && refused.contains("xenomai.allowed_group"),
        "{refused}"
    );
    let killed = machine.run("cobalt", &[("FAKE_KILLED", "1")]);
    assert!(killed.contains("ended by signal 9"), "{killed}");
    let evl = machine.run("evl", &[("FAKE_INIT", "38")]);
    assert!(evl.contains("evl_init") && evl.contains("/dev/evl"), "{evl}");
}

#[test]
fn a_thread_that_the_core_does_not_take_is_an_error_with_a_remedy() {
    let Some(machine) = both() else { return };
    let refused = machine.run("cobalt", &[("FAKE_ATTACH", "11")]);
    assert!(refused.contains("__cobalt_pthread_setschedparam") && refused.contains("memlock"), "{refused}");
    let refused = machine.run("evl", &[("FAKE_ATTACH", "1")]);
    assert!(refused.contains("evl_attach_thread") && refused.contains("/dev/evl"), "{refused}");
}

#[test]
fn a_library_that_refuses_to_be_loaded_is_preloaded_by_beginning_anew() {
    let Some(machine) = Machine::new() else { return };
    machine.library("cobalt.c", "libcobalt.so.2", &["-Wl,-z,nodlopen"]);
    // Libraries preloaded by somebody else would call Linux behind the thread's back; children are no programs of the
    // core.
    machine.library("evl.c", "libforeign.so", &[]);
    let foreign = machine.path("lib/libforeign.so");
    let report = machine.run("cobalt", &[("LD_PRELOAD", foreign.to_str().unwrap())]);
    assert_eq!(report, "executed 20 missed 0 latency 10..10 marked 0 outside 0 switches 0 cause ");
    machine.library("cobalt.c", "libcobalt.so.2", &["-Wl,-z,nodlopen", "-DWITHOUT_INIT"]);
    let broken = machine.run("cobalt", &[]);
    assert!(
        broken.contains("preloading it did not help") && broken.contains("--enable-dlopen-libs"),
        "{broken}"
    );
}
